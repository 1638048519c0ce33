"""The footprint that follows from a meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..access import Access
from ..site import Site, TileInfo
from .expressions import COLUMN, OWN, ROW, Bit, Count, Element, Extent, Least, leaves
from .words import Fold, Lane, Search, Word


def footprint(word: Word, site: Site) -> Iterator[Access] | None:
    """Reads first, then writes, each in the order of the operands; None where the word does not say.

    Scratch tiles are written in their valid regions.
    """
    match word:
        case Lane():
            return _lane(word, site)
        case Fold(dst=dst):
            return _along(word, site, (dst,))
        case Search(dst=dst, dst_value=value):
            return _along(word, site, (dst, value))
    return None


def _along(word: Fold | Search, site: Site, written: tuple[str, ...]) -> Iterator[Access]:
    over: Any = site.operands[word.over]
    size = (over.vr, 1) if word.axis == "row" else (1, over.vc)
    yield Access(word.over, False, over.vr, over.vc)
    for name in written:
        if site.operands.get(name) is not None:
            yield Access(name, True, *size)
    for operand in site.instr.operands:
        info = site.operands.get(operand.name)
        if operand.role == "scratch" and isinstance(info, TileInfo):
            yield Access(operand.name, True, info.vr, info.vc)  # type: ignore[arg-type]


def _lane(lane: Lane, site: Site) -> Iterator[Access]:
    over: Any = site.operands[lane.over]
    domain = (over.rows, over.cols) if lane.whole else (over.vr, over.vc)
    sizes = [(_size(w.rows, domain[0], site), _size(w.cols, domain[1], site)) for w in lane.writes]
    for operand in site.instr.operands:
        info: Any = site.operands.get(operand.name)
        yield from _widest(
            Access(operand.name, False, *_region(leaf, rows, cols, info))
            for write, (rows, cols) in zip(lane.writes, sizes)
            for leaf in leaves(write.value)
            if isinstance(leaf, (Element, Bit)) and leaf.name == operand.name
        )
    for operand in site.instr.operands:
        info = site.operands.get(operand.name)
        if not isinstance(info, TileInfo):
            continue
        mine = [w for w in lane.writes if w.name == operand.name]
        if any(not w.packed for w in mine):
            yield Access(operand.name, True, *domain)
        elif mine or operand.role == "scratch":
            yield Access(operand.name, True, info.vr, info.vc)  # type: ignore[arg-type]


def _widest(accesses: Iterable[Access]) -> Iterator[Access]:
    """Each once, without those that lie in another one."""
    found = list(dict.fromkeys(accesses))
    for a in found:
        if not any(b is not a and b.rows >= a.rows and b.cols >= a.cols for b in found):
            yield a


def _size(count: Count | None, default: Any, site: Site) -> Any:
    match count:
        case None:
            return default
        case Extent(operand, what):
            return getattr(site.operands[operand], what)
        case Least(sizes):
            return min(_size(size, 0, site) for size in sizes)
    return count


def _region(leaf: Element | Bit, rows: Any, cols: Any, info: Any) -> tuple[Any, Any]:
    """Rows and columns of an operand that the domain reads; of a packed mask its valid region."""
    if isinstance(leaf, Element):
        if leaf.at == OWN:
            return rows, cols
        if leaf.at == COLUMN:
            return rows, 1
        if leaf.at == ROW:
            return 1, cols
    return info.vr, info.vc
