"""Tile-tile instructions (compute-elementwise 3.1; arithmetic in section 4)."""

from __future__ import annotations

from operator import and_, or_

from ..meaning.bits import on_bits
from ..meaning.expressions import divide, floor_mod, fmod, maximum, minimum
from ..operands import FIRST_SOURCE
from ..scratch import of_floats, on_a2a3
from ..table import tmp
from ..typesets import (
    ASM_16,
    ASM_I32_F32,
    ASM_INT,
    ASM_N4,
    BYTE_FLOATS,
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
    NONE,
    F,
    types,
    types_of,
)
from .overlap_rules import EW_10_APART_A3, EW_10_FLOATS_APART_A3
from .scratch_rules import EW_11, EW_11_MASK, EW_11_POW, EW_11_REM
from .scratch_text_rules import EW_AS_03, EW_AS_04, EW_AS_05, EW_AS_11
from .vector_rules import EW_A3_06, EW_A5_01, EW_CPU_01
from .words import SRC0, SRC1, binary, leaky, power_of, relu, remainder_footprint

TADD = binary("TADD", SRC0 + SRC1, types(N4, N11, asm=(ASM_N4, ASM_INT | FB)), EW_CPU_01)
TADDRELU = binary("TADDRELU", relu(SRC0 + SRC1), types(types_of("i16") | F, NONE, asm=(ASM_16 | F, NONE)))
TSUB = binary("TSUB", SRC0 - SRC1, types(N4, N11, asm=(ASM_N4, ASM_INT | F)))
TMUL = binary("TMUL", SRC0 * SRC1, types(N4, N9, asm=ASM_N4))
TDIV = binary("TDIV", divide(SRC0, SRC1), types(F, D8, asm=(F, ASM_N4)), EW_A5_01)
TMAX = binary("TMAX", maximum(SRC0, SRC1), types(N4, N11, asm=(ASM_N4, ASM_INT | F)))
TMIN = binary("TMIN", minimum(SRC0, SRC1), types(N4, N11, asm=(ASM_N4, ASM_INT | FB)))
TREM = binary(
    "TREM",
    floor_mod(SRC0, SRC1),
    types(I32_F32, D8, asm=(ASM_I32_F32, ASM_N4), bf16=False),
    EW_10_APART_A3,
    EW_A3_06,
    EW_A5_01,
    EW_11_REM,
    EW_AS_04,
    scratch=tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("dst")),
    note="the sign of src1",
    footprint=remainder_footprint,
)
TFMOD = binary(
    "TFMOD",
    fmod(SRC0, SRC1),
    types(F32, INT16_32 | F, asm=ASM_N4, bf16=False),
    EW_10_APART_A3,
    note="the sign of src0",
)
TPOW = binary(
    "TPOW",
    power_of(SRC0, SRC1),
    types(I6 | F32, I6 | F, cpu=I6 | FB),
    EW_10_FLOATS_APART_A3,
    EW_11_POW,
    EW_AS_11,
    scratch=tmp(optional=True, needed=of_floats),
    summary="dst = src0 ** src1",
)
_BITS = types(I6 | HALF, I6 | FB | BYTE_FLOATS, cpu=I6, asm=ASM_INT)
TAND = binary("TAND", on_bits(and_, "src0", SRC0, SRC1), _BITS, summary="dst = src0 & src1; of floats the bits")
TOR = binary("TOR", on_bits(or_, "src0", SRC0, SRC1), _BITS, summary="dst = src0 | src1; of floats the bits")
TXOR = binary(
    "TXOR",
    SRC0 ^ SRC1,
    types(I6, I6, asm=ASM_INT),
    EW_10_APART_A3,
    EW_11,
    EW_AS_05,
    scratch=tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("dst")),
)
TSHL = binary("TSHL", SRC0 << SRC1, types(I6, I8, asm=ASM_INT))
TSHR = binary("TSHR", SRC0 >> SRC1, types(I6, I8, asm=ASM_INT), note="arithmetic if signed")
TPRELU = binary(
    "TPRELU",
    leaky(SRC0, SRC1),
    types(F, F, asm=F),
    EW_10_APART_A3,
    EW_11_MASK,
    EW_AS_03,
    scratch=tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("dst")),
)
TSUBRELU = binary("TSUBRELU", relu(SRC0 - SRC1), types(F, F))
