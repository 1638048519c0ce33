"""Vector registers, predicates and pointers to on-chip memory in Python: what register-level instructions work on.

Each instruction of the table is a function (``pto.vadd(a, b, mask)``) that returns its results; a missing mask lets all
lanes through. Instructions whose result type does not follow from an operand take it as ``dtype=``.
"""

from __future__ import annotations

from typing import Any

from ptokit.ir import Value
from ptokit.isa.table import Instr, Kind, Operand
from ptokit.types.dtypes import DType
from ptokit.types.values import I64, Align, Mask, Type, VReg
from ptokit.types.values import Ptr as PtrType
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .control import Scope
from .operands import Arguments, Values, arguments_of, bind
from .scalar import Scalar, materialize, number
from .tensors import Pointer
from .trace import Region, current
from .values import AlignState, Predicate, Register
from .where import here, refusal

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
    trace = current("pto.vecscope")
    region = Region("vector scope", trace.region, here())
    trace.emit("pto.vecscope").regions.append(region.block)
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
    made = [_handle(value) for value in op.results]
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


def _handle(value: Value) -> Any:
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
