"""Constants and arithmetic (assembly 11)."""

from __future__ import annotations

import re
import struct
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.ir import Op, RawAttr, Value
from ptokit.ir.structure import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.types.values import I1, Opaque, Scalar, Type

from ...forms.arith import bits_of, check_select, check_types, like, read_flags
from ...forms.attributes import generic_attrs, read_dictionary
from ...forms.spelling import number
from ...text import rules
from ...text.cursor import whole
from ...text.faults import suggest
from ...types.parse import POISON
from ..parser import Parser
from ..registry import READERS

_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)\Z", re.ASCII)
_FLOAT = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?\Z", re.ASCII)

# ------------------------------------------------------------------ constants


def read_constant(p: Parser, name: str, at: int) -> Op:
    """``N : T``, ``true``, ``false``, ``1.5e-01 : f32``, ``dense<..> : vector<..>``."""
    attrs = {}
    if p.texts[p.i] == "{":
        attrs = generic_attrs(p, read_dictionary(p))
    index = p.i
    token = p.texts[index]
    if not (token[0].isalnum() or token[0] in '-[@"#'):
        p.unexpected("a constant")
    if token in ("true", "false"):
        p.i += 1
        if p.accept(":"):
            p.type()
        return Op(name, {}, {"value": token == "true", **attrs}, [Value(I1)])
    p.i += 1
    p.expect(":")
    type = p.type()
    return Op(name, {}, {"value": constant_value(p, token, type, index), **attrs}, [Value(type)])


def constant_value(p: Parser, text: str, type: Type, index: int) -> Any:
    """The value a constant's text at token `index` has in a type (TEXT-NUMBER, TEXT-TYPE)."""
    if isinstance(type, Opaque):
        return RawAttr(text)
    if not isinstance(type, Scalar):
        p.fail(rules.TYPE, f"a constant cannot be of type {type}", index)
    if type.is_float:
        return _float(p, text, type, index)
    if not _INTEGER.match(text):
        p.fail(rules.UNEXPECTED, f"expected an integer for {type}, found '{text[:40]}'", index)
    value, bits = whole(text), bits_of(type)
    unsigned = type.name.startswith("ui")
    if value is None or not -(0 if unsigned else 1 << (bits - 1)) <= value < (1 << bits):
        p.fail(rules.NUMBER, f"{text[:30]} does not fit {type}", index)
    if type is I1 or type == I1:
        return value != 0
    if not unsigned and value >= 1 << (bits - 1):
        value -= 1 << bits
    return value


def _float(p: Parser, text: str, type: Scalar, index: int) -> float:
    if _FLOAT.match(text):
        return float(text)
    value = whole(text) if text.startswith("0x") else None
    if value is None or value >> bits_of(type):
        hint = f"write {text}.0" if _INTEGER.match(text) and "x" not in text else None
        p.fail(rules.NUMBER, f"'{text[:40]}' is not a constant of type {type}", index, hint=hint)
    if type.name in _PATTERNS:
        kind = _PATTERNS[type.name]
        return float(np.array([value], f"u{np.dtype(kind).itemsize}").view(kind)[0])
    code = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}.get(type.name)
    if code is None:
        p.fail(rules.NUMBER, f"bit patterns of {type} constants are not read", index)
    return float(struct.unpack(code[1], struct.pack(code[0], value))[0])


_PATTERNS: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
"""Types whose bit patterns `struct` does not know."""


# ----------------------------------------------------------------- arithmetic


def read_binary(p: Parser, name: str, at: int) -> Op:
    """``%a, %b : T``, with flags before the colon; one type for operands and result."""
    first = p.i
    lhs = p.value()
    p.expect(",")
    rhs = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    place = p.i
    type = p.type()
    p.match(lhs, type, first)
    p.match(rhs, type, first + 2)
    op = Op(name, {"lhs": lhs, "rhs": rhs}, attrs, [Value(type)])
    check_types(p, op, place)
    return op


