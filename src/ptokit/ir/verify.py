"""The driver that checks a module against a target: every error, with its place, in one pass."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Scope, Severity, lookup
from ptokit.isa.check import broken_rules
from ptokit.isa.cores import missing_pipe
from ptokit.isa.site import AlignInfo, LoweredInfo, MaskInfo, PtrInfo, ScalarInfo, Site, TileInfo, ViewInfo, VregInfo
from ptokit.isa.table import Kind, Operand
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
        self.facts = Facts(function, fold=not assembler)
        self.lowered = _lowered(function)
        self.sound: set[tuple[Hashable, bool]] = set()  # sites that break no rule, as `Site.key` tells them apart

    def run(self) -> None:
        assert self.function.body is not None
        for op in self.function.body.walk():
            self.tile_types(op)
            site = self.facts.site(op, self.target, extended=self.extended, text=self.text)
            readable = site is None or self.instruction(op, site)
            check = _CHECKS.get(op.name) if readable else None
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

    def instruction(self, op: Op, site: Site) -> bool:
        """Report what the instruction breaks; False if its operands are of other kinds than it takes."""
        lowered = bool(self.lowered) and not self.lowered.isdisjoint(op.values)
        key = site.key(), lowered
        if key in self.sound:
            return True
        wrong, opaque = self.kinds(op, site, lowered)
        if not (wrong or opaque) and self.keeps_rules(op, site, lowered) and key[0] is not None:
            self.sound.add(key)
        return not wrong

    def keeps_rules(self, op: Op, site: Site, lowered: bool) -> bool:
        """Report the rules that the instruction breaks; True if it is none."""
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

    def kinds(self, op: Op, site: Site, lowered: bool) -> tuple[bool, bool]:
        """Report operands that are not what the instruction takes, which its rules could not look at.

        Returns if there is one, and if there are memrefs of which nothing is known. A memref in place of a tile is a
        lowered tile, of which few rules speak (assembly 13, "Bypass").
        """
        wrong = opaque = False
        for operand in site.instr.operands:
            info, taken = site.operands.get(operand.name), _KINDS.get(operand.kind)
            rule = site.instr.kinds.get(operand.name, "TC-1" if operand.kind is Kind.TILE else "OPERAND-KIND")
            if isinstance(info, ViewInfo) and info.whole and self.takes_slice(op, operand, site) and not lowered:
                self.wrong_kind(rule, op, operand, "a partition_tensor_view")
                wrong = True
                continue
            if info is None or taken is None or isinstance(info, taken):
                continue
            if (operand.or_view and isinstance(info, ViewInfo)) or (operand.or_ptr and isinstance(info, PtrInfo)):
                continue
            if operand.or_vreg and isinstance(info, VregInfo):
                continue
            opaque = opaque or not isinstance(info, LoweredInfo)
            if not is_memref(op[operand.name].type):
                self.wrong_kind(rule, op, operand, f"a {operand.kind}")
                wrong = True
        return wrong, opaque

    def takes_slice(self, op: Op, operand: Operand, site: Site) -> bool:
        """True if text needs a partition_tensor_view here; transfers have a rule of the assembler that says so."""
        return self.text and operand.name in site.instr.kinds and op.name not in _CHECKS

    def wrong_kind(self, rule: str, op: Op, operand: Operand, taken: str) -> None:
        given = op[operand.name]
        message = f"{operand.name} of {op.name} is {taken}, %{given.name} has type {given.type}"
        self.found.error(rule, message, op.location, notes=_defined_at([given]))


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
