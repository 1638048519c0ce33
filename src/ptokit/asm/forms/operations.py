"""Forms of operations outside of the instruction table: their own, and generic form (assembly 2, 11).

The reader and the printer of generic form both go by `SHAPES`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ptokit.diagnostics.finding import suggest
from ptokit.ir import Op, RawAttr
from ptokit.ir.control import CONTROL, Control
from ptokit.isa.scalar.arithmetic import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    ARITHMETIC,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.types.values import I1, Opaque, Scalar, Type

from ..text import rules
from ..text.cursor import Cursor, is_string, whole
from .attributes import Written, at_name, integers, number, quote, unquote
from .attributes import symbol as symbol_name
from .operands import compile_form, elements, placed_attributes

# Words, flags and constants of `arith` operations: how they are written and what they mean (assembly 11).


BITS = re.compile(r"(?:[su]?i|bf|tf|f)(\d+)")


def bits_of(type: Scalar) -> int:
    """Bits of a scalar type; index has 64."""
    m = BITS.match(type.name)
    return (19 if type.name == "tf32" else int(m[1])) if m else 64


_OVERFLOW = ("none", "nsw", "nuw")
_FASTMATH = tuple("none reassoc nnan ninf nsz arcp contract afn fast".split())
FLAGS = {"overflow": _OVERFLOW, "fastmath": _FASTMATH}
WORDS = ("exact", "nneg")
ROUNDINGS = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")


def takes(name: str, flag: str) -> bool:
    """True if an operation may have a flag: a key of `FLAGS`, one of `WORDS`, or ``rounding``."""
    return flag in ARITHMETIC[name].flags


def flag_set(p: Cursor, name: str, flag: str, text: str, at: int) -> RawAttr | None:
    """``<nsw, nuw>`` of an operation; None for ``<none>``. TY-8 for unknown words."""
    if not takes(name, flag):
        p.fail(rules.ATTRIBUTE, f"{name} has no {flag} flags", at)
    given = [word.strip() for word in text.strip()[1:-1].split(",")]
    for word in given:
        if word not in FLAGS[flag]:
            p.fail(rules.TY_8, f"'{word[:40]}' is not a flag of {flag}", at, hint=suggest(word, FLAGS[flag]))
    return None if given == ["none"] else RawAttr(f"<{', '.join(given)}>")


_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)\Z", re.ASCII)


_FLOAT = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?\Z", re.ASCII)


def constant_value(p: Cursor, text: str, type: Type, index: int) -> Any:
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


def _float(p: Cursor, text: str, type: Scalar, index: int) -> float:
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


FLAG_NAMES = frozenset((*FLAGS, *WORDS, "rounding"))


def flags_text(attrs: Mapping[str, Any]) -> str:
    """The flags among the attributes, with blanks between: ``toward_zero``, ``exact``, ``overflow<nsw>``."""
    words = [str(attrs["rounding"])] if "rounding" in attrs else []
    words += [word for word in WORDS if word in attrs]
    return " ".join([*words, *(f"{flag}{attrs[flag]}" for flag in FLAGS if flag in attrs)])


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


# Operations outside the instruction table as generic form writes them: operands, attributes, regions (assembly 2,
# 11).


ANY = -1
"""Number of results or regions that the operation itself decides."""

SEGMENTS = "operandSegmentSizes"
_SHAPED = re.compile(r"\s*:\s*\w+<[^<>]*>\Z")
_DYNAMIC = -(1 << 63)  # a size that an operand gives


class Key(NamedTuple):
    """An attribute with a spelling of its own in generic form: its name there, its text, and back.

    ``read(parser, written, op)``: the value of what is written, for an operation whose results have types; None to
    leave it out.
    """

    name: str
    show: Callable[[Op, Any], str]
    read: Callable[[Cursor, Written, Op], Any]
    required: bool = True


class Shape(NamedTuple):
    """Operands in order: ``x``, a group ``x*``, and ``*`` for a group that stays empty.

    ``spare``: the last region may be empty, which means that the operation does not have it. ``control``: of operations
    of control flow, what they are.
    """

    operands: tuple[str, ...] = ()
    results: int = 1
    regions: int = 0
    segments: bool = False
    keys: Mapping[str, Key] = {}
    spare: bool = False
    successors: int = 0
    control: Control | None = None


def _constant(p: Cursor, written: Written, op: Op) -> Any:
    type: Type = op.results[0].type
    dense = written.text.startswith("dense")
    text = _SHAPED.sub("", written.text) if dense else written.text.partition(":")[0].strip()
    if text in ("true", "false") and type == I1:
        return text == "true"
    return constant_value(p, text, type, written.place)


def _predicate(known: tuple[str, ...]) -> Key:
    """A predicate by its number."""

    def read(p: Cursor, written: Written, op: Op) -> str:
        number = written.text.partition(":")[0].strip()
        if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number) < len(known)):
            p.fail(rules.TY_8, f"'{written.text[:40]}' is not a predicate of {op.name}", written.place)
        return known[int(number)]

    return Key("predicate", lambda op, value: f"{known.index(value)} : i64", read)


def _flags(flag: str) -> Key:
    """``overflow<nsw>``, here ``overflowFlags = #arith.overflow<nsw>``."""
    name = {"overflow": "overflowFlags"}.get(flag, flag)
    spelled = re.compile(rf"#arith(?:\.{flag}\s*|<\s*{flag}\s*)(<[^<>]*>)>?\Z")

    def read(p: Cursor, written: Written, op: Op) -> RawAttr | None:
        m = spelled.match(written.text)
        if m is None:
            p.fail(rules.ATTRIBUTE, f"'{name}' is written #arith.{flag}<..>, not '{written.text[:40]}'", written.place)
        return flag_set(p, op.name, flag, m[1], written.place)

    return Key(name, lambda op, value: f"#arith.{flag}{value}", read, required=False)


