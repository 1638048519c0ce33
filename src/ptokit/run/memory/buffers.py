"""The caller's arrays as global memory."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ptokit.types.dtypes import DType

from .widening import widen

_MIRROR_LIMIT = 1 << 26  # elements: larger buffers are decoded piece by piece


class Borrower(Protocol):
    """What stands for bytes of a buffer, as a tile does that was loaded from it."""

    def settle(self, buffer: Buffer) -> None:
        """The buffer's memory is about to change: keep the bytes."""


class Lender(Protocol):
    """Where arrays of a launch come from."""

    def array(self, name: str, dtype: np.dtype, elements: int) -> np.ndarray:
        """An array of arbitrary contents."""


class AddressSpace(Protocol):
    """The arguments of all ranks of a launch, by address."""

    def find(self, buffer: Buffer, offset: Any, dtype: DType) -> tuple[Buffer, Any]:
        """Where a pointer leads that may have left `buffer`; ``offset`` in elements."""

    def at(self, address: int) -> tuple[Buffer, int] | None:
        """The argument at an address, and how many bytes of it lie before; None between arguments."""


class Buffer:
    """One pointer argument: the caller's memory, never a copy. ``whole`` is the argument, of its own element type.

    ``written`` is set if the program stores through it or through memory that overlaps it; only then do tiles that
    stand for its contents have to be told of a store.
    """

    __slots__ = (
        "_decoded",
        "address",
        "addresses",
        "before",
        "borrowers",
        "chosen",
        "decoded_elements",
        "dtype",
        "keep",
        "launch_blocks",
        "whole",
        "workspace",
        "mem",
        "name",
        "nelem",
        "partners",
        "seen_as",
        "shown",
        "written",
    )

    def __init__(
        self, name: str, array: np.ndarray, dtype: DType, whole: Buffer | None = None, *, shown: str = ""
    ) -> None:
        self.name = name
        self.shown = shown or name  # in findings
        self.whole = self if whole is None else whole
        self.dtype = dtype
        self.mem = array.reshape(-1).view(np.uint8)
        self.nelem = self.mem.size * 2 if dtype.packed else self.mem.size // dtype.size
        self.written = False
        self.partners: list[Buffer] = []  # other arguments in the same memory
        self.seen_as: dict[DType, Buffer] = {}  # the same memory as elements of other types
        self.borrowers: list[Borrower] = []
        self.chosen: list[Chosen] | None = None  # by gathers and scatters, where an observer wants to know
        self.keep = False  # the contents before the first write
        self.before: np.ndarray | None = None
        self.decoded_elements = 0
        self.launch_blocks = 1
        self.workspace: Lender | None = None
        self.addresses: AddressSpace | None = None  # of the arguments of all ranks, in a launch on several
        self.address = 0
        self._decoded: dict[np.dtype, np.ndarray] = {}

    def of_type(self, dtype: DType) -> Buffer:
        """The same memory, of elements of another type."""
        if dtype is self.dtype:
            return self
        if self.whole is not self:
            return self.whole.of_type(dtype)
        found = self.seen_as.get(dtype)
        if found is None:
            found = self.seen_as[dtype] = Buffer(self.name, self.mem, dtype, self, shown=self.shown)
            found.written, found.launch_blocks = self.written, self.launch_blocks
            found.addresses, found.address = self.addresses, self.address
            found.partners = [self, *self.partners]
            for other in found.partners:
                other.partners.append(found)
        return found

    def before_write(self) -> None:
        """Let the tiles that stand for this memory keep their values."""
        whole = self.whole
        if whole.keep:
            whole.keep, size, workspace = False, self.mem.size, whole.workspace
            space = None if workspace is None else workspace.array(f"{self.name} before", self.mem.dtype, size)
            whole.before = np.empty(size, np.uint8) if space is None else space
            np.copyto(whole.before, self.mem)
        for buffer in (self, *self.partners):
            if buffer.borrowers:
                for storage in buffer.borrowers:
                    storage.settle(buffer)
                buffer.borrowers.clear()

    def decoded(self, dtype: np.dtype, wanted: int) -> np.ndarray | None:
        """The whole buffer in a wider float type, once a launch is known to read so much of it that it pays.

        ``wanted``: elements one block reads now.
        """
        if self.written or self.nelem > _MIRROR_LIMIT:
            return None
        mirror = self._decoded.get(dtype)
        if mirror is None:
            self.decoded_elements += wanted * self.launch_blocks
            if 2 * self.decoded_elements < self.nelem:
                return None
            out = None if self.workspace is None else self.workspace.array(self.name, dtype, self.nelem)
            mirror = widen(self.mem.view(self.dtype.value or self.dtype.storage), dtype, out)
            self._decoded[dtype] = mirror
        return mirror


class Chosen(NamedTuple):
    """Elements of a buffer, by number, that a gather or scatter through a view has chosen."""

    view: object  # the `View` by which they were chosen
    elements: np.ndarray
    write: bool
