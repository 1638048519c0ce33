"""Arithmetic of one thread that `arith` does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import RoundMode

from ..meaning.primitives import PRIMITIVES
from .lanes import SIGNS
from .meaning import Threads
from .words import plain, simt, value, word


def _by(name: str) -> Callable[..., np.ndarray]:
    """An operation of the table of primitives, element by element."""
    operation = PRIMITIVES[name].numpy

    def run(t: Threads, *operands: np.ndarray, types: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(operation(*np.broadcast_arrays(*operands)))

    return run


def _angle(fn: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """In binary64, rounded once."""

    def run(t: Threads, x: np.ndarray, *, types: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            out: np.ndarray = fn(x.astype(np.float64)).astype(x.dtype)
        return out

    return run


for _text, _what, _meaning in (
    ("sqrt", "Square root", _by("sqrt")),
    ("absf", "Absolute value", _by("abs")),
    ("exp", "Exponential", _by("exp")),
    ("log", "Natural logarithm", _by("log")),
    ("sin", "Sine", _angle(np.sin)),
    ("cos", "Cosine", _angle(np.cos)),
    ("ceil", "Next integral value above", _by("ceil")),
    ("floor", "Next integral value below", _by("floor")),
    ("rint", "Nearest integral value, ties to even", _by("rint")),
    ("round", "Nearest integral value, ties away from zero", _by("round")),
):
    plain(_text, f"{_what}.", "value", _meaning)
for _text, _what, _name in (("fmin", "Minimum", "min"), ("fmax", "Maximum", "max"), ("pow", "Power", "pow")):
    plain(_text, f"{_what}.", "lhs rhs", _by(_name))
plain("fma", "lhs * rhs + acc, rounded once.", "lhs rhs acc", _by("fma"))


def _bytes(t: Threads, lhs: np.ndarray, rhs: np.ndarray, selector: np.ndarray, *, types: Any) -> np.ndarray:
    """Byte k of the result is the byte of rhs (0 to 3) or lhs (4 to 7) that the low bits of nibble k name."""
    lhs, rhs, selector = np.broadcast_arrays(lhs, rhs, selector)
    source = np.stack((rhs, lhs), axis=1).view(np.uint8)
    places = (selector[:, None] >> (4 * np.arange(4, dtype=np.int32))) & 7
    return np.ascontiguousarray(np.take_along_axis(source, places, axis=1)).view(np.int32)[:, 0]


plain(
    "prmt",
    "Four bytes of two numbers, chosen by the nibbles of a third.",
    "lhs rhs selector",
    _bytes,
    types="i32 i32 i32",
)


def _high(t: Threads, lhs: np.ndarray, rhs: np.ndarray, *, signedness: str | None, types: Any) -> np.ndarray:
    """The upper half of the product, by halves of the operands."""
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    half = lhs.dtype.itemsize * 4
    kind = np.dtype(f"u{lhs.dtype.itemsize}")
    low, up = kind.type((1 << half) - 1), kind.type(half)
    x, y = lhs.view(kind), rhs.view(kind)
    x0, x1, y0, y1 = x & low, x >> up, y & low, y >> up
    middle = x1 * y0 + (x0 * y0 >> up)
    high = x1 * y1 + (middle >> up) + ((middle & low) + x0 * y1 >> up)
    if signedness != "unsigned":
        high = high - np.where(lhs < 0, y, kind.type(0)) - np.where(rhs < 0, x, kind.type(0))
    return high.view(lhs.dtype)


def _wide(t: Threads, lhs: np.ndarray, rhs: np.ndarray, *, signedness: str | None, types: Any) -> np.ndarray:
    kind = np.uint32 if signedness == "unsigned" else np.int32
    return lhs.view(kind).astype(np.int64) * rhs.view(kind).astype(np.int64)


for _text, _what, _meaning in (
    ("mulhi", "High half of a product.", _high),
    ("mul_i32toi64", "Product of 64 bits.", _wide),
):
    simt(
        _text,
        _what,
        (value("lhs"), value("rhs")),
        "%lhs , %rhs W(signedness) {} : T(lhs) , T(rhs) -> R",
        _meaning,
        SIGNS,
    )

_ROUNDINGS = {
    "r": RoundMode.RINT,
    "a": RoundMode.ROUND,
    "f": RoundMode.FLOOR,
    "c": RoundMode.CEIL,
    "z": RoundMode.TRUNC,
    "o": RoundMode.ODD,
    "h": RoundMode.CEIL,
}


def _convert(
    t: Threads,
    src: np.ndarray,
    *,
    rounding: str | None,
    saturation: str | None,
    signedness: str | None,
    types: Any,
) -> np.ndarray:
    """Every element rounded once from its exact value; into integers NaN is 0."""
    source, result = types[0], types[-1]
    numbers: np.ndarray = src
    if source.dtype is not None and source.dtype.value is None:
        numbers = decode(source.dtype, src)
    elif src.dtype.kind == "i" and signedness == "unsigned":
        numbers = src.view(f"u{src.dtype.itemsize}")
    dtype = result.dtype
    if dtype.is_integer and signedness == "unsigned":
        dtype = DTYPES[f"u{dtype.bits}"]
    mode = _ROUNDINGS[rounding or "r"]
    if dtype.name == "hif8" and mode is RoundMode.ROUND:
        mode = RoundMode.NONE  # the type's own
    codes = encode(dtype, numbers, rounding=mode, saturate=saturation != "nosat")
    return codes.view(result.array)


simt(
    "convert",
    "A number in another type.",
    (value("src"),),
    "%src round ~( W(rounding) ) W(saturation) <? W(signedness) ?> {} : T(src) -> R",
    _convert,
    word("rounding", *"rafczoh"),
    word("saturation", "sat", "nosat"),
    SIGNS,
    decision="round(h) is taken as round(c): the sources call it a ceiling mode of some conversions.",
)
