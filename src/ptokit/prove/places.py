"""Where data lies: pointers, views and tiles at places of `numbers`, what is touched, and what overlaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import z3

from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.meaning.expressions import OWN, Apply, Const, Element, Expr, Place, Reinterpret, Scalar, children
from ptokit.isa.meaning.words import Keep, Lane, Write
from ptokit.isa.scalar.arithmetic import WHOLE
from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec, offset_map

from .numbers import DATA, Number, Solver, both, is_number, is_truth, key_of, lifted, renamed, same, simple, symbols

Space = tuple[str, Any]
"""What bytes lie in: ``("argument", name)``, ``("buffer", name)``, ``("tile", site)`` of a tile without an address."""


@dataclass(frozen=True, eq=False, slots=True)
class Pointer:
    """``at``: bytes from the first one of its space; ``size``: bytes of an element."""

    space: Space
    at: Number
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A view of an argument: ``base`` in bytes, ``shape`` and ``strides`` in elements of ``size`` bytes.

    The view is its elements from ``offsets`` on, as many as ``sizes``.
    """

    space: Space
    base: Number
    size: int
    shape: tuple[Number, ...]
    strides: tuple[Number, ...]
    offsets: tuple[Number, ...]
    sizes: tuple[Number, ...]

    @property
    def first(self) -> Number:
        """Its first byte."""
        places = [lifted(o) * lifted(s) for o, s in zip(self.offsets, self.strides)]
        return simple(lifted(self.base) + self.size * z3.Sum(z3.IntVal(0), *places))

    def end(self, sizes: Sequence[Number]) -> Number:
        """The byte after the last one of so many elements from the first one on, strides not negative."""
        spans = [(lifted(n) - 1) * lifted(s) for n, s in zip(sizes, self.strides)]
        return simple(lifted(self.first) + self.size * z3.Sum(z3.IntVal(1), *spans))

    @property
    def origin(self) -> Any:
        """What views that are cut out of one have in common."""
        return self.space, self.size, key_of((self.base, self.shape, self.strides))


@dataclass(frozen=True, eq=False, slots=True)
class Tile:
    """A tile in memory of type ``home`` at byte ``at`` of ``space``, from element (row, col) of that on.

    ``cell``: what its valid region is kept under, since that may change.
    """

    spec: TileSpec
    space: Space
    at: Number
    home: TileSpec
    row: Number
    col: Number
    cell: Any


