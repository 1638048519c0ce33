"""Values of the program while code is written: which of their parts are known, and where the others are.

Scalars are register names, or ints where the number is known. Everything else is one of the classes below; `leaves` are
the parts that differ from one run to the next, which loops and branches carry in memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ptokit.ir.core import Value
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import vector_layout
from ptokit.types.tile import TileSpec

from .code import Num


class NotNativeError(Exception):
    """What cannot be compiled: the step, in words, and why."""

    def __init__(self, what: str, why: str = "") -> None:
        self.what, self.why = what, why
        super().__init__(what + (f": {why}" if why else ""))


@dataclass(frozen=True)
class Memory:
    """An argument: where it begins, its bytes and elements, and which argument it is (-1: none)."""

    base: str
    size: Num
    count: Num
    number: Num

    def leaves(self) -> list[tuple[str, Num]]:
        return [("ptr", self.base), ("i64", self.size), ("i64", self.count), ("i64", self.number)]


@dataclass(frozen=True)
class GmPointer:
    """A pointer to global memory: the argument, and an offset in elements."""

    memory: Memory
    offset: Num
    dtype: DType

    def leaves(self) -> list[tuple[str, Num]]:
        return [*self.memory.leaves(), ("i64", self.offset)]

    def rebuilt(self, leaves: Sequence[Any]) -> GmPointer:
        return GmPointer(Memory(*leaves[:4]), leaves[4], self.dtype)

    @property
    def kind(self) -> Any:
        """What two values need to have in common to stand for one."""
        return GmPointer, self.dtype


@dataclass(frozen=True)
class LocalPointer:
    """A byte address in an on-chip buffer."""

    space: str
    address: Num
    dtype: DType

    def leaves(self) -> list[tuple[str, Num]]:
        return [("i64", self.address)]

    def rebuilt(self, leaves: Sequence[Any]) -> LocalPointer:
        return replace(self, address=leaves[0])

    @property
    def kind(self) -> Any:
        return LocalPointer, self.space, self.dtype


@dataclass(frozen=True)
class View:
    """A view of global memory: sizes and strides in elements, as many as the text has.

    ``layout``: its number among `LAYOUTS`, and which ones are possible.
    """

    memory: Memory
    offset: Num
    dims: tuple[Num, ...]
    strides: tuple[Num, ...]
    dtype: DType
    layout: Num
    options: frozenset[Layout | None]

    def leaves(self) -> list[tuple[str, Num]]:
        numbers = (self.offset, self.layout, *self.dims, *self.strides)
        return [*self.memory.leaves(), *(("i64", n) for n in numbers)]

    def rebuilt(self, leaves: Sequence[Any]) -> View:
        rank = len(self.dims)
        memory, (offset, layout, *numbers) = Memory(*leaves[:4]), leaves[4:]
        layout = LAYOUTS.index(next(iter(self.options))) if len(self.options) == 1 else layout
        return View(memory, offset, tuple(numbers[:rank]), tuple(numbers[rank:]), self.dtype, layout, self.options)

    @property
    def kind(self) -> Any:
        return View, self.dtype, self.options, len(self.dims)

    def layout_for(self, row_major_tile: bool) -> Layout | None:
        """The layout where it meets a tile; None if only the run knows."""
        if len(self.options) == 1:
            (only,) = self.options
            if only is not None:
                return only
        if self.options <= {Layout.ND, None} and row_major_tile:
            return Layout.ND
        if self.options == {None} and all(isinstance(d, int) for d in self.dims[-2:]):
            return vector_layout([1, 1, *self.dims], row_major_tile=row_major_tile)  # type: ignore[list-item]
        return None


@dataclass(frozen=True)
class Tile:
    """A tile. ``start``: byte in the memory of the thread; ``shape``: memory of a valid region that may change.

    A window of another tile, its ``parent``, begins there at element (``row``, ``col``); ``type`` is what the text
    calls it, ``spec`` what it is for memory.
    """

    start: Num
    spec: TileSpec
    shape: str | None = None
    address: Num | None = None
    name: str = ""
    parent: Tile | None = None
    row: Num = 0
    col: Num = 0
    stated: TileSpec | None = None

    @property
    def type(self) -> TileSpec:
        """What the text calls it."""
        return self.stated or self.spec

    @cached_property
    def pitches(self) -> tuple[int, int] | None:
        """Elements from one row, and from one column, to the next; None where they lie in boxes."""
        store = self.spec
        if store.boxed or store.dtype.packed:
            return None
        return (store.cols, 1) if store.row_major else (1, store.rows)

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """The bytes of all of it (a window's: of its parent), if they are known."""
        if self.parent is not None:
            return self.parent.span
        return (self.start, self.start + self.spec.nbytes) if isinstance(self.start, int) else None

    def leaves(self) -> list[tuple[str, Num]]:
        out: list[tuple[str, Num]] = [("i64", self.start)]
        if self.shape is not None:
            out.append(("ptr", self.shape))
        if self.address is not None:
            out.append(("i64", self.address))
        if self.parent is not None:
            out += [("i64", self.row), ("i64", self.col), *self.parent.leaves()]
        return out

    def rebuilt(self, leaves: Sequence[Any]) -> Tile:
        rest = list(leaves)
        start = rest.pop(0)
        shape = rest.pop(0) if self.shape is not None else None
        address = rest.pop(0) if self.address is not None else None
        found = replace(self, start=start, shape=shape, address=address)
        if self.parent is None:
            return found
        return replace(found, row=rest[0], col=rest[1], parent=self.parent.rebuilt(rest[2:]))

    @property
    def kind(self) -> Any:
        above = None if self.parent is None else self.parent.kind
        return Tile, self.spec, self.type, self.shape is None, self.address is None, above


@dataclass(frozen=True)
class Slots:
    """The tiles of a multi-buffer, all of one type."""

    tiles: tuple[Tile, ...]

    def leaves(self) -> list[tuple[str, Num]]:
        return [leaf for tile in self.tiles for leaf in tile.leaves()]

    def rebuilt(self, leaves: Sequence[Any]) -> Slots:
        each = len(leaves) // len(self.tiles)
        return Slots(tuple(tile.rebuilt(leaves[k * each :][:each]) for k, tile in enumerate(self.tiles)))

    @property
    def kind(self) -> Any:
        return Slots, len(self.tiles), self.tiles[0].kind


class Standing(NamedTuple):
    """What is read instead of a tile, its value in the text, and how to make the copy that has been left out."""

    what: Tile | View
    value: Value
    copy: Callable[[], None]


class Direct(NamedTuple):
    """Where the elements of a tile go at once: an address, and the elements there from one row to the next."""

    tile: Tile
    address: str
    pitch: int


@dataclass(frozen=True)
class Register:
    """A vector register, or a predicate: what holds its 256 bytes, a vector of LLVM's type `kind`.

    A predicate has a byte for each byte of data: 0, or -1 where it is active. ``full``: all lanes of so many bytes are
    known to be active.
    """

    value: str
    kind: str
    type: Any
    full: int = 0

    def leaves(self) -> list[tuple[str, str]]:
        return [(self.kind, self.value)]

    def rebuilt(self, leaves: Sequence[Any]) -> Register:
        return replace(self, value=leaves[0], full=0)


LAYOUTS: list[Layout | None] = [None, *Layout]

Compound = GmPointer | LocalPointer | View | Tile | Slots | Register
