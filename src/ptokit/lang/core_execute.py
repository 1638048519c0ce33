"""What the operations of an eager session do, and what they are checked for first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Note, Severity, lookup
from ptokit.ir import Function, Op, Value
from ptokit.ir.facts import Facts, instr_of
from ptokit.ir.views import CHECKS
from ptokit.isa.check import broken_rules
from ptokit.isa.cores import core_needed
from ptokit.isa.site import Site
from ptokit.isa.table import Instr, Kind, Role
from ptokit.isa.tile_rules import check_tile
from ptokit.isa.unknown import UNKNOWN, Size
from ptokit.run.calls import attributes, bind, infos
from ptokit.run.fault import Fault
from ptokit.run.local import LocalPointer
from ptokit.run.memory import Buffer, Pointer, View
from ptokit.run.observer import carry_out
from ptokit.run.plan import Step
from ptokit.run.single import Single
from ptokit.run.tile import Tile
from ptokit.types.tensor import infer_layout
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import PartitionView, Ptr, TensorView
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .core_held import Held, held
from .eager_numbers import typed
from .where import refusal


class _Known(Facts):
    """In a session every number is known."""

    def __init__(self) -> None:
        super().__init__(Function("core", []))

    def size(self, value: Value | None) -> Size:
        return UNKNOWN if value is None else held(value)


_KNOWN = _Known()


class Session(Protocol):
    """What is needed of the session: its machine, the kind of its core, and how it waits for other cores."""

    single: Single
    kind: str
    pause: Callable[[], None] | None


def execute(session: Session, op: Op) -> None:
    """Check and execute `op`; its results then hold what they stand for. Raises `DiagnosticError`."""
    single = session.single
    found = Diagnostics()
    for breach in CHECKS[op.name](op, _KNOWN) if op.name in CHECKS else ():
        found.add(finding(op, breach.rule, breach.message, breach.hint))
    if op.name in ("pto.alloc_tile", "pto.tassign"):
        _check_tile(single, op, found)
    found.raise_if_errors()
    action = _ACTIONS.get(op.name)
    try:
        with np.errstate(all="ignore"):
            result = _instruction(session, op) if action is None else action(single, op)
    except Fault as fault:
        raise DiagnosticError(finding(op, fault.rule, fault.message, fault.hint)) from None
    results = result if len(op.results) > 1 else (result,)
    for value, item in zip(op.results, results):
        assert isinstance(value, Held)
        value.held = typed(item, value.type) if isinstance(value.type, ScalarType) and item is not None else item


def finding(op: Op, rule: str, message: str, hint: str | None = None) -> Diagnostic:
    """A finding at the call of `op`, with notes about the tiles that it uses."""
    tiles = {v.name: v for v in op.values if isinstance(v.type, TileSpec) and v.name and v.location.line}
    notes = tuple(Note(f"{name} is {v.type}", v.location) for name, v in tiles.items())
    return Diagnostic(rule, lookup(rule).severity, message, op.location, hint, notes)


def _check_tile(single: Single, op: Op, found: Diagnostics) -> None:
    spec, addr = op.result.type, op.get("addr")
    assert isinstance(spec, TileSpec)
    for rule, message, hint in check_tile(spec, single.target, UNKNOWN if addr is None else held(addr)):
        found.add(finding(op, rule.id, message, hint))


# --- instructions ----------------------------------------------------------------------------------------------------


def _instruction(session: Session, op: Op) -> Any:
    instr, single = instr_of(op), session.single
    assert instr is not None, op.name
    if session.kind and (needed := _core_needed(session, op)) and needed != session.kind:
        return None  # for the other kind of core
    operands = {name: _operand(held(value)) for name, value in op.operands.items()}
    _check_writable(instr, operands)
    try:
        result = _typed(single, op, instr, operands) if instr.typed else single.execute(instr, operands, op.attrs, op)
    except Fault as fault:
        broken = _broken(single, op, instr, operands)
        if fault.rule not in {finding.rule for finding in broken}:
            raise
        raise DiagnosticError(broken) from None
    finally:
        for operand in instr.operands:
            tile = operands.get(operand.name)
            if operand.role is not Role.IN and isinstance(tile, Tile):
                tile.storage.flush()  # a loaded tile must not follow what Python does to the array afterwards
    if instr.waits:
        for _ in single.chunk.hold(result):
            if session.pause is None:
                message = f"{instr.name} waits for another core, and there is none"
                raise refusal(rules.CONTEXT, message, location=op.location, hint="kernel.interpret runs all cores")
            session.pause()
        return None
    return result


def _core_needed(session: Session, op: Op) -> str:
    site = _site(session.single, op)
    return core_needed(site) if site is not None else ""


def _site(single: Single, op: Op) -> Site | None:
    """The instruction with what its operands' types say."""
    facts = _Known()
    for value in (*op.values, *op.results):
        facts._opaque(value)
    return facts.site(op, single.target, extended=single.extended)


def _typed(single: Single, op: Op, instr: Instr, operands: dict[str, Any]) -> Any:
    """An instruction on registers, whose semantics look at the types of its operands."""
    site = _site(single, op)
    assert site is not None
    call = bind(instr, site, op.attrs)
    given = [None if o.kind is Kind.RECORD else operands.get(o.name) for o in instr.operands]
    names, attrs = tuple(o.name for o in instr.operands), attributes(instr, op.attrs)
    step = Step(op, "instruction", names=names, call=call, instr=instr, site=site, attrs=attrs)
    return carry_out(step, single.chunk, tuple(given))


