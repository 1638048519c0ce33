"""Copies into on-chip memory that need not be made: those whose bytes are read where they come from.

A copy of rows without gaps from global memory stands for its bytes if the text shows that nothing else is ever written
there, that all reads of them follow it in its region, and that nothing is stored to global memory in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ptokit.ir.core import Value
from ptokit.isa.meaning.execute import Derived
from ptokit.isa.meaning.expressions import Count, Extent, Stored, Sum, fetches, leaves
from ptokit.isa.meaning.words import Bursts, Lane, Write
from ptokit.plan.effects import stored
from ptokit.plan.steps import Operand, Step, constant, walk
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import Ptr, Scalar

from .intervals import interval
from .vectors import REGISTER_BYTES, stored_bytes

if TYPE_CHECKING:
    from .function import Writer


@dataclass(frozen=True)
class Access:
    """Bytes [first, end) of a buffer that a step may touch."""

    step: Step
    space: str
    first: int
    end: int
    write: bool

    def meets(self, other: Access) -> bool:
        return self.space == other.space and self.first < other.end and other.first < self.end


class UnknownError(Exception):
    """The text does not say what is touched."""


def stands(w: Writer, step: Step) -> tuple[str, int, int] | None:
    """The buffer and its bytes that a copy stands for; None if it has to be made."""
    accesses = w.accesses()
    if accesses is None:
        return None
    mine = [a for a in accesses if a.step is step and a.write]
    if len(mine) != 1:
        return None
    block, at = w.relations.places[step]
    last = at
    for other in accesses:
        if other.step is step or not other.meets(mine[0]):
            continue
        after = w.relations.place_in(other.step, block)
        inside = mine[0].first <= other.first and other.end <= mine[0].end
        if other.write or after is None or after <= at or not inside or not isinstance(meaning(other.step), Lane):
            return None
        last = max(last, after)
    if any(stored(inner) for k in range(at + 1, last + 1) for inner in with_inner(block.steps[k])):
        return None
    return mine[0].space, mine[0].first, mine[0].end


def accesses(w: Writer) -> list[Access] | None:
    """All accesses to on-chip memory by address; None if the text does not say where some of them are."""
    if len(w.plan.functions) != 1 or len(w.function.body) > 1:
        return None
    try:
        return [access for step in w.function.walk() for access in _of(w, step)]
    except UnknownError:
        return None


def _of(w: Writer, step: Step) -> Iterator[Access]:
    local = [v for v in step.values if isinstance(v.type, Ptr) and (v.type.space or "gm") != "gm"]
    tiles = any(isinstance(v.type, TileSpec) for v in (*step.values, *step.results))
    if tiles or any(len(region) > 1 for region in step.regions):
        raise UnknownError
    if not local or step.word in ("cast", "advance", "number_of"):
        return
    word = meaning(step)
    if isinstance(word, Bursts):
        for name, side in ((word.dst, 1), (word.src, 2)):
            if step[name] in local:
                yield _rows(w, step, word, name, side)
    elif isinstance(word, Lane) and step.instr is not None and isinstance(step.instr.run, Derived):
        yield from _lanes(w, step, step.instr.run, word)
    else:
        raise UnknownError


def _lanes(w: Writer, step: Step, run: Derived, word: Lane) -> Iterator[Access]:
    assert step.site is not None
    types = run.types(step.site)
    lanes = word.lanes or REGISTER_BYTES // types[word.over].size
    for write in word.writes:
        if write.place is not None or fetches(write.value):
            raise UnknownError
        for leaf in leaves(write.value):
            if isinstance(leaf, Stored):
                yield _near(w, step, leaf, leaf.span, write=False)
        if isinstance(step.get(write.name), Value):
            yield _near(w, step, write, stored_bytes(write, lanes, types), write=True)


def _near(w: Writer, step: Step, access: Stored | Write, span: int, *, write: bool) -> Access:
    space, low, high, size = _pointer(w, step[access.name])
    size = access.unit or size
    given = step.get(access.offset) if access.offset else None
    if given is not None:
        limits = interval(w, given)
        if limits is None:
            raise UnknownError
        low, high = low + limits[0] * size, high + limits[1] * size
    return Access(step, space, low, high + span, write)


def _rows(w: Writer, step: Step, word: Bursts, name: str, side: int) -> Access:
    """Of a copy of rows whose numbers are known."""
    if word.groups and step.group(word.groups):
        raise UnknownError
    space, low, high, _ = _pointer(w, step[name])
    end = _known(w, step, word.length)
    before = _known(w, step, word.before) if side == 1 else 0
    for axis in word.axes:
        count, stride = _known(w, step, axis[0]), _known(w, step, axis[side])
        if count < 1 or stride < 0:
            raise UnknownError
        end += (count - 1) * stride
    return Access(step, space, low + before, high + before + end, side == 1)


def _known(w: Writer, step: Step, count: Count) -> int:
    match count:
        case int():
            return count
        case Extent(name, "value"):
            found = constant(step[name])
        case Sum(names, times):
            parts = [constant(o) for o in map(step.get, names) if o is not None]
            found = sum(parts) * times if all(isinstance(p, int) for p in parts) else None  # type: ignore[arg-type]
        case _:
            found = None
    if not isinstance(found, int):
        raise UnknownError
    return found


def _pointer(w: Writer, pointer: Operand) -> tuple[str, int, int, int]:
    """Buffer, least and greatest address, and bytes of an element of a pointer to on-chip memory."""
    assert isinstance(pointer.type, Ptr)
    size, giver = pointer.type.dtype.size, w.relations.giver.get(pointer)
    if giver is not None and giver.word == "cast" and isinstance(giver["value"].type, Scalar):
        limits = interval(w, giver["value"])
        if limits is not None:
            return pointer.type.space or "gm", *limits, size
    if giver is not None and giver.word == "advance":
        space, low, high, _ = _pointer(w, giver["ptr"])
        limits = interval(w, giver["offset"])
        if limits is not None:
            return space, low + limits[0] * size, high + limits[1] * size, size
    raise UnknownError


def meaning(step: Step) -> object:
    """What an instruction does, by what its place in the text says; None for other steps."""
    return None if step.instr is None or step.site is None else step.instr.meaning_at(step.site)


def with_inner(step: Step) -> Iterator[Step]:
    """A step, and those inside it."""
    yield step
    for region in step.regions:
        yield from walk(region)
