"""The types of numbers of a kernel: how they are read, what fits into them, which operations convert them."""

from __future__ import annotations

from ptokit.types.dtypes import DType, dtype, is_dtype
from ptokit.types.values import I1, INDEX
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .where import refusal


def scalar_type(type: DType | ScalarType) -> ScalarType:
    """The `.pto` type of a number of this element type."""
    if isinstance(type, ScalarType):
        return type
    if not isinstance(type, DType):
        known = {float: "pto.f32", int: "pto.i32", bool: "pto.i1"}
        hint = f"write {known.get(type, 'pto.f32, pto.i32, pto.i64 or pto.index')}"
        raise refusal(rules.SCALAR, f"{type!r} is not the type of a number of the kernel", hint=hint)
    return ScalarType(type.text)


def is_unsigned(type: ScalarType) -> bool:
    """True for integers whose bits are read without a sign."""
    return type.name.startswith("ui")


def bits_of(type: ScalarType) -> int:
    """Bits of a number."""
    if is_dtype(type.name):
        return dtype(type.name).bits
    return 64 if type == INDEX else int("".join(c for c in type.name if c.isdigit()) or 64)


def check_range(x: int, type: ScalarType) -> None:
    """Refuse an integer that does not fit into a type (LANG-SCALAR)."""
    if type.is_float:
        low, high = -(1 << 128), 1 << 128  # no float type of the ISA reaches further
    else:
        low = 0 if is_unsigned(type) else -(1 << (bits_of(type) - 1))
        high = (1 << bits_of(type)) - 1  # signless: the unsigned reading of the bits is accepted too
    if not low <= x <= high:
        raise refusal(rules.SCALAR, f"{x} does not fit into {type}")


def spelling(type: ScalarType) -> str:
    """A type as Python code writes it."""
    return f"pto.{type.name.replace('ui', 'u')}"


def cast_name(source: ScalarType, to: ScalarType) -> str | None:
    """The operation that converts one type into another; None where only two together do (LANG-SCALAR)."""
    unsigned = is_unsigned(source) or source == I1
    if INDEX in (source, to):
        if source.is_float or to.is_float:
            return None
        return "arith.index_castui" if unsigned else "arith.index_cast"
    if source.is_float and to.is_float:
        if bits_of(source) == bits_of(to):
            raise refusal(rules.SCALAR, f"there is no conversion from {source} to {to}", hint="convert through f32")
        return "arith.extf" if bits_of(to) > bits_of(source) else "arith.truncf"
    if source.is_float:
        return "arith.fptoui" if is_unsigned(to) else "arith.fptosi"
    if to.is_float:
        return "arith.uitofp" if unsigned else "arith.sitofp"
    if bits_of(source) == bits_of(to):
        return "arith.bitcast"
    return "arith.trunci" if bits_of(to) < bits_of(source) else "arith.extui" if unsigned else "arith.extsi"
