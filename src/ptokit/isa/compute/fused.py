"""Instructions with three sources, or that read their destination (compute-elementwise 3.3)."""

from __future__ import annotations

from ..meaning.expressions import Convert, Element, Expr, Scalar
from ..site import Site
from ..table import dst, inout, scalar, src
from ..typesets import FB, N4, N11, F, types
from .overlap_rules import EW_10, EW_10_CHAIN
from .scratch_text_rules import EW_AS_08, EW_AS_09
from .vector_rules import EW_01, EW_02, EW_03, EW_05, EW_06_WIDENING, EW_08_OF_SRC, EW_1, EW_1_EQUAL, EW_CPU_01
from .words import DST, SCALAR, SRC, SRC0, SRC1, accumulate, computed, relu

TMULADDDST = accumulate("TMULADDDST", SRC0 * SRC1 + DST, types(F, F))
TFUSEDMULADD = accumulate("TFUSEDMULADD", SRC0 * DST + SRC1, types(F, F))
TFUSEDMULADDRELU = accumulate("TFUSEDMULADDRELU", relu(SRC0 * DST + SRC1), types(F, F))

# TAXPY ---------------------------------------------------------------------------------------------------------------


def _axpy(o: Site) -> Expr:
    """Where the types differ both factors are widened before the product."""
    if o.src.dtype is o.dst.dtype:
        return SRC * SCALAR + DST
    return Convert(SRC, "dst") * Convert(SCALAR, "dst") + DST


TAXPY = computed(
    "TAXPY",
    _axpy,
    (inout(), src(), scalar()),
    types(F, F, asm=(F, FB), bf16=False),
    EW_AS_08,
    common=(EW_01, EW_02, EW_03, EW_05, EW_06_WIDENING, EW_08_OF_SRC, EW_10, EW_1_EQUAL),
    summary="dst = src * scalar + dst",
)

# Chains of two operations ---------------------------------------------------------------------------------------------
# The library has them on cpu only; the assembler expands them into the two operations they are made of.

SRC2 = Element("src2")
NUMBER = Scalar("scalar", "src0")
CHAIN = types(N4, N11, cpu=N4 | FB)

TADDC = computed(
    "TADDC",
    SRC0 + SRC1 + SRC2,
    (dst(), src("src0"), src("src1"), src("src2")),
    CHAIN,
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
    EW_AS_09,
)
TSUBC = computed(
    "TSUBC",
    SRC0 - SRC1 + SRC2,
    (dst(), src("src0"), src("src1"), src("src2")),
    CHAIN,
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
)

TADDSC = computed(
    "TADDSC",
    SRC0 + NUMBER + SRC1,
    (dst(), src("src0"), scalar(), src("src1")),
    CHAIN,
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
    EW_AS_09,
)
TSUBSC = computed(
    "TSUBSC",
    SRC0 - NUMBER + SRC1,
    (dst(), src("src0"), scalar(), src("src1")),
    CHAIN,
    EW_1,
    EW_10_CHAIN,
    EW_CPU_01,
)
