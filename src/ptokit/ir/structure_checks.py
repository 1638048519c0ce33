"""All checks of a function go through its operations once; checks of loops, threads, lifetimes and tsync."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Scope, define
from ptokit.diagnostics.diagnostic import ignores_of_python
from ptokit.isa.order.sync_rules import FLAG_LIBRARY, LIBRARY_IDS
from ptokit.isa.site import (
    UNKNOWN,
    AlignInfo,
    Info,
    LanesInfo,
    LoweredInfo,
    MaskInfo,
    PtrInfo,
    ScalarInfo,
    TileInfo,
    VectorInfo,
    VregInfo,
)
from ptokit.isa.table import Instr, Kind, Sync
from ptokit.types.enums import Pipe, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Scalar, Struct, is_memref

from .control import TERMINATORS, control_of, is_call, of_threads, section_of
from .core import Function, Module, Op, Value
from .facts import Facts, instr_of
from .views import Breach, Breaches

# The operations of a function, gone through once for all checks.


class Survey:
    """The operations of one function: all in text order, nested ones after the one that holds them, and by name.

    ``nests``: those with regions.
    """

    __slots__ = ("function", "ops", "nests", "_by_name")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.ops: list[Op] = list(function.body.walk()) if function.body is not None else []
        self.nests = [op for op in self.ops if op.regions]
        self._by_name: dict[str, list[Op]] = {}
        for op in self.ops:
            self._by_name.setdefault(op.name, []).append(op)

    def named(self, name: str) -> list[Op]:
        """The operations with this full name, in text order."""
        return self._by_name.get(name, [])

    @property
    def calls(self) -> list[Op]:
        """The calls of functions of the module, in text order."""
        return next((ops for ops in self._by_name.values() if is_call(ops[0])), [])

    @property
    def names(self) -> Iterable[str]:
        """The full names of its operations, each once."""
        return self._by_name

    def has(self, names: frozenset[str]) -> bool:
        """True if one of the operations has one of these full names."""
        return not names.isdisjoint(self._by_name)


Surveys = Mapping[Function, Survey]
"""Those of all functions of a module that have a body."""


# Where findings of the checker stand: at the operation while they are collected, in the end at what they are about.


class Marks:
    """Findings in a module, and the operands that some are about.

    Operands are looked up in the end, since that takes time, and since rules cover others of the same operation.
    """

    def __init__(self, module: Module, found: Diagnostics) -> None:
        self.found = found
        self._module = module
        self._marked: dict[Diagnostic, tuple[Op, str, bool]] = {}

    def report(self, diagnostic: Diagnostic, op: Op, operand: str, *, type: bool = False) -> None:
        """Record what is found at `op` about one of its operands (``%name``: a result), or its ``type``."""
        self.found.add(diagnostic)
        if operand:
            self._marked[diagnostic] = op, operand, type

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The finding at the place of what it is about."""
        if diagnostic not in self._marked:
            return diagnostic
        op, operand, type = self._marked[diagnostic]
        return replace(diagnostic, location=self._module.place(op, operand, type=type))

    def folded(self, found: Iterable[Diagnostic]) -> Diagnostics:
        """The findings at their places. In Python those that say the same of the type of one tile are one.

        Those that a comment ignores are kept apart, so that it hides no others.
        """
        alike: dict[object, list[Diagnostic]] = {}
        for diagnostic in found:
            alike.setdefault(self._mistake(diagnostic), []).append(diagnostic)
        kept = Diagnostics()
        for group in alike.values():
            first, *others = [self.placed(d) for d in group]
            if others and any(
                c.hides(d) for c in ignores_of_python(first.location.file or "") for d in (first, *others)
            ):
                kept.extend((first, *others))
                continue
            if others:
                more = f", and in {len(others) - 1} more" if len(others) > 1 else ""
                note = Note(f"the same in {self._instruction(group[1])}{more}", others[0].location)
                first = replace(first, notes=(*first.notes, note))
            kept.add(first)
        return kept

    def _mistake(self, diagnostic: Diagnostic) -> object:
        """What is equal for findings with one cause."""
        op, operand, type = self._marked.get(diagnostic, (None, "", False))
        value = op.get(operand) if op is not None and type and not self._module.text else None
        if value is None:
            return diagnostic
        said = diagnostic.message.removeprefix(f"{self._instruction(diagnostic)}: ")
        return diagnostic.rule, diagnostic.severity, said, diagnostic.hint, diagnostic.notes, value

    def _instruction(self, diagnostic: Diagnostic) -> str:
        instr = instr_of(self._marked[diagnostic][0])
        return "" if instr is None else instr.name


