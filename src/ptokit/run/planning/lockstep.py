"""Whether blocks can run together: a chunk whose blocks disagree is split and started again, so nothing may be stored.

Every function is looked at twice at most, entered before and after a store, however often it is called.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.types.values import Scalar

from .stores import stored

_AGREED: dict[str, tuple[str, ...]] = {
    "scf.for": ("lower", "upper", "step"),
    "scf.if": ("condition",),
    "scf.index_switch": ("index",),
    "scf.condition": ("condition",),
    "cf.cond_br": ("condition",),
    "cf.switch": ("flag",),
}
"""Operands every block must agree on, of operations that are no instructions."""

_ONCE = frozenset(
    (
        "scf.if",
        "scf.execute_region",
        "scf.index_switch",
        "pto.vecscope",
        "pto.strict_vecscope",
        "pto.section.cube",
        "pto.section.vector",
    )
)
"""One of their regions runs, once at most; those of other operations follow each other, again and again."""


def agreed(op: Op, operand: str) -> bool:
    """True if all blocks of a chunk need the same value of an operand."""
    return operand in _agreed_operands(op)


def _agreed_operands(op: Op) -> tuple[str, ...]:
    instr = instr_of(op)
    if op.name == "arith.select" and not isinstance(op.result.type, Scalar):
        return ("condition",)  # between tiles or registers it is a branch
    return _AGREED.get(op.name, ()) if instr is None else tuple(o.name for o in instr.operands if o.agreed)


def lockstep(module: Module, entry: Function, varying: AbstractSet[Value]) -> bool:
    """True if no store can come before an operation on whose operands blocks may disagree."""
    order = _Order(module, varying)
    order.function(entry, written=False)
    return not order.unsafe


class _Order:
    """The search for a place where blocks may disagree and some may have stored."""

    def __init__(self, module: Module, varying: AbstractSet[Value]) -> None:
        self.functions = {f.name: f for f in module.functions}
        self.varying = varying
        self.unsafe = False
        self._left: dict[tuple[str, bool], bool] = {}  # function, entered after a store: left after a store
        self._regions: dict[Block, bool] = {}

    def function(self, function: Function | None, *, written: bool) -> bool:
        """True if something may have been stored when the function returns."""
        if function is None or function.body is None:
            return written
        key = (function.name, written)
        if key not in self._left:
            self._left[key] = self._region(function.body, written=written)
        return self._left[key]

    def _region(self, region: Block, *, written: bool) -> bool:
        if region.more:  # branches may lead back
            written = written or self._stores(region)
        for block in region.blocks:
            for op in block.ops:
                written = self._op(op, written=written)
        return written

    def _op(self, op: Op, *, written: bool) -> bool:
        if written and any(v in self.varying for name in _agreed_operands(op) for v in op.group(name)):
            self.unsafe = True
        if op.name == "func.call":
            return self.function(self.functions.get(op.attrs["callee"]), written=written)
        inside = written or (op.name not in _ONCE and any(self._stores(region) for region in op.regions))
        ends = [self._region(region, written=inside) for region in op.regions]
        return written or any(ends) or bool(stored(op))

    def _stores(self, region: Block) -> bool:
        """True if the region or a function called from it may store."""
        if region not in self._regions:
            self._regions[region] = any(self._may_store(op) for block in region.blocks for op in block.ops)
        return self._regions[region]

    def _may_store(self, op: Op) -> bool:
        if op.name == "func.call":
            callee = self.functions.get(op.attrs["callee"])
            return callee is not None and callee.body is not None and self._stores(callee.body)
        return bool(stored(op)) or any(self._stores(region) for region in op.regions)
