"""Words, flags and constants of `arith` operations: how they are written and what they mean (assembly 11)."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.diagnostics.finding import suggest
from ptokit.ir import RawAttr
from ptokit.isa.scalar.arithmetic import ARITHMETIC
from ptokit.types.values import I1, Opaque, Scalar, Type

from ..text import rules
from ..text.cursor import Cursor, whole
from .attributes import number

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
