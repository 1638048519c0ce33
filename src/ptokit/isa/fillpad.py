"""TFILLPAD and its relatives: copy, and fill what lies outside the valid region (compute-layout-irregular 1.6)."""

from __future__ import annotations

from .table import Instr, dst, instruction, src


def _fillpad(name: str, summary: str) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (dst(), src()),
            implemented=False,
            source="compute-layout-irregular 1.6",
        )
    )


TFILLPAD = _fillpad("TFILLPAD", "dst = src, padded with dst's pad value.")
TFILLPAD_INPLACE = _fillpad("TFILLPAD_INPLACE", "Pad a tile where it lies; src and dst are one tile.")
TFILLPAD_EXPAND = _fillpad("TFILLPAD_EXPAND", "dst = src, padded up to a larger tile.")
