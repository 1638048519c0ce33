"""Scratch tiles that text leaves out, and tiles that an instruction takes as others than text says.

Facts: PTOAS 2026-08, PTOMaterializeImplicitTmp.cpp. At level 3 the program has to give those tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ptokit.targets import A2A3, Target
from ptokit.types.dtypes import DTYPES, HALVES, int4
from ptokit.types.enums import BLayout, SaturationMode, SLayout, TileType
from ptokit.types.tile import TileSpec, as_numbers, numbers_in

from .operands import Operand
from .site import Info, Site, TileInfo, known
from .table import Instr

# Where the assembler makes a scratch tile that text leaves out, and what says its size (`Operand.needed`).


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


def of_transposes(o: Site) -> str | None:
    """Transposing on a2a3; of tiles whose rows are no whole blocks, any will do."""
    s, d = o.src, o.dst
    if not o.target.is_a(A2A3) or not isinstance(s, TileInfo) or not isinstance(d, TileInfo):
        return None
    return "src" if a2a3_transposes_blocks(s, d) else ""


def a2a3_transposes_blocks(s: TileInfo, d: TileInfo) -> bool:
    """True if a2a3 transposes whole blocks, for which it uses a scratch tile of the source's size."""
    return d.cols % (32 if s.dtype.size == 1 else 16) == 0 and s.cols % s.c0 == 0 and s.cols // s.c0 <= 255


# Tiles that an instruction takes as others than text says.


SCALED = 32  # elements along K that share a scale, and bytes of a box of scales
_ROWS, _SHIFT = 16, 16  # of a box; an operand's address in units of that of its scales


def in_numbers(instr: Instr, operands: Mapping[str, Info | None], target: Target) -> dict[str, TileInfo]:
    """The tiles of pairs of 4-bit floats that are numbers to `instr`, since they meet tiles of other elements.

    Where all tiles hold pairs, a pair is one element. Of int4, a2a3 packs two into a byte.
    """
    if not instr.halves:
        return {}
    tiles = [(name, t) for name in instr.data_names if isinstance(t := operands.get(name), TileInfo)]
    pairs = {name: t for name, t in tiles if t.spec.dtype in HALVES or (t.spec.dtype is int4 and target.is_a(A2A3))}
    return {name: _numbers(t) for name, t in pairs.items()} if len(pairs) < len(tiles) else {}


def scales_of(instr: Instr, operands: Mapping[str, Info | None]) -> dict[str, TileInfo]:
    """Where scaled products find scales that text has as tiles of other elements.

    Such a tile is no more than a word: the hardware reads what belongs to the address of the operand.
    """
    found = {o.name: _scales(o, operands) for o in instr.operands if o.place is not None}
    return {name: tile for name, tile in found.items() if tile is not None}


def _numbers(tile: TileInfo) -> TileInfo:
    spec, (rows, cols) = as_numbers(tile.spec), numbers_in(tile.spec)
    return replace(tile, spec=spec, vr=tile.vr * rows, vc=tile.vc * cols)


def _scales(operand: Operand, operands: Mapping[str, Info | None]) -> TileInfo | None:
    given, scaled = operands.get(operand.name), operands.get(operand.name.removesuffix("_scale"))
    if not isinstance(given, TileInfo) or not isinstance(scaled, TileInfo) or not known(scaled.addr):
        return None
    if given.loc is not TileType.Scaling or given.spec.dtype.name == "e8m0" or operand.place is None:
        return None
    left = operand.place is TileType.ScaleLeft
    rows = scaled.spec.rows if left else scaled.spec.cols
    rows = 1 if left and rows == 1 else -(-rows // _ROWS) * _ROWS  # those of a vector are a vector
    groups = -(-(scaled.spec.cols if left else scaled.spec.rows) // (2 * SCALED)) * 2
    size = (rows, groups) if left else (groups, rows)
    blayout, slayout = (BLayout.RowMajor, SLayout.RowMajor) if left else (BLayout.ColMajor, SLayout.ColMajor)
    spec = TileSpec(operand.place, DTYPES["e8m0"], *size, *size, blayout, slayout, SCALED)
    return TileInfo(given.name, spec, *size, scaled.addr // _SHIFT)
