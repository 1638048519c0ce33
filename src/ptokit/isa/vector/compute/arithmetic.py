"""Operations on registers lane by lane: arithmetic, shifts, comparison, selection (vector-path 6.2 to 6.5, 6.9).

Decision: lists that say just "integers" include the 64-bit ones (open question 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import and_, or_, xor

from ptokit.diagnostics import family
from ptokit.types.dtypes import dtype, i64, u32, u64

from ...checks.compiling import Message
from ...meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Scalar,
    Taken,
    apply,
    divide,
    equal,
    exp,
    fused,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    maximum,
    minimum,
    popcount,
    recip,
    rsqrt,
    select,
    sign_bits,
    sqrt,
    unequal,
)
from ...meaning.source import on_bits
from ...meaning.words import Lane, Need, Write, lane
from ...site import ScalarInfo, Site, VregInfo
from ..predicates import PRD_01
from ..words import ANY, SOURCE, mask, micro, number, out_mask, out_vreg, token, types, vreg
from .words import (
    FITS,
    MASKED,
    SAME,
    SCALAR,
    SRC,
    SRC0,
    SRC1,
    UNPUBLISHED,
    VEC_08,
    VEC_17,
    binary,
    lanewise,
    leaky,
    number_of,
    relu,
    unary,
    with_carry,
    with_scalar,
    worded,
)

# Element types of the operations on registers, as vector-path 6 lists them; a signless iW counts as signed.


F = types("f16 f32")
FB = types("f16 bf16 f32")
INT32 = types("i32 u32")
INTS = types("i8 u8 i16 u16 i32 u32 i64 u64")
I8_32_F = types("i8 u8 i16 u16 i32 u32 f16 f32")
I8_32_FB = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32")
I8_64_FB = types("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32")
I16_32_F = types("i16 u16 i32 u32 f16 f32")
I16_32_FB = types("i16 u16 i32 u32 f16 bf16 f32")
NARROW = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32 e4m3 e5m2 hif8")


# Operations on two and three registers lane by lane (vector-path 6.3, 6.9).


VADD = binary("vadd", SRC0 + SRC1, I8_64_FB)
VSUB = binary("vsub", SRC0 - SRC1, I8_64_FB)
VMUL = binary("vmul", SRC0 * SRC1, I16_32_FB)
VDIV = binary(
    "vdiv",
    divide(SRC0, SRC1),
    types("f16 f32 i16 i32"),
    note="integers toward zero",
    decision="Dividing an integer by 0 gives 0: the manual leaves it open.",
)
VMAX = binary("vmax", maximum(SRC0, SRC1), I8_32_FB, note="NaN wins")
VMIN = binary("vmin", minimum(SRC0, SRC1), I8_32_FB, note="NaN wins")
_BITS = types("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 e4m3 e5m2 hif8")

VAND = binary("vand", on_bits(and_, "src0", SRC0, SRC1), _BITS, summary="dst = src0 & src1; of floats the bits")
VOR = binary("vor", on_bits(or_, "src0", SRC0, SRC1), _BITS, summary="dst = src0 | src1; of floats the bits")
VXOR = binary("vxor", on_bits(xor, "src0", SRC0, SRC1), _BITS, summary="dst = src0 ^ src1; of floats the bits")

_A64, _B64 = (Convert(Element(name, dtype=u32), u64) for name in ("src0", "src1"))
_IN = select(Bit("carry_in"), Const(1, _A64), Const(0, _A64))
_SUM = _A64 + _B64
_ALL = 0xFFFF_FFFF
VADDC = with_carry("vaddc", _SUM, greater(_SUM, _ALL), "dst = src0 + src1; carry = the unsigned carry out", INT32)
_NO_BORROW = "The carry is 1 where nothing was borrowed, as published results have it; the manual calls it the borrow."
VSUBC = with_carry(
    "vsubc",
    _A64 - _B64,
    greater_equal(_A64, _B64),
    "dst = src0 - src1; carry = 1 if nothing was borrowed",
    INT32,
    decision=_NO_BORROW,
)
_SUM_IN, _TAKEN = _SUM + _IN, _B64 + 1 - _IN
VADDCS = with_carry(
    "vaddcs", _SUM_IN, greater(_SUM_IN, _ALL), "dst = src0 + src1 + carry_in, with carry", INT32, carried=True
)
VSUBCS = with_carry(
    "vsubcs",
    _A64 - _TAKEN,
    greater_equal(_A64, _TAKEN),
    "dst = src0 - src1 - (1 - carry_in), with carry",
    INT32,
    carried=True,
    decision=_NO_BORROW,
)

# Fused and special ----------------------------------------------------------------------------------------------------

VPRELU = binary("vprelu", leaky(SRC0, SRC1), F, source="6.9")
VADDRELU = binary("vaddrelu", relu(SRC0 + SRC1), F, source="6.9")
VSUBRELU = binary("vsubrelu", relu(SRC0 - SRC1), F, source="6.9")
ACC = Element("acc")
VMULA = lanewise(
    "vmula",
    "dst = acc + src0 * src1, rounded once",
    (vreg("acc"), vreg("src0"), vreg("src1")),
    fused(SRC0, SRC1, ACC),
    types=I8_64_FB,
    source="6.9",
    decision="The product is not rounded before the addition.",
)
VMADD = lanewise(
    "vmadd",
    "dst = src0 * acc + src1, rounded once",
    (vreg("acc"), vreg("src0"), vreg("src1")),
    fused(ACC, SRC0, SRC1),
    types=types("f16 bf16 f32"),
    source="PTOAS e32488c9, micro-isa 7",
)


def _wide_product(o: Site) -> Lane:
    own = o.src0.dtype
    product = Convert(SRC0, dtype(f"{own.kind}64")) * Convert(SRC1, dtype(f"{own.kind}64"))
    halves = Write("lo", Convert(product, own)), Write("hi", Convert(product >> 32, own))
    return Lane(halves, over="src0", mask="mask")


VMULL = micro(
    "vmull",
    "lo, hi = low and high 32 bits of src0 * src1",
    (vreg("src0"), vreg("src1"), mask()),
    (out_vreg("lo", like="src0"), out_vreg("hi", like="src0")),
    None,
    SAME,
    MASKED,
    meaning=_wide_product,
    types=INT32,
    source="6.9",
)


# Operations on one register (vector-path 6.2).


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


# Operations on registers and a number (vector-path 6.4, 6.9).


VADDS = with_scalar("vadds", SRC + SCALAR, I8_32_FB)
VSUBS = with_scalar("vsubs", SRC - SCALAR, I8_32_FB)
VMULS = with_scalar("vmuls", SRC * SCALAR, I8_32_FB)
VMAXS = with_scalar("vmaxs", maximum(SRC, SCALAR), I8_32_FB, note="NaN wins")
VMINS = with_scalar("vmins", minimum(SRC, SCALAR), I8_32_FB, note="NaN wins")
VANDS = with_scalar("vands", SRC & SCALAR, INTS)
VORS = with_scalar("vors", SRC | SCALAR, INTS)
VXORS = with_scalar("vxors", SRC ^ SCALAR, INTS)
VLRELU = with_scalar("vlrelu", leaky(SRC, SCALAR), F)
VAXPY = lanewise(
    "vaxpy",
    "dst = alpha * x + y, rounded once",
    (vreg("x"), vreg("y"), number("alpha")),
    fused(Element("x"), Scalar("alpha", "x"), Element("y")),
    FITS,
    types=F,
    source="6.9",
    decision="The product is not rounded before the addition.",
)


# Shifts by a register of counts and by a number (vector-path 6.3, 6.4).


rule = family(SOURCE)


@rule(
    "VEC-A5-14",
    """
        %t = arith.constant {4|8} : i16
        pto.vecscope {
        %r = pto.vshls %a, %t : !pto.vreg<256xi8>, i16 -> !pto.vreg<256xi8>
        }
    """,
    targets=("a2a3", "a5"),
    evidence="document ptokit",
)
def VEC_14(o: Site) -> Message:
    """A shift count is 0..bits-1.

    Decision: Counts of lanes that the mask leaves out do not matter. The cpu target shifts everything out: 0, or the
    sign bits where the right shift is arithmetic.
    """
    count, src = o.operands.get("count"), o.operands.get("src")
    if not isinstance(count, ScalarInfo) or not isinstance(src, VregInfo):
        return None
    wrong = count.value < 0 or count.value >= src.dtype.bits
    return f"lanes of {src.dtype.bits} bits are shifted by {count.value}" if wrong else None


def _count_lanes(o: Site) -> Message:
    src, count, made = (o.operands.get(name) for name in ("src", "count", "dst"))
    if not isinstance(src, VregInfo) or not isinstance(count, VregInfo):
        return None
    if isinstance(made, VregInfo) and made.dtype is not src.dtype:
        return f"{made.name} has lanes of {made.dtype}, {src.name} of {src.dtype}"
    if count.dtype.bits != src.dtype.bits or not count.dtype.is_integer:
        wanted = f"lanes of {src.dtype} are shifted by integers as wide"
        return f"{count.name} has lanes of {count.dtype}; {wanted}"
    return None


_COUNTS = replace(SAME, check=_count_lanes)


def _shifted(o: Site, primitive: str, count: Expr) -> Lane:
    """``count`` has 64 bits; what is no count shifts everything out, as a count of all bits does."""
    bits = o.src.dtype.bits
    says = f"lane {{lane}} is shifted by {{number}}; it has {bits} bits"
    needs = (Need(count, 0, bits, VEC_14.id, says),) if o.target.obeys(VEC_14) else ()
    fits = equal(count & -bits, 0)
    shifted = apply(primitive, SRC, Convert(select(fits, count, bits - 1), o.src.dtype))
    if primitive == "shl" or not o.src.dtype.signed:
        shifted = select(fits, shifted, 0)
    return Lane((Write("dst", shifted),), over="src", mask="mask", needs=needs)


def _shift(text: str, primitive: str, summary: str) -> None:
    """``text`` shifts by a register, ``text`` + s by a number."""
    result = (out_vreg(like="src"),)

    def by_number(o: Site) -> Lane:
        """A count that is known and right needs no look at it."""
        count = number_of(o, "count")
        if not isinstance(count, int) or not 0 <= count < o.src.dtype.bits:
            return _shifted(o, primitive, Scalar("count", i64))
        return lane(apply(primitive, SRC, count), over="src", mask="mask")

    micro(
        text + "s",
        summary,
        (vreg(), number("count", "i16"), mask()),
        result,
        None,
        SAME,
        MASKED,
        FITS,
        VEC_14,
        meaning=by_number,
        types=INTS,
        source="6.4",
    )
    micro(
        text,
        summary,
        (vreg(), vreg("count"), mask()),
        result,
        None,
        _COUNTS,
        MASKED,
        VEC_14,
        meaning=lambda o: _shifted(o, primitive, Convert(Element("count"), i64)),
        types=INTS,
        source="6.3",
    )


_shift("vshl", "shl", "dst = src << count")
_shift("vshr", "shr", "dst = src >> count, arithmetic if src is signed")


# Comparison and selection (vector-path 6.5).


COMPARISONS: dict[str, Callable[..., Expr]] = {
    "eq": equal,
    "ne": unequal,
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
}
"""Comparisons by their word; with NaN all are false but ``ne``."""

_CMP = token("cmp", words=COMPARISONS, key="cmp_mode")


def _comparison(a: Element, b: Expr) -> Callable[[Site], Lane]:
    """The bits of the lanes where the comparison holds and the seed mask lets it through."""
    return lambda o: Lane((Write("dst", COMPARISONS[o.cmp](a, b), packed=True),), over=a.name, mask="seed")


VCMP = micro(
    "vcmp",
    "dst = src0 cmp src1 in the lanes of the seed mask; with NaN only ne holds",
    (vreg("src0"), vreg("src1"), mask("seed")),
    (out_mask(like="seed"),),
    None,
    SAME,
    MASKED,
    worded(PRD_01),
    meaning=_comparison(SRC0, SRC1),
    attrs=(_CMP,),
    types=I8_64_FB,
    source="6.5",
)
VCMPS = micro(
    "vcmps",
    "dst = src cmp scalar in the lanes of the seed mask; with NaN only ne holds",
    (vreg(), number("scalar"), mask("seed")),
    (out_mask(like="seed"),),
    None,
    FITS,
    MASKED,
    worded(PRD_01),
    meaning=_comparison(SRC, SCALAR),
    attrs=(_CMP,),
    types=I8_64_FB,
    source="6.5",
)
VSEL = micro(
    "vsel",
    "dst = src0 in the active lanes, src1 in the others",
    (vreg("src0"), vreg("src1"), mask()),
    (out_vreg(like="src0"),),
    None,
    SAME,
    MASKED,
    meaning=lane(select(Bit("mask"), SRC0, SRC1), over="src0"),
    types=ANY,
    source="6.5",
)


def permutation(text: str, source: str, decision: str = "") -> None:
    """An operation that picks every lane by an index."""
    micro(
        text,
        "dst[i] = src[index[i] mod N]",
        (vreg(), vreg("index")),
        (out_vreg(like="src"),),
        None,
        VEC_17,
        meaning=lane(Taken(SRC, Element("index")), over="src"),
        types=ANY,
        source=source,
        decision=decision,
    )


permutation("vselr", "6.5", "Lanes are chosen by an index register; the manual describes a selection by a mask.")
VSELRV2 = micro(
    "vselrv2",
    "Select in reversed order, by a predicate that the public sources do not name.",
    (vreg("src0"), vreg("src1")),
    (out_vreg(like="src0"),),
    None,
    VEC_08,
    meaning=UNPUBLISHED,
    types={},
    source="6.5",
)
