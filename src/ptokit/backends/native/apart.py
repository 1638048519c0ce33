"""Sources that a destination overlaps are copied before elements are computed: all are read before one is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.expressions import Element, leaves
from ptokit.isa.meaning.words import Lane

from .moves import address_of
from .tiles import meets
from .values import Tile

if TYPE_CHECKING:
    from .function import Writer

Copies = list[tuple[Tile, Tile]]
"""Tiles, and where their bytes are read instead."""


def sources(w: Writer, word: Lane, operands: dict[str, Any]) -> tuple[dict[str, Any], Copies]:
    """Operands of which none overlaps the destination with elements of another size, and what is to be copied."""
    dst, found = operands.get(word.over), dict(operands)
    copies: Copies = []
    names = {leaf.name for write in word.writes for leaf in leaves(write.value) if isinstance(leaf, Element)}
    for name in sorted(names):
        tile = operands.get(name)
        if not isinstance(dst, Tile) or not isinstance(tile, Tile) or tile.parent is not None or not meets(dst, tile):
            continue
        if tile.spec.dtype.size == dst.spec.dtype.size:
            continue  # elements at the same place, or left to Python
        start = w.module.area(("apart", len(copies), tile.spec.nbytes), tile.spec.nbytes)
        found[name] = replace(tile, start=start)
        copies.append((tile, found[name]))
    return found, copies


def copy(w: Writer, copies: Copies) -> None:
    """Make the copies."""
    if copies:
        w.pending.flush()
    for tile, other in copies:
        w.touch(tile)
        to, frm, size = address_of(w, other), address_of(w, tile), tile.spec.nbytes
        w.code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {to}, ptr {frm}, i64 {size}, i1 false)")
        assert other.span is not None
        w.contents.write(*other.span)
