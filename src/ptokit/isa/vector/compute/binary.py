"""Operations on two and three registers lane by lane (vector-path 6.3, 6.9)."""

from __future__ import annotations

from operator import and_, or_, xor

from ptokit.types.dtypes import dtype, u32, u64

from ...meaning.bits import on_bits
from ...meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    divide,
    fused,
    greater,
    greater_equal,
    maximum,
    minimum,
    select,
)
from ...meaning.words import Lane, Write
from ...site import Site
from ..words import mask, micro, out_vreg, types, vreg
from .compute import SRC0, SRC1, binary, lanewise, leaky, relu, with_carry
from .compute_rules import MASKED, SAME
from .typesets import I8_32_FB, I8_64_FB, I16_32_FB, INT32, F

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
