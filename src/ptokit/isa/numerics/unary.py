"""Unary functions, rounded once: tables for 16-bit types, f64 for f32 (compute-elementwise 4.6, 4.8).

The devices approximate; the reference value is the exact one rounded to the element type. f64 functions with an error
of up to five units in the last place give correctly rounded results in 16-bit types for every input. In f32 exp is
correctly rounded for every input, log for all but five (see `hard_cases`), sqrt and 1 / x always; none of them depends
on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ptokit.types.codecs import decode_table
from ptokit.types.dtypes import DType

from .hard_cases import HARD
from .rounding import narrow

Wide = Callable[[np.ndarray], np.ndarray]


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1.0 / np.sqrt(x)


FUNCTIONS: dict[str, Wide] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "recip": np.reciprocal,
}
"""Functions of f64 arrays by name; add a name here to get its tables."""

_CHUNK = 1 << 14  # f64 elements that stay in the cache


@cache
def table16(name: str, dtype: DType) -> np.ndarray:
    """Results of `FUNCTIONS`\\ ``[name]`` for all 65,536 codes of a 16-bit float type, in ``dtype.value``; read-only.

    Built on first use. Apply with ``np.take(table, x.view(np.uint16))``.
    """
    with np.errstate(all="ignore"):
        table = narrow(FUNCTIONS[name](decode_table(dtype).astype(np.float64)), dtype)
    table.flags.writeable = False
    return table


def _same_everywhere(name: str) -> Wide:
    """`FUNCTIONS`\\ ``[name]``, corrected where this machine's would round to another f32 (`hard_cases`)."""
    wide, cases = FUNCTIONS[name], HARD.get(name, {})
    arguments = np.array(list(cases), np.uint32).view(np.float32).astype(np.float64)
    results = np.array(list(cases.values()), np.uint32).view(np.float32)
    alone = np.array([wide(x[None])[0] for x in arguments])  # vectors may be computed in another way
    wrong = (wide(arguments).astype(np.float32) != results) | (alone.astype(np.float32) != results)
    if not wrong.any():
        return wide
    places, exact = arguments[wrong], results[wrong].astype(np.float64)

    def corrected(x: np.ndarray) -> np.ndarray:
        out = np.asarray(wide(x))
        for place, value in zip(places, exact):
            out[x == place] = value
        return out

    return corrected


@cache
def approx_f32(name: str) -> Callable[..., np.ndarray]:
    """A function ``f(x, out=None)`` of f32 arrays: `FUNCTIONS`\\ ``[name]`` in f64, rounded once to f32.

    `out` is an f32 array of the shape of `x`, possibly `x` itself; it is returned.
    """
    wide = _same_everywhere(name)
    native = {"sqrt": np.sqrt, "recip": np.reciprocal}.get(name)  # IEEE operations: f32 itself rounds once

    def apply(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = np.empty_like(x) if out is None else out
        with np.errstate(all="ignore"):
            if native is not None:
                return native(x, out=out)
            if isinstance(wide, np.ufunc):  # NumPy converts in cache-sized pieces by itself
                return wide(x, out=out, dtype=np.float64, casting="same_kind")
            if not (x.flags.c_contiguous and out.flags.c_contiguous):
                out[...] = wide(x.astype(np.float64))
                return out
            flat, result = x.reshape(-1), out.reshape(-1)
            for start in range(0, flat.size, _CHUNK):
                piece = slice(start, start + _CHUNK)
                result[piece] = wide(flat[piece].astype(np.float64))
        return out

    return apply


def unary(name: str, x: np.ndarray, dtype: DType, out: np.ndarray | None = None) -> np.ndarray:
    """`FUNCTIONS`\\ ``[name]`` of values of f32, f16 or bf16 (``dtype.value``), rounded once to the same type."""
    if dtype.bits == 32:
        return approx_f32(name)(x, out)
    return np.take(table16(name, dtype), x.view(np.uint16), out=out, mode="clip" if out is not None else "raise")