def read_unary(p: Parser, name: str, at: int) -> Op:
    """``%a : T``, with flags before the colon."""
    first = p.i
    value = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    place = p.i
    type = p.type()
    p.match(value, type, first)
    op = Op(name, {"in": value}, attrs, [Value(type)])
    check_types(p, op, place)
    return op


def read_extended(p: Parser, name: str, at: int) -> Op:
    """``%a, %b : T`` with two results: sum and carry (``: T, i1``), or the low and the high half of a product."""
    op = read_binary(p, name, at)
    second = op.result.type
    if name == "arith.addui_extended":
        second = like(second, I1)
        if p.accept(","):
            index = p.i
            if p.type() != second:
                p.fail(rules.TYPE, f"the carry of arith.addui_extended is {second}", index)
    return Op(name, op.operands, op.attrs, [Value(op.result.type), Value(second)])


def _flags(p: Parser, name: str) -> dict[str, Any]:
    """Flags and a dictionary."""
    attrs = read_flags(p, name)
    if p.texts[p.i] == "{":
        attrs.update(generic_attrs(p, read_dictionary(p)))
    return attrs


def read_compare(p: Parser, name: str, at: int) -> Op:
    """``pred, %a, %b : T``; the result is i1, one for each element."""
    token = p.texts[p.i]
    predicate = token.strip('"')
    known = INTEGER_PREDICATES if name == "arith.cmpi" else FLOAT_PREDICATES
    if predicate not in known:
        p.fail(rules.TY_8, f"{p.found()} is not a predicate of {name}", hint=suggest(predicate, known))
    p.i += 1
    p.expect(",")
    op = read_binary(p, name, at)
    return Op(name, op.operands, {"predicate": predicate, **op.attrs}, [Value(like(op.result.type, I1))])


def read_cast(p: Parser, name: str, at: int) -> Op:
    """``%a : T to T2``."""
    first = p.i
    value = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    p.match(value, p.type(), first)
    p.expect("to")
    place = p.i
    op = Op(name, {"in": value}, attrs, [Value(p.type())])
    check_types(p, op, place)
    return op


def read_select(p: Parser, name: str, at: int) -> Op:
    """``%c, %a, %b : T``."""
    first = p.i
    condition = p.value()
    p.expect(",")
    true = p.value()
    p.expect(",")
    false = p.value()
    attrs = _flags(p, name)
    p.expect(":")
    type = p.type()
    written = type is not POISON and p.accept(",")  # type of the condition, type of the result
    if written:
        p.match(condition, type, first)
        type = p.type()
    p.match(true, type, first + 2)
    p.match(false, type, first + 4)
    op = Op(name, {"condition": condition, "true": true, "false": false}, attrs, [Value(type)])
    if written:
        check_select(p, op, first)
    else:
        p.match(condition, I1, first)
    return op


READERS.update(
    {
        "arith.constant": read_constant,
        "arith.cmpi": read_compare,
        "arith.cmpf": read_compare,
        "arith.select": read_select,
        **dict.fromkeys(ARITH_BINARY, read_binary),
        **dict.fromkeys(ARITH_UNARY, read_unary),
        **dict.fromkeys(ARITH_EXTENDED, read_extended),
        **dict.fromkeys(ARITH_CASTS, read_cast),
    }
)


def constant_text(value: Any, type: Type) -> str:
    """A constant as it is written: ``1 : index``, ``true``, ``1.5 : f32``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(type, Scalar) and type.is_float and not isinstance(value, RawAttr):
        return f"{float_constant(float(value), type)} : {type}"
    return f"{value} : {type}"


def float_constant(value: float, type: Scalar) -> str:
    """A float constant's token; infinities and NaN as bit patterns of `type`."""
    kind = _PATTERNS.get(type.name)
    if kind is not None and not np.isfinite(value):
        bits = np.array([value], kind).view(f"u{np.dtype(kind).itemsize}")[0]
        return f"0x{int(bits):0{bits_of(type) // 4}X}"
    return number(value, bits_of(type))
