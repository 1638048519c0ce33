"""The driver that checks a module against a target: every error, with its place, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import UnionType
from typing import Any

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Scope, Severity, lookup
from ptokit.diagnostics.finding import Change
from ptokit.diagnostics.rules import Evidence
from ptokit.isa.check import Broken, broken_rules, is_about_type
from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.checks.tiles import missing_pipe
from ptokit.isa.site import (
    AlignInfo,
    LanesInfo,
    LoweredInfo,
    MaskInfo,
    PtrInfo,
    ScalarInfo,
    Site,
    TileInfo,
    VectorInfo,
    ViewInfo,
    VregInfo,
)
from ptokit.isa.table import Instr, Kind, Operand
from ptokit.targets import Target
from ptokit.types.dtypes import DTYPES
from ptokit.types.tile import TileSpec
from ptokit.types.values import is_memref

from . import pipe_rules as _pipe_rules  # these put rules into the catalogue
from . import rules as _rules
from .allocations import ALLOCATIONS, check_placement, check_scratch, tile_of, wrong_layout, wrong_type
from .allocations import CHECKS as ALLOCATION_CHECKS
from .core import Function, Module, Op, Value
from .exchanges import CHECKS as EXCHANGE_CHECKS
from .exchanges import TRANSFERS, check_buffers
from .facts import Facts, instr_of, shown_op
from .functions import as_compiled, check_functions, check_level
from .pipe_rules import check_fixpipes
from .pipes import check_pipes, pointer_uses
from .scopes import check_copy_loops, check_registers, check_scopes
from .structure_checks import CHECKS as STRUCTURE_CHECKS
from .structure_checks import (
    Marks,
    RepeatedSites,
    Survey,
    check_helper,
    check_library_ids,
    check_lifetimes,
    check_sections,
    loop,
    tsync,
)
from .views import CHECKS as VIEW_CHECKS
from .views import COMPOUND_CHECKS as COMPOUND_CHECKS

_CHECKS = {
    **VIEW_CHECKS,
    **ALLOCATION_CHECKS,
    **COMPOUND_CHECKS,
    **TRANSFERS,
    **EXCHANGE_CHECKS,
    **STRUCTURE_CHECKS,
    "pto.tsync": tsync,
}
_KINDS: dict[Kind, type | UnionType] = {
    Kind.TILE: TileInfo,
    Kind.VIEW: ViewInfo,
    Kind.SCALAR: ScalarInfo,
    Kind.VREG: VregInfo,
    Kind.MASK: MaskInfo,
    Kind.ALIGN: AlignInfo,
    Kind.VECTOR: VectorInfo,
    Kind.LANES: LanesInfo,
    Kind.LOGICAL: VectorInfo | LanesInfo,
}
_INTEGERS = frozenset(("i64", "i32", "i16", "i1", "index"))
_ALSO: dict[Kind, Any] = {
    Kind.VIEW: ViewInfo,
    Kind.PTR: PtrInfo,
    Kind.TILE: TileInfo,
    Kind.VREG: VregInfo | VectorInfo,
}
"""What an operand may be that takes further kinds."""
_FLOATS = frozenset(t.text for t in DTYPES.values() if t.is_float)


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
    found, target = Diagnostics(), as_compiled(module, target)
    looked_at = module.functions if functions is None else functions
    surveys = {function: Survey(function) for function in looked_at if function.body is not None}
    if functions is None:
        check_functions(module, surveys, found)
        check_buffers(module, surveys, found)
        check_lifetimes(module, surveys, found)
        check_library_ids(module, surveys, found)
        check_pipes(surveys, target, found)
        check_fixpipes(module, surveys, target, found)
    marks = Marks(module, found)
    checker = _Checker(target, marks, extended, text=module.text, assembler=assembler)
    for survey in surveys.values():
        check_scopes(survey, found)
        check_sections(survey, found)
        check_helper(survey, found)
        check_level(survey, level, auto_sync, found)
        if module.text:
            pointer_uses(survey, found)
        check_registers(survey, target, found)
        checker.run(survey)
        if module.text:
            check_scratch(survey, checker.facts, target, level, found)
    return _refused_by_assembler(found, marks) if assembler else _uncovered(found, marks)


def _refused_by_assembler(found: Diagnostics, marks: Marks) -> Diagnostics:
    kept = Diagnostics()
    for diagnostic in found:
        rule = lookup(diagnostic.rule)
        shared = Evidence.ASSEMBLER in rule.evidence and diagnostic.severity is Severity.ERROR
        if shared or rule.scope in (Scope.TEXT, Scope.ASSEMBLER):
            kept.add(replace(marks.placed(diagnostic), severity=Severity.ERROR))
    return kept


def _uncovered(found: Diagnostics, marks: Marks) -> Diagnostics:
    """The findings without those that a more specific error at the same place covers."""
    errors = {(d.rule, d.location) for d in found.errors}
    return marks.folded(d for d in found if not any((rule, d.location) in errors for rule in lookup(d.rule).covered_by))


class _Checker:
    """Checks functions, one after the other."""

    def __init__(self, target: Target, marks: Marks, extended: bool, *, text: bool, assembler: bool) -> None:
        self.target, self.found, self.marks = target, marks.found, marks
        self.extended, self.text, self.assembler = extended, text, assembler
        self.repeated = RepeatedSites()
        self.passed: set[tuple[Any, bool]] = set()  # instructions that break no rule, as `repeated` tells them apart
        self.types: dict[TileSpec, list[Broken]] = {}  # rules that types of tiles break

    def run(self, survey: Survey) -> None:
        self.function = survey.function
        self.facts = Facts(survey.function, fold=not self.assembler)
        self.stated: Facts | None = None  # what types alone say, where that is asked for
        self.lowered = _lowered(survey)
        for op in survey.ops:
            if op.results:
                self.tile_types(op)
            instr = instr_of(op)
            readable = instr is None or self.instruction(op, instr)
            check = (_CHECKS.get(op.name) or (loop if op.regions else None)) if readable else None
            for breach in check(op, self.facts) if check is not None else ():
                if breach.of_text and not self.text:
                    continue
                severity = lookup(breach.rule).severity_of(breach.message)
                notes = () if breach.value is None else _defined_at([breach.value])
                found = Diagnostic(breach.rule, severity, str(breach.message), op.location, breach.hint, notes)
                self.marks.report(found, op, breach.operand or _name_of(op, breach.value))
        check_placement(survey, self.facts, self.target, self.marks)
        check_copy_loops(survey, self.facts, self.target, self.found)

    def tile_types(self, op: Op) -> None:
        """The types of the tiles that `op` makes."""
        if self.assembler:
            self.stated_types(op)
        for result in op.results:
            if isinstance(result.type, TileSpec):
                broken = self.types.get(result.type)
                if broken is None:
                    broken = self.types[result.type] = list(
                        check_tile(result.type, self.target, placement=False, text=self.text)
                    )
                for b in broken:
                    message = f"{result.shown}: {b.message}"
                    found = Diagnostic(b.rule.id, b.severity, message, op.location, b.hint)
                    self.marks.report(found, op, f"%{result.name}", type=True)

    def stated_types(self, op: Op) -> None:
        """Report TL-1 and AL-8, which rules of the instruction set say, too."""
        for result in op.results:
            if isinstance(result.type, TileSpec) and (wrong := wrong_type(result.type)):
                self.found.broken("TL-1", f"{result.shown}: {wrong}", op.location)
        spec = tile_of(op) if op.name in ALLOCATIONS else None
        if spec is not None and not wrong_type(spec) and (wrong := wrong_layout(spec)):
            self.found.broken("AL-8", wrong, op.location)

    def instruction(self, op: Op, instr: Instr) -> bool:
        """Report what the instruction breaks; False if its operands are of other kinds than it takes.

        Of several that are alike and break nothing, the first is looked at.
        """
        lowered = bool(self.lowered) and not self.lowered.isdisjoint(op.values)
        key = self.repeated.key(op, instr, self.facts)
        try:
            if (key, lowered) in self.passed:
                return True
        except TypeError:  # an attribute is a list
            key = None
        site = self.facts.site(op, self.target, extended=self.extended, text=self.text)
        assert site is not None
        wrong, opaque = self.kinds(op, site, lowered)
        if not (wrong or opaque) and self.keeps_rules(op, site, lowered) and key is not None:
            self.passed.add((key, lowered))
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
        if not self.assembler:
            broken = [b for b in broken if b.rule.scope is not Scope.ASSEMBLER or self.refuses(b, op)]
        for b in broken:
            notes = _defined_at(_about(op, b.operands))
            message = f"{site.instr.name}: {b.message}"
            found = Diagnostic(b.rule.id, b.severity, message, op.location, self.proposed(op, b.hint), notes)
            named = b.operands[0] if b.operands else ""
            self.marks.report(found, op, named, type=bool(named) and is_about_type(b.rule, site, named))
        return not (broken or invalid)

    def proposed(self, op: Op, hint: str | None) -> str | None:
        """A hint that is a change, with its place; a text names types in many places, where Python has one."""
        if not isinstance(hint, Change) or (self.text and hint.of):
            return hint
        value = op.get(hint.of) if hint.of else None
        return hint.at(op.location if value is None else value.location)

    def refuses(self, broken: Broken, op: Op) -> bool:
        """True if the assembler breaks off, too, which looks at types and does not fold constants."""
        if self.stated is None:
            self.stated = Facts(self.function, fold=False)
        site = self.stated.site(op, self.target, extended=self.extended, text=self.text)
        return site is not None and broken.rule.check is not None and bool(broken.rule.check(site))

    def invalid_regions(self, op: Op, site: Site, lowered: bool) -> bool:
        """Report TC-3, which TILE-01 says of the operation that makes the tile; True if there is something."""
        wrong = [t for t in site.tiles if t.spec.valid_row > t.rows or t.spec.valid_col > t.cols]
        for tile in () if lowered else wrong:
            self.found.broken("TC-3", f"{tile.name} is {tile.spec}", op.location, notes=_defined(op))
        return bool(wrong)

    def kinds(self, op: Op, site: Site, lowered: bool) -> tuple[bool, bool]:
        """Report operands that are not what the instruction takes, which its rules could not look at.

        Returns if there is one, and if there are memrefs that nothing is known of. A memref in place of a tile is a
        lowered tile, which few rules speak of (assembly 13, "Bypass").
        """
        wrong = opaque = False
        for operand in (*site.instr.operands, *site.instr.produces):
            info, taken = site.operands.get(operand.name), _KINDS.get(operand.kind)
            rule = site.instr.form.misfits.get(operand.name, "TC-1" if operand.kind is Kind.TILE else "OPERAND-KIND")
            if isinstance(info, ViewInfo) and info.whole and self.takes_slice(op, operand, site) and not lowered:
                self.wrong_kind(rule, op, operand, "a partition_tensor_view", Severity.WARNING)
                wrong = wrong or self.assembler  # else it is the slice of all elements
                continue
            if info is None or taken is None:
                continue
            if isinstance(info, taken):
                if operand.number_type in _INTEGERS and isinstance(info, ScalarInfo) and info.type in _FLOATS:
                    self.wrong_kind(rule, op, operand, "an integer")
                    wrong = True
                continue
            if any(kind in operand.also and isinstance(info, of_kind) for kind, of_kind in _ALSO.items()):
                continue
            opaque = opaque or not isinstance(info, LoweredInfo)
            if not is_memref(_value(op, operand).type):
                self.wrong_kind(rule, op, operand, f"a {operand.kind}")
                wrong = True
        return wrong, opaque

    def takes_slice(self, op: Op, operand: Operand, site: Site) -> bool:
        """True if text needs a partition_tensor_view here; transfers have a rule of the assembler that says so."""
        return self.text and operand.name in site.instr.form.misfits and op.name not in _CHECKS

    def wrong_kind(self, rule: str, op: Op, operand: Operand, taken: str, severity: Severity = Severity.ERROR) -> None:
        given = _value(op, operand)
        message = f"{operand.name} of {shown_op(op)} is {taken}, {given.shown} has type {given.shown_type}"
        found = Diagnostic(rule, severity, message, op.location, notes=_defined_at([given]))
        self.marks.report(found, op, operand.name if operand.name in op.operands else f"%{given.name}", type=True)


def _value(op: Op, operand: Operand) -> Value:
    """The value of an operand, or of a result."""
    if (given := op.get(operand.name)) is not None:
        return given
    instr = instr_of(op)
    assert instr is not None
    return op.results[instr.produces.index(operand)]


def _name_of(op: Op, value: Value | None) -> str:
    """The name of the operand that is this value; "" if there is none."""
    return next((name for name in op.operands if value is not None and value in op.group(name)), "")


def _lowered(survey: Survey) -> set[Value]:
    """Memrefs, and what bind_tile makes: the assembler leaves operations on them alone."""
    found = {v for v in survey.function.params if is_memref(v.type)}
    found.update(v for op in survey.ops for v in op.results if is_memref(v.type))
    assert survey.function.body is not None
    regions = [survey.function.body, *(region for op in survey.ops for region in op.regions)]
    found.update(v for region in regions for block in region.blocks for v in block.args if is_memref(v.type))
    found.update(v for op in survey.named("pto.bind_tile") for v in op.results)
    return found


def _about(op: Op, operands: Sequence[str]) -> list[Value]:
    """The tiles among `operands`, which a finding names; all tiles if it names none."""
    tiles = [v for v in op.values if isinstance(v.type, TileSpec)]
    named = [op.get(name) for name in operands]
    return [v for v in tiles if v in named] or tiles


def _defined(op: Op) -> tuple[Note, ...]:
    """Notes that say where the tiles of an instruction are defined."""
    return _defined_at([v for v in op.values if isinstance(v.type, TileSpec)])


def _defined_at(values: list[Value]) -> tuple[Note, ...]:
    return tuple(Note(v.described, v.location) for v in dict.fromkeys(values) if v.location.line)


del _pipe_rules, _rules
