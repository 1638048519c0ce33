"""TTRANS: transposition of a tile, and reordering of convolution tiles (compute-layout-irregular 1.1)."""

from __future__ import annotations

from .table import Instr, dst, instruction, src, tmp

TTRANS = instruction(
    Instr(
        "TTRANS",
        "ttrans",
        "dst[c,r] = src[r,c]; of convolution tiles: the elements in the order of dst's layout.",
        (dst(), src(), tmp(optional=True)),
        implemented=False,
        source="compute-layout-irregular 1.1",
    )
)
