"""Shifts by a register of counts and by a number (vector-path 6.3, 6.4)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.diagnostics import family
from ptokit.types.dtypes import i64

from ...checks.operands import Message
from ...meaning.expressions import Convert, Element, Expr, Scalar, apply, equal, select
from ...meaning.words import Lane, Need, Write, lane
from ...site import ScalarInfo, Site, VregInfo
from ..rules import SOURCE
from ..words import mask, micro, number, out_vreg, vreg
from .compute import SRC, number_of
from .compute_rules import FITS, MASKED, SAME
from .typesets import INTS

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
