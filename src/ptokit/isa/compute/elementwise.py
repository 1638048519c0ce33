"""Elementwise instructions: on tiles, and on tiles and scalars (compute-elementwise 3 and 4)."""

from __future__ import annotations

from operator import and_, or_, xor

from ptokit.diagnostics import family
from ptokit.targets import A5
from ptokit.types.enums import Pipe, TileType

from ..checks.compiling import Message
from ..meaning.expressions import (
    Convert,
    Element,
    Expr,
    Scalar,
    divide,
    exp,
    floor_mod,
    fmod,
    fused,
    log,
    maximum,
    minimum,
    recip,
    rsqrt,
    sqrt,
)
from ..meaning.source import on_bits
from ..meaning.words import Lane, lane
from ..operands import (
    ASM_8,
    ASM_8_16,
    ASM_16,
    ASM_I32_F,
    ASM_I32_F32,
    ASM_INT,
    ASM_N4,
    BF16,
    BYTE_FLOATS,
    D8,
    F32,
    FB,
    FIRST_SOURCE,
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
from ..scratch import (
    EW_10,
    EW_10_APART_A3,
    EW_10_CHAIN,
    EW_10_FLOATS_APART_A3,
    EW_10_RECIPROCAL_APART_A3,
    EW_11,
    EW_11_MASK,
    EW_11_POW,
    EW_11_REM,
    EW_11_REMS,
    EW_11_RSQRT,
    of_floats,
    on_a2a3,
)
from ..site import Site
from ..table import Attr, TextForm, dst, inout, scalar, src, tmp
from .text_rules import (
    EW_AS_01,
    EW_AS_02,
    EW_AS_03,
    EW_AS_04,
    EW_AS_04_SCALAR,
    EW_AS_05,
    EW_AS_05_SCALAR,
    EW_AS_06,
    EW_AS_08,
    EW_AS_09,
    EW_AS_11,
)
from .vector_unit import (
    DST,
    EW_01,
    EW_01_MAT,
    EW_02,
    EW_02_64,
    EW_02_FLAT,
    EW_02_FLAT_FLOATS,
    EW_03,
    EW_05,
    EW_05_COLUMNS_A5,
    EW_06,
    EW_06_WIDENING,
    EW_07,
    EW_08,
    EW_08_OF_SRC,
    EW_08_SLOPE,
    EW_09,
    EW_1,
    EW_1_COLUMNS_A5,
    EW_1_EQUAL,
    EW_A3_07,
    EW_A3_09,
    EW_A5_01,
    EW_CPU_01,
    EW_CPU_02,
    EW_CPU_05,
    REMAINDERS,
    SCALAR,
    SRC,
    SRC0,
    SRC1,
    accumulate,
    binary,
    computed,
    leaky,
    power_of,
    relu,
    remainder_footprint,
    tile_scalar,
    unary,
    vector,
)

# Tile-tile instructions (compute-elementwise 3.1; arithmetic in section 4).


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
    *REMAINDERS,
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


# Instructions with one source tile (compute-elementwise 3.2; special values in 4.6).


TABS = unary("TABS", abs(SRC), types(F, F | types_of("i8 i16 i32"), asm=F), EW_CPU_01)
TNEG = unary("TNEG", -SRC, types(N4, N9, asm=(ASM_N4, ASM_N4 | ASM_8 | BF16)), EW_1_COLUMNS_A5)
TNOT = unary("TNOT", ~SRC, types(I6, I6, asm=(ASM_16, ASM_INT)))
TEXP = unary("TEXP", exp(SRC), types(F, F, asm=F))
TLOG = unary("TLOG", log(SRC), types(F, F, asm=F))
TSQRT = unary("TSQRT", sqrt(SRC), types(F, F, asm=F))


TRSQRT = unary(
    "TRSQRT",
    lambda o: recip(sqrt(SRC)) if o.target.is_a(A5) else rsqrt(SRC),  # a5 divides 1 by the root, which is rounded
    types(F, F, asm=F, bf16=False),
    EW_11_RSQRT,
    EW_AS_06,
    operands=(dst(), src(), tmp(optional=True)),
    summary="dst = 1 / sqrt src",
)
TRECIP = unary("TRECIP", recip(SRC), types(N4, D8, asm=F), EW_10_FLOATS_APART_A3, EW_AS_02)
TRELU = unary("TRELU", relu(SRC), types(F | types_of("i32"), F | types_of("i32"), asm=ASM_I32_F))


# Instructions with three sources, or that read their destination (compute-elementwise 3.3).


# The product is rounded before the addition, on a5 too: with one rounding the library's device tests of f16 fail where
# both cancel.
TMULADDDST = accumulate("TMULADDDST", SRC0 * SRC1 + DST, types(F, F))
TFUSEDMULADD = accumulate("TFUSEDMULADD", SRC0 * DST + SRC1, types(F, F))
TFUSEDMULADDRELU = accumulate("TFUSEDMULADDRELU", relu(SRC0 * DST + SRC1), types(F, F))

# TAXPY ---------------------------------------------------------------------------------------------------------------


def _axpy(o: Site) -> Expr:
    """Where the types differ both factors are widened before the product, which a5 does not round."""
    same = o.src.dtype is o.dst.dtype
    x, factor = (SRC, SCALAR) if same else (Convert(SRC, "dst"), Convert(SCALAR, "dst"))
    return fused(x, factor, DST) if o.target.is_a(A5) else x * factor + DST


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


# TEXPANDS: a scalar into every element (compute-elementwise 3.4, EW-A3-08).


rule = family("compute-elementwise 2.2")


def _fill(o: Site) -> Lane:
    return lane(Scalar("scalar", "dst"), whole=o.dst.loc is TileType.Mat)


def _pipe(o: Site) -> Pipe:
    return Pipe.MTE2 if o.dst.loc is TileType.Mat else Pipe.V


def _mat_blocks(o: Site) -> Message:
    """A Mat tile to fill has 1..32767 blocks of 32 bytes."""
    blocks = o.dst.spec.nbytes // 32
    if o.dst.loc is TileType.Mat and not 1 <= blocks <= 32767:
        return f"{o:dst} is {o.dst.spec.nbytes} bytes, {blocks} blocks of 32; a mat fill takes 1..32767"
    return None


EW_A3_08 = rule(
    "EW-A3-08",
    "TEXPANDS(Tile(Mat, {f16, 128, 128|i8, 1024, 1024}), 1)",
    evidence="device assertion",
)(_mat_blocks)


EW_A5_09 = rule(
    "EW-A5-09",
    "TEXPANDS(Tile(Mat, {f32|i64}, 16, 64), 1099511627776)",
    source="compute-elementwise 2.3",
    evidence="static_assert device",
)(
    "A Mat tile to fill has 1..32767 blocks of 32 bytes and elements of 1, 2 or 4 bytes.",
    "dst.dtype.size <= 4 if dst.loc is Mat",
    "a mat fill has no {dst.dtype} form",
    _mat_blocks,
)


TEXPANDS = vector(
    "TEXPANDS",
    "dst = scalar in every valid element; a Mat tile is filled whole",
    (dst(), scalar()),
    types(I6 | FB, I8 | FB, asm=(INT16_32 | FB, ASM_INT | FB)),
    _fill,
    EW_A3_07,
    EW_A3_08,
    EW_A5_09,
    common=(EW_01_MAT, EW_02_64, EW_03, EW_06, EW_07, EW_08, EW_1),
    pipe=_pipe,
)


# Tile-scalar instructions (compute-elementwise 3.4).


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
    cpp="scalar_first: TDIVS(dst, scalar, src) | TDIVS(dst, src, scalar)",
)
TREMS = tile_scalar(
    "TREMS",
    floor_mod(SRC, SCALAR),
    types(I32_F32, D8, asm=(ASM_I32_F32, ASM_N4), bf16=False),
    EW_08,
    EW_10_APART_A3,
    *REMAINDERS,
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
