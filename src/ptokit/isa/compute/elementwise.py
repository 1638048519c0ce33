"""Tile-tile instructions (compute-elementwise 3.1; arithmetic in section 4)."""

from __future__ import annotations

import numpy as np

from ..numerics import arith
from ..table import tmp
from ..typesets import (
    ASM_8_16,
    ASM_I32_F32,
    ASM_INT,
    ASM_N4,
    D8,
    F32,
    FB,
    I6,
    I8,
    I32_F32,
    INT16_32,
    N4,
    N9,
    N11,
    F,
    types,
)
from .overlap_rules import EW_10_APART_A3, EW_10_FLOATS_APART_A3
from .scratch_rules import EW_11, EW_11_MASK, EW_11_POW, EW_11_REM, EW_AS_03, EW_AS_04, EW_AS_05
from .vector_rules import EW_A3_06, EW_A5_01, EW_CPU_01
from .words import binary, remainder_footprint

ASM_LOGIC = (ASM_8_16, ASM_INT)

TADD = binary("TADD", np.add, "dst = src0 + src1", types(N4, N11, asm=(ASM_N4, ASM_INT | FB)), EW_CPU_01)
TSUB = binary("TSUB", np.subtract, "dst = src0 - src1", types(N4, N11, asm=(ASM_N4, ASM_INT | F)))
TMUL = binary("TMUL", np.multiply, "dst = src0 * src1", types(N4, N9, asm=ASM_N4))
TDIV = binary("TDIV", arith.divide, "dst = src0 / src1", types(F, D8, asm=(F, ASM_N4)), EW_A5_01)
TMAX = binary("TMAX", arith.maximum, "dst = max(src0, src1)", types(N4, N11, asm=(ASM_N4, ASM_INT | F)))
TMIN = binary("TMIN", arith.minimum, "dst = min(src0, src1)", types(N4, N11, asm=(ASM_N4, ASM_INT | F)))
TREM = binary(
    "TREM",
    arith.floor_mod,
    "dst = src0 - floor(src0 / src1) * src1, the sign of src1",
    types(I32_F32, D8, asm=(ASM_I32_F32, ASM_N4), bf16=False),
    EW_10_APART_A3,
    EW_A3_06,
    EW_A5_01,
    EW_11_REM,
    EW_AS_04,
    scratch=tmp(optional=True, supplied=True),
    footprint=remainder_footprint,
)
TFMOD = binary(
    "TFMOD",
    arith.fmod,
    "dst = src0 - trunc(src0 / src1) * src1, the sign of src0",
    types(F32, INT16_32 | F, asm=ASM_N4, bf16=False),
    EW_10_APART_A3,
)
TPOW = binary(
    "TPOW",
    arith.power,
    "dst = src0 ** src1",
    types(I6 | F32, I6 | F, cpu=I6 | FB),
    EW_10_FLOATS_APART_A3,
    EW_11_POW,
    scratch=tmp(optional=True),
    per_target=True,
)
TAND = binary("TAND", np.bitwise_and, "dst = src0 & src1", types(I6, I6, asm=ASM_LOGIC))
TOR = binary("TOR", np.bitwise_or, "dst = src0 | src1", types(I6, I6, asm=ASM_LOGIC))
TXOR = binary(
    "TXOR",
    np.bitwise_xor,
    "dst = src0 ^ src1",
    types(I6, I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_11,
    EW_AS_05,
    scratch=tmp(optional=True, supplied=True),
)
TSHL = binary("TSHL", arith.shift_left, "dst = src0 << src1", types(I6, I8, asm=ASM_INT))
TSHR = binary("TSHR", arith.shift_right, "dst = src0 >> src1, arithmetic if signed", types(I6, I8, asm=ASM_INT))
TPRELU = binary(
    "TPRELU",
    arith.leaky,
    "dst = src0 > 0 ? src0 : src0 * src1",
    types(F, F, asm=F),
    EW_10_APART_A3,
    EW_11_MASK,
    EW_AS_03,
    scratch=tmp(optional=True, supplied=True),
)
TSUBRELU = binary("TSUBRELU", arith.subtract_relu, "dst = max(src0 - src1, 0)", types(F, F))
