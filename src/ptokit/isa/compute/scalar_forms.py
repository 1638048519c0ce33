"""Tile-scalar instructions (compute-elementwise 3.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine import Machine, TileOperand
from ..numerics import arith
from ..numerics.scalars import element
from ..table import Attr, scalar, tmp
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
from .overlap_rules import EW_10_APART_A3, EW_10_FLOATS_APART_A3, EW_10_RECIPROCAL_APART_A3
from .scratch_rules import EW_11, EW_11_POW, EW_11_REMS, EW_AS_01, EW_AS_04
from .vector_rules import (
    EW_05_COLUMNS_A5,
    EW_08,
    EW_08_SLOPE,
    EW_09,
    EW_1,
    EW_1_COLUMNS_A5,
    EW_A3_06,
    EW_A3_07,
    EW_A3_09,
    EW_A5_01,
    EW_CPU_02,
    EW_CPU_05,
)
from .words import remainder_footprint, store, tile_scalar

ASM_ARITHMETIC = (ASM_N4, ASM_INT | FB)
ASM_LOGIC = (ASM_8_16, ASM_INT)

TADDS = tile_scalar(
    "TADDS", np.add, "dst = src + scalar", types(N4, N11, asm=ASM_ARITHMETIC), EW_1_COLUMNS_A5, EW_A5_01, EW_CPU_02
)
TSUBS = tile_scalar(
    "TSUBS", np.subtract, "dst = src - scalar", types(N4, N11, asm=ASM_ARITHMETIC), EW_1_COLUMNS_A5, EW_A5_01, EW_A3_09
)
TMULS = tile_scalar(
    "TMULS",
    np.multiply,
    "dst = src * scalar",
    types(N4, N9, asm=ASM_ARITHMETIC),
    EW_1_COLUMNS_A5,
    EW_05_COLUMNS_A5,
    EW_A5_01,
    EW_CPU_02,
)
TMAXS = tile_scalar(
    "TMAXS",
    arith.maximum,
    "dst = max(src, scalar)",
    types(N4, N11, asm=(ASM_N4, ASM_INT | F)),
    EW_05_COLUMNS_A5,
    EW_A5_01,
    EW_CPU_02,
)
TMINS = tile_scalar(
    "TMINS",
    arith.minimum,
    "dst = min(src, scalar)",
    types(N4, N11, asm=ASM_ARITHMETIC),
    EW_05_COLUMNS_A5,
    EW_A5_01,
)


def _divide(
    machine: Machine, dst: TileOperand, src: TileOperand, scalar: Any, *, scalar_first: bool = False, **_: Any
) -> None:
    a, s = src.read(dst.vr, dst.vc), element(src.spec.dtype, scalar)
    if scalar_first:
        store(dst, arith.divide, s, a)
    else:
        store(dst, arith.divide, a, s)


TDIVS = tile_scalar(
    "TDIVS",
    arith.divide,
    "dst = src / scalar, or scalar / src where the scalar is written first",
    types(N4, D8, asm=(ASM_N4, ASM_INT | F)),
    EW_10_RECIPROCAL_APART_A3,
    EW_A5_01,
    EW_CPU_02,
    EW_CPU_05,
    run=_divide,
    attrs=(Attr("scalar_first", bool, False),),
    syntax="dps-either",
)
TREMS = tile_scalar(
    "TREMS",
    arith.floor_mod,
    "dst = src - floor(src / scalar) * scalar, the sign of the scalar",
    types(I32_F32, D8, asm=(ASM_I32_F32, ASM_N4), bf16=False),
    EW_08,
    EW_10_APART_A3,
    EW_A3_06,
    EW_A5_01,
    EW_11_REMS,
    EW_AS_04,
    EW_CPU_05,
    scratch=tmp(optional=True, supplied=True),
    footprint=remainder_footprint,
)
TFMODS = tile_scalar(
    "TFMODS",
    arith.fmod,
    "dst = src - trunc(src / scalar) * scalar, the sign of src",
    types(F32, INT16_32 | F, asm=ASM_N4, bf16=False),
    EW_08,
    EW_10_APART_A3,
    EW_CPU_05,
)
TPOWS = tile_scalar(
    "TPOWS",
    arith.power,
    "dst = src ** scalar",
    types(I6 | F32, I6 | F, cpu=I6 | FB),
    EW_10_FLOATS_APART_A3,
    EW_11_POW,
    EW_CPU_02,
    scratch=tmp(optional=True),
    per_target=True,
)
TANDS = tile_scalar(
    "TANDS",
    np.bitwise_and,
    "dst = src & scalar",
    types(I6, I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_AS_01,
    EW_A3_07,
)
TORS = tile_scalar(
    "TORS",
    np.bitwise_or,
    "dst = src | scalar",
    types(I6, I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_AS_01,
    EW_A3_07,
)
TXORS = tile_scalar(
    "TXORS",
    np.bitwise_xor,
    "dst = src ^ scalar",
    types(I6, I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_11,
    EW_AS_01,
    EW_A3_07,
    scratch=tmp(optional=True, supplied=True),
)
TSHLS = tile_scalar(
    "TSHLS", arith.shift_left, "dst = src << scalar", types(INT16_32, I8, asm=I8), EW_1, EW_09, EW_A5_01
)
TSHRS = tile_scalar(
    "TSHRS",
    arith.shift_right,
    "dst = src >> scalar, arithmetic if signed",
    types(INT16_32, I8, asm=(INT16_32, ASM_INT)),
    EW_09,
    EW_A5_01,
)
SLOPE = scalar(type="f32")  # for every element type (EW-08)
TLRELU = tile_scalar(
    "TLRELU",
    arith.leaky,
    "dst = src > 0 ? src : src * scalar",
    types(F, F, asm=F),
    EW_08_SLOPE,
    EW_CPU_02,
    operand=SLOPE,
)
