"""Operations on one register (vector-path 6.2)."""

from __future__ import annotations

import numpy as np

from ..numerics import approx, arith
from . import values
from .compute import unary
from .typesets import I8_32_F, INTS, F
from .words import ANY, types

VABS = unary("vabs", np.absolute, "dst = |src|; the most negative integer stays", I8_32_F)
VNEG = unary("vneg", np.negative, "dst = -src", I8_32_F)
VEXP = unary("vexp", approx.exp, "dst = e ** src", F)
VLN = unary("vln", approx.log, "dst = ln src", F)
VSQRT = unary("vsqrt", approx.sqrt, "dst = sqrt src", F)
VRSQRT = unary("vrsqrt", approx.rsqrt, "dst = 1 / sqrt src", F)
VREC = unary("vrec", approx.recip, "dst = 1 / src", F)
VRELU = unary("vrelu", arith.relu, "dst = max(src, 0)", types("i32 f16 f32"))
VNOT = unary("vnot", np.invert, "dst = ~src", INTS)
VBCNT = unary("vbcnt", values.ones, "dst = number of bits of src that are 1", INTS)
VCLS = unary(
    "vcls",
    values.sign_bits,
    "dst = leading bits of src equal to its sign bit, without it",
    INTS,
    decision="The sign bit itself does not count: 0 and -1 give one less than the width.",
)
VMOV = unary("vmov", lambda x: x, "dst = src", ANY)
