"""The comparison rules of the conformance cases: buffers against what they must hold.

An element passes if it agrees with the expected bits where ``care`` has ones. With a tolerance it also passes if its
value is near enough; without one, bits decide alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from ptokit.records import dataclass
from ptokit.types.codecs import decode, decode_table, unpack_nibbles
from ptokit.types.dtypes import DType


@dataclass(frozen=True)
class Steps:
    """``{"ulp": n}``: at most n steps apart in the order of the type's values; NaN equals NaN."""

    n: float

    def near(self, dtype: DType, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Which codes of `got` are near those of `want`."""
        a, b = decode(dtype, got), decode(dtype, want)
        both, either = np.isnan(a) & np.isnan(b), np.isnan(a) | np.isnan(b)
        return both | (~either & (np.abs(_rank(a, dtype) - _rank(b, dtype)) <= self.n))


@dataclass(frozen=True)
class Distance:
    """``{"rtol": a, "atol": b}``: ``|got - want| <= b + a * |want|`` in float64; NaN equals NaN."""

    rtol: float
    atol: float

    def near(self, dtype: DType, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Which codes of `got` are near those of `want`."""
        a, b = (decode(dtype, codes).astype(np.float64) for codes in (got, want))
        with np.errstate(invalid="ignore"):
            close = np.abs(a - b) <= self.atol + self.rtol * np.abs(b)
        # An infinite bound (want is infinite) would admit every number.
        return (close & np.isfinite(b)) | (np.isnan(a) & np.isnan(b))


@dataclass(frozen=True)
class Bounds:
    """One float32 per element: ``|got - want| <= bound`` where it is above 0, bits elsewhere."""

    bounds: np.ndarray

    def near(self, dtype: DType, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Which codes of `got` are near those of `want`."""
        a, b = (decode(dtype, codes).astype(np.float64) for codes in (got, want))
        with np.errstate(invalid="ignore"):
            return (self.bounds > 0) & (np.abs(a - b) <= self.bounds.astype(np.float64))


Tolerance = Steps | Distance | Bounds


def tolerance(entry: Mapping[str, float]) -> Tolerance:
    """The tolerance that an object of a manifest stands for. Raises `ValueError`."""
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) and v >= 0 for v in entry.values()):
        if set(entry) == {"ulp"}:
            return Steps(entry["ulp"])
        if entry and set(entry) <= {"rtol", "atol"}:
            return Distance(entry.get("rtol", 0.0), entry.get("atol", 0.0))
    raise ValueError(f"a tolerance is {{ulp}} or {{rtol, atol}} with numbers from 0 on, not {dict(entry)}")


@dataclass(frozen=True)
class Want:
    """What a buffer must hold, in bytes. ``care``: bits that count, None for all."""

    out: np.ndarray
    care: np.ndarray | None = None
    tol: Tolerance | None = None

    def first_wrong(self, got: np.ndarray, dtype: DType) -> int | None:
        """Index of the first wrong element in storage order, or None. `got`: bytes of elements of `dtype`."""
        if np.array_equal(got, self.out):
            return None
        a, b = elements(dtype, got), elements(dtype, self.out)
        differ = a ^ b
        if self.care is not None:
            differ &= elements(dtype, self.care)
        wrong = differ != 0
        if self.tol is not None and wrong.any():
            wrong &= ~self.tol.near(dtype, a, b)
        at = np.flatnonzero(wrong)
        return int(at[0]) if len(at) else None


def elements(dtype: DType, raw: np.ndarray) -> np.ndarray:
    """Codes of the elements in a buffer, one each also for packed types."""
    return unpack_nibbles(raw) if dtype.packed else np.ascontiguousarray(raw).view(dtype.storage)


def show_element(dtype: DType, raw: np.ndarray, index: int) -> str:
    """An element of a buffer as bits and as a number: ``0x3f800000 (1)``."""
    code = elements(dtype, raw)[index : index + 1]
    digits = 1 if dtype.packed else 2 * dtype.size
    number = decode(dtype, code)[0]
    return f"{int(code[0]):#0{2 + digits}x} ({float(number):.9g})" if dtype.is_float else f"{int(number)}"


def _rank(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Position of numbers in the order of the type's values; both zeros have one position."""
    if dtype.is_integer:
        return values.astype(np.float64)
    if dtype.bits == 32:
        codes = values.view(np.uint32).astype(np.int64)
        return np.where(codes >= 1 << 31, (1 << 31) - codes, codes)
    return np.searchsorted(_in_order(dtype), values)


@cache
def _in_order(dtype: DType) -> np.ndarray:
    values = decode_table(dtype)
    return np.unique(values[~np.isnan(values)] + np.float32(0))
