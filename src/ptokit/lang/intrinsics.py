"""One Python function per instruction of the table; vector registers, predicates and pointers that they take.

Each instruction of the table is a function (``pto.vadd(a, b, mask)``) that returns its results; a missing mask lets all
lanes through. Instructions whose result type does not follow from an operand take it as ``dtype=``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from ptokit.ir import Value
from ptokit.ir.control import scope
from ptokit.isa.machine import AsyncEvent as AsyncEvent
from ptokit.isa.machine import AsyncSession
from ptokit.isa.site import ViewInfo
from ptokit.isa.table import TABLE, Instr, Kind, Operand, Role
from ptokit.isa.transfer.load import PrefetchAsyncContext as PrefetchAsyncContext
from ptokit.isa.transfer.load import prefetch_async
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe
from ptokit.types.tensor import right_align
from ptokit.types.values import I1, I64, Align, Mask, Type, VReg
from ptokit.types.values import Ptr as PtrType
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .control import Scope
from .functions import TSYNC, RecordEvent
from .operands import AlignState, Arguments, Predicate, Register, Values, arguments_of, bind, record
from .rules import here, refusal
from .scalar import Scalar, materialize, number
from .tensors import GlobalTensor, Partition, Pointer, TPipe
from .tiles import Tile
from .trace import Region, Trace, current, tracing

# Vector registers, predicates and pointers to on-chip memory in Python: what register-level instructions work on.


VREG_BYTES = 256


def castptr(address: Any, dtype: DType, space: str = "ub") -> Pointer:
    """A pointer to elements of `dtype` at a byte address of an on-chip buffer; or another pointer seen as one.

    ``space`` is ``"ub"`` for the unified buffer.
    """
    trace = current("pto.castptr")
    value = address.value if isinstance(address, Pointer) else materialize(address, I64)
    place = space if not isinstance(address, Pointer) else address.space
    return Pointer(trace.emit("pto.castptr", {"value": value}, results=[PtrType(dtype, place)]).result)


def vecscope() -> Scope:
    """The part of a kernel that works on vector registers: ``with pto.vecscope(): …``."""
    op = scope(here())
    trace = current(op.name)
    region = Region("vector scope", trace.region, op.location)
    trace.add(op).regions.append(region.block)
    return Scope(trace, region)


def takes_dtype(instr: Instr) -> bool:
    """True if the type of a result does not follow from an operand by itself."""
    return any(result.kind is Kind.VREG and not result.like for result in instr.returned)


def record_registers(instr: Instr, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Record a register-level instruction; its result, a tuple of several, or None.

    Raises `DiagnosticError` (LANG-CALL, LANG-KIND, LANG-ATTR, LANG-CONTEXT).
    """
    trace = current(instr.name)
    named = dict(named)
    dtype = named.pop("dtype", None) if takes_dtype(instr) else None
    operands, attrs = bind(instr, args, named)
    if dtype is None:
        dtype = _first(operands)
    results = [_result(instr, result, operands, dtype) for result in instr.returned]
    which = arguments_of(operands, args, named)
    op = trace.emit(f"pto.{instr.text}", _values(instr, operands, dtype), attrs, results, arguments=which)
    made = [handle(value) for value in op.results]
    return None if not made else made[0] if len(made) == 1 else tuple(made)


def _first(operands: Arguments) -> DType | None:
    """Element type of the first register among the operands, else of the first pointer."""
    for kind in (Register, Pointer):
        for arg in operands.values():
            if isinstance(arg, kind):
                return arg.dtype
    return None


def _values(instr: Instr, operands: Arguments, dtype: DType | None) -> Values:
    values: Values = {}
    for operand in instr.operands:
        arg = operands.get(operand.name)
        if operand.variadic:
            items = arg if isinstance(arg, list | tuple) else [] if arg is None else [arg]
            if items:
                values[operand.name] = [_value(operand, item, dtype) for item in items]
        elif arg is not None:
            values[operand.name] = _value(operand, arg, dtype)
    return values


