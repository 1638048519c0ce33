"""The driver that checks a module against a target: every error, with its place, in one pass."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Scope, Severity, lookup
from ptokit.isa.check import broken_rules
from ptokit.isa.cores import missing_pipe
from ptokit.isa.site import AlignInfo, LoweredInfo, MaskInfo, PtrInfo, ScalarInfo, Site, TileInfo, ViewInfo, VregInfo
from ptokit.isa.table import Kind
from ptokit.isa.tile_rules import check_tile
from ptokit.targets import Target
from ptokit.types.tile import TileSpec
from ptokit.types.values import is_memref

from . import pipe_rules as _pipe_rules  # these put rules into the catalogue
from . import rules as _rules
from .buffers import TRANSFERS, check_buffers
from .copy_loops import check_copy_loops
from .core import Function, Module, Op, Value
from .facts import Facts
from .functions import check_functions
from .levels import check_level
from .pipes import check_pipes, pointer_uses
from .placement import check_placement
from .scopes import check_scopes
from .sync import tsync
from .views import CHECKS as VIEW_CHECKS

_CHECKS = {**VIEW_CHECKS, **TRANSFERS, "pto.tsync": tsync}
_KINDS: dict[Kind, type] = {
    Kind.TILE: TileInfo,
    Kind.VIEW: ViewInfo,
    Kind.SCALAR: ScalarInfo,
    Kind.VREG: VregInfo,
    Kind.MASK: MaskInfo,
    Kind.ALIGN: AlignInfo,
}


def verify(
    module: Module,
    target: Target,
    *,
    extended: bool = False,
    level: int | None = None,
    auto_sync: bool = False,
    assembler: bool = False,
    functions: Sequence[Function] | None = None,
) -> Diagnostics:
    """Check every function of `module`. Operations that ptokit cannot run are checked like others.

    ``extended``: the cpu target accepts device-only types and modes. ``level``: 1, 2 or 3, which of program and
    assembler places tiles; None: as each function does it. ``auto_sync``: the assembler is to insert synchronisation.
    ``assembler``: only what the reference assembler refuses, all of it as errors. ``functions``: look at these only,
    and not at the module as a whole, since others could not be read.
    """
    found = Diagnostics()
    if functions is None:
        check_functions(module, found)
        check_buffers(module, found)
        check_pipes(module, target, found)
    for function in module.functions if functions is None else functions:
        if function.body is not None:
            check_scopes(function, found)
            check_level(function, level, auto_sync, found)
            if module.text:
                pointer_uses(function, found)
            _Checker(function, target, found, extended, text=module.text, assembler=assembler).run()
    return _refused_by_assembler(found) if assembler else found


def _refused_by_assembler(found: Diagnostics) -> Diagnostics:
    kept = Diagnostics()
    for diagnostic in found:
        if lookup(diagnostic.rule).scope in (Scope.TEXT, Scope.ASSEMBLER):
            kept.add(replace(diagnostic, severity=Severity.ERROR))
    return kept


class _Checker:
    """Checks one function."""

    def __init__(
        self, function: Function, target: Target, found: Diagnostics, extended: bool, *, text: bool, assembler: bool
    ) -> None:
        self.function, self.target, self.found = function, target, found
        self.extended, self.text, self.assembler = extended, text, assembler
        self.facts = Facts(function)
        self.lowered = _lowered(function)
        self.sound: set[tuple[Hashable, bool]] = set()  # sites that break no rule, as `Site.key` tells them apart

    def run(self) -> None:
        assert self.function.body is not None
        for op in self.function.body.walk():
            self.tile_types(op)
            site = self.facts.site(op, self.target, extended=self.extended, text=self.text)
            if site is not None:
                self.instruction(op, site)
            check = _CHECKS.get(op.name)
            for breach in check(op, self.facts) if check is not None else ():
                severity = lookup(breach.rule).severity
                notes = () if breach.value is None else _defined_at([breach.value])
                self.found.add(Diagnostic(breach.rule, severity, breach.message, op.location, breach.hint, notes))
        check_placement(self.function, self.facts, self.target, self.found)
        check_copy_loops(self.function, self.facts, self.target, self.found)

    def tile_types(self, op: Op) -> None:
        """The types of the tiles that `op` makes."""
        for result in op.results:
            if isinstance(result.type, TileSpec):
                for rule, message, hint in check_tile(result.type, self.target, placement=False):
                    self.found.add(Diagnostic(rule.id, rule.severity, f"%{result.name}: {message}", op.location, hint))

    def instruction(self, op: Op, site: Site) -> None:
        lowered = bool(self.lowered) and not self.lowered.isdisjoint(op.values)
        key = site.key(), lowered
        if key not in self.sound and self.keeps_rules(op, site, lowered) and key[0] is not None:
            self.sound.add(key)

    def keeps_rules(self, op: Op, site: Site, lowered: bool) -> bool:
        """Report what the instruction breaks; True if it is nothing."""
        if not self.kinds(op, site):
            return False
        bare = any(isinstance(info, LoweredInfo) for info in site.operands.values())
        wrong_core = None if bare or self.assembler else missing_pipe(site)
        if wrong_core is not None:
            self.found.error("PIPE-CORE", wrong_core, op.location, notes=_defined(op))
            return False
        invalid = self.assembler and self.invalid_regions(op, site, lowered)
        broken = list(broken_rules(site, text=self.text, lowered=lowered, covered=self.assembler))
        for rule, message, hint in broken:
            self.found.add(
                Diagnostic(rule.id, rule.severity, f"{site.instr.name}: {message}", op.location, hint, _defined(op))
            )
        return not (broken or invalid)

    def invalid_regions(self, op: Op, site: Site, lowered: bool) -> bool:
        """Report TC-3, which TILE-01 says of the operation that makes the tile; True if there is something."""
        wrong = [t for t in site.tiles if t.spec.valid_row > t.rows or t.spec.valid_col > t.cols]
        for tile in () if lowered else wrong:
            self.found.error("TC-3", f"%{tile.name} is {tile.spec}", op.location, notes=_defined(op))
        return bool(wrong)

    def kinds(self, op: Op, site: Site) -> bool:
        """Report operands that are not what the instruction takes; its rules could not look at them.

        A memref in place of a tile is a lowered tile, of which few rules speak (assembly 13, "Bypass").
        """
        fits = True
        for operand in site.instr.operands:
            info, taken = site.operands.get(operand.name), _KINDS.get(operand.kind)
            if info is None or taken is None or isinstance(info, taken):
                continue
            if (operand.or_view and isinstance(info, ViewInfo)) or (operand.or_ptr and isinstance(info, PtrInfo)):
                continue
            if operand.or_vreg and isinstance(info, VregInfo):
                continue
            fits = fits and isinstance(info, LoweredInfo)
            given = op[operand.name]
            if not is_memref(given.type):
                self.found.error(
                    "OPERAND-KIND",
                    f"{operand.name} of {site.instr.name} is a {operand.kind}, %{given.name} has type {given.type}",
                    op.location,
                    notes=_defined_at([given]),
                )
        return fits


def _lowered(function: Function) -> set[Value]:
    """Memrefs, and what bind_tile makes: the assembler leaves operations on them alone."""
    assert function.body is not None
    made = {r: op.name for op in function.body.walk() for r in (*op.results, *(a for b in op.regions for a in b.args))}
    values = [*function.params, *made]
    return {v for v in values if is_memref(v.type) or made.get(v) == "pto.bind_tile"}


def _defined(op: Op) -> tuple[Note, ...]:
    """Where the tiles of an instruction come from."""
    return _defined_at([v for v in op.values if isinstance(v.type, TileSpec)])


def _defined_at(values: list[Value]) -> tuple[Note, ...]:
    unique = {v.name: v for v in values if v.location.line}
    return tuple(Note(f"%{name} is {v.type}", v.location) for name, v in unique.items())


del _pipe_rules, _rules
