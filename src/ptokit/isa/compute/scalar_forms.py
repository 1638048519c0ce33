"""Tile-scalar instructions (compute-elementwise 3.4)."""

from __future__ import annotations

from operator import and_, or_, xor

from ..meaning.bits import on_bits
from ..meaning.expressions import Expr, divide, floor_mod, fmod, maximum, minimum
from ..operands import FIRST_SOURCE
from ..scratch import of_floats, on_a2a3
from ..site import Site
from ..table import Attr, TextForm, scalar, tmp
from ..typesets import (
    ASM_8_16,
    ASM_I32_F32,
    ASM_INT,
    ASM_N4,
    D8,
    F32,
    FB,
    HALF,
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
from .scratch_rules import EW_11, EW_11_POW, EW_11_REMS
from .scratch_text_rules import EW_AS_01, EW_AS_04_SCALAR, EW_AS_05_SCALAR, EW_AS_11
from .vector_rules import (
    EW_02_FLAT,
    EW_02_FLAT_FLOATS,
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
from .words import SCALAR, SRC, leaky, power_of, remainder_footprint, tile_scalar

ASM_ARITHMETIC = (ASM_N4, ASM_INT | FB)
ASM_LOGIC = (ASM_8_16, ASM_INT)

TADDS = tile_scalar(
    "TADDS", SRC + SCALAR, types(N4, N11, asm=ASM_ARITHMETIC), EW_02_FLAT, EW_1_COLUMNS_A5, EW_A5_01, EW_CPU_02
)
TSUBS = tile_scalar(
    "TSUBS", SRC - SCALAR, types(N4, N11, asm=ASM_ARITHMETIC), EW_02_FLAT, EW_1_COLUMNS_A5, EW_A5_01, EW_A3_09
)
TMULS = tile_scalar(
    "TMULS",
    SRC * SCALAR,
    types(N4, N9, asm=ASM_ARITHMETIC),
    EW_02_FLAT,
    EW_1_COLUMNS_A5,
    EW_05_COLUMNS_A5,
    EW_A5_01,
    EW_CPU_02,
)
TMAXS = tile_scalar(
    "TMAXS",
    maximum(SRC, SCALAR),
    types(N4, N11, asm=(ASM_N4, ASM_INT | FB)),
    EW_02_FLAT,
    EW_05_COLUMNS_A5,
    EW_A5_01,
    EW_CPU_02,
)
TMINS = tile_scalar(
    "TMINS",
    minimum(SRC, SCALAR),
    types(N4, N11, asm=ASM_ARITHMETIC),
    EW_02_FLAT,
    EW_05_COLUMNS_A5,
    EW_A5_01,
)


def _quotient(o: Site) -> Expr:
    return divide(SCALAR, SRC) if o.scalar_first else divide(SRC, SCALAR)


TDIVS = tile_scalar(
    "TDIVS",
    _quotient,
    types(N4, D8, asm=(ASM_N4, ASM_INT | F)),
    EW_02_FLAT_FLOATS,
    EW_10_RECIPROCAL_APART_A3,
    EW_A5_01,
    EW_CPU_02,
    EW_CPU_05,
    summary="dst = src / scalar, or scalar / src where the scalar is written first",
    attrs=(Attr("scalar_first", bool, False),),
    form=TextForm("dps-either"),
)
TREMS = tile_scalar(
    "TREMS",
    floor_mod(SRC, SCALAR),
    types(I32_F32, D8, asm=(ASM_I32_F32, ASM_N4), bf16=False),
    EW_08,
    EW_10_APART_A3,
    EW_A3_06,
    EW_A5_01,
    EW_11_REMS,
    EW_AS_04_SCALAR,
    EW_CPU_05,
    scratch=tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("dst")),
    note="the sign of the scalar",
    footprint=remainder_footprint,
)
TFMODS = tile_scalar(
    "TFMODS",
    fmod(SRC, SCALAR),
    types(F32, INT16_32 | F, asm=ASM_N4, bf16=False),
    EW_08,
    EW_10_APART_A3,
    EW_CPU_05,
    note="the sign of src",
)
TPOWS = tile_scalar(
    "TPOWS",
    power_of(SRC, SCALAR),
    types(I6 | F32, I6 | F, cpu=I6 | FB),
    EW_10_FLOATS_APART_A3,
    EW_11_POW,
    EW_AS_11,
    EW_CPU_02,
    scratch=tmp(optional=True, needed=of_floats),
    summary="dst = src ** scalar",
)
TANDS = tile_scalar(
    "TANDS",
    on_bits(and_, "src", SRC, SCALAR),
    types(I6 | HALF, I6 | FB, cpu=I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_AS_01,
    EW_A3_07,
    summary="dst = src & scalar; of floats the bits",
)
TORS = tile_scalar(
    "TORS",
    on_bits(or_, "src", SRC, SCALAR),
    types(I6 | HALF, I6 | FB, cpu=I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_AS_01,
    EW_A3_07,
    summary="dst = src | scalar; of floats the bits",
)
TXORS = tile_scalar(
    "TXORS",
    on_bits(xor, "src", SRC, SCALAR),
    types(I6, I6 | FB, cpu=I6, asm=ASM_LOGIC),
    EW_10_APART_A3,
    EW_11,
    EW_AS_05_SCALAR,
    EW_AS_01,
    EW_A3_07,
    summary="dst = src ^ scalar; of floats the bits",
    scratch=tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("dst")),
)
TSHLS = tile_scalar("TSHLS", SRC << SCALAR, types(INT16_32, I8, asm=I8), EW_02_FLAT, EW_1, EW_09, EW_A5_01)
TSHRS = tile_scalar(
    "TSHRS",
    SRC >> SCALAR,
    types(INT16_32, I8, asm=(INT16_32, ASM_INT)),
    EW_02_FLAT,
    EW_09,
    EW_A5_01,
    note="arithmetic if signed",
)
SLOPE = scalar(type="f32")  # for every element type (EW-08)
TLRELU = tile_scalar(
    "TLRELU",
    leaky(SRC, SCALAR),
    types(F, F, asm=F),
    EW_02_FLAT,
    EW_08_SLOPE,
    EW_CPU_02,
    operand=SLOPE,
)
