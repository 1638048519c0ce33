"""Unary functions, rounded once: tables for 16-bit types, f64 for f32 (compute-elementwise 4.6).

What is promised for f32 is the binary64 number nearest to the exact value, rounded once more. Libraries compute
binary64 functions with an error of up to a few units in the last place, and NumPy's differ between processors. That
shows in f32 only where the exact value lies within these units of the middle between two f32 numbers. A sweep of all
2^32 arguments has found where it lies within five: the arguments below. `ptokit.isa.numerics.unary` looks once at what
NumPy makes of them.

The devices approximate; the reference value is the exact one rounded to the element type. f64 functions with an error
of up to five units in the last place give correctly rounded results in 16-bit types for every input. In f32 exp is
correctly rounded for every input, log for all but five (see `hard_cases`), sqrt and 1 / x always; none of them depends
on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ptokit.types.codecs import decode_table
from ptokit.types.dtypes import DType, from_numpy

from . import arith
from .rounding import narrow

# The f32 arguments for which the last bit of a binary64 exp or log can decide how the result is rounded to f32.


HARD: dict[str, dict[int, int]] = {
    "exp": {
        0x377EFF81: 0x3F800080,
        0x383A3EF1: 0x3F800175,
        0x38E69CC1: 0x3F80039A,
        0x39C6BE5B: 0x3F800C6D,
        0x3D1A274E: 0x3F84E8BA,
        0x4001B249: 0x40F2CD14,
        0x40315B33: 0x417FA47D,
        0xB3000000: 0x3F800000,
        0xBAE0E25C: 0x3F7F8FA7,
        0xBBF0EDF1: 0x3F7E1FE9,
        0xC16912CD: 0x34FD331B,
    },
    "log": {
        0x022AE487: 0xC2A9EFAA,
        0x064CB44B: 0xC29E7C1A,
        0x07C060FA: 0xC29A733A,
        0x0DC8BBA4: 0xC289BAC4,
        0x0F61FF63: 0xC2855565,
        0x111C87F8: 0xC28085DF,
        0x145CB6D4: 0xC26F092F,
        0x14907055: 0xC26DF596,
        0x16C5EE7A: 0xC2619BD4,
        0x18B06F2A: 0xC256FA6F,
        0x1A8446CB: 0xC24D0A45,
        0x1AAC80DC: 0xC24BFA60,
        0x1B81AB52: 0xC2479316,
        0x1F116AB8: 0xC233B53E,
        0x22925AD4: 0xC220462D,
        0x22F6D580: 0xC21E2EF4,
        0x2423C085: 0xC21781D1,
        0x25BE734F: 0xC20E95CE,
        0x25F12E61: 0xC20DA3FB,
        0x2758EEC4: 0xC205BF23,
        0x28E3FA26: 0xC1FA75E0,
        0x29E6126B: 0xC1EF4C02,
        0x29FD22F8: 0xC1EE8859,
        0x2C4C24B7: 0xC1D48710,
        0x2E492984: 0xC1BE76EE,
        0x38DCBE38: 0xC1128BA4,
        0x39C31348: 0xC0FCAF65,
        0x3BF86EF0: 0xC09C399E,
        0x3C413D3A: 0xC08E1590,
        0x3FD364D7: 0x3F006EF3,
        0x41178FEB: 0x400FE5E8,
        0x464D5B2B: 0x4117BCF1,
        0x4665A9A6: 0x41198725,
        0x46CA6C75: 0x41229929,
        0x4B77325A: 0x4184CDE8,
        0x4C5D65A5: 0x418F034A,
        0x4D604EBE: 0x419A352C,
        0x4E85F412: 0x41A6B811,
        0x54AF989D: 0x41EB6D3C,
        0x5D800341: 0x42265B10,
        0x5D8B2D5B: 0x4226B0B1,
        0x5EE8984E: 0x422E4A21,
        0x5F64C24A: 0x4230FEE2,
        0x62B467BA: 0x42437434,
        0x64E27FA3: 0x424F7453,
        0x65D890D3: 0x4254D1F8,
        0x66A8C860: 0x42595E46,
        0x66ABBD63: 0x4259700E,
        0x6914CB96: 0x4266BA1E,
        0x6D1F23EB: 0x427D2D35,
        0x6E7054F2: 0x42822F73,
        0x6F31A8EC: 0x42845A88,
        0x736CC271: 0x429004B2,
        0x7405DEE8: 0x4291A68D,
        0x79E7EC37: 0x42A1FFB7,
        0x7D98B8F4: 0x42AC40F2,
    },
}
"""By function: argument to result, as bits."""


# Unary functions, rounded once: tables for 16-bit types, f64 for f32 (compute-elementwise 4.6, 4.8).


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


# Unary float functions as value functions: f32 and 16-bit types, rounded once (compute-elementwise 4.6 and 4.8).


def rounded(name: str) -> Callable[..., Any]:
    """The function ``f(x, out=None)`` of this name in `ptokit.isa.numerics.unary`."""

    def apply(x: Any, out: np.ndarray | None = None) -> Any:
        dtype = from_numpy(x.dtype)
        assert dtype is not None, x.dtype
        if out is not None and out.shape != x.shape:  # one value for all blocks
            return arith.give(unary(name, x, dtype), out)
        return unary(name, x, dtype, out)

    return apply


exp, log, sqrt, rsqrt = (rounded(name) for name in ("exp", "log", "sqrt", "rsqrt"))
_float_recip = rounded("recip")


def recip(x: Any, out: np.ndarray | None = None) -> Any:
    """1 / x; for integers 1, -1 or 0 (4.3)."""
    return arith.divide(x.dtype.type(1), x, out) if arith.is_integer(x) else _float_recip(x, out)


def _angle(fn: np.ufunc) -> Callable[..., Any]:
    def apply(x: Any, out: np.ndarray | None = None) -> Any:
        return arith.give(fn(x.astype(np.float64)).astype(x.dtype), out)

    return apply


sin, cos = _angle(np.sin), _angle(np.cos)
