"""Threads that run blocks: their memory, what Python needs for call-backs, and how a failure becomes a finding."""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_right
from typing import Any

import numpy as np

from ptokit.run.machine.chunk import Chunk
from ptokit.run.memory.buffers import Buffer
from ptokit.run.memory.global_memory import Pointer, View
from ptokit.run.memory.storage import Arena, Storage
from ptokit.run.memory.tile import Tile
from ptokit.types.dtypes import DType
from ptokit.types.tile import TileSpec

from . import blas
from .module import (
    ALIGN,
    MODES,
    STATE_BLOCK,
    STATE_BLOCKS,
    STATE_CALLBACK,
    STATE_FREE,
    STATE_HANDLE,
    STATE_MEMORY,
    STATE_MODE,
    NativeModule,
)

_WORKERS: dict[int, Worker] = {}
_HANDLES = itertools.count(1)


def memory_at(address: int, nbytes: int) -> np.ndarray:
    """Bytes of this process as an array."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


def aligned(nbytes: int) -> np.ndarray:
    """Zeroed bytes that begin at a multiple of `ALIGN`."""
    raw = np.zeros(nbytes + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    return raw[start : start + nbytes]


def _dispatch(handle: int, site: int, words: Any) -> int:
    worker = _WORKERS[handle]
    try:
        worker.running = site
        found = worker.module.sites[site]
        given = words[: found.words]
        found.action(worker, [decode(worker, given) for decode in found.operands], words)
    except BaseException as error:
        worker.error, worker.failed = error, site
        return 1
    return 0


_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
_callback = _TYPE(_dispatch)
_CALLBACK = ctypes.cast(_callback, ctypes.c_void_p).value or 0


class Worker:
    """One thread's memory and state. ``chunk``: a machine of one block on the same bytes."""

    def __init__(self, module: NativeModule, chunk: Chunk, tables: list[tuple[int, int]]) -> None:
        self.module, self.chunk = module, chunk
        self.memory = aligned(max(module.memory, 1))
        self.state = np.zeros(module.state, np.int64)
        self.handle = next(_HANDLES)
        self.buffers: list[Buffer | None] = []
        self.error: BaseException | None = None
        self.failed = 0
        self.running = 0  # the place that has called
        self.printed: list[tuple[int, list[str]]] = []
        self._block = -1
        self._places: list[int] = []
        self._arenas: list[tuple[int, Arena]] = []
        for loc, (start, size) in module.spaces.items():
            arena = self._arena(start, size)
            chunk.adopt(loc, arena)
        for start, size in module.areas.values():
            self._arena(start, size)
        self._arenas.sort(key=lambda item: item[0])
        self._places = [start for start, _ in self._arenas]
        self.state[STATE_MEMORY] = self.memory.ctypes.data
        self.state[STATE_CALLBACK] = _CALLBACK
        self.state[STATE_HANDLE] = self.handle
        self.tables = tables

    def _arena(self, start: int, size: int) -> Arena:
        arena = Arena.over(self.memory[start : start + 2 * size], size)
        self._arenas.append((start, arena))
        return arena

    def begin(self, buffers: list[Buffer | None], blocks: int) -> None:
        """A launch begins."""
        self.buffers = self.chunk.memories = buffers
        self.state[STATE_FREE:] = 0
        for word, address in self.tables:
            self.state[word] = address
        self.state[STATE_BLOCKS] = blocks
        self.state[STATE_MODE] = MODES.index(self.chunk.matmul_mode)
        for kind, word in self.module.products.items():
            self.state[word] = blas.address(kind)
        self.error = None
        self._block = -1
        self.printed = []
        self.chunk.printed = [[]]
        self.chunk.place = lambda: self.module.sites[self.running].step.op.location
        _WORKERS[self.handle] = self

    def end(self) -> None:
        """A launch is over."""
        _WORKERS.pop(self.handle, None)
        self.buffers = []

    # --- for call-backs ------------------------------------------------------------------------------------------

    @property
    def block(self) -> int:
        """The block that runs."""
        return int(self.state[STATE_BLOCK])

    def begin_block(self) -> None:
        """Before an instruction: the machine has to be at this block."""
        block = self.block
        if block != self._block:
            self.keep_printed()
            self._block = block
            self.chunk.block_idx = block
            self.chunk.registers.clear()

    def keep_printed(self) -> None:
        """Assign what has been printed so far to the block that printed it."""
        if self.chunk.printed[0]:
            self.printed.append((self._block, self.chunk.printed[0]))
            self.chunk.printed = [[]]

    def buffer(self, number: int, dtype: DType) -> Buffer | None:
        """The memory of an argument, as elements of a type."""
        found = None if number < 0 else self.buffers[number]
        return None if found is None else found.of_type(dtype)

    def storage(self, start: int, spec: TileSpec) -> Storage:
        """The storage of a tile that begins there."""
        first, arena = self._arenas[bisect_right(self._places, start) - 1]
        return arena.window(spec, start - first)

    def settle(self, operands: list[Any]) -> None:
        """Behind an instruction: the bytes are what counts."""
        for operand in operands:
            if isinstance(operand, Tile):
                operand.storage.flush()
            elif isinstance(operand, tuple):
                self.settle(list(operand))
            elif isinstance(operand, View | Pointer) and operand.buffer is not None:
                operand.buffer.borrowers.clear()
