"""Copies of tiles that need not be made: a product lays its factors out from where they come from, a store copies on.

A copy into a tile stands for its bytes until the next one if the text shows that the tile is written by such copies
only and read by products only, or by further copies that stand for theirs, or by one store, all of them in one region
and after it, that no other tile ever lies there, and that nothing writes what was copied in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import OWN, Element, Extent
from ptokit.isa.meaning.words import Contract, Move
from ptokit.isa.table import Role
from ptokit.run.planning.plan import Block, Step
from ptokit.run.planning.stores import stored
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Ptr

from . import contracts
from .forwarding import with_inner
from .values import Standing, Tile, View

if TYPE_CHECKING:
    from .function import Writer


_CUBE = frozenset(("Mat", "Left", "Right"))


def stands(w: Writer, step: Step, tile: Tile, source: Standing) -> bool:
    """True if a copy of a source into a tile need not be made."""
    last = _last_use(w, step)
    if last is None or (tile.spec.loc.name == "Vec" and not isinstance(source.what, View)):
        return False
    block, at = w.relations.places[step]
    return _unchanged(w, source.value, block.steps[at + 1 : last])


def _last_use(w: Writer, step: Step) -> int | None:
    """Behind which place in its region nothing reads what a copy stands for; None if the copy has to be made."""
    if not w.simple_tiles or not w.places.alone(step["dst"]):
        return None
    dst: Value = step["dst"]
    block, at = w.relations.places[step]
    users = w.relations.users[dst]
    places = {other: place for other in users if (place := w.relations.place_in(other, block)) is not None}
    writers = [other for other in users if other.get("dst") is dst]
    if len(places) < len(users) or users[0] not in writers:
        return None
    if any(copied(w, other) is None or w.relations.places[other][0] is not block for other in writers):
        return None
    if any(sum(value is dst for value in other.values) > 1 for other in writers):  # a copy of the tile onto itself
        return None
    until = min((places[other] for other in writers if places[other] > at), default=len(block.steps))
    last, stored_by = at + 1, None
    for other in users:
        if at < places[other] < until:
            used: int | None
            if _is_store(w, other, dst) and w.relations.places[other][0] is block and stored_by is None:
                stored_by, used = other, places[other]  # it reads before it writes
            else:
                used = _read_by(w, other, dst, block, places[other])
            if used is None:
                return None
            last = max(last, used)
    return None if stored_by is None and _of_vectors(dst) else last


def _of_vectors(tile: Value) -> bool:
    """True for a tile of the vector unit, which products do not read."""
    return isinstance(tile.type, TileSpec) and tile.type.loc.name not in _CUBE


def _is_store(w: Writer, step: Step, tile: Value) -> bool:
    """True for a store of all of a tile of the vector unit, bit for bit."""
    word, view = meaning(w, step), step.get("dst")
    if view is None or not isinstance(view.type, PartitionView) or not isinstance(tile.type, TileSpec):
        return False
    if not isinstance(word, Move) or not isinstance(word.value, Element) or word.combine:
        return False
    plain = isinstance(word.rows, Extent) and isinstance(word.cols, Extent)
    return plain and tile.type.loc.name == "Vec" and view.type.dtype is tile.type.dtype


def copied(w: Writer, step: Step) -> Move | None:
    """The meaning of a copy of all of a tile's valid region, bit for bit."""
    word = meaning(w, step)
    if not isinstance(word, Move) or not isinstance(word.value, Element) or word.combine or word.fills:
        return None
    if word.dst != "dst" or word.to != OWN or word.value.at != OWN:
        return None
    dst, src = step.get("dst"), step.get(word.value.name)
    if dst is None or src is None or not isinstance(dst.type, TileSpec) or dst.type.dtype.packed or dst.type.dynamic:
        return None
    if isinstance(src.type, TileSpec):
        a, b = dst.type, src.type
        same = a.dtype is b.dtype and (a.valid_row, a.valid_col) == (b.valid_row, b.valid_col)
        return word if same else None
    if not isinstance(src.type, PartitionView) or src.type.dtype is not dst.type.dtype:
        return None
    return word if sorted(src.type.dims[-2:]) == sorted((dst.type.valid_row, dst.type.valid_col)) else None


def _read_by(w: Writer, step: Step, tile: Value, block: Block, place: int) -> int | None:
    """How long a reader needs a tile: a product until it is there, a copy as long as that one is needed."""
    word = meaning(w, step)
    if isinstance(word, Contract):
        operands: dict[str, Any] = {name: w.found(given) for name in step.names if (given := step.get(name))}
        factors = all(name in (word.left, word.right) for name in step.names if step.get(name) is tile)
        return place + 1 if factors and contracts.possible(w, word, operands) else None
    if w.relations.places[step][0] is not block:
        return None  # in a region of its own
    to = step.get("dst")
    if to is tile or not isinstance(to, Value) or not isinstance(to.type, TileSpec) or _of_vectors(to):
        return None
    return _last_use(w, step)


def _unchanged(w: Writer, source: Value, steps: Iterable[Step]) -> bool:
    """True if no step writes what a copy has read."""
    for step in (inner for outer in steps for inner in with_inner(outer)):
        if isinstance(source.type, TileSpec):
            if any(w.places.meet(source, tile) for tile in _written(step)):
                return False
        elif stored(step):
            return False
    return True


def _written(step: Step) -> Iterator[Value]:
    """The tiles that an instruction writes."""
    for operand in step.instr.operands if step.instr is not None else ():
        if operand.role is not Role.IN:
            yield from (v for v in step.group(operand.name) if isinstance(v, Value) and isinstance(v.type, TileSpec))


def meaning(w: Writer, step: Step) -> object:
    return None if step.instr is None else step.instr.meaning_at(w.site(step))


def simple(w: Writer) -> bool:
    """True if a kernel calls no functions, and no pointer leads to a tile."""
    steps = w.function.walk()
    pointers = (
        v for step in steps for v in step.results if isinstance(v.type, Ptr) and v.type.space not in (None, "gm")
    )
    return len(w.plan.functions) == 1 and next(pointers, None) is None
