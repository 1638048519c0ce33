"""Comparisons into packed masks, and selection by mask (compute-elementwise 3.5 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.enums import CmpMode

from ..machine import Machine, TileOperand
from ..meaning.expressions import (
    Bit,
    Element,
    Expr,
    Scalar,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    select,
    unequal,
)
from ..meaning.words import Lane, Python, Write
from ..numerics.scalars import element
from ..operands import BITS, FIRST_SOURCE
from ..scratch import on_a2a3
from ..site import Site
from ..table import Access, Attr, TextForm, derived_footprint, dst, scalar, src, tmp
from ..typesets import ASM_8, ASM_16, ASM_I32_F, ASM_INT, BF16, FB, I8, I32_F32, INT16_32, N11, F, types, types_of
from .compare_rules import EW_A5_03, EW_A5_04, EW_AS_10, SCALAR_RULES, SELECT_RULES, TILE_RULES
from .scratch_rules import EW_11_SEL, EW_11_SELS
from .scratch_text_rules import EW_AS_12, EW_AS_13
from .vector_rules import EW_07, EW_A5_01, EW_CPU_01
from .words import SCALAR, SRC, SRC0, SRC1, computed, vector

COMPARISONS: dict[CmpMode, Callable[..., Expr]] = {
    CmpMode.EQ: equal,
    CmpMode.NE: unequal,
    CmpMode.LT: less,
    CmpMode.LE: less_equal,
    CmpMode.GT: greater,
    CmpMode.GE: greater_equal,
}


IN_NUMPY: dict[CmpMode, Callable[..., np.ndarray]] = {
    CmpMode.EQ: np.equal,
    CmpMode.NE: np.not_equal,
    CmpMode.LT: np.less,
    CmpMode.LE: np.less_equal,
    CmpMode.GT: np.greater,
    CmpMode.GE: np.greater_equal,
}


def _comparison(a: Element, b: Expr) -> Callable[[Site], Lane]:
    """A bit for every valid element of `a`."""
    return lambda o: Lane((Write("dst", COMPARISONS[o.cmp](a, b), packed=True),), over=a.name)


def _with_number(o: Site) -> Lane | Python:
    """The assembler's template for TCMPS packs one row after the other; the library gives each a row of dst."""
    return Python(_packed_without_gaps) if o.target.templates else _comparison(SRC, SCALAR)(o)


def _packed_without_gaps(m: Machine, dst: TileOperand, src: TileOperand, scalar: Any, cmp: CmpMode) -> None:
    """Bits follow each other where src is contiguous and dst has a byte for each element.

    Else each row fills whole stores of 128 bits, or 256 of elements of one byte.
    """
    x = src.read()
    number = scalar if isinstance(scalar, np.ndarray) else element(src.spec.dtype, scalar)
    bits = IN_NUMPY[cmp](x, np.asarray(number).astype(x.dtype))
    stored = 256 if src.spec.dtype.size == 1 else 128
    if src.vr > 1 and (src.vc != src.spec.cols or dst.spec.cols * dst.spec.dtype.size < src.spec.cols):
        bits = np.pad(bits, ((0, 0), (0, 0), (0, -src.vc % stored)))
    packed = np.packbits(bits.reshape(len(bits), -1), axis=1, bitorder="little")
    raw = dst.raw()
    raw[:, : packed.shape[1]] = packed[:, : raw.shape[1]]


def _rows_of_source(o: Site) -> Iterator[Access]:
    """The rows of src are compared. Of a mask that has more, bits without gaps leave some as they are."""
    for a in derived_footprint(o):
        yield replace(a, kept=o.target.templates and o.src.vr < o.dst.vr) if a.write else a


CMP_MODE = (Attr("cmp", CmpMode, CmpMode.EQ, "cmpMode", "cmp"),)
ASM_SELECT = (ASM_16 | ASM_I32_F, ASM_8 | ASM_16 | ASM_I32_F)
ASM_SELECT_TILE = (ASM_SELECT[0] | BF16, ASM_SELECT[1] | BF16)

_MASK = replace(dst(), type=BITS)
_CHOICE = replace(src("mask"), type=BITS)

TCMP = vector(
    "TCMP",
    "bit (r,c) of dst = src0 cmp src1",
    (_MASK, src("src0"), src("src1")),
    types(I32_F32 | F, N11, asm=(ASM_I32_F, ASM_INT | FB)),
    _comparison(SRC0, SRC1),
    common=(*TILE_RULES, EW_A5_01),
    attrs=CMP_MODE,
    form=TextForm("dps-attrs-in"),
)
TCMPS = vector(
    "TCMPS",
    "bit (r,c) of dst = src cmp scalar",
    (_MASK, src(), scalar()),
    types(types_of("i16 u16 i32") | F, N11, asm=(ASM_16 | ASM_I32_F, ASM_INT | F)),
    _with_number,
    common=(*SCALAR_RULES, EW_A5_01, EW_07),
    attrs=CMP_MODE,
    footprint=_rows_of_source,
    form=TextForm("dps-attrs-in"),
)
TSEL = computed(
    "TSEL",
    select(Bit("mask"), SRC0, SRC1),
    (dst(), _CHOICE, src("src0"), src("src1"), tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3())),
    types(INT16_32 | FB, N11, asm=ASM_SELECT_TILE),
    common=(*SELECT_RULES, EW_A5_03, EW_A5_04, EW_11_SEL, EW_AS_12, EW_A5_01, EW_CPU_01),
)
TSELS = computed(
    "TSELS",
    select(Bit("mask"), SRC, Scalar("scalar", "dst")),
    (dst(), _CHOICE, src(), tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("src")), scalar()),
    types(INT16_32 | FB, I8 | F, asm=ASM_SELECT),
    common=(*SELECT_RULES, EW_AS_10, EW_11_SELS, EW_AS_13, EW_A5_01),
)
