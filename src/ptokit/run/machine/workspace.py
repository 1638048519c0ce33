"""Host memory of a launch, kept for the next one: fresh pages cost more than what is computed in them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from ptokit.targets import Target

from .chunk import Chunk

_KEPT_BYTES = 24 << 20  # below the 32 MiB that the C library takes as its highest limit
_KEPT_CHUNKS = 4  # sizes of chunks; the last chunk of a launch is often smaller than the others
_KEPT_CORES = 3
_KEPT_ELEMENTS = 1 << 22  # larger decoded buffers are not kept


@cache
def keep_freed_memory() -> None:
    """Have the C library keep freed memory for the next array instead of giving it back, page by page, each time.

    It raises its limits to the largest block that was ever freed, so one block that nobody touches is enough.
    """
    np.empty(_KEPT_BYTES, np.uint8)


class Workspace:
    """Tile memory by chunk size, and arrays for decoded arguments."""

    def __init__(self, target: Target, *, extended: bool) -> None:
        keep_freed_memory()
        self.target, self.extended = target, extended
        self.chunks: dict[int, Chunk] = {}
        self._free: list[Chunk] = []  # single cores
        self._spare: dict[tuple[str, np.dtype, int], np.ndarray] = {}
        self._lent: list[tuple[str, np.ndarray]] = []

    def chunk(self, blocks: int, total: int, matmul_mode: str) -> Chunk:
        """Memory for this many blocks of a launch of `total`."""
        found = self.chunks.get(blocks)
        if found is None:
            if len(self.chunks) >= _KEPT_CHUNKS:
                self.chunks.clear()
            found = self.chunks[blocks] = Chunk(self.target, blocks, total, matmul_mode, extended=self.extended)
        found.total, found.matmul_mode = total, matmul_mode
        return found

    def core(self, total: int, matmul_mode: str) -> Chunk:
        """Memory for one core of a launch whose cores are streams of their own."""
        if self._free:
            found = self._free.pop()
            found.total, found.matmul_mode = total, matmul_mode
            return found
        return Chunk(self.target, 1, total, matmul_mode, extended=self.extended)

    def give_back(self, chunks: Iterable[Chunk]) -> None:
        """These cores have ended: others may use their memory."""
        self._free += chunks

    def array(self, name: str, dtype: np.dtype, elements: int) -> np.ndarray:
        """An array to decode argument `name` into; its contents are arbitrary."""
        array = self._spare.pop((name, dtype, elements), None)
        if array is None:
            array = np.empty(elements, dtype)
        self._lent.append((name, array))
        return array

    def release(self) -> None:
        """The launch is over: forget the caller's arrays, keep the memory."""
        for chunk in self.chunks.values():
            chunk.forget()
        del self._free[_KEPT_CORES:]
        for chunk in self._free:
            chunk.forget()
        self._spare = {(name, a.dtype, a.size): a for name, a in self._lent if a.size <= _KEPT_ELEMENTS}
        self._lent = []
