"""One Python function per instruction of the table, made on first use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from ptokit.ir import Value
from ptokit.isa.table import TABLE, Instr, Kind, Operand, Role
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe
from ptokit.types.values import I1
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .events import TSYNC, RecordEvent
from .operands import arguments_of, bind, record
from .pipes import TPipe
from .registers import record_registers, takes_dtype
from .scalar import Scalar, number
from .tensors import GlobalTensor, Partition, Pointer
from .tiles import Tile
from .trace import current
from .values import AlignState, Predicate, Register
from .where import refusal

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
        # Python allows no required parameter behind an optional one, so those are shown as optional too.
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