def _word(name: str) -> Key:
    """``exact``, here the unit attribute ``isExact``."""

    def read(p: Cursor, written: Written, op: Op) -> bool:
        if written.text != "unit":
            p.fail(rules.ATTRIBUTE, f"'{name}' has no value", written.place)
        return True

    return Key(name, lambda op, value: "unit", read, required=False)


def _rounding(p: Cursor, written: Written, op: Op) -> str:
    number = written.text.partition(":")[0].strip()
    if number not in ("0", "1", "2", "3", "4"):
        p.fail(rules.TY_8, f"'{written.text[:40]}' is not the number of a rounding mode", written.place)
    return ROUNDINGS[int(number)]


def _callee(p: Cursor, written: Written, op: Op) -> str:
    if not written.text.startswith("@") or len(written.text) < 2:
        p.fail(rules.ATTRIBUTE, f"'callee' is a function name, not '{written.text[:40]}'", written.place)
    return symbol_name(written.text)


def numbers(p: Cursor, written: Written, name: str) -> list[int]:
    """The integers of ``array<i64: 1, 2>``."""
    found = integers(written.text)
    if found is None:
        p.fail(rules.ATTRIBUTE, f"'{name}' is written array<i64: 1, ..>, not '{written.text[:40]}'", written.place)
    return list(found)


def segments(p: Cursor, written: Written | None) -> list[int] | None:
    """The sizes of ``operandSegmentSizes``; None if it is not written."""
    if written is None:
        return None
    found = integers(written.text)
    if found is None or min(found, default=0) < 0:
        p.fail(rules.ATTRIBUTE, f"{SEGMENTS} is written array<i32: 1, ..>, not '{written.text[:40]}'", written.place)
    return list(found)


def number_list(values: list[int], element: str = "i64") -> str:
    """``array<i64: 1, 2>``."""
    return f"array<{element}: {', '.join(map(str, values))}>" if values else f"array<{element}>"


def _sizes(key: str, name: str) -> Key:
    """Numbers and question marks of reinterpret_cast: ``[?, 4]`` is kept, a number takes the place of the mark."""

    def show(op: Op, value: Any) -> str:
        items = [s.strip() for s in str(value)[1:-1].split(",") if s.strip()]
        return number_list([_DYNAMIC if s == "?" else int(s) for s in items])

    def read(p: Cursor, written: Written, op: Op) -> RawAttr:
        found = numbers(p, written, name)
        if found.count(_DYNAMIC) != len(op.group(key)):
            p.fail(rules.OPERANDS, f"'{name}' leaves {found.count(_DYNAMIC)} sizes to operands", written.place)
        return RawAttr("[" + ", ".join("?" if n == _DYNAMIC else str(n) for n in found) + "]")

    return Key(name, show, read)


_ARITH_KEYS = {
    "rounding": Key("roundingmode", lambda op, value: f"{ROUNDINGS.index(value)} : i32", _rounding, required=False),
    "exact": _word("isExact"),
    "nneg": _word("nonNeg"),
    "overflow": _flags("overflow"),
    "fastmath": _flags("fastmath"),
}


def _arith(names: Iterable[str], *operands: str, results: int = 1, **keys: Key) -> dict[str, Shape]:
    """Shapes of `arith` operations with the flags that each may have."""
    flags = {n: {flag: key for flag, key in _ARITH_KEYS.items() if takes(n, flag)} for n in names}
    return {n: Shape(operands, results, keys={**keys, **flags[n]}) for n in flags}


