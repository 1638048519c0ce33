"""Lane by lane: shifts of either sign, sums with carries, and what several operations are in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..meaning.primitives import PRIMITIVES
from . import values
from .values import BINARY, Array, zeroed

_FMA, _EXP = PRIMITIVES["fma"].numpy, PRIMITIVES["exp"].numpy


def shifted(sign: str) -> Callable[..., Array]:
    """Right shifts that fill with zeros (``u``) or the sign (``i``), whatever the elements are."""

    def run(m: Any, x: Array, count: Array, *, types: Any) -> Array:
        return BINARY["shr"](values.signed_as(x, sign), values.signed_as(count, sign)).view(x.dtype)

    return run


def _together(*sources: Array) -> Array:
    """``a * b + c``, rounded once."""
    with np.errstate(all="ignore"):
        return np.asarray(_FMA(*np.broadcast_arrays(*sources)))


def fma(m: Any, lhs: Array, rhs: Array, acc: Array, *, types: Any) -> Array:
    return _together(lhs, rhs, acc)


def vmula(m: Any, acc: Array, lhs: Array, rhs: Array, on: Array | None, *, types: Any, **_: Any) -> Array:
    return zeroed(_together(lhs, rhs, acc), on)


def vaxpy(m: Any, x: Array, acc: Array, alpha: Any, on: Array, *, types: Any, **_: Any) -> Array:
    return zeroed(_together(values.repeated(alpha, x.shape[1], types["x"].dtype), x, acc), on)


def _leaky(x: Array, slope: Array) -> Array:
    return np.where(x > 0, x, BINARY["mul"](x, slope))


def vlrelu(m: Any, x: Array, slope: Any, on: Array, *, types: Any, **_: Any) -> Array:
    return zeroed(_leaky(x, values.repeated(slope, x.shape[1], types["x"].dtype)), on)


def vprelu(m: Any, x: Array, alpha: Array, on: Array, *, types: Any, **_: Any) -> Array:
    return zeroed(_leaky(x, alpha), on)


def vexpdif(m: Any, x: Array, most: Array, on: Array, *, types: Any, **_: Any) -> Array:
    """In f32: the difference is rounded, then its exponential."""
    with np.errstate(all="ignore"):
        difference = x.astype(np.float32) - most.astype(np.float32)
        return zeroed(np.asarray(_EXP(difference)), on)


def carried(m: Any, lhs: Array, rhs: Array, *rest: Array, types: Any) -> tuple[Array, Array]:
    """The sum of unsigned numbers, with a carry in if there are two predicates, and the carry out."""
    *carry, on = rest
    a, b = (values.signed_as(v, "u").astype(np.uint64) for v in (lhs, rhs))
    total = a + b + (carry[0].astype(np.uint64) if carry else np.uint64(0))
    bits = np.uint64(8 * lhs.dtype.itemsize)
    low = (total & np.uint64((1 << int(bits)) - 1)).astype(f"u{lhs.dtype.itemsize}").view(lhs.dtype)
    return zeroed(low, on), (total >> bits != 0) & on
