"""What the functions of instructions are given: the run-time operands, as protocols.

Every array has a leading axis: the blocks that run together, or 1 where all of them have the same value. Scalars are
Python numbers where all blocks agree and arrays of shape (blocks, 1, 1) where they do not. Arrays that are read must
not be modified, and an array handed to ``write`` belongs to the tile afterwards. Read every source before calling
``out`` or ``write``: a tile may hold a value that is not stored yet, and gives it up when it is overwritten.

Values are there at once: what is transferred, and when it may be touched, is for the sanitizer to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Layout
from ptokit.types.tile import TileSpec

# What semantics functions are given: the run-time operands, as protocols.


class TileOperand(Protocol):
    """A tile at run time. Shapes are (blocks or 1, rows, cols); sizes count elements."""

    spec: TileSpec
    vr: int  # valid rows
    vc: int  # valid columns

    def region(self, rows: int | None, cols: int | None) -> tuple[int, int]:
        """The region meant, default the valid region; a fault if the tile is smaller."""

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        """Values of the region [0, rows) x [0, cols), default the valid region, in ``spec.dtype.value``.

        Types without a NumPy dtype (hif8, fp4, int4) give their codes as uint8, one element each.
        """

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        """Values of the valid region, exactly converted to a wider float dtype (cached)."""

    def out(self, rows: int | None = None, cols: int | None = None) -> np.ndarray | None:
        """A writable array for the region, which the caller overwrites as a whole; None if storage has boxes."""

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        """Set the region to `values` (broadcast over blocks if its first axis is 1)."""

    def raw(self) -> np.ndarray:
        """The tile's storage, bytes of shape (blocks, nbytes), up to date and writable."""

    def patch(self, values: np.ndarray, row: int, col: int) -> None:
        """Overwrite the region at (row, col) of the physical tile with values (blocks or 1, r, c)."""

    def fill(self, row: int, rows: int, col: int, cols: int, bits: int) -> None:
        """Set rows [row, rows) x cols [col, cols) of the physical tile to an element's bit pattern."""

    def in_boxes(self) -> Self:
        """The same tile as the cube core sees an accumulator: of whole boxes, though it may have one row."""

    def load(self, view: ViewOperand, layout: Layout, region: tuple[int, int] | None = None) -> None:
        """Set the valid region, or so many rows and columns, to a view of global memory, bit for bit."""

    def take(self, other: TileOperand, rows: int, cols: int) -> None:
        """Set the region to the same region of a tile of the same dtype, bit for bit, without conversion."""


class ViewOperand(Protocol):
    """A GlobalTensor or partition view at run time; 5-D, sizes and strides in elements."""

    dtype: DType

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Sizes, right-aligned."""

    @property
    def stride(self) -> tuple[int, int, int, int, int]:
        """Strides in elements."""

    def layout_for(self, row_major_tile: bool) -> Layout:
        """The stated layout; a vector that fits ND and DN alike takes the tile's."""

    def element_text(self, offset: int) -> str:
        """The element `offset` after the first in words."""

    def check_bounds(self) -> Any:
        """Refuse a view that leaves its memory."""

    def extent(self, layout: Layout) -> tuple[int, int]:
        """Rows and columns of the 2-D view (types-and-layouts 9.1)."""

    def with_lines(self, axis: int, length: int, *, gaps: bool) -> Self:
        """The same lines, along `axis`, each of `length` elements; with ``gaps`` these stay as long as they are."""

    def with_rows(self, rows: int) -> Self:
        """The first rows of each block of columns of an NZ view."""

    def with_layout(self, layout: Layout) -> Self:
        """The same elements in another layout."""

    def begin_store(self, *, whole: bool = True) -> None:
        """To be called before the values to store are read; ``whole``: every element of the view will be written."""

    def store(self, values: np.ndarray, layout: Layout) -> None:
        """Write values (blocks or 1, rows, cols) to the 2-D view; lower blocks first."""

    def update(self, values: np.ndarray, layout: Layout, combine: Callable[..., np.ndarray], blocks: int) -> None:
        """Atomic store: old and new elements combined by a ufunc."""

    def gather(self, offsets: np.ndarray, describe: Callable[[int, int, int], str]) -> np.ndarray:
        """Elements at offsets (blocks or 1, rows, cols) from the view's first one.

        ``describe(block, row, col)`` tells in words where an offset comes from.
        """

    def scatter(
        self,
        offsets: np.ndarray,
        values: np.ndarray,
        put: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
        blocks: int,
        describe: Callable[[int, int, int], str],
        keep: np.ndarray | None = None,
    ) -> None:
        """``put(memory, places, values)`` elements where ``keep`` holds: flat arrays, lower blocks first, row-major."""

    def indices(self, layout: Layout) -> np.ndarray:
        """Element offsets in the buffer, int64 of shape (blocks or 1, rows, cols)."""


Axis = tuple[int, int, int]
"""One axis of a copy: count, stride of the destination, stride of the source, in bytes."""


Row = tuple[int, int]
"""One axis of rows in one memory: count, stride in bytes."""

Combine = tuple[str, DType]
"""How stores are combined with memory: the primitive's name (add, max, min), and the type of the elements."""