def _value(operand: Operand, arg: Any, dtype: DType | None) -> Value:
    if isinstance(arg, Register | Predicate | AlignState | Pointer):
        return arg.value
    return materialize(arg, _number_type(operand, arg, dtype))


def _number_type(operand: Operand, arg: Any, dtype: DType | None) -> ScalarType:
    """What the table says; else the type the number has; else that of the lanes it meets."""
    if operand.number_type:
        return ScalarType(operand.number_type)
    if isinstance(arg, Scalar):
        return arg.type
    if dtype is None:
        return ScalarType("f32" if isinstance(arg, float) else "i64")
    integral = dtype.is_integer or (dtype.bits == 8 and isinstance(arg, int))
    return ScalarType(f"i{dtype.bits}" if integral else dtype.text)


def _result(instr: Instr, result: Operand, operands: Arguments, dtype: DType | None) -> Type:
    like = operands.get(result.like)
    if result.kind is Kind.VREG:
        element = like.dtype if isinstance(like, Register | Pointer) else dtype
        if not isinstance(element, DType):
            raise refusal(
                rules.CALL, f"{instr.name} does not know its result type", hint="say dtype=pto.f32, for example"
            )
        return VReg(VREG_BYTES // element.size, element)
    if result.kind is Kind.MASK:
        if isinstance(like, Predicate):
            return like.value.type
        return Mask(result.bits or (max(8, min(32, dtype.bits)) if dtype is not None else 0))
    if isinstance(like, Pointer):
        return like.value.type
    return Align() if result.kind is Kind.ALIGN else ScalarType(result.type)


def handle(value: Value) -> Any:
    """What a kernel holds of a value of an instruction on registers."""
    match value.type:
        case VReg():
            return Register(value)
        case Mask():
            return Predicate(value)
        case Align():
            return AlignState(value)
        case PtrType():
            return Pointer(value)
        case _:
            return number(value)


# One Python function per instruction of the table, made on first use.


Intrinsic = Callable[..., Any]

_ANNOTATIONS = {
    Kind.TILE: Tile,
    Kind.VIEW: GlobalTensor | Partition,
    Kind.SCALAR: Scalar | int | float,
    Kind.PTR: Pointer,
    Kind.VREG: Register,
    Kind.MASK: Predicate,
    Kind.ALIGN: AlignState,
    Kind.RECORD: Any,
    Kind.PIPE: TPipe,
}
_DYNAMIC_EVENT = {"set_flag": "set_flag_dyn", "wait_flag": "wait_flag_dyn"}


def names() -> list[str]:
    """Names of all instructions that have a function."""
    return [n for n, instr in TABLE.items() if instr.run is not None and not instr.text_only and n != "TSYNC"]


@cache
def intrinsic(name: str) -> Intrinsic:
    """The function that records an instruction. Raises `KeyError` if the table has no such instruction."""
    instr = TABLE[name]
    if instr.run is None or instr.text_only:
        raise KeyError(name)

    def call(*args: Any, **attrs: Any) -> Any:
        return (record_registers if instr.typed else record_call)(instr, args, attrs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "ptokit"
    call.__doc__ = documentation(instr)
    call.__signature__ = signature(instr)  # type: ignore[attr-defined]
    return call


def record_call(instr: Instr, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Record one instruction at the user's call: events first, then the instruction itself.

    Returns its event, or the scalar it yields.
    """
    trace = current(instr.name)
    events = [arg for arg in args if isinstance(arg, RecordEvent)]
    if events:
        TSYNC(*events)
        args = tuple(arg for arg in args if not isinstance(arg, RecordEvent))
    if instr.name in _DYNAMIC_EVENT and any(isinstance(arg, Scalar) for arg in (*args, *named.values())):
        instr = TABLE[_DYNAMIC_EVENT[instr.name]]
        named = {"event" if name == "event_id" else name: arg for name, arg in named.items()}
        args = tuple(sorted(args, key=lambda arg: not isinstance(arg, Scalar)))
    operands, attrs = bind(instr, args, named, len(events))
    values = record(instr, operands)
    results = [_result_type(operands) for _ in range(instr.results)]
    op = trace.emit(f"pto.{instr.text}", values, attrs, results, arguments=arguments_of(operands, args, named))
    if op.results:
        return number(op.result)
    return RecordEvent(instr.name, _written(instr, values), op)


def _result_type(operands: dict[str, Any]) -> ScalarType:
    """A scalar result has the element type of the tile it is read from; without one it is an answer."""
    tile = next((arg for arg in operands.values() if isinstance(arg, Tile)), None)
    return I1 if tile is None else ScalarType(tile.dtype.text)


def _written(instr: Instr, values: dict[str, Value | list[Value] | None]) -> list[Value]:
    outs = (values.get(o.name) for o in instr.operands if o.role in (Role.OUT, Role.INOUT))
    return [v for v in outs if isinstance(v, Value)]


def signature(instr: Instr) -> inspect.Signature:
    """Operands in the order of the C++ call, then the attributes by keyword."""
    positional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    rest = inspect.Parameter.VAR_POSITIONAL
    parameters: list[inspect.Parameter] = []
    for operand in instr.operands:
        # Python allows no required parameter after an optional one, so those are shown as optional too.
        optional = operand.optional or any(p.default is None for p in parameters)
        last = operand.variadic and operand is instr.operands[-1]
        default = None if optional and not last else inspect.Parameter.empty
        annotation = _annotation(operand)
        parameters.append(
            inspect.Parameter(operand.name, rest if last else positional, default=default, annotation=annotation)
        )
    for attr in instr.attrs:
        default = inspect.Parameter.empty if attr.default is None and not instr.operands else attr.default
        kind = keyword if instr.operands else positional
        parameters.append(inspect.Parameter(attr.name, kind, default=default, annotation=attr.members or attr.kind))
    if takes_dtype(instr):
        parameters.append(inspect.Parameter("dtype", keyword, default=None, annotation=DType))
    return inspect.Signature(parameters, return_annotation=_returned(instr))


def _returned(instr: Instr) -> Any:
    if not instr.typed:
        return Scalar if instr.results else RecordEvent
    made = [_ANNOTATIONS[result.kind] if result.kind is not Kind.SCALAR else Scalar for result in instr.returned]
    return None if not made else made[0] if len(made) == 1 else tuple


def _annotation(operand: Operand) -> Any:
    annotation = _ANNOTATIONS[operand.kind]
    return annotation | None if operand.optional else annotation


_ROLES = {Role.IN: "read", Role.OUT: "written", Role.INOUT: "read and written", Role.SCRATCH: "scratch"}


def documentation(instr: Instr) -> str:
    """Text for ``help()``, made from the table."""
    spelled = f"text: pto.{instr.text}."
    lines = [instr.summary, "", spelled if instr.typed else f"C++: {instr.signature}; {spelled}", ""]
    for operand in instr.operands:
        extra = ", optional" if operand.optional else ""
        lines.append(f"{operand.name}: {operand.kind}, {_ROLES[operand.role]}{extra}")
    for result in instr.returned:
        lines.append(f"result {result.name}: {result.kind}")
    for attr in instr.attrs:
        default = getattr(attr.default, "name", attr.default)
        lines.append(f"{attr.name}: {attr.kind.__name__}, default {default}")
    pipe = str(instr.pipe) if isinstance(instr.pipe, Pipe) else "depends on operands and target"
    lines += ["", f"Pipe: {pipe}."]
    if instr.rules:
        lines.append(f"Rules: {', '.join(rule.id for rule in instr.rules)}.")
    if instr.source:
        lines.append(f"Source: {instr.source}.")
    return "\n".join(lines)


# Instructions whose names have a dot: ``pto.sync.set``.


class Namespace:
    """The instructions whose names begin alike, by what follows the dot; ``find`` gives one by its whole name."""

    def __init__(self, name: str, find: Callable[[str], Callable[..., Any]] = intrinsic) -> None:
        self._name, self._find = name, find

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self._find(f"{self._name}.{name}")
        except (KeyError, AttributeError):
            known = ", ".join(dir(self))
            raise AttributeError(f"pto.{self._name} has no instruction {name!r}; it has {known}") from None

    def __call__(self, *args: object, **named: object) -> Any:
        message = f"pto.{self._name} is no instruction, but the beginning of the names of some"
        raise refusal(rules.NAME, message, hint=f"it has: {', '.join(f'{self._name}.{each}' for each in dir(self))}")

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        return sorted(name.removeprefix(start) for name in names() if name.startswith(start))

    def __repr__(self) -> str:
        return f"<instructions pto.{self._name}: {', '.join(dir(self))}>"


def beginnings() -> set[str]:
    """What stands before the dot of such names."""
    return {name.partition(".")[0] for name in names() if "." in name}


# TPREFETCH_ASYNC with the C++ library's objects: context, session and event (load-store 10).


def TPREFETCH_ASYNC(
    src: GlobalTensor | Partition, ctx: PrefetchAsyncContext | None = None, *events: Any, workspace: Any = None
) -> AsyncEvent:
    """Prefetch a contiguous tensor into the L2 cache through the SDMA engine. No data changes.

    ``ctx``: ``pto.PrefetchAsyncContext(workspace)`` with a pointer to memory that the host has initialised; a bare
    ``workspace=`` makes one for this call. Text: pto.tprefetch_async.

    Returns the event of the transfer, for ``event.wait(ctx.session)`` and ``event.test(ctx.session)``. It is empty
    (handle 0, complete at once) where nothing is submitted: on cpu, without a workspace, or for a tensor that is not
    flat. Raises `DiagnosticError` (LANG-KIND); a tensor that is not flat and a missing workspace are warnings.
    """
    if ctx is None:
        ctx = PrefetchAsyncContext(workspace)
    if not isinstance(ctx, PrefetchAsyncContext):
        raise refusal(
            rules.KIND,
            f"ctx of TPREFETCH_ASYNC(src, ctx) is a prefetch context, not {ctx!r}",
            hint="ctx = pto.PrefetchAsyncContext(workspace)",
        )
    trace = current("TPREFETCH_ASYNC")
    session, number = _SESSIONS.number(trace, ctx.session)
    names = {} if ctx.workspace is None else {"session": session, "event": number}
    intrinsic("TPREFETCH_ASYNC")(src, *(() if ctx.workspace is None else (ctx.workspace,)), *events, **names)
    strides = src.strides if isinstance(src, GlobalTensor) else src.source.strides
    if not all(isinstance(n, int) for n in (*src.shape, *strides)):
        return PrefetchEvent(ctx.session.submit(), number=(session, number))  # the run decides how long it is
    shape, steps = right_align(src.shape, strides)
    view = ViewInfo("src", src.dtype, tuple(shape), tuple(steps))  # type: ignore[arg-type]
    event = prefetch_async(view, ctx, trace.target)
    return PrefetchEvent(event.handle, event.engine, (session, number)) if event.handle else event


@dataclass(frozen=True)
class PrefetchEvent(AsyncEvent):
    """An event of a recorded prefetch; ``number`` names session and event in the program."""

    number: tuple[int, int] = (0, 0)

    def wait(self, session: AsyncSession) -> bool:
        """Wait for the transfer and all before it in the session. True when it is complete."""
        session_number, event = self.number
        trace = tracing()
        if trace is not None:
            trace.emit("pto.prefetch_wait", {}, {"session": session_number, "event": event})
        return super().wait(session)


class _Sessions:
    """Numbers of the sessions and events of a kernel."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Trace, list[tuple[AsyncSession, int]]] = WeakKeyDictionary()

    def number(self, trace: Trace, session: AsyncSession) -> tuple[int, int]:
        """(number of a session, number of its next event)."""
        known = self._known.setdefault(trace, [])
        for i, (other, count) in enumerate(known):
            if other is session:
                known[i] = session, count + 1
                return i, count
        known.append((session, 1))
        return len(known) - 1, 0


_SESSIONS = _Sessions()