# Which instructions look the same to every rule, so that only the first of them has to be checked.


class RepeatedSites:
    """Tells instructions apart by what their rules can see. One serves the check of one module for one target."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._values: dict[Value, tuple[int, Hashable]] = {}

    def key(self, op: Op, instr: Instr, facts: Facts) -> tuple[Any, ...] | None:
        """Equal for operations that every rule says the same of, whatever their operands are called.

        Of where tiles lie, it has the addresses and which operands start at the same place. None if that is not known.
        """
        if instr.looks_around:
            return None
        parts: list[Any] = [instr.name, facts.core_of(op)]
        places: dict[Hashable, int] = {}
        named: Iterable[tuple[str, Any]] = op.operands.items()
        if instr.produces:
            named = [*named, *((o.name, v) for o, v in zip(instr.produces, op.results))]
        for name, value in named:
            if not isinstance(value, Value):  # a list, which rules do not see, or nothing
                continue
            number, place = self._values.get(value) or self._number(value, facts)
            if number < 0:
                return None
            parts += (name, number)
            if place is not None:
                parts.append(places.setdefault(place, len(places)))
        parts += op.attrs.items()
        return tuple(parts)

    def _number(self, value: Value, facts: Facts) -> tuple[int, Hashable]:
        """The number of all that is known of a value, -1 if it has none; of a tile, also the place where it begins."""
        info = facts.info(value)
        known = _known(info)
        number = -1 if known is None else self._numbers.setdefault(known, len(self._numbers))
        place: Hashable = None
        if isinstance(info, TileInfo):
            place = value if info.origin is UNKNOWN else info.origin
        self._values[value] = number, place
        return number, place


def _known(info: Info) -> tuple[Any, ...] | None:
    """What rules can depend on in an operand: everything but its name."""
    if isinstance(info, TileInfo):
        return TileInfo, info.spec, info.vr, info.vc, info.addr
    if isinstance(info, ScalarInfo):
        return ScalarInfo, info.type, type(info.value), info.value, info.signed
    if isinstance(info, PtrInfo):
        return PtrInfo, info.dtype, info.space, info.addr, info.signed
    if isinstance(info, VregInfo):
        return VregInfo, info.dtype, info.lanes, info.signed
    if isinstance(info, MaskInfo):
        return MaskInfo, info.bits
    if isinstance(info, AlignInfo):
        return (AlignInfo,)
    if isinstance(info, VectorInfo):
        return VectorInfo, info.dtype, info.lanes, info.layout, info.signed
    if isinstance(info, LanesInfo):
        return LanesInfo, info.lanes, info.granularity, info.layout
    if isinstance(info, LoweredInfo):
        return None
    return type(info), info.dtype, info.shape, info.stride, info.layout, info.dims, info.whole


# Checks of loops and of sections of SIMT threads that the reference assembler makes of the whole text.


def _rule(id: str, what: str, function: str, example: str = "", **more: Any) -> None:
    more = {"source": f"PTOAS 2026-08 {function}", "example": example, **more}
    define(id, what, scope=Scope.ASSEMBLER, **more)


_rule(
    "FOR-1",
    "The step of a loop is positive, where it is constant.",
    "ptoas.cpp validateSCFForConstantSteps",
    """
        func.func @k() {
          %z = arith.constant 0 : index %k = arith.constant {1|0} : index scf.for %i = %z to %k step %k { scf.yield }
          return
        }
    """,
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "SIMT-1",
    "A section of SIMT threads stands in no other, and in no function that threads run.",
    "PTO.cpp SectionSimtOp",
    """
        func.func @k() attributes {pto.simt_entry} {
          {|pto.section.simt<<<32, 1, 1>>> {  }
          }return
        }
    """,
    evidence="ptokit",
)

_rule(
    "FN-5",
    "A helper of tile operations (pto.tileop.helper) takes tiles and numbers and returns nothing. It computes on "
    "registers or products: no allocation, tile operation, transfer, synchronisation, section, call or work of one "
    "thread.",
    "PTOMaterializeTileOpSections.cpp",
    """
        func.func private @h() attributes {pto.tileop.helper} {
          {|pto.barrier <PIPE_V>
          }return
        }
    """,
    evidence="ptokit",
)

_THREADS = "pto.simt_entry"


def loop(op: Op, facts: Facts) -> Breaches:
    """FOR-1."""
    for induction in control_of(op).inductions(op):
        step = facts.size(induction.step)
        if step is True:
            step = -1  # of i1
        if step <= 0:
            yield Breach("FOR-1", f"the step is {step}")


def move(op: Op, facts: Facts) -> Breaches:
    """MO-12: exponents are put into Zz order in place of a result."""
    third = op.get("fp") or op.get("tmp")
    if op.results and third is not None and isinstance(third.type, TileSpec) and third.type.loc is not TileType.Scaling:
        yield Breach("MO-12", "the move has a result")


CHECKS: dict[str, Callable[[Op, Facts], Breaches]] = {"pto.tmov": move}
"""By operation."""


_HELPER = "pto.tileop.helper"
_MOVES = frozenset((Pipe.MTE1, Pipe.MTE2, Pipe.MTE3))
_OTHERS = {
    "pto.alloc_tile": "an allocation",
    "pto.alloc_multi_tile": "an allocation",
    "pto.reserve_buffer": "an allocation",
    "pto.tassign": "an allocation",
}


def check_helper(survey: Survey, found: Diagnostics) -> None:
    """Report FN-5."""
    function = survey.function
    if _HELPER not in function.attrs:
        return
    for value in function.params:
        if not isinstance(value.type, TileSpec | Scalar):
            found.error("FN-5", f"{value.shown} of @{function.name} has type {value.shown_type}", function.location)
    if function.results:
        found.error("FN-5", f"@{function.name} returns {function.results[0]}", function.location)
    for op in survey.ops:
        wrong = (
            _OTHERS.get(op.name)
            or ("a call" if is_call(op) else "a section" if section_of(op) else None)
            or _foreign(instr_of(op))
        )
        if wrong:
            found.error("FN-5", f"{op.name} is {wrong}", op.location)


def _foreign(instr: Instr | None) -> str | None:
    if instr is None:
        return None
    if instr.order.only or instr.order.between_cores:
        return "synchronisation"
    if instr.threaded:
        return "work of a single thread"
    if instr.pipe in _MOVES:
        return "a transfer"
    return "a tile operation" if any(o.kind is Kind.TILE for o in instr.outs) else None


def check_sections(survey: Survey, found: Diagnostics) -> None:
    """Report SIMT-1."""
    sections = [op for op in survey.nests if of_threads(op)]
    if not sections:
        return
    if _THREADS in survey.function.attrs:
        note = Note(f"@{survey.function.name} is run by threads", survey.function.location)
        found.error("SIMT-1", f"{sections[0].name} in a function that threads run", sections[0].location, notes=[note])
    inside = {inner: op for op in sections for region in op.regions for inner in region.walk()}
    for op in sections:
        if op in inside:
            note = Note("this section is around it", inside[op].location)
            found.error("SIMT-1", f"{op.name} in another one", op.location, notes=[note])


# Checks of where values of the scalar unit come from and go to: structs on the stack, pointers made of numbers.


_rule(
    "STRUCT-2",
    "A struct stays in the function and the region that declare it: no parameter, no result, and none of an "
    "operation but its declaration.",
    "PTO.cpp DeclareStructOp, validateStructProvenance",
    """
        func.func @f(%c: i1) {
          {%x = pto.declare_struct -> !pto.struct<i32, f16>|%r = scf.if %c -> (!pto.struct<i32, f16>) {
            %x = pto.declare_struct -> !pto.struct<i32, f16>
            scf.yield %x : !pto.struct<i32, f16>
          } else {
            %y = pto.declare_struct -> !pto.struct<i32, f16>
            scf.yield %y : !pto.struct<i32, f16>
          }}
          return
        }
    """,
    evidence="ptokit",
)
_rule(
    "IP-1",
    "A pointer is made of an i64.",
    "PTO.cpp IntToPtrOp",
    """
        %p = pto.inttoptr %n : i{64|32} -> !pto.ptr<ui32>
        %v = pto.load_scalar %p[%i] : !pto.ptr<ui32> -> ui32
    """,
    evidence="ptokit",
)
_rule(
    "IP-2",
    "A pointer made of a number is where load_scalar and store_scalar read and write, and nothing else.",
    "PTOValidateIntToPtrUses.cpp",
    """
        %p = pto.inttoptr %n : i64 -> !pto.ptr<i32>
        {|%q = pto.addptr %p, %i : !pto.ptr<i32> -> !pto.ptr<i32>
        }%v = pto.load_scalar %{p|q}[%i] : !pto.ptr<i32> -> i32
    """,
    evidence="ptokit",
)

_ACCESSES = ("pto.load_scalar", "pto.store_scalar")
_MAKES = "pto.declare_struct"


def check_lifetimes(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    """Report STRUCT-2, IP-1 and IP-2."""
    for function in module.functions:
        for what, types in (("parameter", [v.type for v in function.params]), ("result", function.results)):
            if any(isinstance(t, Struct) for t in types):
                found.error("STRUCT-2", f"@{function.name} has a struct as {what}", function.location)
    for survey in surveys.values():
        if any(isinstance(v.type, Struct) for op in survey.ops for v in op.results):
            _structs(survey, found)
        for op in survey.named("pto.inttoptr"):
            _pointer(survey, op, found)


def check_library_ids(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    """Report FLAG-LIBRARY."""
    for survey in surveys.values():
        callees = ((op, module.function(op.attrs["callee"])) for op in survey.calls)
        outside = next((op for op, callee in callees if callee is not None and callee.body is None), None)
        if outside is None:
            continue
        note = Note("the call is here", outside.location)
        for op in survey.ops:
            instr, number = instr_of(op), op.attrs.get("event_id")
            if instr is not None and instr.order.does in (Sync.SET, Sync.WAIT) and number in LIBRARY_IDS:
                message = f"event id {number} beside a call of a library, which uses it itself"
                found.warning(FLAG_LIBRARY.id, message, op.location, hint="use one of 0 to 5", notes=[note])


def _structs(survey: Survey, found: Diagnostics) -> None:
    for op in survey.ops:
        made = next((v for v in op.results if isinstance(v.type, Struct)), None)
        if made is not None and op.name != _MAKES:
            found.error("STRUCT-2", f"{op.name} gives {made.shown}, a struct", op.location)
        if op.name in TERMINATORS:
            out = next((v for v in op.values if isinstance(v.owner, Op) and v.owner.name == _MAKES), None)
            if out is not None:
                note = Note(f"{out.shown} is declared here", out.location)
                found.error("STRUCT-2", f"{op.name} hands {out.shown} on", op.location, notes=[note])


def _pointer(survey: Survey, op: Op, found: Diagnostics) -> None:
    address, made = op["addr"], op.results[0]
    if isinstance(address.type, Scalar) and address.type.name not in ("i64", "ui64", "si64"):
        found.error("IP-1", f"{address.shown} has type {address.shown_type}", op.location)
    for user in () if op.in_cpp else survey.ops:  # the rule is of texts: C++ may add to such a pointer
        if made in user.values and not (user.name in _ACCESSES and user.get("ptr") is made):
            note = Note(f"{made.shown} is made here", op.location)
            found.error("IP-2", f"{user.name} takes a pointer made of a number", user.location, notes=[note])


# Checks of tsync, whose operands are a list (memory-model-and-sync 5.2, assembly 13.8).


def tsync(op: Op, facts: Facts) -> Breaches:
    """Something to wait for, and only data: tiles, views, memrefs."""
    waited = op.group("events")
    if not waited:
        yield Breach(
            "TSYNC-EMPTY",
            "TSYNC without events orders nothing",
            "pto.barrier <PIPE_ALL> (pipe_barrier(PIPE_ALL)) is the full barrier",
        )
    for value in waited:
        if not isinstance(value.type, TileSpec | PartitionView) and not is_memref(value.type):
            message = f"{value.shown} has type {value.shown_type}; tsync takes tiles, partition views and memrefs"
            yield Breach("TS-1", message, value=value)
