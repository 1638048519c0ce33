"""Whether blocks can run together: a chunk whose blocks disagree is split and started again, so nothing may be stored.

Every function is looked at twice at most, entered before and after a store, however often it is called.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ptokit.ir.control import callee, decides, is_loop
from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.types.values import Scalar

from .stores import stored


def agreed(op: Op, operand: str) -> bool:
    """True if all blocks of a chunk need the same value of an operand."""
    return operand in _agreed_operands(op)


def _agreed_operands(op: Op) -> tuple[str, ...]:
    instr = instr_of(op)
    if op.name == "arith.select" and not isinstance(op.result.type, Scalar):
        return ("condition",)  # between tiles or registers it is a branch
    return decides(op) if instr is None else tuple(o.name for o in instr.operands if o.agreed)


def lockstep(module: Module, entry: Function, varying: AbstractSet[Value]) -> bool:
    """True if no store can come before an operation on whose operands blocks may disagree."""
    order = _Order(module, varying)
    order.function(entry, written=False)
    return not order.unsafe


class _Order:
    """The search for a place where blocks may disagree and some may have stored."""

    def __init__(self, module: Module, varying: AbstractSet[Value]) -> None:
        self.module = module
        self.varying = varying
        self.unsafe = False
        self._left: dict[tuple[str, bool], bool] = {}  # function, entered after a store: left after a store
        self._regions: dict[Block, bool] = {}

    def function(self, function: Function, *, written: bool) -> bool:
        """True if something may have been stored when the function returns."""
        assert function.body is not None
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
        if (function := callee(op, self.module)) is not None:
            return self.function(function, written=written)
        inside = written or (is_loop(op) and any(self._stores(region) for region in op.regions))
        ends = [self._region(region, written=inside) for region in op.regions]
        return written or any(ends) or bool(stored(op))

    def _stores(self, region: Block) -> bool:
        """True if the region or a function called from it may store."""
        if region not in self._regions:
            self._regions[region] = any(self._may_store(op) for block in region.blocks for op in block.ops)
        return self._regions[region]

    def _may_store(self, op: Op) -> bool:
        function = callee(op, self.module)
        if function is not None and function.body is not None:
            return self._stores(function.body)
        return bool(stored(op)) or any(self._stores(region) for region in op.regions)
