"""What the functions of a kernel share, the threads that run them, and the products of NumPy that they call."""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_right
from collections.abc import Callable, Hashable
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.machine.buffers import Buffer
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer, View
from ptokit.machine.storage import Arena, Storage
from ptokit.machine.tiles import Tile
from ptokit.plan.steps import FunctionPlan, Relations, Step
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

if TYPE_CHECKING:
    from .code import Code


# What the functions of one compiled kernel share: helpers, memory of a thread, places that call back into Python.


ALIGN = 64
STATE_MEMORY, STATE_CALLBACK, STATE_HANDLE, STATE_BLOCK, STATE_BLOCKS, STATE_SEEN, STATE_MODE, STATE_FREE = range(8)
"""Words of the state of a thread; the mode of products is its place in `MODES`. After are those that code asks for."""

MODES = ("exact", "fast", "ref")

Action = Callable[[Any, list[Any], Any], None]
"""``action(worker, operands, words)``: what Python does at a place; ``words`` take results."""


@dataclass
class CallSite:
    """A place that calls back: how many words it hands over, how they become operands, and what happens then."""

    step: Step
    words: int
    operands: list[Callable[[Any, list[int]], Any]]
    action: Action


@dataclass
class NativeModule:
    """The text of a module under construction, and what its places need."""

    target: Target
    helpers: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    sites: list[CallSite] = field(default_factory=list)
    spaces: dict[TileType, tuple[int, int]] = field(default_factory=dict)  # start and size in the memory of a thread
    areas: dict[Hashable, tuple[int, int]] = field(default_factory=dict)  # of tiles without an address
    memory: int = 0  # bytes
    state: int = STATE_FREE  # words
    products: dict[str, int] = field(default_factory=dict)  # words with addresses of matrix products
    tables: dict[tuple[Any, ...], int] = field(default_factory=dict)  # words with addresses of tables
    called: set[Step] = field(default_factory=set)  # instructions that Python carries out
    loops: dict[Step, int] = field(default_factory=dict)  # word of the state that has the loop variable
    relations: dict[FunctionPlan, Relations] = field(default_factory=dict)

    def need(self, key: str, text: str) -> None:
        """A helper function the code calls."""
        self.helpers.setdefault(key, text)

    def function(self, body: str) -> str:
        """The name of an internal function; the same text is written once. ``{name}`` is its place."""
        name = self.functions.get(body)
        if name is None:
            name = self.functions[body] = f"@part{len(self.functions)}"
        return name

    def space(self, loc: TileType) -> int:
        """The offset of a buffer in the memory of a thread."""
        found = self.spaces.get(loc)
        if found is None:
            found = self.spaces[loc] = (self._take(self.target.capacity[loc]), self.target.capacity[loc])
        return found[0]

    def area(self, key: Hashable, nbytes: int) -> int:
        """The offset of a tile without an address in the memory of a thread."""
        found = self.areas.get(key)
        if found is None:
            found = self.areas[key] = (self._take(nbytes), nbytes)
        return found[0]

    def _take(self, nbytes: int) -> int:
        start = self.memory
        self.memory += -(-2 * nbytes // ALIGN) * ALIGN  # what `Arena` may look at has as much again after it
        return start

    def related(self, function: FunctionPlan) -> Relations:
        """How the steps of a function stand to each other."""
        found = self.relations.get(function)
        if found is None:
            found = self.relations[function] = Relations(function)
        return found

    def words(self, count: int) -> int:
        """That many words of state, zero at the start of a launch; the first one's number."""
        start = self.state
        self.state += count
        return start

    def text(self, main: str, triple: str) -> str:
        """The whole module."""
        parts = [f'target triple = "{triple}"', *self.helpers.values()]
        parts += [body.replace("@{name}", name) for body, name in self.functions.items()]
        return "\n".join([*parts, main, '!0 = !{!"branch_weights", i32 1048576, i32 1}', "!1 = !{i32 1}", ""])


# NumPy's own matrix products as functions that machine code can call without Python.


_NAMES = {"float": ("scipy_cblas_sgemm64_", "cblas_sgemm64_"), "double": ("scipy_cblas_dgemm64_", "cblas_dgemm64_")}
_ROW_MAJOR, _AS_IT_IS = 101, 111  # of cblas


@cache
def address(kind: str) -> int:
    """Where the product of ``float`` or ``double`` matrices is, with sizes of 64 bits; 0 if NumPy has none we know."""
    import numpy as np
    from threadpoolctl import ThreadpoolController

    np.matmul(np.ones((2, 2)), np.ones((2, 2)))
    for library in ThreadpoolController().info():
        if library["internal_api"] != "openblas" or "numpy" not in library["filepath"]:
            continue
        functions = ctypes.CDLL(library["filepath"])
        for name in _NAMES[kind]:
            found = getattr(functions, name, None)
            if found is not None:
                return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


def multiply(code: Code, function: str, kind: str, a: str, b: str, c: str, sizes: tuple[int, int, int]) -> None:
    """``c = a @ b`` of matrices that lie in rows, as NumPy calls it; sizes are rows, inner and columns."""
    from .code import double

    m, k, n = sizes
    orders = f"i32 {_ROW_MAJOR}, i32 {_AS_IT_IS}, i32 {_AS_IT_IS}"
    one, zero = double(1.0), double(0.0)
    code.do(
        f"call void {function}({orders}, i64 {m}, i64 {n}, i64 {k}, {kind} {one}, ptr {a}, i64 {k}, ptr {b}, i64 {n}, "
        f"{kind} {zero}, ptr {c}, i64 {n})"
    )


# Threads that run blocks: their memory, what Python needs for call-backs, and how a failure becomes a finding.


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
        for word, place in self.tables:
            self.state[word] = place
        self.state[STATE_BLOCKS] = blocks
        self.state[STATE_MODE] = MODES.index(self.chunk.matmul_mode)
        for kind, word in self.module.products.items():
            self.state[word] = address(kind)
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
        """After an instruction: the bytes are what counts."""
        for operand in operands:
            if isinstance(operand, Tile):
                operand.storage.flush()
            elif isinstance(operand, tuple):
                self.settle(list(operand))
            elif isinstance(operand, View | Pointer) and operand.buffer is not None:
                operand.buffer.borrowers.clear()
