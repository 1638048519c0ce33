"""HiFloat4: 4-bit numbers in groups of 64 that share 4 bytes of scales, of three levels (arXiv 2602.11287).

A number is a code of e1m2 (0 to 1.75) times ``Ea * 2**Eb * 2**Ec``:

- Ea, one byte of a group: a float without a sign, 6 bits of exponent (bias 48) and 2 of mantissa; 0xFF is NaN;
- Eb, one byte: bit i is of the elements 8*i to 8*i + 7;
- Ec, two bytes, the lower first: bit i is of the elements 4*i to 4*i + 3.

Source: library for a6 (TQuant.hpp, its tests, docs/isa/TQUANT_HIF4.md, TMATMUL_MX_HIF4.md).
"""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np

GROUP = 64  # elements that share an Ea
BYTES = 4  # of scales of a group: Ea, Eb, Ec low, Ec high
_BF16 = np.dtype(ml_dtypes.bfloat16)
_NAN, _LARGEST = 0xFF, 0xFE
_BIAS, _LEAST, _MOST = 48, -48, 15


def ea_value(codes: np.ndarray) -> np.ndarray:
    """The values of Ea, float64."""
    values = np.ldexp(1 + (codes & 3) / 4, (codes >> 2).astype(np.int64) - _BIAS)
    return np.where(codes == _NAN, np.nan, values)


def scales(codes: np.ndarray) -> np.ndarray:
    """Of bytes of scales (…, 4 * groups) those of single elements (…, 64 * groups), float64."""
    groups = codes.reshape(*codes.shape[:-1], -1, BYTES)
    place = np.arange(GROUP)
    eb = groups[..., 1:2] >> (place // 8).astype(np.uint8) & 1
    ec = groups[..., 2 + place // 32] >> (place // 4 % 8).astype(np.uint8) & 1
    spread = np.ldexp(ea_value(groups[..., :1]), (eb + ec).astype(np.int64))
    return spread.reshape(*codes.shape[:-1], -1)


class Quantised(NamedTuple):
    """What TQUANT makes of groups of 64, last axis first to last: numbers to convert to e1m2, and their scales."""

    scaled: np.ndarray  # (…, 64) bf16 as float32
    ea: np.ndarray  # (…) codes
    eb: np.ndarray  # (…) bytes
    ec: np.ndarray  # (…, 2) bytes, the lower first
    largest_of_4: np.ndarray  # (…, 16) bf16 as float32
    largest_of_8: np.ndarray  # (…, 8)
    factor: np.ndarray  # (…, 16) bf16 as float32: what the four elements are multiplied by


def quantised(groups: np.ndarray) -> Quantised:
    """Groups of 64 numbers (…, 64) of bf16 as float32, as the vector unit of a6 quantises them.

    Every product is rounded to bf16. Ea is a seventh of the largest magnitude. Decision: where that is zero the factor
    is 0, as in the library's tests.
    """
    magnitude = np.abs(groups)
    of_4 = magnitude.reshape(*groups.shape[:-1], 16, 4).max(axis=-1)
    of_8 = of_4.reshape(*groups.shape[:-1], 8, 2).max(axis=-1)
    ea = _ea_code(_bf16(of_8.max(axis=-1) * _bf16(np.array(1 / 7))))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(ea == 0, 0, _bf16((1 / ea_value(ea)).astype(np.float32)))[..., None]
        high = _bf16(of_8 * inverse) >= 4
        half = np.repeat(np.where(high, np.float32(0.5), np.float32(1)), 2, axis=-1)
        higher = _bf16(_bf16(of_4 * inverse) * half) >= 2
        factor = _bf16(inverse.astype(np.float32) * _bf16(half * np.where(higher, np.float32(0.5), np.float32(1))))
        scaled = _bf16(groups * np.repeat(factor, 4, axis=-1))
    eb = np.packbits(high, axis=-1, bitorder="little")[..., 0]
    ec = np.packbits(higher, axis=-1, bitorder="little")
    return Quantised(scaled, ea, eb, ec, of_4, of_8, factor)


def _bf16(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32).astype(_BF16).astype(np.float32)


def _ea_code(x: np.ndarray) -> np.ndarray:
    """The nearest Ea of magnitudes, ties to even; 0 of zero."""
    finite = np.where(np.isfinite(x) & (x > 0), x, 1).astype(np.float64)
    exponent = np.clip(np.frexp(finite)[1] - 1, _LEAST, _MOST)
    mantissa = np.rint((np.ldexp(finite, -exponent) - 1) * 4).astype(np.int64)
    carried = mantissa >= 4
    code = (exponent + _BIAS + carried) * 4 + np.where(carried, 0, mantissa)
    code = np.where(np.isinf(x), _LARGEST, np.clip(code, 0, _LARGEST))
    code = np.where(x == 0, 0, np.where(np.isnan(x), _NAN, code))
    return code.astype(np.uint8)
