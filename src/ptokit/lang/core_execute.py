"""What the operations of an eager session do, what they are checked for, and the loops around them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import repeat
from types import CodeType
from typing import Any, Protocol

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Note, Severity, lookup
from ptokit.ir import Block, Function, Op, Value
from ptokit.ir.control import is_scope, section_of
from ptokit.ir.facts import Facts, instr_of
from ptokit.ir.launch import Launch
from ptokit.ir.views import CHECKS
from ptokit.isa.check import broken_rules
from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.checks.tiles import core_needed
from ptokit.isa.operands import Passing
from ptokit.isa.order.core_sync import Asked
from ptokit.isa.site import UNKNOWN, Site, Size, TileInfo
from ptokit.isa.table import Instr, Kind, Role
from ptokit.machine.buffers import Buffer
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.lanes import Fault
from ptokit.machine.loops import Loops
from ptokit.machine.observer import done
from ptokit.machine.tiles import Tile, check_operands, infos
from ptokit.plan.planner import PLANNED, Planner
from ptokit.plan.steps import Data, Plan, Step
from ptokit.run.program import Single
from ptokit.targets import Target
from ptokit.types.tile import TileSpec
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .eager import Held, Index, held, typed
from .rules import refusal
from .source import tree_of

# What the operations of an eager session do, and what they are checked for first.


class _Known(Facts):
    """What a compiled kernel states: the check is about constants, and the machine finds the rest."""

    def __init__(self) -> None:
        super().__init__(Function("core", []))

    def size(self, value: Value | None) -> Size:
        return held(value) if isinstance(value, Held) and value.stated else UNKNOWN


_KNOWN = _Known()


class Session(Protocol):
    """What is needed of the session: its machine, the kind of its core, and how it waits for other cores."""

    single: Single
    kind: str
    pause: Callable[[], None] | None
    waits_at: Op | None


def execute(session: Session, op: Op) -> None:
    """Check and execute `op`; its results then hold their contents. Raises `DiagnosticError`."""
    single = session.single
    found = Diagnostics()
    for breach in CHECKS[op.name](op, _KNOWN) if op.name in CHECKS else ():
        found.add(finding(op, breach.rule, breach.message, breach.hint))
    if op.name in ("pto.alloc_tile", "pto.tassign"):
        _check_tile(single, op, found)
    found.raise_if_errors()
    try:
        with np.errstate(all="ignore"):
            planned = op.name in PLANNED or op.name.startswith("arith.")
            result = _machine(single, op) if planned else _instruction(session, op)
    except Fault as fault:
        raise DiagnosticError(finding(op, fault.rule, fault.message, fault.hint)) from None
    results = result if len(op.results) > 1 else (result,)
    for value, item in zip(op.results, results):
        assert isinstance(value, Held)
        value.held = typed(item, value.type) if isinstance(value.type, ScalarType) and item is not None else item


def finding(op: Op, rule: str, message: str, hint: str | None = None, place: Location | None = None) -> Diagnostic:
    """A finding at the call of `op`, or at one of its arguments, with notes about the tiles that it uses."""
    tiles = dict.fromkeys(v for v in op.values if isinstance(v.type, TileSpec) and v.location.line)
    notes = tuple(Note(v.described, v.location) for v in tiles)
    return Diagnostic(rule, lookup(rule).severity, message, place or op.location, hint, notes)


def _check_tile(single: Single, op: Op, found: Diagnostics) -> None:
    spec, addr = op.result.type, op.get("addr")
    assert isinstance(spec, TileSpec)
    for rule, message, hint, _ in check_tile(spec, single.target, UNKNOWN if addr is None else held(addr)):
        found.add(finding(op, rule.id, message, hint))


# --- instructions ----------------------------------------------------------------------------------------------------


def _instruction(session: Session, op: Op) -> Any:
    instr, single = instr_of(op), session.single
    assert instr is not None, op.name
    if session.kind and (needed := _core_needed(session, op)) and needed != session.kind:
        return None  # for the other kind of core
    placed = {operand.name for operand in instr.operands if operand.passing is Passing.PLACED}
    operands = {n: held(value) if n in placed else _operand(held(value)) for n, value in op.operands.items()}
    _check_writable(instr, operands)
    site = _site(single, op)
    assert site is not None
    for name, tile in operands.items():
        seen = site.operands.get(name)
        if isinstance(tile, Tile) and isinstance(seen, TileInfo) and seen.spec.dtype is not tile.spec.dtype:
            operands[name] = single.chunk.numbers(tile, seen.spec)
    try:
        if instr.typed:
            result = _typed(single, op, site, operands)
        else:
            result = single.execute(instr, operands, op.attrs, op, site.operands)
    except Fault as fault:
        broken = _broken(site, op, operands)
        if fault.rule not in {finding.rule for finding in broken}:
            raise
        raise DiagnosticError(broken) from None
    finally:
        _settle(instr, operands)
    if instr.order.waits:
        result = _held(session, op, instr, result)
        _settle(instr, operands)
    return result


def _settle(instr: Instr, operands: dict[str, Any]) -> None:
    """A loaded tile must not follow what Python or another core does to the array afterwards."""
    for operand in instr.operands:
        tile = operands.get(operand.name)
        if operand.role is not Role.IN and isinstance(tile, Tile):
            tile.storage.flush()


def _held(session: Session, op: Op, instr: Instr, over: Callable[[], Any]) -> Any:
    """Let other cores go on until a wait is over; what it was for. Raises `DiagnosticError` if there are none."""
    session.waits_at = op
    holding = session.single.chunk.hold(over)
    while True:
        try:
            next(holding)
        except StopIteration as end:
            return end.value
        if session.pause is not None:
            session.pause()
        elif not isinstance(over, Asked):
            message = f"{instr.name} waits for another core, and there is none"
            raise refusal(rules.CONTEXT, message, location=op.location, hint="kernel.interpret runs all cores")


def _core_needed(session: Session, op: Op) -> str:
    site = _site(session.single, op)
    return core_needed(site) if site is not None else ""


def _site(single: Single, op: Op) -> Site | None:
    """The instruction with what its operands' types say."""
    facts = _Known()
    for value in (*op.values, *op.results):
        facts._opaque(value)
    return facts.site(op, single.target, extended=single.extended)


