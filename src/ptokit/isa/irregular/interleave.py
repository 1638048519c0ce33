"""TINTERLEAVE and TDEINTERLEAVE: alternate the elements of two rows (compute-layout-irregular 1.8)."""

from __future__ import annotations

from ptokit.types.dtypes import i32

from ..forms import LEVEL2
from ..meaning.expressions import Axis, Coordinate, Count, Element, Expr, Extent, Index, equal, less, select
from ..meaning.words import Lane, Write
from ..site import Site
from ..table import Instr, TextForm, dst, instruction, src
from ..unknown import known
from .interleave_rules import DE_RULES, RULES

_ROW, _J = Axis(i=1), Coordinate("column", i32)


def _by_turns() -> Lane:
    """Rows have an even number of columns, so that both halves begin with src0."""

    def half(start: Count) -> Expr:
        at = Index(_ROW, Axis(j=1, plus=start, over=2))
        return select(equal(_J & 1, 1), Element("src1", at), Element("src0", at))

    return Lane((Write("dst0", half(0)), Write("dst1", half(Extent("src0", "vc")))), over="dst0")


def _apart(o: Site) -> Lane | None:
    cols = o.src0.vc
    if not known(cols):
        return None

    def every_second(first: int) -> Expr:
        at = Index(_ROW, Axis(j=2, plus=first, cycle=cols))
        if not o.has("src1"):
            return Element("src0", at)
        return select(less(_J, cols // 2), Element("src0", at), Element("src1", at))

    return Lane((Write("dst0", every_second(0)), Write("dst1", every_second(1))), over="dst0")


TINTERLEAVE = instruction(
    Instr(
        "TINTERLEAVE",
        "tinterleave",
        "Elements of src0 and src1 alternately: the first half in dst0, the second in dst1.",
        (dst("dst1"), dst("dst0"), src("src1"), src("src0")),
        form=TextForm(orders={LEVEL2: "src0 src1 -> dst0 dst1"}),
        rules=RULES,
        meaning=_by_turns(),
        source="compute-layout-irregular 1.8",
    )
)
TDEINTERLEAVE = instruction(
    Instr(
        "TDEINTERLEAVE",
        "tdeinterleave",
        "Elements at even places in dst0, at odd ones in dst1, of src0 and then src1.",
        (dst("dst1"), dst("dst0"), src("src1", optional=True), src("src0")),
        form=TextForm(choices=("dst1 dst0 src1 src0", "dst1 dst0 src0"), orders={LEVEL2: "src0 src1 -> dst0 dst1"}),
        rules=DE_RULES,
        meaning=_apart,
        source="compute-layout-irregular 1.8",
    )
)
