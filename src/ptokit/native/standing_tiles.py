"""Copies of tiles that need not be made: a product lays its factors out from where they come from, a store copies on.

A copy into a tile stands for its bytes until the next one if the text shows that the tile is written by such copies
only and read by products only, or by further copies that stand for theirs, or by one store, all of them in one region
and after it, and that nothing writes what was copied in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import OWN, Element
from ptokit.isa.meaning.words import Contract, Move
from ptokit.isa.table import Role
from ptokit.run.planning.plan import Block, Step, constant
from ptokit.run.planning.stores import stored
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Ptr

from . import contracts
from .forwarding import with_inner
from .tiles import meets
from .values import Tile, View

if TYPE_CHECKING:
    from .function import Writer


_CUBE = frozenset(("Mat", "Left", "Right"))


def stands(w: Writer, step: Step, tile: Tile, source: Tile | View) -> bool:
    """True if a copy of a source into a tile need not be made."""
    rows, cols = tile.spec.valid_row, tile.spec.valid_col
    if tile.spec.loc.name == "Vec":
        return isinstance(source, View) and _last_use(w, step) is not None
    if tile.spec.loc.name not in _CUBE or tile.shape is not None:
        return False
    return _last_use(w, step) is not None and contracts.readable(w, source, rows, cols)


def _last_use(w: Writer, step: Step) -> int | None:
    """The place in its region of the last step that reads what a copy stands for; None if it has to be made."""
    word, dst = copied(w, step), step.get("dst")
    if word is None or dst is None or not w.simple_tiles:
        return None
    tile, (block, at) = w.found(dst), w.relations.places[step]
    if not isinstance(tile, Tile) or tile.shape is not None or tile.parent is not None or not alone(w, dst, tile):
        return None
    users = w.relations.users[dst]
    places = {other: place for other in users if (place := w.relations.place_in(other, block)) is not None}
    writers = [other for other in users if other.get("dst") is dst]
    if len(places) < len(users) or not users or users[0] not in writers:
        return None
    if any(copied(w, other) is None or w.relations.places[other][0] is not block for other in writers):
        return None
    until = min((places[other] for other in writers if places[other] > at), default=len(block.steps))
    last = at
    end = None  # where it is stored
    for other in users:
        if at < places[other] < until:
            if _is_store(w, other, dst) and w.relations.places[other][0] is block and end is None:
                end, last = places[other], max(last, places[other])
                continue
            used = _read_by(w, other, dst, block, places[other])
            if used is None:
                return None
            last = max(last, used)
    if tile.spec.loc.name == "Vec" and end is None:
        return None
    # A store reads before it writes; nothing may be read behind it.
    return last if _unchanged(w, step, block, at, last - (end == last)) else None


def _is_store(w: Writer, step: Step, tile: Value) -> bool:
    """True for a store of all of a tile of the vector unit, bit for bit."""
    word, view = meaning(w, step), step.get("dst")
    if view is None or not isinstance(view.type, PartitionView) or not isinstance(tile.type, TileSpec):
        return False
    plain = isinstance(word, Move) and isinstance(word.value, Element) and not word.combine
    return plain and tile.type.loc.name == "Vec" and view.type.dtype is tile.type.dtype


def copied(w: Writer, step: Step) -> Move | None:
    """The meaning of a copy of all of a tile's valid region, bit for bit."""
    word = meaning(w, step)
    if not isinstance(word, Move) or not isinstance(word.value, Element) or word.combine or word.fills:
        return None
    if word.dst != "dst" or word.to != OWN or word.value.at != OWN:
        return None
    dst, src = step.get("dst"), step.get(word.value.name)
    if dst is None or src is None or not isinstance(dst.type, TileSpec) or dst.type.dtype.packed:
        return None
    if isinstance(src.type, TileSpec):
        a, b = dst.type, src.type
        same = a.dtype is b.dtype and (a.valid_row, a.valid_col) == (b.valid_row, b.valid_col) and not a.dynamic
        return word if same else None
    if not isinstance(src.type, PartitionView) or src.type.dtype is not dst.type.dtype:
        return None
    return word if sorted(src.type.dims[-2:]) == sorted((dst.type.valid_row, dst.type.valid_col)) else None


def alone(w: Writer, value: Value, tile: Tile) -> bool:
    """True if no other tile lies on its bytes."""
    return not any(isinstance(t, Tile) and v is not value and meets(t, tile) for v, t in w.values.items())


def _read_by(w: Writer, step: Step, tile: Value, block: Block, place: int) -> int | None:
    """How long a reader needs a tile: a product until it is there, a copy as long as that one is needed."""
    if not isinstance(tile.type, TileSpec) or tile.type.loc.name not in _CUBE:
        return None
    word = meaning(w, step)
    if isinstance(word, Contract):
        operands: dict[str, Any] = {name: w.found(given) for name in step.names if (given := step.get(name))}
        factors = [name for name in (word.left, word.right) if step.get(name) is tile]
        others = [name for name in step.names if step.get(name) is tile and name not in factors]
        return place if factors and not others and contracts.possible(w, word, operands) else None
    if w.relations.places[step][0] is not block:
        return None  # in a region of its own
    return _last_use(w, step) if isinstance(word, Move) and step.get("dst") is not tile else None


def _unchanged(w: Writer, step: Step, block: Block, at: int, last: int) -> bool:
    """True if nothing writes the source of a copy up to a step."""
    word = copied(w, step)
    assert word is not None
    assert isinstance(word.value, Element)
    source = w.found(step[word.value.name])
    if isinstance(source, Tile):
        before = w.stands_for.get(source.start)
        source = source if before is None else before
    for inner in (inner for other in block.steps[at + 1 : last + 1] for inner in with_inner(other)):
        if isinstance(source, View | None) and stored(inner):
            return False
        if isinstance(source, Tile) and any(meets(source, t) for t in _written(w, inner)):
            return False
    return source is None or isinstance(source, Tile | View)


def _written(w: Writer, step: Step) -> Iterator[Tile]:
    for operand in step.instr.operands if step.instr is not None else ():
        if operand.role is not Role.IN:
            for value in step.group(operand.name):
                tile = w.found(value)
                if isinstance(tile, Tile):
                    yield tile


def meaning(w: Writer, step: Step) -> object:
    return None if step.instr is None else step.instr.meaning_at(w.site(step))


def simple(w: Writer) -> bool:
    """True if the text says where all tiles lie, and nothing but instructions touches their bytes."""
    if len(w.plan.functions) != 1 or len(w.function.body) > 1:
        return False
    for step in w.function.walk():
        if any(len(region) > 1 for region in step.regions):
            return False
        if step.word == "tiles":
            return False
        if step.word in ("rebind", "alias", "window"):
            if any(isinstance(v.type, TileSpec) and v.type.loc.name != "Vec" for v in step.values):
                return False
        elif step.word == "tile" and step.get("addr") is not None:
            if not isinstance(constant(step["addr"]), int):
                return False
        elif any(isinstance(v.type, Ptr) and (v.type.space or "gm") != "gm" for v in step.results):
            return False
    return True
