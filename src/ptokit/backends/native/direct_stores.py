"""Stores of tiles that the loop before them computes: the results go to global memory at once.

That is so if the text shows that the tile holds them for nobody else: no other tile ever lies there, all that happens
to it stands in one block, the first of which writes all of it, and the store comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import Element, leaves
from ptokit.isa.meaning.words import Lane
from ptokit.plan.steps import Step

from . import standing_tiles
from .values import Tile

if TYPE_CHECKING:
    from .function import Writer
    from .moves import Nest


def pitch(w: Writer, step: Step, tile: Tile, rows: Nest, cols: Nest) -> int | None:
    """The elements from row to row where a store goes, whose results may be written there at once; None of others.

    ``rows``, ``cols``: the loops over tile and view.
    """
    if not any(part.dst.start == tile.start for part in w.pending.parts):
        return None
    if len(rows) != 1 or cols[0][1:] != (1, 1) or cols[0][0] == 1:
        return None
    found = rows[0][2]
    return found if isinstance(found, int) and _last(w, step) else None


def _last(w: Writer, step: Step) -> bool:
    """True if nothing reads what the tile holds at a store but the store."""
    value = step["src"]
    if not w.simple_tiles or not w.places.alone(value):
        return False
    block, at = w.relations.places[step]
    users = w.relations.users[value]
    if any((place := w.relations.place_in(user, block)) is None or place > at for user in users):
        return False
    return w.relations.places[users[0]][0] is block and _writes_all(w, users[0], value)


def _writes_all(w: Writer, step: Step, tile: Value) -> bool:
    """True for an instruction that writes all of a tile's valid region, and does not read it."""
    if step.get("dst") is not tile or sum(operand is tile for operand in step.values) != 1:
        return False
    word = standing_tiles.meaning(w, step)
    if isinstance(word, Lane):  # the first write covers all of the domain
        read = (leaf for write in word.writes for leaf in leaves(write.value))
        return word.over == "dst" and not any(isinstance(leaf, Element) and leaf.name == "dst" for leaf in read)
    return standing_tiles.copies(w, step)