@dataclass(frozen=True, eq=False, slots=True)
class Tiles:
    """Several tiles of one type, by number."""

    items: tuple[Tile, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Lanes:
    """A register whose first ``at`` bytes something has written, and not more."""

    at: Number


def numbers_of(value: Any) -> Iterator[Number]:
    """The numbers that a value has inside."""
    if isinstance(value, Pointer | View | Tile | Tiles | Lanes):
        for each in fields(value):
            yield from numbers_of(getattr(value, each.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from numbers_of(part)
    elif isinstance(value, z3.ExprRef):
        yield value


def rewritten(value: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """A value with other unknowns in its numbers."""
    if isinstance(value, Pointer | View | Tile | Tiles | Lanes):
        return replace(value, **{each.name: rewritten(getattr(value, each.name), pairs) for each in fields(value)})
    if isinstance(value, tuple):
        return tuple(rewritten(part, pairs) for part in value)
    return simple(renamed(value, pairs))


MOST_WAYS = 32


def branches(value: Number) -> Iterator[Number]:
    """What a number comes to as the conditions in it go one way or the other; nothing if it has none."""
    left = MOST_WAYS
    waiting = [value] if isinstance(value, z3.ExprRef) else []
    while waiting and left:
        number = waiting.pop()
        choice = _choice(number)
        if choice is not None:
            ways = [z3.simplify(z3.substitute(number, (choice, way)), som=True) for way in choice.children()[1:]]
            waiting += ways[::-1]
        elif number is not value:
            left -= 1
            yield simple(number)


def without_remainders(value: Number) -> Iterator[Number]:
    """What a number comes to where the remainders in it, of slots in rotation, are as large as they can be."""
    todo, found = [value] if isinstance(value, z3.ExprRef) else [], list[Any]()
    while todo:
        e = todo.pop()
        if z3.is_app_of(e, z3.Z3_OP_MOD) and z3.is_int_value(e.arg(1)) and e.arg(1).as_long() > 0:
            found.append((e, z3.IntVal(e.arg(1).as_long() - 1)))
        else:
            todo += e.children()
    if found:
        yield simple(z3.simplify(z3.substitute(value, *found), som=True))


def _choice(value: Any) -> Any:
    todo = [value]
    while todo:
        e = todo.pop()
        if z3.is_app_of(e, z3.Z3_OP_ITE):
            return e
        todo += e.children()
    return None


def known(value: Any) -> bool:
    """True if nothing about a value is open."""
    return value is not DATA and not any(True for _ in numbers_of(value))


def identity(value: Any) -> Any:
    """What tells values apart."""
    if isinstance(value, Pointer | View | Tile | Tiles | Lanes):
        return type(value).__name__, *(identity(getattr(value, each.name)) for each in fields(value))
    return tuple(map(identity, value)) if isinstance(value, tuple) else key_of(value)


def alike(a: Any, b: Any) -> bool:
    """True if two values are certainly the same."""
    if a is b:
        return True
    if isinstance(a, Pointer | View | Tile | Tiles | Lanes | tuple):
        return type(a) is type(b) and bool(identity(a) == identity(b))
    return same(a, b)


def merged(
    a: Any, b: Any, either: Callable[[tuple[Any, ...], Number, Number], Number], path: tuple[Any, ...] = ()
) -> Any:
    """A value that is one of two; `DATA` where no value is.

    ``either(path, x, y)`` makes a number of two different ones; ``path``: where in the value they are.
    """
    if alike(a, b):
        return a
    if (is_number(a) and is_number(b)) or (is_truth(a) and is_truth(b)):
        return either(path, a, b)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(merged(x, y, either, (*path, k)) for k, (x, y) in enumerate(zip(a, b)))
    if isinstance(a, Lanes) is not isinstance(b, Lanes):
        return a if isinstance(a, Lanes) else b
    if type(a) is type(b) and isinstance(a, Pointer | View | Tile | Lanes):
        made = {}
        for each in fields(a):
            x, y = getattr(a, each.name), getattr(b, each.name)
            if not alike(x, y):
                if each.name not in _NUMBERS or (isinstance(x, tuple) and len(x) != len(y)):
                    return DATA
                x = merged(x, y, either, (*path, each.name))
            made[each.name] = x
        return replace(a, **made)
    return DATA


_NUMBERS = frozenset(("at", "base", "shape", "strides", "offsets", "sizes", "row", "col"))


# What is touched.


@lru_cache(maxsize=4096)
def bytes_of(spec: TileSpec, row: int, col: int, rows: int, cols: int) -> int:
    """The bytes of a part of a tile, as bits of a number: bit k is byte k of the tile's memory."""
    rows, cols = max(0, min(rows, spec.rows - row)), max(0, min(cols, spec.cols - col))
    if not rows or not cols:
        return 0
    if type(spec) is not TileSpec or (row, col, rows, cols) == (0, 0, spec.rows, spec.cols):
        return (1 << spec.nbytes) - 1
    places = offset_map(spec)[row : row + rows, col : col + cols].reshape(-1)
    found = np.zeros(spec.nbytes, bool)
    if spec.dtype.packed:
        found[places // 2] = True
    else:
        size = spec.dtype.size
        found[(places[:, None] * size + np.arange(size)).reshape(-1)] = True
    return int.from_bytes(np.packbits(found, bitorder="little").tobytes(), "little")


MOST_BYTES = 1 << 20


def bytes_of_rows(length: Number, axes: Sequence[tuple[Number, Number]]) -> int | None:
    """The bytes of rows of `length` that repeat along axes (count, stride), from the lowest one on, as bits.

    None where a size is open, or they lie far apart.
    """
    numbers = [length, *(n for axis in axes for n in axis)]
    if not all(type(n) is int for n in numbers) or any(count <= 0 for count, _ in axes) or length <= 0:
        return None
    mask, size = (1 << length) - 1, length
    for count, stride in reversed(axes):
        step = abs(stride)
        size += (count - 1) * step
        if size > MOST_BYTES:
            return None
        row, mask = mask, 0
        for k in range(count):
            mask |= row << k * step
    return mask


@dataclass(frozen=True, eq=False, slots=True)
class Touch:
    """Bytes that an instruction reads or writes: from ``lo`` below ``hi`` of a space, both None for all of it.

    ``mask``: the exact bytes from ``at`` on, as bits, where those are known. ``view``: the view whose elements they
    are. ``atomic``: what updates commute with this one. ``tile``, ``rows``, ``cols``: the part of a tile, sizes
    `UNKNOWN` where they are open. ``loose``: it may touch less.
    """

    space: Space
    write: bool
    lo: Number
    hi: Number
    at: Number = 0
    mask: int | None = None
    view: View | None = None
    atomic: Any = None
    tile: Tile | None = None
    part: tuple[Any, ...] = field(default=())
    loose: bool = False

    @property
    def identity(self) -> Any:
        """What tells touches apart."""
        view = None if self.view is None else identity(self.view)
        return self.space, self.write, key_of((self.lo, self.hi, self.at)), self.mask, view, self.atomic

    @property
    def numbers(self) -> list[Number]:
        """The expressions in it."""
        found = [self.lo, self.hi, self.at]
        return found if self.view is None else [*found, *numbers_of(self.view)]


def bits_of(touch: Touch) -> int | None:
    """The bytes of a touch as bits of its space; None where they are not all known."""
    if touch.mask is not None:
        return touch.mask << touch.at if type(touch.at) is int and touch.at >= 0 else None
    if touch.loose or touch.view is not None or type(touch.lo) is not int or type(touch.hi) is not int or touch.lo < 0:
        return None
    return ((1 << (touch.hi - touch.lo)) - 1) << touch.lo if touch.hi > touch.lo else 0


MOST_RUNS = 16


def runs_of(bits: int) -> Iterator[tuple[int, int]]:
    """The first runs of ones: from which bit on, and the bit after the last one."""
    at = 0
    for _ in range(MOST_RUNS):
        if not bits:
            return
        low = (bits & -bits).bit_length() - 1
        bits >>= low
        length = (~bits & (bits + 1)).bit_length() - 1
        bits >>= length
        yield at + low, at + low + length
        at += low + length


def space_of(loc: TileType) -> Space:
    """The buffer of a kind of tile."""
    return "buffer", buffer_name(loc)


def of_view(view: View, write: bool, atomic: Any = None) -> Touch:
    """All elements of a view."""
    return Touch(view.space, write, view.first, view.end(view.sizes), view.first, None, view, atomic)


def of_tile(tile: Tile, write: bool, rows: Any, cols: Any, row: Any = 0, col: Any = 0) -> Touch:
    """Rows and columns of a tile, from an element on; all of its memory where one of them is no known number."""
    base, part = tile.at, (rows, cols, row, col)
    if all(type(n) is int for n in (*part, tile.row, tile.col)):
        mask = bytes_of(tile.home, tile.row + row, tile.col + col, rows, cols)
        low = (mask & -mask).bit_length() - 1 if mask else 0
        lo, hi = simple(lifted(base) + low), simple(lifted(base) + mask.bit_length())
        return Touch(tile.space, write, lo, hi, base, mask, tile=tile, part=part)
    end = simple(lifted(base) + tile.home.nbytes)
    return Touch(tile.space, write, base, end, base, tile=tile, part=part, loose=True)


def laid_out(place: Expr, count: int, size: int, unit: int, given: Mapping[str, Any]) -> tuple[int, int] | None:
    """Pieces of `size` bytes at the places of lanes: the first byte, and the bytes from that on as bits.

    None where more than constants decides a place.
    """
    places = [_constant(place, j, given) for j in range(count)]
    if not places or any(p is None for p in places):
        return None
    starts = [p * unit for p in places if p is not None]
    first, mask = min(starts), 0
    if max(starts) - first > MOST_BYTES:
        return None
    for start in starts:
        mask |= ((1 << size) - 1) << start - first
    return first, mask


def lane_by_lane(write: Write) -> bool:
    """True if each lane of what is written is made of the same lanes of what is read."""
    if write.packed or write.place is not None or write.where is not None or write.at != OWN:
        return False
    todo = [write.value]
    while todo:
        e = todo.pop()
        if isinstance(e, Element):
            if e.at != OWN:
                return False
        elif not isinstance(e, Apply | Const | Scalar | Reinterpret):
            return False
        todo += children(e)
    return True


def keeps(step: Step) -> bool:
    """True if an instruction sets a register of the machine, or may do so."""
    if step.instr is None or step.site is None or step.instr.order.only:
        return False
    word = step.instr.meaning_at(step.site)
    return isinstance(word, Keep) or (isinstance(word, Lane) and bool(word.keeps))


def _constant(e: Expr, lane: int, given: Mapping[str, Any]) -> int | None:
    """The whole number that an expression is in a lane, where constants decide it."""
    match e:
        case Place():
            return lane
        case Const(int(known)):
            return known
        case Scalar(name):
            number = given.get(name)
            return number if type(number) is int and number >= 0 else None
        case Apply(op, (a, b)) if op in ("add", "sub", "mul", "div", "fmod"):
            x, y = _constant(a, lane, given), _constant(b, lane, given)
            if x is None or y is None or (op in ("div", "fmod") and y <= 0):
                return None
            return WHOLE[op](x, y)
    return None


def at_places(at: Number, pointer: Pointer, laid: tuple[int, int], *, write: bool) -> Touch:
    """The touch of pieces that lie as `laid_out` says, from a byte on."""
    first, mask = laid
    low = simple(lifted(at) + first)
    return Touch(pointer.space, write, low, simple(lifted(low) + mask.bit_length()), low, mask)


def certainly_apart(a: Touch, b: Touch) -> bool:
    """True if constants alone say that two touches have no byte in common."""
    if a.space != b.space:
        return True
    if None in (a.lo, b.lo):
        return False
    if all(type(n) is int for n in (a.lo, a.hi, b.lo, b.hi)) and (a.hi <= b.lo or b.hi <= a.lo):
        return True
    if a.mask is None or b.mask is None:
        return False
    if type(a.at) is int and type(b.at) is int:
        low = min(a.at, b.at)
        return not (a.mask << (a.at - low)) & (b.mask << (b.at - low))
    return same(a.at, b.at) and not a.mask & b.mask


def overlap(a: Touch, b: Touch, pairs: Sequence[tuple[Any, Any]], solver: Solver, facts: Sequence[Number]) -> Number:
    """The condition that two touches of one space have a byte in common.

    ``pairs``: other unknowns for those of `a`. ``facts``: what holds of the arguments, in which strides nest.
    """
    if None in (a.lo, b.lo):
        return True
    parts = []
    for touch, others in ((a, pairs), (b, ())):
        if touch.view is not None:
            parts += [lifted(renamed(n, others)) > 0 for n in touch.view.sizes]
    u, v = a.view, b.view
    alike = u is not None and v is not None and u.origin == v.origin
    if u is not None and v is not None and alike and _shared(u, pairs) and _nested(u, solver, facts):
        for o, n, p, m in zip(u.offsets, u.sizes, v.offsets, v.sizes):
            o, n = lifted(renamed(o, pairs)), lifted(renamed(n, pairs))
            parts += [o < lifted(p) + lifted(m), lifted(p) < o + n]
        return both(*parts)
    lo, hi = lifted(renamed(a.lo, pairs)), lifted(renamed(a.hi, pairs))
    return both(*parts, lo < lifted(b.hi), lifted(b.lo) < hi)


def _shared(view: View, pairs: Sequence[tuple[Any, Any]]) -> bool:
    """True if base, shape and strides of a view are the same for both."""
    other = set(symbols(old for old, _ in pairs))
    return other.isdisjoint(symbols((view.base, *view.shape, *view.strides)))


def _nested(view: View, solver: Solver, facts: Sequence[Number]) -> bool:
    """True if the elements of a view have places of their own: each stride spans the dimensions inside of it.

    Where a dimension is empty nothing is touched, and in one of size 1 there is one place only.
    """
    dims = [(n, s) for n, s in zip(view.shape, view.strides) if not same(n, 1)]
    assumed = [*facts, *(simple(lifted(n) >= 1) for n, _ in dims)]
    for order in (dims, dims[::-1]):
        spans = [lifted(s) >= lifted(m) * lifted(t) for (_, s), (m, t) in pairwise(order)]
        if all(solver.implied(assumed, span) for span in (*spans, *(lifted(t) >= 1 for _, t in order[-1:]))):
            return True
    return False


def in_elements(view: View, sizes: Sequence[Number]) -> Number:
    """How many elements, from the first one of its argument on, a view of so many needs; its size in bytes divides."""
    end = view.end(sizes)
    return end // view.size if isinstance(end, int) else simple(lifted(end) / view.size)


def in_words(end: Any, size: int) -> str:
    """So many elements as end in a byte."""
    if isinstance(end, int):
        return str(-(-end // size))
    end = z3.simplify(end, som=True)
    terms = []
    for term in end.children() if z3.is_add(end) else [end]:
        first, *rest = term.children() if z3.is_mul(term) else [term]
        if not z3.is_int_value(first) or first.as_long() % size:
            return f"({spaced(end)})/{size}" if size > 1 else spaced(end)
        number = first.as_long() // size
        factors = [spaced(f) for f in rest]
        terms.append("*".join(factors if number == 1 and factors else [str(number), *factors]))
    return " + ".join(terms).replace("+ -", "- ")


def spaced(e: Any) -> str:
    """An expression in one line, for people."""
    return " ".join(str(e).replace("#", "").split())
