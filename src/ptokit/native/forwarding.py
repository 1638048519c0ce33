"""Copies into on-chip memory that need not be made: those whose bytes are read where they come from.

A copy of rows without gaps from global memory stands for its bytes if the text shows that nothing else is ever written
there, that all reads of them follow it in its region, and that nothing is stored to global memory in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ptokit.ir.core import Block, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.isa.meaning.execute import Derived
from ptokit.isa.meaning.expressions import Count, Extent, Stored, Sum, fetches, leaves
from ptokit.isa.meaning.words import Bursts, Lane, Write
from ptokit.isa.table import Instr, Role
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView

from .callbacks import site_of
from .intervals import interval
from .vectors import REGISTER_BYTES, stored_bytes

if TYPE_CHECKING:
    from .function import Writer


@dataclass(frozen=True)
class Access:
    """Bytes [first, end) of a buffer that an operation may touch."""

    op: Op
    space: str
    first: int
    end: int
    write: bool

    def meets(self, other: Access) -> bool:
        return self.space == other.space and self.first < other.end and other.first < self.end


class UnknownError(Exception):
    """The text does not say what is touched."""


def stands(w: Writer, op: Op) -> tuple[str, int, int] | None:
    """The buffer and its bytes that a copy stands for; None if it has to be made."""
    accesses = w.accesses()
    if accesses is None:
        return None
    mine = [a for a in accesses if a.op is op and a.write]
    if len(mine) != 1:
        return None
    block, at = w.blocks[op]
    last = at
    for other in accesses:
        if other.op is op or not other.meets(mine[0]):
            continue
        after = next((k for k in range(at + 1, len(block.ops)) if _within(other.op, block.ops[k])), None)
        inside = mine[0].first <= other.first and other.end <= mine[0].end
        if other.write or after is None or not inside or not isinstance(_word(w, other.op)[1], Lane):
            return None
        last = max(last, after)
    if any(stores(inner) for k in range(at + 1, last + 1) for inner in _all(block.ops[k])):
        return None
    return mine[0].space, mine[0].first, mine[0].end


def accesses(w: Writer) -> list[Access] | None:
    """All accesses to on-chip memory by address; None if the text does not say where some of them are."""
    assert w.function.body is not None
    if len([f for f in w.source.functions if f.body is not None]) != 1 or w.function.body.more:
        return None
    out: list[Access] = []
    try:
        for op in w.function.body.walk():
            out += _of(w, op)
    except UnknownError:
        return None
    return out


def _of(w: Writer, op: Op) -> Iterator[Access]:
    instr = instr_of(op)
    local = [v for v in op.values if isinstance(v.type, Ptr) and (v.type.space or "gm") != "gm"]
    if any(isinstance(v.type, TileSpec) for v in (*op.values, *op.results)) or any(
        region.more for region in op.regions
    ):
        raise UnknownError
    if not local or op.name in ("pto.castptr", "pto.addptr"):
        return
    if instr is None:
        raise UnknownError
    word = _word(w, op)[1]
    if isinstance(word, Bursts):
        for name, side in ((word.dst, 1), (word.src, 2)):
            if op[name] in local:
                yield _rows(w, op, word, name, side)
    elif isinstance(word, Lane) and isinstance(instr.run, Derived):
        yield from _lanes(w, op, instr, word)
    else:
        raise UnknownError


def _lanes(w: Writer, op: Op, instr: Instr, word: Lane) -> Iterator[Access]:
    assert isinstance(instr.run, Derived)
    types = instr.run.types(site_of(w, op))
    lanes = word.lanes or REGISTER_BYTES // types[word.over].size
    for write in word.writes:
        if write.place is not None or fetches(write.value):
            raise UnknownError
        for leaf in leaves(write.value):
            if isinstance(leaf, Stored):
                yield _near(w, op, leaf, leaf.span, write=False)
        if isinstance(op.operands.get(write.name), Value):
            yield _near(w, op, write, stored_bytes(write, lanes, types), write=True)


def _near(w: Writer, op: Op, access: Stored | Write, span: int, *, write: bool) -> Access:
    space, low, high, size = _pointer(w, op[access.name])
    size = access.unit or size
    given = op.get(access.offset) if access.offset else None
    if given is not None:
        limits = interval(w, given)
        if limits is None:
            raise UnknownError
        low, high = low + limits[0] * size, high + limits[1] * size
    return Access(op, space, low, high + span, write)


def _rows(w: Writer, op: Op, word: Bursts, name: str, side: int) -> Access:
    """Of a copy of rows whose numbers are known."""
    if word.groups and op.group(word.groups):
        raise UnknownError
    space, low, high, _ = _pointer(w, op[name])
    end = _known(w, op, word.length)
    before = _known(w, op, word.before) if side == 1 else 0
    for axis in word.axes:
        count, stride = _known(w, op, axis[0]), _known(w, op, axis[side])
        if count < 1 or stride < 0:
            raise UnknownError
        end += (count - 1) * stride
    return Access(op, space, low + before, high + before + end, side == 1)


def _known(w: Writer, op: Op, count: Count) -> int:
    match count:
        case int():
            return count
        case Extent(name, "value"):
            found = w.facts.constants.get(op[name])
        case Sum(names, times):
            parts = [w.facts.constants.get(v) for v in map(op.get, names) if v is not None]
            found = sum(parts) * times if all(isinstance(p, int) for p in parts) else None  # type: ignore[arg-type]
        case _:
            found = None
    if not isinstance(found, int):
        raise UnknownError
    return found


def _pointer(w: Writer, value: Value) -> tuple[str, int, int, int]:
    """Buffer, least and greatest address, and bytes of an element of a pointer to on-chip memory."""
    assert isinstance(value.type, Ptr)
    size, owner = value.type.dtype.size, value.owner
    if isinstance(owner, Op) and owner.name == "pto.castptr" and isinstance(owner["value"].type, Scalar):
        limits = interval(w, owner["value"])
        if limits is not None:
            return value.type.space or "gm", *limits, size
    if isinstance(owner, Op) and owner.name == "pto.addptr":
        space, low, high, _ = _pointer(w, owner["ptr"])
        limits = interval(w, owner["offset"])
        if limits is not None:
            return space, low + limits[0] * size, high + limits[1] * size, size
    raise UnknownError


def _word(w: Writer, op: Op) -> tuple[Instr | None, object]:
    instr = instr_of(op)
    return instr, None if instr is None else instr.meaning_at(site_of(w, op))


def stores(op: Op) -> bool:
    """True if an operation may write global memory."""
    if op.name == "pto.store_scalar":
        return True
    instr = instr_of(op)
    outside = (Ptr, PartitionView, TensorView, MemRef)
    return instr is not None and any(
        o.role is not Role.IN and isinstance(v.type, outside) and getattr(v.type, "space", None) in (None, "gm")
        for o in instr.operands
        for v in op.group(o.name)
    )


def blocks(block: Block) -> Iterator[Block]:
    """A list of operations, and those inside."""
    yield block
    for op in block.ops:
        for region in op.regions:
            yield from blocks(region)


def place_in(w: Writer, op: Op, block: Block) -> int | None:
    """Where in a list of operations one stands, by itself or inside another one."""
    while True:
        around, at = w.blocks[op]
        if around is block:
            return at
        owner = w.owners.get(around)
        if owner is None:
            return None
        op = owner


def everything(w: Writer) -> Iterator[Op]:
    """All operations of the function."""
    assert w.function.body is not None
    return w.function.body.walk()


def _all(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def _within(inner: Op, outer: Op) -> bool:
    return any(op is inner for op in _all(outer))
