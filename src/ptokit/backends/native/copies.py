"""Copies of rows of bytes and from tile to tile, and those that need not be made.

A copy of rows without gaps from global memory is left out if the text shows that nothing else is ever written
there, that all reads of them follow it in its region, and that nothing is stored to global memory in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.execute import Derived
from ptokit.isa.meaning.expressions import Axis as Coordinates
from ptokit.isa.meaning.expressions import Count, Element, Extent, Index, Stored, Sum, fetches, leaves
from ptokit.isa.meaning.footprint import size_at
from ptokit.isa.meaning.words import Bursts, Lane, Move, Write
from ptokit.isa.site import Site
from ptokit.machine.local_memory import SPACES
from ptokit.plan.effects import stored
from ptokit.plan.steps import Operand, Step, constant, walk
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import Ptr, Scalar

from .analyses import interval
from .code import Num
from .moves import Axis, Nest, address_of, copy, pads, source_axes, tile_axes, together
from .tiles import element, meets
from .values import REGISTER_BYTES, GmPointer, LocalPointer, Replacement, Tile, View, stored_bytes
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


# Copies into on-chip memory that need not be made: those whose bytes are read where they come from.


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


def elided(w: Writer, step: Step) -> tuple[str, int, int] | None:
    """The buffer and its bytes that are read instead of a copy; None if it has to be made."""
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
    size, maker = pointer.type.dtype.size, w.relations.maker.get(pointer)
    if maker is not None and maker.word == "cast" and isinstance(maker["value"].type, Scalar):
        limits = interval(w, maker["value"])
        if limits is not None:
            return pointer.type.space or "gm", *limits, size
    if maker is not None and maker.word == "advance":
        space, low, high, _ = _pointer(w, maker["ptr"])
        limits = interval(w, maker["offset"])
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


# Copies of rows of bytes between memories, as nests of loops.


BurstAxis = tuple[Num, Num, Num]
"""A count with the strides of destination and source."""


def write_bursts(w: Writer, step: Step, word: Bursts, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a copy."""
    dst, src = operands.get(word.dst), operands.get(word.src)
    if not isinstance(dst, LocalPointer | GmPointer) or not isinstance(src, LocalPointer | GmPointer):
        return False
    if isinstance(dst, LocalPointer) and isinstance(src, LocalPointer):
        return False  # all rows are read before one is written
    if w.configures:
        return False
    w.pending.flush()
    w.check(step)
    checked = Checked(w)
    length, axes, ends = rows(checked, step, word)
    before = number(w, step, word.before)
    local = 1 if isinstance(dst, LocalPointer) else 2
    for axis in axes:
        if word.alignment > 1 and axis[0] != 1:
            stride, unit = axis[local], word.alignment
            low = stride % unit if isinstance(stride, int) else w.code.value(f"srem i64 {stride}, {unit}")
            checked.need("eq", low, 0)
    places = [_inside(checked, p, end, extra) for p, end, extra in ((dst, ends[0], before), (src, ends[1], 0))]
    _reads(w, src, ends[1])
    if isinstance(dst, LocalPointer) and isinstance(src, GmPointer) and _dense(axes, length):
        same = all(n == 1 or to == frm for n, to, frm in axes)
        found = elided(w, step) if same else None
        if found is not None:
            w.refuse_if(checked.any(), step)
            w.replaced.append((*found, places[1]))
            return True
    with w.unless(checked.any(), step, reads=False):
        several = [axis for axis in axes if axis[0] != 1]
        whole = dst.memory.size if isinstance(dst, GmPointer) else 0
        copy(w, places[0], places[1], 1, several, [(length, 1, 1)], whole=whole)
    if isinstance(dst, LocalPointer) and isinstance(dst.address, int) and isinstance(before, int):
        dense = _dense(axes, length)
        if dense:
            start = w.module.space(SPACES[dst.space]) + dst.address + before
            w.contents.write(start, start + dense)
    return True


def rows(checked: Checked, step: Step, word: Bursts) -> tuple[Num, list[BurstAxis], list[Num]]:
    """The length of a row, all loops around it, and the bytes that destination and source extend over."""
    w = checked.w
    length, axes = number(w, step, word.length), axes_of(w, step, word)
    checked.need("sge", length, 1)
    for n, to, frm in axes:
        for what, least in ((n, 1), (to, 0), (frm, 0)):
            checked.need("sge", what, least)
    return length, axes, [span(checked, [(axis[0], axis[side]) for axis in axes], length) for side in (1, 2)]


def number(w: Writer, step: Step, count: Count) -> Num:
    """A size in terms of scalar operands."""
    match count:
        case Extent(name, "value"):
            return w.number(step[name])
        case Sum(names, times):
            total: Num = 0
            for name in names:
                value = step.get(name)
                total = total if value is None else w.code.add(total, w.number(value))
            return w.code.mul(total, times)
    assert isinstance(count, int)
    return count


def axes_of(w: Writer, step: Step, word: Bursts) -> list[BurstAxis]:
    """All loops of a copy, the outermost first."""
    groups = [w.number(value) for value in step.group(word.groups)] if word.groups else []
    around: list[BurstAxis] = [(groups[k], groups[k + 2], groups[k + 1]) for k in range(0, len(groups), 3)]
    a, *more = ((number(w, step, n), number(w, step, to), number(w, step, frm)) for n, to, frm in word.axes)
    return [*around[::-1], a, *more]


def span(checked: Checked, axes: list[tuple[Num, Num]], length: Num) -> Num:
    """Bytes from the first one of a copy to the end of its last one."""
    end = length
    for n, stride in axes:
        if n != 1:
            end = checked.add(end, checked.mul(checked.add(n, -1), stride))
    return end