_CASES = Key("cases", lambda op, value: number_list(value), lambda p, written, op: numbers(p, written, "cases"))


def _case_values(p: Cursor, written: Written, op: Op) -> list[int]:
    """``dense<[1, 2]> : tensor<2xi32>``, or ``dense<1>`` for equal ones."""
    splat = _SPLAT.match(written.text)
    if splat is not None:
        return [int(splat[1])] * max(0, len(splat[2]) < 6 and int(splat[2]))
    return numbers(p, written, "case_values")


def _show_values(op: Op, values: list[int]) -> str:
    return f"dense<[{', '.join(map(str, values))}]> : tensor<{len(values)}x{op['flag'].type}>"


def _message(p: Cursor, written: Written, op: Op) -> str:
    if not is_string(written.text):
        p.fail(rules.ATTRIBUTE, f"'msg' is a string, not '{written.text[:40]}'", written.place)
    return unquote(written.text)


_SPLAT = re.compile(r"dense<\s*(-?\d+)\s*>\s*:\s*tensor<\s*(\d+)\s*x\s*\w+\s*>\Z", re.ASCII)
_KEYS = {
    "callee": Key("callee", lambda op, value: at_name(value), _callee),
    "cases": _CASES,
    "values": Key("case_values", _show_values, _case_values, required=False),
    "sizes": Key(
        "case_operand_segments",
        lambda op, value: number_list(value, "i32"),
        lambda p, written, op: numbers(p, written, "case_operand_segments"),
        required=False,
    ),
}
"""Attributes of operations of control flow."""

SHAPES: dict[str, Shape] = {
    "arith.constant": Shape(
        keys={"value": Key("value", lambda op, value: constant_text(value, op.results[0].type), _constant)}
    ),
    **_arith(("arith.cmpi",), "lhs", "rhs", predicate=_predicate(tuple(INTEGER_PREDICATES))),
    **_arith(("arith.cmpf",), "lhs", "rhs", predicate=_predicate(tuple(FLOAT_PREDICATES))),
    **_arith(("arith.select",), "condition", "true", "false"),
    **_arith(ARITH_BINARY, "lhs", "rhs"),
    **_arith(ARITH_UNARY, "in"),
    **_arith(ARITH_EXTENDED, "lhs", "rhs", results=2),
    **_arith(ARITH_CASTS, "in"),
    "memref.alloc": Shape(("sizes*", "*"), segments=True),
    "memref.alloca": Shape(("sizes*", "*"), segments=True),
    "memref.dealloc": Shape(("in",), 0),
    "memref.reinterpret_cast": Shape(
        ("in", "offset*", "sizes*", "strides*"),
        segments=True,
        keys={
            "offset": _sizes("offset", "static_offsets"),
            "sizes": _sizes("sizes", "static_sizes"),
            "strides": _sizes("strides", "static_strides"),
        },
    ),
    "memref.subview": Shape(
        ("in", "offsets*", "sizes*", "strides*"),
        segments=True,
        keys={
            "offsets": _sizes("offsets", "static_offsets"),
            "sizes": _sizes("sizes", "static_sizes"),
            "strides": _sizes("strides", "static_strides"),
        },
    ),
    "builtin.unrealized_conversion_cast": Shape(("in*",), ANY),
    "cf.assert": Shape(("condition",), 0, keys={"msg": Key("msg", lambda op, value: quote(value), _message)}),
}
"""By full name; `shape_of` knows those of control flow, too."""


def shape_of(name: str) -> Shape | None:
    """What generic form writes of an operation outside of the instruction table; None if there is no such."""
    control = CONTROL.get(name)
    return SHAPES.get(name) if control is None else _of_control(control)


@cache
def _of_control(control: Control) -> Shape:
    form = compile_form(control.form)
    parts = list(elements(form))
    repeated = {inner.kind for e in form if e.kind == "*" for inner in e.group}
    operands = tuple(f"{e.name}*" if e.kind in "UJ" else e.name + e.flag for e in parts if e.kind in "%UJ")
    return Shape(
        operands,
        ANY if any(e.kind == "R" or (e.kind == "O" and e.flag) for e in parts) else 0,
        ANY if "G" in repeated else sum(e.kind == "G" for e in parts),
        sum(name.endswith("*") for name in operands) > 1,
        {name: _KEYS[name] for name in placed_attributes(form) if name in _KEYS},
        any(inner.kind == "G" for e in form if e.kind == "?" for inner in e.group),
        ANY if "J" in repeated else sum(e.kind == "J" for e in parts),
        control,
    )
