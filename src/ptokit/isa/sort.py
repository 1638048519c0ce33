"""TSORT32 and TMRGSORT: sorted records of value and index (compute-layout-irregular 2.5 and 2.6)."""

from __future__ import annotations

from .table import Attr, Instr, Kind, Operand, Role, dst, instruction, scalar, src, tmp

TSORT32 = instruction(
    Instr(
        "TSORT32",
        "tsort32",
        "Sort each 32 elements of a row in descending order; dst holds records of value and index.",
        (dst(), src(), src("idx"), tmp(optional=True)),
        implemented=False,
        source="compute-layout-irregular 2.5",
    )
)
TMRGSORT = instruction(
    Instr(
        "TMRGSORT",
        "tmrgsort",
        "Merge sorted lists of records: four neighbouring blocks of one tile, or two to four tiles.",
        (
            dst(),
            Operand("executed", Role.OUT, Kind.RECORD, optional=True),
            tmp(optional=True),
            src("src0"),
            src("src1", optional=True),
            src("src2", optional=True),
            src("src3", optional=True),
            scalar("block_len", optional=True, type="i32"),
        ),
        (Attr("exhausted", bool, False, "exhausted"),),
        syntax="dps-attrs-in",
        written="src0 src1 src2 src3 tmp block_len dst executed",
        forms=(
            "dst src0 block_len",
            "dst executed tmp src0 src1",
            "dst executed tmp src0 src1 src2",
            "dst executed tmp src0 src1 src2 src3",
        ),
        implemented=False,
        source="compute-layout-irregular 2.6",
    )
)
