"""TCONCAT: rows of two tiles side by side (compute-layout-irregular 1.5)."""

from __future__ import annotations

from .table import Instr, Operand, Role, dst, instruction, src

TCONCAT = instruction(
    Instr(
        "TCONCAT",
        "tconcat",
        "Each row of dst is the row of src0 followed by that of src1; index tiles say how much of them.",
        (
            dst(),
            src("src0"),
            src("src1"),
            Operand("didx", Role.OUT, optional=True),
            src("idx0", optional=True),
            src("idx1", optional=True),
        ),
        forms=("dst src0 src1", "dst src0 src1 idx0 idx1", "dst src0 src1 didx idx0 idx1"),
        implemented=False,
        source="compute-layout-irregular 1.5",
    )
)
