"""Conditions that TEXTRACT and TINSERT share (compute-layout-irregular 1.3, 1.4)."""

from __future__ import annotations

from typing import Any

from ptokit.targets import A5

from ..site import ScalarInfo, Site
from .move_checks import Message
from .move_facts import (
    MX_SCALES,
    OPERAND_PAIRS,
    Acc,
    Left,
    Mat,
    Vec,
    arrow,
    pair,
)

PLAIN_LAYOUTS = ("ND", "Nz")


def bad_index(o: Site, name: str) -> Message:
    """An index of a window that is no 16-bit number."""
    info = o.operands[name]
    value: Any = info.value if isinstance(info, ScalarInfo) else None
    return f"{o:{name}} is {value}, not 0 to 65535" if isinstance(value, int) and not 0 <= value <= 0xFFFF else None


def pair_of_layouts(o: Site) -> Message:
    """What is wrong with the pair of buffers and layouts of an extraction on a device; None if it exists."""
    a5 = o.target.is_a(A5)
    if pair(o) in OPERAND_PAIRS or (a5 and o.src.loc is Mat and o.dst.loc in MX_SCALES):
        return None
    layouts = (o.src.layout_name, o.dst.layout_name)
    if pair(o) == (Acc, Mat):
        return None if layouts[1] == "Nz" else f"acc to mat writes Nz, {o:dst} has layout {layouts[1]}"
    if a5 and pair(o) == (Acc, Vec):
        return None
    if a5 and pair(o) == (Vec, Mat):
        return None if layouts[0] in PLAIN_LAYOUTS else f"vec to mat reads ND or Nz, {o:src} has layout {layouts[0]}"
    if pair(o) == (Vec, Vec):
        if layouts[0] in PLAIN_LAYOUTS and (layouts[0] == layouts[1] or (a5 and layouts[1] in PLAIN_LAYOUTS)):
            return None
        return f"{layouts[0]} to {layouts[1]} between vec tiles; both are ND or both Nz"
    return f"{o.target.name} does not extract {arrow(o)}"


def turned(o: Site) -> bool:
    """True if boxes are transposed on the way from mat to an operand buffer."""
    return bool(o.src.boxed and o.src.slayout is not o.dst.slayout)


def operand_window(o: Site, row: Any, col: Any) -> Message:
    """Alignment of a window that goes from mat to left or right (move-gather-scatter 4.7, 4.8)."""
    s, d = o.src, o.dst
    if d.loc is Left and s.rows == 1 and s.layout_name == "ND":
        unit = 512 * 8 // s.dtype.bits
        for what, name, n in (("columns of ", "src", s.cols), ("columns of ", "dst", d.cols), ("", "col", col)):
            if n % unit != 0:
                return f"{what}{o:{name}}: {n} elements of {s.dtype} are no whole fractals of 512 bytes"
        return None
    if s.layout_name not in ("Nz", "Zn"):
        return f"{o:src} has layout {s.layout_name}; {arrow(o)} reads Nz or Zn"
    square = max(16, d.c0)
    rows, cols = (square, square) if turned(o) else (16, d.c0) if d.loc is Left else (d.c0, 16)
    for what, name, n, step in (
        ("", "row", row, rows),
        ("", "col", col, cols),
        ("rows of ", "dst", d.rows, rows),
        ("columns of ", "dst", d.cols, cols),
    ):
        if n % step != 0:
            return f"{what}{o:{name}}: {n} is not a multiple of {step}, as {d.dtype} from {s.layout_name} needs"
    return None
