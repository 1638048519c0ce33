"""HiFloat8: 8 bits with a prefix that tells how many of them are exponent (types-and-layouts 1.9).

Magnitude bits of a code, after the sign bit:

==============  ======================================  =========================================
``0000mmm``     m = 0: zero, with sign bit NaN          otherwise ``2**(m - 23)``
``0001fff``     exponent 0                              three fraction bits
``001sfff``     exponent ±1                             three fraction bits
``01sefff``     exponent ±(2 + e)                       three fraction bits
``10seeff``     exponent ±(4 + ee)                      two fraction bits
``11seeef``     exponent ±(8 + eee)                     one fraction bit; ``0x6F`` is infinity
==============  ======================================  =========================================
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .enums import RoundMode

NAN = 0x80
INFINITY = 0x6F
OVERFLOW = 40960.0  # magnitudes from here on round to infinity


def _magnitude(code: int) -> float:
    """Value of a code without its sign bit."""
    if code < 0x08:
        return 2.0 ** (code - 23) if code else 0.0
    if code < 0x10:
        return 1 + (code & 7) / 8
    if code == INFINITY:
        return np.inf
    # class with k exponent bits (the leading one of them implicit) and w fraction bits
    k, w = next((k, w) for k, w, first in ((4, 1, 0x60), (3, 2, 0x40), (2, 3, 0x20), (1, 3, 0x10)) if code >= first)
    fraction = (code & ((1 << w) - 1)) / (1 << w)
    exponent = (1 << (k - 1)) | ((code >> w) & ((1 << (k - 1)) - 1))
    negative = code >> (w + k - 1) & 1
    return 2.0 ** (-exponent if negative else exponent) * (1 + fraction)


@lru_cache(maxsize=1)
def decode_table() -> np.ndarray:
    """f32 values of the 256 codes."""
    positive = np.array([_magnitude(c) for c in range(128)], np.float32)
    table = np.concatenate([positive, -positive])
    table[NAN] = np.nan
    table.flags.writeable = False
    return table


@lru_cache(maxsize=1)
def _magnitudes() -> tuple[np.ndarray, np.ndarray]:
    """Finite magnitudes in ascending order as f64, and their codes."""
    values = decode_table()[:INFINITY].astype(np.float64)
    values = np.append(values, decode_table()[INFINITY + 1 : 128].astype(np.float64))
    codes = np.append(np.arange(INFINITY), np.arange(INFINITY + 1, 128)).astype(np.uint8)
    order = np.argsort(values)
    return values[order], codes[order]


@lru_cache(maxsize=2)
def _ties_away_table(saturate: bool) -> np.ndarray:
    """Codes by the top 13 bits of an f32: sign, exponent and four fraction bits.

    All midpoints between neighbours have at most four fraction bits, and a tie goes away from zero, so the bits below
    cannot matter (NaN excepted).
    """
    values = (np.arange(1 << 13, dtype=np.uint32) << np.uint32(19)).view(np.float32)
    values[np.isnan(values)] = 0  # `encode` looks for NaN itself
    table = _encode_by_search(values.astype(np.float64), RoundMode.ROUND, saturate)
    table.flags.writeable = False
    return table


def encode(x: np.ndarray, mode: RoundMode = RoundMode.ROUND, saturate: bool = True) -> np.ndarray:
    """HiFloat8 codes (uint8) of floats (f32 or f64).

    The format's own rounding is ROUND: nearest, ties away from zero. NaN gives ``0x80``, both zeros ``0x00``; beyond
    the largest value ±32768 the result is that value if `saturate`, else infinity from ±40960 on.
    """
    if mode is not RoundMode.ROUND or x.dtype != np.float32:
        return _encode_by_search(x.astype(np.float64), mode, saturate)
    index = np.ascontiguousarray(x).view(np.uint32) >> np.uint32(19)
    codes = np.take(_ties_away_table(saturate), index)
    nan = np.isnan(x)
    if nan.any():
        codes[nan] = NAN
    return codes


def _encode_by_search(x: np.ndarray, mode: RoundMode, saturate: bool) -> np.ndarray:
    """Codes of f64 values for any rounding mode, by binary search among the finite magnitudes."""
    values, codes = _magnitudes()
    magnitude, negative = np.abs(x), np.signbit(x)
    bounded = np.where(np.isnan(x), 0.0, np.minimum(magnitude, values[-1]))
    lower = np.searchsorted(values, bounded, side="right") - 1
    upper = np.minimum(lower + 1, len(values) - 1)
    below, above = bounded - values[lower], values[upper] - bounded
    odd = codes[lower] & 1 == 1
    inexact = below != 0
    if mode is RoundMode.ROUND:
        up = below >= above
    elif mode is RoundMode.ODD:
        up = ~odd
    elif mode in (RoundMode.FLOOR, RoundMode.CEIL):
        up = negative == (mode is RoundMode.FLOOR)
    elif mode is RoundMode.TRUNC:
        up = np.zeros_like(inexact)
    else:
        up = (below > above) | ((below == above) & odd)
    code = codes[np.where(inexact & up, upper, lower)]
    if not saturate:
        stops = (mode is RoundMode.TRUNC) | (mode is RoundMode.ODD) | (mode is RoundMode.FLOOR) & ~negative
        stops = stops | (mode is RoundMode.CEIL) & negative
        nearest = mode not in (RoundMode.FLOOR, RoundMode.CEIL)
        over = magnitude >= OVERFLOW if nearest else magnitude > values[-1]
        code = np.where((over & ~stops) | np.isinf(magnitude), np.uint8(INFINITY), code)
    code = np.where(negative & (code != 0), code | np.uint8(0x80), code)
    return np.where(np.isnan(x), np.uint8(NAN), code)
