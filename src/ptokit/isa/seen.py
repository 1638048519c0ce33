"""Tiles that an instruction takes as others than text says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ptokit.targets import A2A3, Target
from ptokit.types.dtypes import DTYPES, HALVES, int4
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec, as_numbers, numbers_in

from .operands import Operand
from .site import Info, TileInfo, known
from .table import Instr

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