def _typed(single: Single, op: Op, site: Site, operands: dict[str, Any]) -> Any:
    """An instruction on registers, whose semantics look at the types of its operands."""
    instr = site.instr
    given = [None if o.kind is Kind.RECORD else operands.get(o.name) for o in instr.operands]
    names, attrs = tuple(o.name for o in instr.operands), instr.attributes(op.attrs)
    known = dict(zip(names, given))
    check_operands(instr, single.target, known, attrs, extended=single.extended, stated=site.operands)
    step = Step(op, "instruction", (), names, tuple(op.results), instr, site, attrs)
    return done(step, single.chunk, tuple(given))


def _broken(stated: Site, op: Op, operands: dict[str, Any]) -> list[Diagnostic]:
    """Everything that the rules have to say, not only the first."""
    instr = stated.instr
    given = infos({o.name: operands.get(o.name) for o in instr.operands}, stated.operands)
    found = {**stated.operands, **given}
    site = Site(instr, stated.target, found, instr.attributes(op.attrs), stated.extended)
    return [
        finding(op, b.rule.id, f"{instr.name}: {b.message}", b.hint, op.place(b.operands))
        for b in broken_rules(site, text=False)
        if b.severity is Severity.ERROR
    ]


def _operand(value: Any) -> Any:
    """An operand for one call. Views get a buffer of their own: what it remembers of the array may change any time."""
    if isinstance(value, View):
        return View(_fresh(value.buffer), value.offset, value.dims, value.strides, value.dtype, value.stated_layout)
    return value


def _fresh(buffer: Buffer | None) -> Buffer | None:
    if buffer is None:
        return None
    copy = Buffer(buffer.name, buffer.mem, buffer.dtype)
    copy.written = True
    return copy


def _check_writable(instr: Instr, operands: dict[str, Any]) -> None:
    for operand in instr.operands:
        if operand.role is not Role.IN:
            _writable(_memory(operands.get(operand.name)), instr.name)


def _memory(what: Any) -> Buffer | None:
    """The array that a view or pointer is about; None for on-chip memory, and for what is neither."""
    return what.buffer if isinstance(what, View | Pointer) else None


def _writable(buffer: Buffer | None, what: str) -> None:
    if buffer is not None and not buffer.mem.flags.writeable:
        raise refusal(rules.WRITE, f"{what} writes to {buffer.name}, an array that is read-only")


# --- the rest --------------------------------------------------------------------------------------------------------


class _Now(Planner):
    """Plans single operations, all of whose operands are known."""

    def __init__(self, target: Target) -> None:
        plan = Plan({}, Launch(), set(), 0)
        super().__init__(Function("core", [], body=Block()), target, plan, repeat(None), {})

    def ref(self, value: Value | None) -> Data:
        what = held(value)
        return Data(int(what) if isinstance(what, Index) else what)


_planner = cache(_Now)


def _machine(single: Single, op: Op) -> Any:
    """What is no instruction: a step of the machine, as in a plan; what is in regions comes by itself."""
    if section_of(op):
        return None
    if is_scope(op):
        single.chunk.begin_scope()
        return None
    if op.name == "pto.store_scalar":
        _writable(_memory(held(op["ptr"])), "p[i] = x")
    if op.name == "pto.tassign":
        op.result.owner = op["tile"].owner  # still the tile that was allocated there
    (step,) = _planner(single.target).operation(op)
    return done(step, single.chunk, tuple(map(_of, step.operands)))


def _of(operand: Any) -> Any:
    return tuple(map(_of, operand)) if isinstance(operand, tuple) else operand.value


# The loops around a call of an interpreted kernel, for observers: as a compiled run tells them.


_INTERPRETER = "ptokit.lang.launching"


def loops_around() -> Loops:
    """The loops over ranges around the call that is being executed, from the outside in; empty outside of kernels."""
    found: list[tuple[str, int]] = []
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == _INTERPRETER:
            return tuple(reversed(found))
        if not module.startswith("ptokit."):
            for name in reversed(_names(frame.f_code, frame.f_lineno)):
                value = frame.f_locals.get(name)
                if isinstance(value, int):
                    found.append((name, int(value)))
        frame = frame.f_back  # type: ignore[assignment]
    return ()


@lru_cache(maxsize=1024)
def _names(code: CodeType, line: int) -> tuple[str, ...]:
    """The variables of the loops over ranges around a line of a function, from the outside in."""
    tree = tree_of(code)
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For)] if tree is not None else []
    around = [n for n in loops if _counts(n) and n.body[0].lineno <= line <= (n.body[-1].end_lineno or 0)]
    around.sort(key=lambda n: n.lineno)
    return tuple(n.target.id for n in around if isinstance(n.target, ast.Name))


def _counts(loop: ast.For) -> bool:
    """True for a loop that a compiled kernel has, too: those over other things are unrolled."""
    call = loop.iter
    if not isinstance(call, ast.Call):
        return False
    return (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) == "range"
