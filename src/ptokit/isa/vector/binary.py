"""Operations on two and three registers lane by lane (vector-path 6.3, 6.9)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..machine import Machine
from ..numerics import arith
from . import values
from .compute import binary, lanewise, with_carry
from .compute_rules import MASKED, SAME
from .lanes import Predicate, zeroed
from .typesets import I8_32_FB, I8_64_FB, I16_32_FB, INT32, INTS, F
from .words import mask, micro, out_vreg, types, vreg

VADD = binary("vadd", np.add, "dst = src0 + src1", I8_64_FB)
VSUB = binary("vsub", np.subtract, "dst = src0 - src1", I8_64_FB)
VMUL = binary("vmul", np.multiply, "dst = src0 * src1", I16_32_FB)
VDIV = binary("vdiv", np.true_divide, "dst = src0 / src1", F)
VMAX = binary("vmax", arith.maximum, "dst = max(src0, src1); NaN wins", I8_32_FB)
VMIN = binary("vmin", arith.minimum, "dst = min(src0, src1); NaN wins", I8_32_FB)
VAND = binary("vand", np.bitwise_and, "dst = src0 & src1", INTS)
VOR = binary(
    "vor",
    partial(values.bitwise, np.bitwise_or),
    "dst = src0 | src1; of floats the bits",
    types("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32"),
)
VXOR = binary("vxor", np.bitwise_xor, "dst = src0 ^ src1", INTS)

VADDC = with_carry("vaddc", values.add_carry, "dst = src0 + src1; carry = the unsigned carry out", INT32)
_NO_BORROW = "The carry is 1 where nothing was borrowed, as published results have it; the manual calls it the borrow."
VSUBC = with_carry(
    "vsubc",
    values.subtract_carry,
    "dst = src0 - src1; carry = 1 if nothing was borrowed",
    INT32,
    decision=_NO_BORROW,
)
VADDCS = with_carry("vaddcs", values.add_carry, "dst = src0 + src1 + carry_in, with carry", INT32, carried=True)
VSUBCS = with_carry(
    "vsubcs",
    values.subtract_carry,
    "dst = src0 - src1 - (1 - carry_in), with carry",
    INT32,
    carried=True,
    decision=_NO_BORROW,
)

# Fused and special ----------------------------------------------------------------------------------------------------

VPRELU = binary("vprelu", values.leaky, "dst = src0 >= 0 ? src0 : src1 * src0", F, source="6.9")
VADDRELU = binary("vaddrelu", values.add_relu, "dst = max(src0 + src1, 0)", F, source="6.9")
VSUBRELU = binary("vsubrelu", values.subtract_relu, "dst = max(src0 - src1, 0)", F, source="6.9")
VMULA = micro(
    "vmula",
    "dst = acc + src0 * src1, rounded once",
    (vreg("acc"), vreg("src0"), vreg("src1"), mask()),
    (out_vreg(like="acc"),),
    lanewise(values.accumulate, 3),
    SAME,
    MASKED,
    types=I8_64_FB,
    source="6.9",
    decision="The product is not rounded before the addition.",
)


VMADD = micro(
    "vmadd",
    "dst = src0 * acc + src1, rounded once",
    (vreg("acc"), vreg("src0"), vreg("src1"), mask()),
    (out_vreg(like="acc"),),
    lanewise(lambda acc, a, b: values.accumulate(b, a, acc), 3),
    SAME,
    MASKED,
    types=types("f16 bf16 f32"),
    source="PTOAS e32488c9, micro-isa 7",
)


def _wide_product(
    machine: Machine, a: np.ndarray, b: np.ndarray, mask: Predicate, **_: Any
) -> tuple[np.ndarray, np.ndarray]:
    low, high = values.wide_product(a, b)
    return zeroed(low, mask), zeroed(high, mask)


VMULL = micro(
    "vmull",
    "lo, hi = low and high 32 bits of src0 * src1",
    (vreg("src0"), vreg("src1"), mask()),
    (out_vreg("lo", like="src0"), out_vreg("hi", like="src0")),
    _wide_product,
    SAME,
    MASKED,
    types=INT32,
    source="6.9",
)
