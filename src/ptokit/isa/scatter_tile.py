"""TSCATTER: elements to places in a tile, by index or by mask (compute-layout-irregular 2.4)."""

from __future__ import annotations

from ptokit.types.enums import MaskAxis, MaskPattern

from .table import Attr, Instr, dst, instruction, src

TSCATTER = instruction(
    Instr(
        "TSCATTER",
        "tscatter",
        "dst = 0, then the elements of src at the places that an index tile names or a mask selects.",
        (dst(), src(), src("idx", optional=True)),
        (
            Attr("mask", MaskPattern, None, "maskPattern", "mask_pattern", dotted=True),
            Attr("axis", MaskAxis, MaskAxis.Row, "axis", "mask_axis"),
        ),
        implemented=False,
        source="compute-layout-irregular 2.4",
    )
)
