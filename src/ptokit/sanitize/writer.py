"""Compiles a program so that every operation reports to the observing chunk before or while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Block, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.run.calls import attributes, bind
from ptokit.run.codegen import FunctionWriter
from ptokit.run.fault import Fault
from ptokit.types.tile import TileSpec
from ptokit.types.values import MultiTile

from .cross_core import HANDLERS
from .views import ObservedView

if TYPE_CHECKING:
    from .observe import Observer

_SCALAR_ACCESS = frozenset(("pto.load_scalar", "pto.store_scalar"))


class ObservedWriter(FunctionWriter):
    """Writes functions whose machine is an `Observer`."""

    at_once = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.out.names["View"] = ObservedView
        self._level = 0
        self._scopes = 0
        self._bodies: dict[int, str] = {}

    def operation(self, op: Op) -> None:
        match op.name:
            case "pto.partition_view":
                self._partition(op)
            case "scf.for" | "scf.while":
                self._loop(op)
            case "func.call":
                self.line("m.enter()", op)
                super().operation(op)
                self.line("m.back()", op)
            case "pto.vecscope" | "pto.strict_vecscope":
                self._scopes += 1
                self.line("m.within.begin()", op)
                super().operation(op)
                self.line("m.within.end()", op)
                self._scopes -= 1
            case name if name in _SCALAR_ACCESS:
                self.line(f"m.here, m.in_scope = {self.const(op)}, {self._scopes > 0}", op)
                super().operation(op)
            case "pto.alloc_multi_tile":
                super().operation(op)
                self.line(f"for t in {self.ref(op.result)}: m.bound({self.const(op)}, t, None)", op)
            case _ if _makes_tile(op):
                fixed = op.result in self.names
                super().operation(op)
                if not fixed:
                    self._bound(op)
            case _:
                super().operation(op)

    def _fixed_tile(self, op: Op) -> None:
        super()._fixed_tile(op)
        if op.result in self.names:
            self._bound(op)

    def _bound(self, op: Op) -> None:
        parent = next((self.ref(value) for value in op.values if isinstance(value.type, TileSpec)), "None")
        self.line(f"m.bound({self.const(op)}, {self.ref(op.result)}, {parent})", op)

    def _partition(self, op: Op) -> None:
        offsets = ", ".join(self.ref(v) for v in op.group("offsets"))
        sizes = ", ".join(self.ref(v) for v in op.group("sizes"))
        source = self.ref(op["source"])
        self.line(f"{self.bind(op.result)} = {source}.observed({self.const(op)}, ({offsets},), ({sizes},))", op)

    def _loop(self, op: Op) -> None:
        self._level += 1
        level = self._level
        for region in op.regions:
            self._bodies[id(region)] = op.name
        super().operation(op)
        self._level -= 1
        self.line(f"m.leave({level})", op)

    def region(self, body: Block, targets: list[str]) -> None:
        kind = self._bodies.pop(id(body), "")
        if kind:
            self.depth += 1
            if kind == "scf.for":
                iv = body.args[0]
                name = iv.name or "i"
                self.line(f"m.iteration({self._level}, {name!r}, {self.names[iv]})")
            else:
                self.line(f"m.again({self._level})")
            self.depth -= 1
        super().region(body, targets)

    def turn(self) -> None:
        self._level += 1
        self.line(f"m.again({self._level})")

    def turned(self) -> None:
        self.line(f"m.leave({self._level})")
        self._level -= 1

    def callee(self, op: Op, instr: Instr, site: Site) -> Callable[..., Any]:
        """The instruction, reported when it is called."""
        return observed(op, instr, site)


def _makes_tile(op: Op) -> bool:
    """True for an allocation, an alias, or a new binding."""
    if instr_of(op) is None or len(op.results) != 1 or any(isinstance(v.type, MultiTile) for v in op.values):
        return False  # one of several tiles has been made with the others
    return isinstance(op.result.type, TileSpec)


def observed(op: Op, instr: Instr, site: Site) -> Callable[..., Any]:
    """``call(observer, *operands)``: an instruction that reports what it touches, and runs; flags only report."""
    attrs = attributes(instr, op.attrs)
    names = tuple(o.name for o in instr.operands)
    meaning = instr.run
    assert meaning is not None
    if instr.ordering and instr.name not in HANDLERS:

        def order(m: Observer, *operands: Any) -> Any:
            m.synchronise(op, instr, site.core, dict(zip(names, operands)), attrs)
            return meaning(m, *operands, **attrs)

        return order
    if instr.name in HANDLERS:
        if instr.typed:
            attrs["types"] = site.operands

        def between(m: Observer, *operands: Any) -> Any:
            given = dict(zip(names, operands))
            return m.between(op, instr, given, attrs, lambda: meaning(m, *operands, **attrs))

        return between
    checked = bind(instr, site, op.attrs)

    def run(m: Observer, *operands: Any) -> Any:
        try:
            return checked(m, *operands)
        except Fault as fault:
            if fault.rule not in REGIONS:
                raise
            m.deferred.setdefault(op, fault)
            return meaning(m, *operands, **attrs)

    def call(m: Observer, *operands: Any) -> Any:
        return m.instruction(op, instr, site, names, operands, attrs, run)

    return call


REGIONS = frozenset(("EW-05", "EW-10"))
"""Rules about valid regions and overlaps, which forbid what memory shows: whether it does, the sanitizer finds."""
