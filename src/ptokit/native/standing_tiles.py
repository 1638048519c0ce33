"""Copies of tiles that need not be made: a product lays its factors out from where they come from, a store copies on.

A copy into a tile stands for its bytes until the next one if the text shows that the tile is written by such copies
only and read by products only, or by further copies that stand for theirs, or by one store, all of them in one region
and after it, and that nothing writes what was copied in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Block, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.meaning.expressions import OWN, Element
from ptokit.isa.meaning.words import Contract, Move
from ptokit.isa.table import Role
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Ptr

from . import contracts
from .forwarding import everything, place_in, stores
from .tiles import meets
from .values import Tile, View

if TYPE_CHECKING:
    from .function import Writer


_CUBE = frozenset(("Mat", "Left", "Right"))


def stands(w: Writer, op: Op, tile: Tile, source: Tile | View) -> bool:
    """True if a copy of a source into a tile need not be made."""
    rows, cols = tile.spec.valid_row, tile.spec.valid_col
    if tile.spec.loc.name == "Vec":
        return isinstance(source, View) and _last_use(w, op) is not None
    if tile.spec.loc.name not in _CUBE or tile.shape is not None:
        return False
    return _last_use(w, op) is not None and contracts.readable(w, source, rows, cols)


def _last_use(w: Writer, op: Op) -> int | None:
    """The place in its region of the last operation that reads what a copy stands for; None if it has to be made."""
    word, dst = _copy(w, op), op.get("dst")
    if word is None or dst is None or not w.simple_tiles:
        return None
    tile, (block, at) = w.values.get(dst), w.blocks[op]
    if not isinstance(tile, Tile) or tile.shape is not None or tile.parent is not None or not _alone(w, dst, tile):
        return None
    users = [other for other in w.users[dst] if other is not dst.owner]
    places = {other: place for other in users if (place := place_in(w, other, block)) is not None}
    writers = [other for other in users if other.get("dst") is dst]
    if len(places) < len(users) or not users or users[0] not in writers:
        return None
    if any(_copy(w, other) is None or w.blocks[other][0] is not block for other in writers):
        return None
    until = min((places[other] for other in writers if places[other] > at), default=len(block.ops))
    last = at
    stored = None
    for other in users:
        if at < places[other] < until:
            if _is_store(w, other, dst) and w.blocks[other][0] is block and stored is None:
                stored, last = places[other], max(last, places[other])
                continue
            used = _read_by(w, other, dst, block, places[other])
            if used is None:
                return None
            last = max(last, used)
    if tile.spec.loc.name == "Vec" and stored is None:
        return None
    # A store reads before it writes; nothing may be read behind it.
    return last if _unchanged(w, op, block, at, last - (stored == last)) else None


def _is_store(w: Writer, op: Op, tile: Value) -> bool:
    """True for a store of all of a tile of the vector unit, bit for bit."""
    instr, view = instr_of(op), op.get("dst")
    if instr is None or view is None or not isinstance(view.type, PartitionView) or not isinstance(tile.type, TileSpec):
        return False
    word = instr.meaning_at(w.site(op))
    plain = isinstance(word, Move) and isinstance(word.value, Element) and not word.combine
    return plain and tile.type.loc.name == "Vec" and view.type.dtype is tile.type.dtype


def _copy(w: Writer, op: Op) -> Move | None:
    """The meaning of a copy of all of a tile's valid region, bit for bit."""
    instr = instr_of(op)
    if instr is None:
        return None
    word = instr.meaning_at(w.site(op))
    if not isinstance(word, Move) or not isinstance(word.value, Element) or word.combine or word.fills:
        return None
    if word.dst != "dst" or word.to != OWN or word.value.at != OWN:
        return None
    dst, src = op.get("dst"), op.get(word.value.name)
    if dst is None or src is None or not isinstance(dst.type, TileSpec) or dst.type.dtype.packed:
        return None
    if isinstance(src.type, TileSpec):
        a, b = dst.type, src.type
        same = a.dtype is b.dtype and (a.valid_row, a.valid_col) == (b.valid_row, b.valid_col) and not a.dynamic
        return word if same else None
    if not isinstance(src.type, PartitionView) or src.type.dtype is not dst.type.dtype:
        return None
    return word if sorted(src.type.dims[-2:]) == sorted((dst.type.valid_row, dst.type.valid_col)) else None


def _alone(w: Writer, value: Value, tile: Tile) -> bool:
    """True if no other tile lies on its bytes."""
    return not any(isinstance(t, Tile) and v is not value and meets(t, tile) for v, t in w.values.items())


def _read_by(w: Writer, op: Op, tile: Value, block: Block, place: int) -> int | None:
    """How long a reader needs a tile: a product until it is there, a copy as long as that one is needed."""
    instr = instr_of(op)
    if instr is None or not isinstance(tile.type, TileSpec) or tile.type.loc.name not in _CUBE:
        return None
    word = instr.meaning_at(w.site(op))
    if isinstance(word, Contract):
        operands: dict[str, Any] = {o.name: w.values.get(v) for o in instr.operands if (v := op.get(o.name))}
        factors = [name for name in (word.left, word.right) if op.get(name) is tile]
        others = [o.name for o in instr.operands if op.get(o.name) is tile and o.name not in factors]
        return place if factors and not others and contracts.possible(w, word, operands) else None
    if w.blocks[op][0] is not block:
        return None  # in a region of its own
    return _last_use(w, op) if isinstance(word, Move) and op.get("dst") is not tile else None


def _unchanged(w: Writer, op: Op, block: Block, at: int, last: int) -> bool:
    """True if nothing writes the source of a copy up to an operation."""
    word = _copy(w, op)
    assert word is not None
    assert isinstance(word.value, Element)
    source = w.values.get(op[word.value.name])
    if isinstance(source, Tile):
        before = w.stands_for.get(source.start)
        source = source if before is None else before
    for inner in (inner for other in block.ops[at + 1 : last + 1] for inner in _all(other)):
        if isinstance(source, View | None) and stores(inner):
            return False
        if isinstance(source, Tile) and any(meets(source, t) for t in _written(w, inner)):
            return False
    return source is None or isinstance(source, Tile | View)


def _written(w: Writer, op: Op) -> Iterator[Tile]:
    instr = instr_of(op)
    for operand in instr.operands if instr is not None else ():
        if operand.role is not Role.IN:
            for value in op.group(operand.name):
                tile = w.values.get(value)
                if isinstance(tile, Tile):
                    yield tile


def _all(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def simple(w: Writer) -> bool:
    """True if the text says where all tiles lie, and nothing but instructions touches their bytes."""
    if len([f for f in w.source.functions if f.body is not None]) != 1:
        return False
    if w.function.body is None or w.function.body.more:
        return False
    for op in everything(w):
        if any(region.more for region in op.regions):
            return False
        if op.name in ("pto.tassign", "pto.treshape", "pto.bitcast", "pto.subset", "pto.subview"):
            if any(isinstance(v.type, TileSpec) and v.type.loc.name != "Vec" for v in op.values):
                return False
        elif op.name == "pto.alloc_tile" and op.get("addr") is not None:
            if not isinstance(w.facts.constants.get(op["addr"]), int):
                return False
        elif any(isinstance(v.type, Ptr) and (v.type.space or "gm") != "gm" for v in op.results):
            return False
    return True
