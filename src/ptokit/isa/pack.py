"""TPACK: the low bits of wider elements (compute-layout-irregular 1.9)."""

from __future__ import annotations

from .table import Instr, dst, instruction, src

TPACK = instruction(
    Instr(
        "TPACK",
        "tpack",
        "dst = low bits of src's wider elements",
        (dst(), src()),
        implemented=False,
        source="compute-layout-irregular 1.9",
    )
)