class Machine(Protocol):
    """The running chunk of blocks."""

    target: Target
    blocks: int
    matmul_mode: str  # "exact", "fast" or "ref"
    registers: dict[str, Any]  # what configuration instructions have set since the start of the kernel

    def copy(self, dst: Any, first: int, src: Any, axes: Sequence[Axis], nbytes: int) -> None:
        """Move rows of `nbytes` bytes from pointer `src` to `first` bytes after `dst`, lower blocks first."""

    def fill(self, dst: Any, first: int, axes: Sequence[Axis], unit: bytes, nbytes: int) -> None:
        """Fill `nbytes` bytes from `first` bytes after the start of each row with an element over and over."""

    def cast(self, value: Any, dtype: DType, space: str) -> Any:
        """A byte address, or a pointer, as a pointer to elements of `dtype`; "l0a scales" names the scales of L0A."""

    def fetch(
        self, src: Any, first: int, axes: Sequence[Row], nbytes: int, *, needed: tuple[Sequence[Row], int] | None = None
    ) -> np.ndarray:
        """Rows of `nbytes` bytes from `first` bytes after `src`: uint8 (blocks or 1, counts.., nbytes).

        ``axes``: count and stride, the outermost first. ``needed``: axes and bytes of what results depend on, where
        whole blocks are moved.
        """

    def deposit(
        self,
        dst: Any,
        first: int,
        axes: Sequence[Row],
        values: np.ndarray,
        *,
        combine: Combine | None = None,
        sub: int = 0,
    ) -> None:
        """Write rows of values (blocks or 1, counts.., elements) from `first` bytes after `dst`, lower blocks first.

        ``combine``: with what is there; ``sub``: the vector core of a cluster whose buffer is meant.
        """

    def load(self, pointer: Any, offset: Any, nbytes: int, alignment: int, rule: str = "VEC-A5-03") -> np.ndarray:
        """`nbytes` bytes of on-chip memory at pointer + offset elements: uint8 (blocks, nbytes), the caller's own.

        Refuses places outside the memory (PTR-A5-02) and those that are no multiple of `alignment` bytes (`rule`).
        """

    def store(
        self,
        pointer: Any,
        offset: Any,
        values: np.ndarray,
        active: np.ndarray | None,
        alignment: int,
        rule: str = "VEC-A5-03",
    ) -> None:
        """Write values (blocks or 1, n) at pointer + offset elements, where `active` (blocks or 1, n) holds."""

    def gather(
        self,
        pointer: Any,
        places: np.ndarray,
        width: int,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any = None,
    ) -> np.ndarray:
        """Elements of `width` bytes at `places` (blocks or 1, n), bytes after pointer + offset elements.

        As uint8 (blocks, n, width); zeros where ``keep`` is false, whose places are not looked at.
        """

    def scatter(
        self,
        pointer: Any,
        places: np.ndarray,
        values: np.ndarray,
        keep: np.ndarray | None,
        alignment: int,
        offset: Any = None,
    ) -> None:
        """Write elements (blocks or 1, n, width) of uint8 to `places`; of two at one place the last one stays."""

    def address(self, pointer: Any) -> Any:
        """Byte address of a pointer to on-chip memory: a number, or int64 (blocks,)."""

    def remark(self, rule: str, message: str) -> None:
        """Note what breaks a rule of warning severity; reported where somebody watches the run."""

    def say(self, texts: Sequence[str], name: str | None = None) -> None:
        """Print a text for each block, or one that is the same for all.

        ``name``: of what is printed; a line with it, the block and the place in the program then comes first.
        """

    def bind_scales(self, scales: TileOperand, scaled: TileOperand) -> None:
        """Let a scale tile lie at a sixteenth of the address of the tile it scales, if that has one."""

    def refuse(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> NoReturn:
        """Stop: values break a rule of the catalogue. ``block``: position in the chunk of the block to blame."""

    def signal(self, event: int, mode: int) -> None:
        """Raise a flag between cores."""

    def arrival(self, event: int) -> Callable[[], bool]:
        """Consumes a flag between cores once it is raised; false until then."""

    def rendezvous(self, kind: str, count: int) -> Callable[[], bool]:
        """Arrive where all cores of a kind ("": of any), or the first `count` of them, meet; true once they have."""

    def on_sub_core(self, tile: Any, sub: int) -> Any:
        """The same place of UB on vector core `sub` of the cluster; None where the program runs on one core."""


Scalar = Any


# Sessions and events of transfers that an engine beside the pipes carries out (memory-model-and-sync 5.5).


@dataclass(eq=False)
class AsyncSession:
    """A channel to the transfer engine. Events complete in order: waiting for one completes those before it."""

    submitted: int = 0
    completed: int = 0

    def submit(self, operations: int = 1) -> int:
        """Hand over operations; returns the handle of the last one."""
        self.submitted += operations
        return self.submitted


@dataclass(frozen=True)
class AsyncEvent:
    """Completion of an asynchronous transfer; handle 0 means that nothing is pending."""

    handle: int = 0
    engine: str = "SDMA"

    def wait(self, session: AsyncSession) -> bool:
        """Wait for the transfer and all before it in the session. True when it is complete."""
        session.completed = max(session.completed, self.handle)
        return True

    def test(self, session: AsyncSession) -> bool:
        """True if the transfer is known to be complete."""
        return self.handle <= session.completed


# How stores to global memory are combined with it, as the control register says (PTOAS e32488c9, micro-isa 2).


ATOMIC_CONTROL = "control"
"""The control register: bits 6 to 8 are the type of the elements, 0 for plain stores, bits 9 and 10 the operation."""

TYPE_SHIFT, OPERATION_SHIFT = 6, 9
TYPES: dict[int, DType] = {
    code: DTYPES[name] for code, name in enumerate(("f32", "f16", "i16", "i32", "i8", "bf16"), start=1)
}
OPERATIONS = ("add", "max", "min")


def combining(m: Machine) -> Combine | None:
    """What the control register says of stores; None for plain ones."""
    ctrl = m.registers.get(ATOMIC_CONTROL, 0)
    dtype = TYPES.get(ctrl >> TYPE_SHIFT & 7)
    operation = ctrl >> OPERATION_SHIFT & 3
    return None if dtype is None or operation >= len(OPERATIONS) else (OPERATIONS[operation], dtype)
