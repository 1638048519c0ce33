"""TGATHER and TGATHERB: elements of a tile by index, by mask, by comparison (compute-layout-irregular 2.1 to 2.3)."""

from __future__ import annotations

from ptokit.types.enums import CmpMode, MaskAxis, MaskPattern

from .table import Attr, Instr, Operand, Role, dst, instruction, scalar, src, tmp

TGATHER = instruction(
    Instr(
        "TGATHER",
        "tgather",
        "dst = elements of src that an index tile names, a mask selects, or a comparison finds.",
        (
            dst(),
            src(),
            src("idx", optional=True),
            scalar("threshold", optional=True),
            Operand("count", Role.OUT, optional=True),
            tmp(optional=True),
        ),
        (
            Attr("mask", MaskPattern, None, "maskPattern", "mask_pattern", dotted=True),
            Attr("axis", MaskAxis, MaskAxis.Row, "axis", "mask_axis"),
            Attr("cmp", CmpMode, CmpMode.EQ, "cmpMode", "cmp"),
            Attr("offset", int, 0, "offset"),
        ),
        syntax="dps-comma",
        forms=(
            "dst src idx tmp",
            "dst src idx",
            "dst src",
            "dst src threshold count tmp",
            "dst src threshold count",
            "dst src idx count tmp",
            "dst src idx count",
        ),
        implemented=False,
        source="compute-layout-irregular 2.2",
    )
)
TGATHERB = instruction(
    Instr(
        "TGATHERB",
        "tgatherb",
        "Blocks of 32 bytes of src, at byte offsets.",
        (dst(), src(), src("offset")),
        implemented=False,
        source="compute-layout-irregular 2.3",
    )
)
