"""TINTERLEAVE and TDEINTERLEAVE: alternate the elements of two rows (compute-layout-irregular 1.8)."""

from __future__ import annotations

from .table import Instr, dst, instruction, src

TINTERLEAVE = instruction(
    Instr(
        "TINTERLEAVE",
        "tinterleave",
        "Elements of src0 and src1 alternately: the first half in dst0, the second in dst1.",
        (dst("dst1"), dst("dst0"), src("src1"), src("src0")),
        implemented=False,
        written="src0 src1 dst0 dst1",
        source="compute-layout-irregular 1.8",
    )
)
TDEINTERLEAVE = instruction(
    Instr(
        "TDEINTERLEAVE",
        "tdeinterleave",
        "Elements at even places in dst0, at odd ones in dst1, of src0 and then src1.",
        (dst("dst1"), dst("dst0"), src("src1", optional=True), src("src0")),
        forms=("dst1 dst0 src1 src0", "dst1 dst0 src0"),
        implemented=False,
        written="src0 src1 dst0 dst1",
        source="compute-layout-irregular 1.8",
    )
)
