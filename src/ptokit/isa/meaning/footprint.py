"""The footprint that follows from a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..access import Access
from ..site import Site, TileInfo
from .expressions import COLUMN, OWN, ROW, Bit, Element, leaves
from .words import Lane, Word


def footprint(word: Word, site: Site) -> Iterator[Access] | None:
    """Reads first, then writes, each in the order of the operands; None where the word does not say.

    Scratch tiles are written in their valid regions.
    """
    return _lane(word, site) if isinstance(word, Lane) else None


def _lane(lane: Lane, site: Site) -> Iterator[Access]:
    over: Any = site.operands[lane.over]
    rows, cols = (over.rows, over.cols) if lane.whole else (over.vr, over.vc)
    read = dict.fromkeys(leaf for write in lane.writes for leaf in leaves(write.value))
    written = {write.name: write for write in lane.writes}
    for operand in site.instr.operands:
        for leaf in read:
            if isinstance(leaf, (Element, Bit)) and leaf.name == operand.name:
                yield Access(operand.name, False, *_region(leaf, rows, cols, site.operands[operand.name]))
    for operand in site.instr.operands:
        info = site.operands.get(operand.name)
        if not isinstance(info, TileInfo):
            continue
        write = written.get(operand.name)
        if write is not None and not write.packed:
            yield Access(operand.name, True, rows, cols)
        elif write is not None or operand.role == "scratch":
            yield Access(operand.name, True, info.vr, info.vc)  # type: ignore[arg-type]


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
