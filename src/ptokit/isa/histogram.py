"""THISTOGRAM: cumulative counts of the values of one byte (compute-layout-irregular 2.9)."""

from __future__ import annotations

from .table import Attr, Instr, dst, instruction, src

THISTOGRAM = instruction(
    Instr(
        "THISTOGRAM",
        "thistogram",
        "dst[r,v] = how many elements of row r have a byte of at most v",
        (dst(), src(), src("idx")),
        (Attr("is_msb", bool, True, "isMSB"), Attr("byte", int, None, "byte")),
        implemented=False,
        source="compute-layout-irregular 2.9",
    )
)
