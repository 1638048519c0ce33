"""TQUANT and TDEQUANT: 8-bit integers of f32 and back (compute-reduce-matrix 14 and 17)."""

from __future__ import annotations

from ptokit.types.enums import QuantType

from .table import Attr, Instr, dst, instruction, src, tmp

TQUANT = instruction(
    Instr(
        "TQUANT",
        "tquant",
        "dst = src * scale + offset as 8-bit integers, with a scale and an offset per row",
        (dst(), src(), src("scale"), src("offset", optional=True), tmp(optional=True)),
        (Attr("quant_type", QuantType, None, "quant_type", "quant_type"),),
        implemented=False,
        source="compute-reduce-matrix 14",
    )
)
TDEQUANT = instruction(
    Instr(
        "TDEQUANT",
        "tdequant",
        "dst = (src - offset) * scale, with a scale and an offset per row",
        (dst(), src(), src("scale"), src("offset")),
        implemented=False,
        source="compute-reduce-matrix 17",
    )
)
