"""Where the assembler makes a scratch tile that text leaves out, and what says its size (`Operand.needed`).

Facts: PTOAS 2026-08, PTOMaterializeImplicitTmp.cpp. At level 3 the program has to give those tiles.
"""

from __future__ import annotations

from collections.abc import Callable

from ptokit.targets import A2A3
from ptokit.types.enums import SaturationMode

from .site import Site, TileInfo

Needed = Callable[[Site], "str | None"]


def on_a2a3(like: str = "") -> Needed:
    """On a2a3 always, as large as this operand is valid; elsewhere the assembler has a tile of a fixed size."""
    return lambda o: like if o.target.is_a(A2A3) else None


def of_floats(o: Site) -> str | None:
    """Powers of floats."""
    return "dst" if o.dst.dtype.is_float else None


def of_trees(o: Site) -> str | None:
    """Sums of columns as trees."""
    return "src" if o.is_binary else None


def of_tails(o: Site) -> str | None:
    """Sorting of a width that is no multiple of 32, or open."""
    return "" if o.src.spec.valid_col % 32 else None


def of_lists(o: Site) -> str | None:
    """Merging of two tiles and more."""
    return "" if o.has("src1") else None


def of_wraps(o: Site) -> str | None:
    """Conversions of floats to narrower integers without saturation."""
    s, d = o.src.dtype, o.dst.dtype
    narrows = d.is_integer and (s.name, d.bits) in (("f32", 16), ("f16", 16), ("f16", 8))
    return "dst" if o.target.is_a(A2A3) and narrows and o.sat_mode is not SaturationMode.ON else None


def of_turns(o: Site) -> str | None:
    """Transposing on a2a3; of tiles whose rows are no whole blocks, any will do."""
    s, d = o.src, o.dst
    if not o.target.is_a(A2A3) or not isinstance(s, TileInfo) or not isinstance(d, TileInfo):
        return None
    return "src" if a2a3_turns_blocks(s, d) else ""


def a2a3_turns_blocks(s: TileInfo, d: TileInfo) -> bool:
    """True if a2a3 transposes whole blocks, for which it uses a scratch tile of the source's size."""
    return d.cols % (32 if s.dtype.size == 1 else 16) == 0 and s.cols % s.c0 == 0 and s.cols // s.c0 <= 255
