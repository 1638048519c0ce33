"""A7, an imagined target: as A5, with 512 KiB of UB, 64-bit scalars on any row, and short rows."""

from dataclasses import replace

from ptokit.diagnostics import rule
from ptokit.targets import A5
from ptokit.types.enums import TileType


@rule("A7-01", targets=("a7",))
def ROWS(o):
    """TADD works on rows of at most 256 bytes."""
    return o.dst.cols * o.dst.dtype.size > 256


A7 = replace(
    A5,
    **dict.fromkeys(("name", "title", "arch"), "a7"),
    capacity={**A5.capacity, TileType.Vec: 512 * 1024},
    like=A5,
    lifted=frozenset({"EW-A5-01"}),
    added={"TADD": (ROWS,)},
)