def _dense(axes: list[BurstAxis], length: Num) -> int:
    """The bytes of a destination without gaps; 0 if there are some, or only the run knows."""
    for n, to, _ in reversed(axes):
        if n == 1:
            continue
        if not isinstance(n, int) or not isinstance(length, int) or to != length:
            return 0
        length *= n
    return length if isinstance(length, int) else 0


def _inside(checked: Checked, pointer: Any, end: Num, before: Num) -> str:
    """The address of the first byte; all of them have to lie inside the memory."""
    w = checked.w
    if isinstance(pointer, LocalPointer):
        start = checked.add(pointer.address, before)
        loc = SPACES[pointer.space]
        checked.need("sge", start, 0)
        checked.need("sle", checked.add(start, end), w.target.capacity[loc])
        return w.code.at(w.memory, w.code.add(w.module.space(loc), start))
    start = checked.mul(pointer.offset, pointer.dtype.size)
    checked.need("sge", pointer.memory.number, 0)
    checked.need("sge", start, 0)
    checked.need("sle", checked.add(start, end), pointer.memory.size)
    return w.code.at(pointer.memory.base, start)


def _reads(w: Writer, pointer: Any, end: Num) -> None:
    """What is read has to hold what the block has written, or zeros."""
    if not isinstance(pointer, LocalPointer):
        return
    if isinstance(pointer.address, int) and isinstance(end, int):
        start = w.module.space(SPACES[pointer.space]) + pointer.address
        w.contents.read(max(0, start), start + end)
    else:
        w.reads_space(SPACES[pointer.space])


# Copies from tile to tile, of all of them or of windows.


Axes = tuple[list[Axis], list[Axis]]
"""Of rows and of columns, as `moves` has them."""

Corner = tuple[Num, Num]
"""The row and column where a window begins."""


def copy_tiles(w: Writer, step: Step, site: Site, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a copy."""
    move = site.instr.meaning_at(site)
    if not isinstance(move, Move) or not isinstance(move.value, Element) or move.combine:
        return False
    dst, src = operands.get(move.dst), operands.get(move.value.name)
    if not isinstance(dst, Tile) or not isinstance(src, Tile) or meets(dst, src):
        return False
    rows, cols = size_at(move.rows, site), size_at(move.cols, site)
    if not isinstance(rows, int) or not isinstance(cols, int):
        return False
    if pads(site, dst, move) or dst.spec.dtype.size != src.spec.dtype.size:
        return False
    if rows > min(dst.spec.rows, src.spec.rows) or cols > min(dst.spec.cols, src.spec.cols):
        return False
    begin, start = _corner(w, step, move.to), _corner(w, step, move.value.at)
    to = tile_axes(dst, rows, cols)
    own = _nests(to, tile_axes(src, rows, cols))
    if own is None or begin is None or start is None:
        return False
    checked = Checked(w)
    _inside_tiles(checked, dst, begin, (rows, cols))
    _inside_tiles(checked, src, start, (rows, cols))
    if "true" in checked.wrong:
        return False
    w.pending.flush()
    w.check(step)

    source = w.replacements.get(src.start) or Replacement(src, step[move.value.name], lambda: None)
    if begin == start == (0, 0) and (nests := _nests(to, source_axes(w, source.what, rows, cols))) is not None:

        def made() -> None:
            _copy(w, dst, source.what, (begin, start), nests)

        if w.elided(step, dst, source._replace(copy=made)):
            return True
    w.replacements.pop(dst.start, None)
    w.settle(src)
    with w.unless(checked.any(), step, reads=False):
        _copy(w, dst, src, (begin, start), own)
    if begin == (0, 0):
        w.overwrite(dst, rows, cols)
    return True


def _nests(to: Axes | None, frm: Axes | None) -> tuple[Nest, Nest] | None:
    """The loops over rows and columns of both."""
    if to is None or frm is None:
        return None
    by_row, by_col = together(to[0], frm[0]), together(to[1], frm[1])
    return None if by_row is None or by_col is None else (by_row, by_col)


def _copy(w: Writer, dst: Tile, source: Tile | View, corners: tuple[Corner, Corner], nests: tuple[Nest, Nest]) -> None:
    begin, start = corners
    if isinstance(source, Tile):
        w.touch(source)
    frm = _address(w, source, start) if isinstance(source, Tile) else address_of(w, source)
    copy(w, _address(w, dst, begin), frm, dst.spec.dtype.size, *nests)


def _corner(w: Writer, step: Step, at: Index) -> Corner | None:
    """Where a window begins; None of what is no window."""
    found: list[Num] = []
    for axis, own in ((at.row, Coordinates(i=1, plus=at.row.plus)), (at.col, Coordinates(j=1, plus=at.col.plus))):
        if axis != own:
            return None
        match axis.plus:
            case int(number):
                found.append(number)
            case Extent(name, "value"):
                found.append(w.number(step[name]))
            case _:
                return None
    return found[0], found[1]


def _inside_tiles(checked: Checked, tile: Tile, corner: Corner, size: tuple[int, int]) -> None:
    """A window lies in its tile and begins with a box; Python sees to all others."""
    spec = tile.spec
    for at, n, limit, unit in zip(corner, size, (spec.rows, spec.cols), (spec.box.rows, spec.box.cols)):
        checked.need("sge", at, 0)
        checked.need("sle", at, limit - n)
        if spec.boxed and unit > 1:
            checked.need("eq", at % unit if isinstance(at, int) else checked.w.code.value(f"srem i64 {at}, {unit}"), 0)


def _address(w: Writer, tile: Tile, corner: Corner) -> str:
    start = address_of(w, tile)
    return w.code.at(start, w.code.mul(element(w, tile.spec, *corner), tile.spec.dtype.size))
