"""Questions that rules ask about the tiles of a site."""

from __future__ import annotations

from ..site import Site, TileInfo
from ..unknown import known

DEVICES = ("a2a3", "a5")
Message = str | tuple[str, str] | None


def all_tiles(o: Site) -> list[tuple[str, TileInfo]]:
    """Every tile operand that is present, with its name."""
    return [(n, t) for n, t in o.operands.items() if isinstance(t, TileInfo)]


def same_tile(a: TileInfo, b: TileInfo) -> bool:
    """True if both operands are known to be one tile: the same value, or address, type and pitch.

    Tiles without an address, as slots of a buffer that has none, are at one place if they begin in the same memory.
    """
    if a is b or (a.data is not None and a.data is b.data):
        return True
    together = a.addr == b.addr if known(a.addr, b.addr) else known(a.origin) and a.origin == b.origin
    return together and (a.loc, a.dtype, a.cols, a.blayout) == (b.loc, b.dtype, b.cols, b.blayout)


def overlap(a: TileInfo, b: TileInfo) -> bool:
    """True if the bytes of two tiles are known to intersect."""
    if same_tile(a, b):
        return True
    if a.loc is not b.loc or not known(a.addr, b.addr):
        return False
    return bool(a.addr < b.addr + b.spec.nbytes and b.addr < a.addr + a.spec.nbytes)


def sharing(o: Site, *names: str) -> Message:
    """Two of the operands whose bytes are known to intersect."""
    tiles = [(name, t) for name in names if isinstance(t := o.operands.get(name), TileInfo)]
    for k, (name, a) in enumerate(tiles):
        for other, b in tiles[k + 1 :]:
            if overlap(a, b) or (a.origin == b.origin and known(a.origin)):
                return f"{o:{name}} and {o:{other}} share bytes"
    return None


def is_dn1(t: TileInfo) -> bool:
    """A column vector: col_major, no boxes, one column."""
    return not t.row_major and not t.boxed and t.cols == 1


def is_nd(t: TileInfo) -> bool:
    """Row-major without boxes."""
    return t.row_major and not t.boxed


def layout(o: Site, name: str) -> str:
    """Description of the layout of a tile operand for messages."""
    t = o.operands[name]
    assert isinstance(t, TileInfo)
    return f"{o:{name}} is {layout_text(t)}"


def layout_text(t: TileInfo) -> str:
    """Layout and size of a tile for messages: ``Nz 16x64``."""
    return f"{t.layout_name} {t.rows}x{t.cols}"
