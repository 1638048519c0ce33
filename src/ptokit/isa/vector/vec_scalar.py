"""Operations on registers and a number (vector-path 6.4, 6.9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine import Machine
from ..numerics import arith
from ..numerics.scalars import element
from . import values
from .compute import dtype_of, with_scalar
from .compute_rules import FITS, MASKED, SAME
from .lanes import Predicate, zeroed
from .typesets import I8_32_FB, INTS, F
from .words import mask, micro, number, out_vreg, vreg

VADDS = with_scalar("vadds", np.add, "dst = src + scalar", I8_32_FB)
VSUBS = with_scalar("vsubs", np.subtract, "dst = src - scalar", I8_32_FB)
VMULS = with_scalar("vmuls", np.multiply, "dst = src * scalar", I8_32_FB)
VMAXS = with_scalar("vmaxs", arith.maximum, "dst = max(src, scalar); NaN wins", I8_32_FB)
VMINS = with_scalar("vmins", arith.minimum, "dst = min(src, scalar); NaN wins", I8_32_FB)
VANDS = with_scalar("vands", np.bitwise_and, "dst = src & scalar", INTS)
VORS = with_scalar("vors", np.bitwise_or, "dst = src | scalar", INTS)
VXORS = with_scalar("vxors", np.bitwise_xor, "dst = src ^ scalar", INTS)
VLRELU = with_scalar("vlrelu", values.leaky, "dst = src >= 0 ? src : scalar * src", F)


def _axpy(machine: Machine, x: np.ndarray, y: np.ndarray, alpha: Any, mask: Predicate, **_: Any) -> np.ndarray:
    return zeroed(values.scale_add(x, y, element(dtype_of(x), alpha)), mask)


VAXPY = micro(
    "vaxpy",
    "dst = alpha * x + y, rounded once",
    (vreg("x"), vreg("y"), number("alpha"), mask()),
    (out_vreg(like="x"),),
    _axpy,
    SAME,
    MASKED,
    FITS,
    types=F,
    source="6.9",
    decision="The product is not rounded before the addition.",
)