def _broken(single: Single, op: Op, instr: Instr, operands: dict[str, Any]) -> list[Diagnostic]:
    """Everything that the rules have to say, not only the first."""
    given = {o.name: operands.get(o.name) for o in instr.operands}
    site = Site(instr, single.target, infos(given), attributes(instr, op.attrs), single.extended)
    return [
        finding(op, b.rule.id, f"{instr.name}: {b.message}", b.hint)
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
        view = operands.get(operand.name)
        if operand.kind is Kind.VIEW and operand.role is not Role.IN and isinstance(view, View):
            _writable(view.buffer, instr.name)


def _writable(buffer: Buffer | None, what: str) -> None:
    if buffer is not None and not buffer.mem.flags.writeable:
        raise refusal(rules.WRITE, f"{what} writes to {buffer.name}, an array that is read-only")


# --- the rest --------------------------------------------------------------------------------------------------------


def _alloc_tile(single: Single, op: Op) -> Tile:
    spec = op.result.type
    assert isinstance(spec, TileSpec)
    rows = held(op.get("valid_row")) if spec.valid_row == DYNAMIC else spec.valid_row
    cols = held(op.get("valid_col")) if spec.valid_col == DYNAMIC else spec.valid_col
    return single.tile(spec, valid=(rows, cols), name=op.result.name, address=held(op.get("addr")))


def _tassign(single: Single, op: Op) -> Tile:
    op.result.owner = op["tile"].owner  # still the tile that was allocated there
    return single.chunk.rebind(held(op["tile"]), held(op["addr"]))


def _alias(single: Single, op: Op) -> Tile:
    assert isinstance(op.result.type, TileSpec)
    return single.chunk.alias(held(op["src"]), op.result.type, op.result.name)


def _window(single: Single, op: Op) -> Tile:
    assert isinstance(op.result.type, TileSpec)
    rows, cols = (held(v) if (v := op.get(name)) is not None else None for name in ("valid_row", "valid_col"))
    return single.chunk.window(
        held(op["source"]), held(op.group("offsets")), op.result.type, op.result.name, (rows, cols)
    )


def _set_valid(single: Single, op: Op) -> None:
    single.chunk.set_valid(held(op["tile"]), held(op["valid_row"]), held(op["valid_col"]))


def _tensor_view(single: Single, op: Op) -> View:
    type, pointer = op.result.type, held(op["ptr"])
    assert isinstance(type, TensorView)
    dims, strides, layout = held(op.group("shape")), held(op.group("strides")), op.attrs.get("layout")
    if layout is None:
        layout = infer_layout(type.dtype, dims, strides)
    return View(pointer.buffer, pointer.offset, dims, strides, type.dtype, layout)


def _partition(single: Single, op: Op) -> View:
    assert isinstance(op.result.type, PartitionView)
    view: View = held(op["source"])
    return view.partition(held(op.group("offsets")), held(op.group("sizes")))


def _advance(single: Single, op: Op) -> Pointer | LocalPointer:
    pointer: Pointer | LocalPointer = held(op["ptr"])
    return pointer.advance(int(held(op["offset"])))


def _castptr(single: Single, op: Op) -> Any:
    type = op.result.type
    assert isinstance(type, Ptr)
    value = held(op["value"])
    return single.chunk.cast(int(value) if isinstance(value, int) else value, type.dtype, type.space or "gm")


def _scope(single: Single, op: Op) -> None:
    single.chunk.registers.pop("AR", None)


def _assertion(single: Single, op: Op) -> None:
    if not held(op["condition"]):
        raise Fault("RUN-ASSERT", op.attrs["msg"])


def _load_scalar(single: Single, op: Op) -> Any:
    step = Step(op, "load_scalar", names=("ptr", "index"))
    return carry_out(step, single.chunk, (held(op["ptr"]), held(op["index"])))


def _store_scalar(single: Single, op: Op) -> None:
    pointer: Pointer = held(op["ptr"])
    _writable(pointer.buffer, "p[i] = x")
    step = Step(op, "store_scalar", names=("value", "ptr", "index"))
    carry_out(step, single.chunk, (held(op["value"]), pointer, held(op["index"])))


_ACTIONS: dict[str, Callable[[Single, Op], Any]] = {
    "pto.alloc_tile": _alloc_tile,
    "pto.tassign": _tassign,
    "pto.treshape": _alias,
    "pto.bitcast": _alias,
    "pto.subset": _window,
    "pto.subview": _window,
    "pto.set_validshape": _set_valid,
    "pto.make_tensor_view": _tensor_view,
    "pto.partition_view": _partition,
    "pto.addptr": _advance,
    "pto.load_scalar": _load_scalar,
    "pto.store_scalar": _store_scalar,
    "pto.castptr": _castptr,
    "pto.vecscope": _scope,
    "pto.section.cube": lambda single, op: None,
    "pto.section.vector": lambda single, op: None,
    "cf.assert": _assertion,
    "pto.get_block_idx": lambda single, op: int(single.chunk.block_idx),
    "pto.get_block_num": lambda single, op: single.chunk.total,
    "pto.get_subblock_idx": lambda single, op: single.chunk.subblock,
    "pto.get_subblock_num": lambda single, op: single.chunk.subblocks,
}
