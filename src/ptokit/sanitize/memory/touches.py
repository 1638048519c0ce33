"""From an instruction's footprint to exact accesses, and which instructions wrote last (memory-model-and-sync 7, 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ptokit.isa.site import Site, TileInfo
from ptokit.isa.table import Access, Instr, Role
from ptokit.machine.global_memory import View
from ptokit.machine.tiles import Tile
from ptokit.types.enums import AtomicType, ScatterAtomicOp

from ..simulation.clocks import Footprint, Region, Touch, footprint, union
from ..simulation.core import Work
from .gm import Located
from .shadow import Group, Space

# From an instruction's footprint to exact accesses of memory (memory-model-and-sync 7, 8).


def atomic_kind(site: Site) -> Any:
    """What makes two atomic updates compatible: operation and element type; None for plain accesses.

    Writes that several cores make ``alike`` are compatible, too.
    """
    if "alike" in site.attrs:
        return site.attrs["alike"]
    kind = site.attrs.get("atomic")
    if isinstance(kind, AtomicType | ScatterAtomicOp) and kind.value:
        return kind.name.removeprefix("Atomic"), site.dst.dtype.name
    return None


def tile_region(tile: Tile, rows: int, cols: int, row: int = 0, col: int = 0) -> Region:
    """A region of a tile, clipped at its memory."""
    spec = tile.home.spec
    row, col = row + tile.row, col + tile.col
    rows, cols = max(0, min(rows, spec.rows - row)), max(0, min(cols, spec.cols - col))
    return Region(spec, tile.home.start, row, col, rows, cols)


def tile_touch(site: Site, access: Access, info: TileInfo, space: Space) -> Touch | None:
    """The bytes of one access to a tile; None if there are none.

    Reads count as far as results depend on them: the valid regions of the tile and of dst. What a device reads beyond,
    because it moves whole blocks, only makes padding of padding.
    """
    tile: Tile = info.data
    rows, cols = access.rows, access.cols
    if rows < 0:
        rows, cols = tile.vr, tile.vc
    if not access.write:
        rows, cols = _needed(site, access, tile, rows, cols)
    region = tile_region(tile, rows, cols, access.row, access.col)
    where = footprint(region)
    if not len(where):
        return None
    touch = Touch(space, access.write, where, info.name, access.operand, region, origin=origin(tile))
    if not access.write or site.instr.operand(access.operand).role is not Role.SCRATCH:
        touch.padding = _padding(tile, access, rows, cols)
    return touch


def origin(tile: Tile) -> tuple[int, int]:
    """Where element (0, 0) of a tile lies in the tile it is a window of."""
    return tile.row, tile.col


def _needed(site: Site, access: Access, tile: Tile, rows: int, cols: int) -> tuple[int, int]:
    results = [i.data for n, i in site.operands.items() if isinstance(i, TileInfo) and _written(site, n)]
    vr, vc = max([tile.vr, *(t.vr for t in results)]), max([tile.vc, *(t.vc for t in results)])
    return min(rows, max(0, vr - access.row)), min(cols, max(0, vc - access.col))


def _written(site: Site, name: str) -> bool:
    return site.instr.operand(name).role in (Role.OUT, Role.INOUT)


def _padding(tile: Tile, access: Access, rows: int, cols: int) -> Footprint | None:
    """The part of a written region outside the tile's valid region, or outside the results."""
    if access.row >= tile.vr or access.col >= tile.vc:
        return footprint(tile_region(tile, rows, cols, access.row, access.col))
    made = (rows, cols) if access.results is None else access.results
    inside_rows, inside_cols = min(made[0], tile.vr - access.row), min(made[1], tile.vc - access.col)
    if inside_cols < cols and inside_rows == rows:
        return footprint(tile_region(tile, rows, cols - inside_cols, access.row, access.col + inside_cols))
    if inside_rows < rows and inside_cols == cols:
        return footprint(tile_region(tile, rows - inside_rows, cols, access.row + inside_rows, access.col))
    if inside_rows < rows:
        return _corner(tile, access, (rows, cols), (inside_rows, inside_cols))
    return None


def _corner(tile: Tile, access: Access, size: tuple[int, int], inside: tuple[int, int]) -> Footprint:
    """Padding on two sides, as one set of bytes."""

    below = tile_region(tile, size[0] - inside[0], size[1], access.row + inside[0], access.col)
    beside = tile_region(tile, inside[0], size[1] - inside[1], access.row, access.col + inside[1])
    return union(below, beside)


def accesses(site: Site) -> Iterator[Access]:
    """What the table says an instruction touches."""
    yield from site.instr.footprint(site)


# Which instructions last wrote tiles and views: what TSYNC waits for.


class Producers:
    """Of one core. ``tiles``: groups of tiles by id; ``memories``: the argument of a buffer, by id."""

    def __init__(self, tiles: Mapping[int, Group], memories: Mapping[int, Located]) -> None:
        self._tiles, self._memories = tiles, memories
        self._last: dict[Any, Work] = {}

    def wrote(self, work: Work, instr: Instr, given: Mapping[str, Any]) -> None:
        """`work` is the instruction that writes its destinations now."""
        for operand in instr.operands:
            if operand.role is not Role.IN:
                self._last[self._identity(given.get(operand.name))] = work

    def of(self, waited: Iterable[Any]) -> tuple[Work, ...]:
        """The instructions that last wrote tiles and views."""
        known = (self._identity(value) for value in waited)
        return tuple(dict.fromkeys(self._last[key] for key in known if key is not None and key in self._last))

    def _identity(self, operand: Any) -> Any:
        """What TSYNC knows a tile or view by: the tile with its aliases, the argument of a view."""
        if isinstance(operand, Tile):
            return self._tiles.get(id(operand))
        if isinstance(operand, View) and operand.buffer is not None:
            return self._memories[id(operand.buffer.whole)][0]
        return None
