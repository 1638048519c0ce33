"""Values of the program while code is written: which of their parts are known, and where the others are.

Scalars are register names, or ints where the number is known. Everything else is one of the classes below; `leaves` are
the parts that differ from one run to the next, which loops and branches carry in memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import type_of
from ptokit.isa.meaning.words import Write
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import vector_layout
from ptokit.types.tile import TileSpec
from ptokit.types.values import LogicalMask, LogicalVector, Mask

from .code import Code, Num, float_of, many, spread, storage
from .conversions import Types

# Values of the program while code is written: which of their parts are known, and where the others are.


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
        """What two values need to have in common to be one."""
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


@dataclass(frozen=True)
class Stack:
    """An array of numbers on the stack of the scalar unit: where it begins, and LLVM's type of its elements."""

    base: str
    element: str

    def leaves(self) -> list[tuple[str, Num]]:
        raise NotNativeError("an array on the stack", "a branch, a loop or a call hands it on")

    rebuilt = kind = None


class Replacement(NamedTuple):
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

Compound = GmPointer | LocalPointer | View | Tile | Slots | Stack | Register


# Vectors of LLVM: registers and logical vectors as lanes, constants, lanes at other places.


REGISTER_BYTES = 256


def register_kind(type: Any) -> str:
    """LLVM's type of a vector or predicate: a register of 256 bytes, or a logical one of any length."""
    match type:
        case Mask():
            return f"<{REGISTER_BYTES} x i8>"
        case LogicalMask(lanes):
            return many(lanes, "i1")
    return many(lanes_of(type, type.dtype.size), storage(type.dtype))


def lanes_of(type: Any, width: int) -> int:
    """How many lanes of `width` bytes a vector has, or a predicate has."""
    match type:
        case LogicalMask(lanes):
            return lanes
        case LogicalVector(lanes, dtype):
            return lanes * dtype.size // width
    return REGISTER_BYTES // width


# Handed to Python and back -------------------------------------------------------------------------------------------


def handed(code: Code, register: Register) -> tuple[str, str]:
    """A vector or predicate as bytes in memory: LLVM's type, and what holds it. Conditions are bytes."""
    if not isinstance(register.type, LogicalMask):
        return register.kind, register.value
    bits, kind = many(register.type.lanes, "i1"), many(register.type.lanes, "i8")
    return kind, code.value(f"zext {bits} {register.value} to {kind}")


def handed_bytes(type: Any) -> int:
    """How many bytes that are."""
    return lanes_of(type, 1)


def array_of(type: Any, words: Sequence[int]) -> np.ndarray:
    """The vector that words hold as an array (1, lanes), a predicate as its image."""
    raw = np.array(words, np.int64).view(np.uint8)[: handed_bytes(type)]
    if isinstance(type, Mask | LogicalMask):
        return (raw != 0)[None]
    return raw.view(type.dtype.value or type.dtype.storage)[None]


def bytes_of(type: Any, value: np.ndarray) -> np.ndarray:
    """An array (1, lanes), or the image of a predicate, as bytes in memory."""
    raw = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
    return raw * np.uint8(255) if isinstance(type, Mask) else raw


def taken_back(code: Code, type: Any, place: str) -> Register:
    """What Python has left in memory."""
    kind = register_kind(type)
    if not isinstance(type, LogicalMask):
        return Register(code.load(kind, place, 8), kind, type)
    found = code.load(many(type.lanes, "i8"), place, 8)
    return Register(code.value(f"trunc {many(type.lanes, 'i8')} {found} to {kind}"), kind, type)


def stored_bytes(write: Write, lanes: int, types: Types) -> int:
    """How many bytes of memory a write covers."""
    if write.packed:
        return lanes // 8
    of = type_of(write.value, types)
    assert isinstance(of, DType)
    return lanes * of.size


def constants(dtype: DType, numbers: Sequence[int]) -> str:
    """Elements as the lanes of a vector, from their bits; integers keep their low bits."""
    kind = storage(dtype)
    bits = [int(n) % (1 << dtype.bits) for n in numbers]
    shown = [float_of(n) if kind == "float" else str(n) for n in bits]
    return f"<{', '.join(f'{kind} {n}' for n in shown)}>" if len(shown) > 1 else shown[0]


def bits_as(code: Code, register: Register, kind: str) -> str:
    """The bytes of a register as a vector of another type."""
    if register.kind == kind:
        return register.value
    return code.value(f"bitcast {register.kind} {register.value} to {kind}")


def shuffled(code: Code, kind: str, count: int, x: str, places: list[int]) -> str:
    """Some of the `count` lanes of a vector."""
    if places == list(range(count)):
        return x
    t = many(count, kind)
    if len(places) == 1:
        return code.value(f"extractelement {t} {x}, i64 {places[0]}") if count > 1 else x
    if count == 1:
        return spread(code, len(places), kind, x)
    lanes = ", ".join(f"i32 {place}" for place in places)
    return code.value(f"shufflevector {t} {x}, {t} poison, <{len(places)} x i32> <{lanes}>")
