"""Operations on registers and a number (vector-path 6.4, 6.9)."""

from __future__ import annotations

from ...meaning.expressions import Element, Scalar, fused, maximum, minimum
from ..words import number, vreg
from .compute import SCALAR, SRC, lanewise, leaky, with_scalar
from .compute_rules import FITS
from .typesets import I8_32_FB, INTS, F

VADDS = with_scalar("vadds", SRC + SCALAR, I8_32_FB)
VSUBS = with_scalar("vsubs", SRC - SCALAR, I8_32_FB)
VMULS = with_scalar("vmuls", SRC * SCALAR, I8_32_FB)
VMAXS = with_scalar("vmaxs", maximum(SRC, SCALAR), I8_32_FB, note="NaN wins")
VMINS = with_scalar("vmins", minimum(SRC, SCALAR), I8_32_FB, note="NaN wins")
VANDS = with_scalar("vands", SRC & SCALAR, INTS)
VORS = with_scalar("vors", SRC | SCALAR, INTS)
VXORS = with_scalar("vxors", SRC ^ SCALAR, INTS)
VLRELU = with_scalar("vlrelu", leaky(SRC, SCALAR), F)
VAXPY = lanewise(
    "vaxpy",
    "dst = alpha * x + y, rounded once",
    (vreg("x"), vreg("y"), number("alpha")),
    fused(Element("x"), Scalar("alpha", "x"), Element("y")),
    FITS,
    types=F,
    source="6.9",
    decision="The product is not rounded before the addition.",
)
