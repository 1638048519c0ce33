"""Operations on one register (vector-path 6.2)."""

from __future__ import annotations

from ...meaning.expressions import exp, log, popcount, recip, rsqrt, sign_bits, sqrt
from ..words import ANY, types
from .compute import SRC, relu, unary
from .typesets import I8_32_F, INTS, F

VABS = unary("vabs", abs(SRC), I8_32_F, note="the most negative integer stays")
VNEG = unary("vneg", -SRC, I8_32_F)
VEXP = unary("vexp", exp(SRC), F)
VLN = unary("vln", log(SRC), F)
VSQRT = unary("vsqrt", sqrt(SRC), F)
VRSQRT = unary("vrsqrt", rsqrt(SRC), F)
VREC = unary("vrec", recip(SRC), F)
VRELU = unary("vrelu", relu(SRC), types("i32 f16 f32"))
VNOT = unary("vnot", ~SRC, INTS)
VBCNT = unary("vbcnt", popcount(SRC), INTS, summary="dst = number of bits of src that are 1")
VCLS = unary(
    "vcls",
    sign_bits(SRC),
    INTS,
    summary="dst = leading bits of src equal to its sign bit, without it",
    decision="The sign bit itself does not count: 0 and -1 give one less than the width.",
)
VMOV = unary("vmov", SRC, ANY)
