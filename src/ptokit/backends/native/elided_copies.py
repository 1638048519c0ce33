"""Copies of tiles that need not be made, and stores of tiles that the loop before them computes.

A copy into a tile need not be made until the next one if the text shows that the tile is written by such copies
only and read by products only, or by further copies of that kind, or by one store, all of them in one region
and after it, that no other tile ever lies there, and that nothing writes what was copied in between.

That is so if the text shows that the tile holds them for nobody else: no other tile ever lies there, all that happens
to it is in one block, where the first write is of all of it, and the store comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import OWN, Element, Extent, leaves
from ptokit.isa.meaning.words import Contract, Lane, Move
from ptokit.isa.table import Role
from ptokit.plan.effects import stored
from ptokit.plan.steps import Block, Operand, Step
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Ptr

from . import contracts
from .copies import with_inner
from .values import Replacement, Tile

if TYPE_CHECKING:
    from .function import Writer
    from .moves import Nest


# Copies of tiles that need not be made: a product lays its factors out from where they come from, a store copies on.


def elided(w: Writer, step: Step, source: Replacement) -> bool:
    """True if a copy of a source into a tile need not be made."""
    last = _last_use(w, step)
    if last is None:
        return False
    block, at = w.relations.places[step]
    return _unchanged(w, source.value, block.steps[at + 1 : last])


def _last_use(w: Writer, step: Step) -> int | None:
    """After which place in its region nothing reads what a copy would hold; None if the copy has to be made."""
    if not w.simple_tiles or not w.places.alone(step["dst"]):
        return None
    dst: Value = step["dst"]
    block, at = w.relations.places[step]
    users = w.relations.users[dst]
    places = {other: place for other in users if (place := w.relations.place_in(other, block)) is not None}
    writers = [other for other in users if other.get("dst") is dst]
    if len(places) < len(users) or users[0] not in writers:
        return None
    if any(not copies(w, other) or w.relations.places[other][0] is not block for other in writers):
        return None
    if any(sum(value is dst for value in other.values) > 1 for other in writers):  # a copy of the tile onto itself
        return None
    until = min((places[other] for other in writers if places[other] > at), default=len(block.steps))
    last = at + 1
    for other in users:
        if at < places[other] < until:
            used = _read_by(w, other, dst, block, places[other])
            if used is None:
                return None
            last = max(last, used)
    return last


def copies(w: Writer, step: Step) -> bool:
    """True for a copy into all of a tile's valid region, bit for bit."""
    word = meaning(w, step)
    if not isinstance(word, Move) or not isinstance(word.value, Element) or word.to != OWN:
        return False
    to, frm = step["dst"].type, step[word.value.name].type
    if to.dynamic:
        return False
    return not isinstance(frm, TileSpec) or (frm.valid_row, frm.valid_col) == (to.valid_row, to.valid_col)


def _of_valid(word: Move) -> bool:
    """True where the valid region says how much is moved, not the lines of a view."""
    return isinstance(word.rows, Extent) and isinstance(word.cols, Extent)


def _read_by(w: Writer, step: Step, tile: Value, block: Block, place: int) -> int | None:
    """How long a reader needs a tile: a product until it is there, a store until it begins, a copy as its own is."""
    word = meaning(w, step)
    if isinstance(word, Contract):
        operands: dict[str, Any] = {name: w.found(given) for name in step.names if (given := step.get(name))}
        factors = all(name in (word.left, word.right) for name in step.names if step.get(name) is tile)
        return place + 1 if factors and contracts.possible(w, word, operands) else None
    if w.relations.places[step][0] is not block or not isinstance(word, Move):
        return None
    if isinstance(step["dst"].type, PartitionView):
        return place if _of_valid(word) else None
    return _last_use(w, step)  # it reads before it writes


def _unchanged(w: Writer, source: Value, steps: Iterable[Step]) -> bool:
    """True if no step writes what a copy has read."""
    for step in (inner for outer in steps for inner in with_inner(outer)):
        if isinstance(source.type, TileSpec):
            if any(w.places.meet(source, tile) for tile in _written(step)):
                return False
        elif stored(step):
            return False
    return True


def _written(step: Step) -> Iterator[Operand]:
    """What an instruction writes."""
    for operand in step.instr.operands if step.instr is not None else ():
        if operand.role is not Role.IN:
            yield from step.group(operand.name)


def meaning(w: Writer, step: Step) -> object:
    return None if step.instr is None else step.instr.meaning_at(w.site(step))


def simple(w: Writer) -> bool:
    """True if a kernel calls no functions, and no pointer leads to a tile."""
    steps = w.function.walk()
    pointers = (
        v for step in steps for v in step.results if isinstance(v.type, Ptr) and v.type.space not in (None, "gm")
    )
    return len(w.plan.functions) == 1 and next(pointers, None) is None


# Stores of tiles that the loop before them computes: the results go to global memory at once.


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
    word = meaning(w, step)
    if isinstance(word, Lane):  # the first write covers all of the domain
        read = (leaf for write in word.writes for leaf in leaves(write.value))
        return word.over == "dst" and not any(isinstance(leaf, Element) and leaf.name == "dst" for leaf in read)
    return copies(w, step)
