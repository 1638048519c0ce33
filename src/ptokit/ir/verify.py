"""The driver that checks a module against a target: every error, with its place, in one pass."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, lookup
from ptokit.isa.check import broken_rules
from ptokit.isa.cores import missing_pipe
from ptokit.isa.site import ScalarInfo, Site
from ptokit.isa.table import Kind
from ptokit.isa.tile_rules import check_tile
from ptokit.targets import Target
from ptokit.types.tile import TileSpec

from . import rules as _rules  # puts the rules into the catalogue
from .core import Function, Module, Op, Value
from .facts import Facts
from .functions import check_functions
from .placement import check_placement
from .sync import tsync
from .views import CHECKS

_MEMORY = (Kind.TILE, Kind.VIEW)


def verify(module: Module, target: Target, *, extended: bool = False) -> Diagnostics:
    """Check every function of `module`. ``extended``: the cpu target accepts device-only types and modes."""
    found = Diagnostics()
    check_functions(module, found)
    for function in module.functions:
        if function.body is not None:
            _Checker(function, target, found, extended, text=module.text).run()
    return found


class _Checker:
    """Checks one function."""

    def __init__(self, function: Function, target: Target, found: Diagnostics, extended: bool, *, text: bool) -> None:
        self.function, self.target, self.found, self.extended, self.text = function, target, found, extended, text
        self.facts = Facts(function)

    def run(self) -> None:
        assert self.function.body is not None
        for op in self.function.body.walk():
            self.tile_types(op)
            site = self.facts.site(op, self.target, extended=self.extended, text=self.text)
            if site is not None:
                self.instruction(op, site)
            check = tsync if op.name == "pto.tsync" else CHECKS.get(op.name)
            for breach in check(op, self.facts) if check is not None else ():
                severity = lookup(breach.rule).severity
                notes = () if breach.value is None else _defined_at([breach.value])
                self.found.add(Diagnostic(breach.rule, severity, breach.message, op.location, breach.hint, notes))
        check_placement(self.function, self.facts, self.target, self.found)

    def tile_types(self, op: Op) -> None:
        """The types of the tiles that `op` makes."""
        for result in op.results:
            if isinstance(result.type, TileSpec):
                for rule, message, hint in check_tile(result.type, self.target, placement=False):
                    self.found.add(Diagnostic(rule.id, rule.severity, f"%{result.name}: {message}", op.location, hint))

    def instruction(self, op: Op, site: Site) -> None:
        if not site.instr.implemented:
            self.found.error("TEXT-UNIMPLEMENTED", f"instruction not implemented yet: {site.instr.name}", op.location)
            return
        lowered = [
            o.name
            for o in site.instr.operands
            if o.kind in _MEMORY and isinstance(site.operands.get(o.name), ScalarInfo)
        ]
        if lowered:
            given = op[lowered[0]]
            self.found.error(
                "TEXT-UNIMPLEMENTED",
                f"{site.instr.name} with {lowered[0]} of type {given.type} is not implemented yet",
                op.location,
                hint="ptokit runs tiles (!pto.tile_buf) and views of global memory",
            )
            return
        wrong_core = missing_pipe(site)
        if wrong_core is not None:
            self.found.error("PIPE-CORE", wrong_core, op.location, notes=_defined(op))
            return
        for rule, message, hint in broken_rules(site, text=self.text):
            self.found.add(
                Diagnostic(rule.id, rule.severity, f"{site.instr.name}: {message}", op.location, hint, _defined(op))
            )


def _defined(op: Op) -> tuple[Note, ...]:
    """Where the tiles of an instruction come from."""
    return _defined_at([v for v in op.values if isinstance(v.type, TileSpec)])


def _defined_at(values: list[Value]) -> tuple[Note, ...]:
    unique = {v.name: v for v in values if v.location.line}
    return tuple(Note(f"%{name} is {v.type}", v.location) for name, v in unique.items())


del _rules
