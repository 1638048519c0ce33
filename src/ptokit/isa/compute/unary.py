"""Instructions with one source tile (compute-elementwise 3.2; special values in 4.6)."""

from __future__ import annotations

from ..meaning.expressions import exp, log, recip, rsqrt, sqrt
from ..table import dst, src, tmp
from ..typesets import ASM_8, ASM_16, ASM_I32_F, ASM_INT, ASM_N4, BF16, D8, I6, N4, N9, F, types, types_of
from .overlap_rules import EW_10_FLOATS_APART_A3
from .scratch_rules import EW_11_RSQRT
from .scratch_text_rules import EW_AS_02, EW_AS_06
from .vector_rules import EW_1_COLUMNS_A5, EW_CPU_01
from .words import SRC, relu, unary

TABS = unary("TABS", abs(SRC), types(F, F | types_of("i8 i16 i32"), asm=F), EW_CPU_01)
TNEG = unary("TNEG", -SRC, types(N4, N9, asm=(ASM_N4, ASM_N4 | ASM_8 | BF16)), EW_1_COLUMNS_A5)
TNOT = unary("TNOT", ~SRC, types(I6, I6, asm=(ASM_16, ASM_INT)))
TEXP = unary("TEXP", exp(SRC), types(F, F, asm=F))
TLOG = unary("TLOG", log(SRC), types(F, F, asm=F))
TSQRT = unary("TSQRT", sqrt(SRC), types(F, F, asm=F))
TRSQRT = unary(
    "TRSQRT",
    rsqrt(SRC),
    types(F, F, asm=F, bf16=False),
    EW_11_RSQRT,
    EW_AS_06,
    operands=(dst(), src(), tmp(optional=True)),
)
TRECIP = unary("TRECIP", recip(SRC), types(N4, D8, asm=F), EW_10_FLOATS_APART_A3, EW_AS_02)
TRELU = unary("TRELU", relu(SRC), types(F | types_of("i32"), F | types_of("i32"), asm=ASM_I32_F))
