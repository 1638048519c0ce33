"""Unary float functions as value functions: f32 and 16-bit types, rounded once (compute-elementwise 4.6 and 4.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.dtypes import from_numpy

from . import arith
from .unary import unary


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
