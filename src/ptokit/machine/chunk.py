"""The blocks that run together and their memory; programs whose cores wait for each other.

A cluster runs its cube core, then its vector cores, each until it has to wait for another, and so on until none can go
on; then comes the next cluster. Clusters that wait for later ones are taken up again at the end, in the same order.
Those of a launch on several devices come rank by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir.launch import Role
from ptokit.isa.order.core_sync import Asked
from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import TileType

from .lanes import Fault, OnePath, lanes, lift
from .local_memory import AccessListener
from .loops import Iterations, Nest, parts
from .pipes import PipeListener, Pipes
from .signals import Board, CoreId, Rendezvous, Semaphores, block_text
from .storage import Arena, Storage
from .threads import ThreadLaunches, ThreadListener
from .tiles import Tile, carry_out
from .words import TileWords, ValueWords

# The blocks that run together: their tiles, buffers and indices. Compiled programs call its methods.


class Listener(AccessListener, ThreadListener, PipeListener, Protocol):
    """Who is told what the blocks do, as `ptokit.machine.observer.Observer` is."""


class Chunk(ThreadLaunches, TileWords, ValueWords):
    """One run of a program for `blocks` blocks (see `ptokit.isa.machine.Machine`)."""

    observer: Listener | None = None

    def __init__(
        self, target: Target, blocks: int, total: int, matmul_mode: str, *, extended: bool = False, initial: int = 0
    ) -> None:
        super().__init__(initial)
        self.target = target
        self.blocks = blocks
        self.total = total  # blocks of the launch
        self.matmul_mode = matmul_mode
        self.extended = extended
        self.block_idx: Any = 0
        self.registers: dict[str, Any] = {}
        self.silent = False  # prints nothing
        self.nest = Nest()  # of loops, in a program that is observed
        self.printed: list[list[str]] = [[] for _ in range(blocks)]  # by block
        self.place: Callable[[], Location] = lambda: UNKNOWN_LOCATION  # of the operation that runs
        self.subblock, self.subblocks = 0, 1
        self.cube = self.vector = True  # runs sections of that kind
        self.passed = 0  # waits for other cores that are over
        self.number = 0  # of the core in the launch
        self.rank = -1  # of the device, in a launch on several
        self.semaphores: Semaphores[Any] | None = None
        self.meetings: Rendezvous[Any] | None = None
        self._cube_core: Chunk | None = None  # in a cluster: whose matrix buffers these are
        self._vector_cores: list[Chunk] = []  # in a cluster: whose unified buffers these are
        self.awaited = 0  # the flag between cores that was last waited for
        self._at_flag = self._passing = False  # waits for a flag between cores; goes past it
        self.holding: Callable[[], Any] | None = None  # what it has waited for last
        self.when_over: Callable[[Any], None] | None = None  # told what the next wait was for
        self.pipes = Pipes(self)

    # --- cores of a cluster --------------------------------------------------------------------------------------

    def take_role(
        self, role: Role, cube: Chunk | None = None, vectors: Sequence[Chunk] = (), subblocks: int = 1
    ) -> None:
        """Be a core of that kind. ``cube``, ``vectors``: the cores of the cluster whose buffers it names."""
        self.cube, self.vector = role.kind != "vector", role.kind != "cube"
        self.subblock, self.subblocks = role.sub, subblocks
        self._cube_core, self._vector_cores = cube, list(vectors)

    def begin(self, number: int, semaphores: Semaphores[Any], meetings: Rendezvous[Any]) -> None:
        """Start as core `number` of a launch."""
        self.number, self.semaphores, self.meetings = number, semaphores, meetings
        self.rank = semaphores.cores[number].rank

    def home(self, loc: TileType) -> Chunk:
        """The core whose memory a buffer is."""
        if self._cube_core is None:
            return self
        return self._vector_cores[0] if loc is TileType.Vec else self._cube_core

    def on_sub_core(self, tile: Tile, sub: int) -> Tile | None:
        """The same place of UB on vector core `sub` of the cluster; None where the program runs on one core."""
        if sub >= len(self._vector_cores):
            return None
        found = copy(tile)
        found.storage = self._vector_cores[sub].storage_like(tile.storage, self)
        return found

    def sub_space(self, loc: TileType, sub: int) -> Arena:
        """The buffer of vector core `sub` of the cluster; that of the program where it runs on one core."""
        return self._vector_cores[sub].own_space(loc) if sub < len(self._vector_cores) and sub else self.space(loc)

    def storage_like(self, other: Storage, named_by: Chunk) -> Storage:
        """The storage here that has the place of one of `named_by`'s home."""
        spec, arena = other.spec, other.arena
        for number, site in named_by.home(spec.loc)._sites.items():
            if site is arena:
                return self._arena(number, arena.size).window(spec, other.start)
        return self.own_space(spec.loc).window(spec, other.start)

    def signal(self, event: int, mode: int) -> None:
        """sync.set."""
        if self.semaphores is not None:
            self.semaphores.send(self.semaphores.cores[self.number], event, mode, None)

    def arrival(self, event: int) -> Callable[[], bool]:
        """sync.wait."""

        def arrived() -> bool:
            if self.semaphores is None or self.semaphores.take(self.number, event) is not None:
                return True
            self.awaited, self._at_flag = event, True
            if self._passing:
                self.semaphores.owe(self.number, event)
            return self._passing

        return arrived

    def rendezvous(self, kind: str, count: int) -> Callable[[], bool]:
        """SYNCALL."""
        if self.meetings is None:
            return lambda: True
        meetings, key = self.meetings, (kind, count)
        times = meetings.arrive(self.number, key, None)
        return lambda: meetings.met(self.number, key, times) is not None

    def hold(self, over: Callable[[], Any]) -> Generator[None, None, Any]:
        """Stop until a wait for another core is over; what it was for. A question (`Asked`) stops once at most."""
        self._at_flag = False
        self.holding = over
        then, self.when_over = self.when_over, None
        while not (found := over()):
            yield
            if isinstance(over, Asked):
                found = over()
                break
        if found:
            self._passing = False
            self.passed += 1
        if then is not None:
            then(found)
        return found

    def go_on(self) -> bool:
        """Pass the flag that the core waits for, and take it later, where a wait holds one pipe and not the core."""
        self._passing = self._at_flag and not self.target.waits_hold_core
        return self._passing

    def holds(self, arena: Arena) -> bool:
        """True for the memory of a buffer, not that of a single tile."""
        return any(space is arena for space in self._spaces.values())

    @property
    def first_vector(self) -> bool:
        """True on the vector core that runs alone what is not halved."""
        return self.vector and not self.subblock

    # --- the run -------------------------------------------------------------------------------------------------

    def start(self, indices: np.ndarray) -> None:
        """Begin at the top with these block indices and cleared on-chip memory."""
        self.block_idx = lift(indices)
        self.registers.clear()
        self.nest = Nest()
        self.printed = [[] for _ in range(self.blocks)]
        for arena in (*self._sites.values(), *self._spaces.values()):
            arena.clear()

    def forget(self) -> None:
        """Let go of what tiles hold; windows at addresses are made anew by the next launch."""
        for arena in (*self._sites.values(), *self._spaces.values()):
            arena.forget()
        for arena in self._spaces.values():
            arena.windows.clear()
        self.observer, self.memories = None, ()

    def refuse(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> NoReturn:
        """Raise the fault of a rule that depends on values."""
        raise Fault(rule, message, hint=hint, block=block)

    def block_number(self, position: int) -> int:
        """Launch index of a block of this chunk."""
        index = np.atleast_1d(lanes(self.block_idx))
        return int(index[position if len(index) > 1 else 0])

    def say(self, texts: Sequence[str], name: str | None = None) -> None:
        """Print (see `ptokit.isa.machine.Machine`); `ptokit.run.backends` says when it appears."""
        if self.silent:
            return
        at = self.place() if name is not None else UNKNOWN_LOCATION
        where = f", {Path(at.file or '').name}:{at.line}" if at.line else ""
        for k, lines in enumerate(self.printed):
            if name is not None:
                who = block_text(self.rank, self.block_number(k))
                lines.append(f"{name or 'tile'}, {who}{where}:\n")
            lines.append(texts[k if len(texts) > 1 else 0])

    def carry_out(self, step: Step, *operands: Any) -> Any:
        """Do a step with operands as they are at that moment. Not for words of `ptokit.plan.steps.CONTROL`."""
        return carry_out(step, self, *operands)

    def ways(self, chosen: int | None, cases: Sequence[int]) -> OnePath:
        """The way of a branch that is taken: the first where none of `cases` is chosen."""
        return OnePath(cases.index(chosen) + 1 if chosen in cases else 0)

    def rounds(self) -> OnePath:
        """A loop that ends when a condition does not hold."""
        return OnePath()

    def places(self, blocks: int) -> OnePath:
        """The blocks of a region, one after the other."""
        return OnePath()

    def begin_scope(self) -> None:
        """A vector scope begins."""
        self.registers.pop("AR", None)

    def parts(self, lower: int, upper: int, step: int) -> Iterator[tuple[range, Iterations | None]]:
        """A loop in parts that are done at once, each with its machine; None for iterations to do one by one."""
        return parts(self, self.target, range(lower, upper, step))


# Host memory of a launch, kept for the next one: fresh pages cost more than what is computed in them.


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


# Programs whose cores wait for each other: every core is a stream of its own, advanced in a fixed order.


ASKED = 100_000
"""How often cores ask in vain, while none does anything else, before that counts as a deadlock."""


@dataclass(eq=False)
class Stream:
    """The program of one core of a block. ``work`` stops where it waits for another core."""

    index: int
    block: int
    role: Role
    chunk: Chunk
    work: Iterator[None]
    done: bool = False

    def advance(self) -> bool:
        """Go on; False if it still waits for the same thing. Raises what the program does."""
        before = self.chunk.passed
        try:
            next(self.work)
        except StopIteration:
            self.done = True
        except Exception:
            self.done = True
            raise
        return self.done or self.chunk.passed != before

    @property
    def waits_for(self) -> str:
        """What it waits for, in words."""
        return getattr(self.chunk.holding, "why", "another core")

    @property
    def asks(self) -> bool:
        """True if it has asked in vain, and goes on without an answer."""
        return not self.done and isinstance(self.chunk.holding, Asked)

    def stop(self) -> None:
        """Never go on."""
        if isinstance(self.work, Generator):
            self.work.close()


Cluster = list[Stream]


class Flight:
    """The clusters of a launch. ``ended`` is called for each when its streams are done.

    ``failed`` takes an exception of a stream, which then counts as done; without it the exception ends the launch.
    ``release`` lets a stream go on past its wait where nobody can, if the target allows that.
    """

    def __init__(
        self,
        clusters: Iterator[Cluster],
        ended: Callable[[Cluster], None] = lambda cluster: None,
        failed: Callable[[Stream, Exception], None] | None = None,
        release: Callable[[Stream], bool] = lambda stream: stream.chunk.go_on(),
    ) -> None:
        self._new, self._ended, self._failed, self._let_go = clusters, ended, failed, release
        self._waiting: list[Cluster] = []

    @property
    def left(self) -> list[Stream]:
        """The streams that wait, in order; none once the launch is over."""
        return [stream for cluster in self._waiting for stream in cluster if not stream.done]

    def advance(self) -> bool:
        """Go on until no stream can; False if none could."""
        moved = False
        for cluster in self._new:
            moved = True
            if settle(cluster, self._failed):
                self._ended(cluster)
            else:
                self._waiting.append(cluster)
        streams = [stream for cluster in self._waiting for stream in cluster]
        before = [(stream.chunk.passed, stream.done) for stream in streams]
        settle(streams, self._failed)
        for cluster in [c for c in self._waiting if all(stream.done for stream in c)]:
            self._waiting.remove(cluster)
            self._ended(cluster)
        moved = moved or before != [(stream.chunk.passed, stream.done) for stream in streams]
        return moved or any(self._let_go(stream) for stream in self.left)

    def finish(self) -> list[Stream]:
        """Run all; the streams that wait in vain."""
        self.advance()
        asked = 0
        while left := self.left:
            asked = 0 if self.advance() else asked + 1
            if asked and (asked >= ASKED or not any(stream.asks for stream in left)):
                return left
        return []


def settle(streams: list[Stream], failed: Callable[[Stream, Exception], None] | None) -> bool:
    """Advance streams until none can go on; True if all are done."""
    moved = True
    while moved:
        moved = False
        for stream in streams:
            if stream.done:
                continue
            try:
                moved = stream.advance() or moved
            except Exception as error:
                if failed is None:
                    raise
                failed(stream, error)
                moved = True
    return all(stream.done for stream in streams)


def join(chunks: list[Chunk], roles: tuple[Role, ...], board: Board) -> None:
    """Make one cluster of chunks: who they are, whose buffers they see, and the pipes between them.

    Vec tiles lie in the unified buffer of the vector core itself, or of vector core 0 where the cube core names one;
    all others on the cube core (memory-model-and-sync 3).
    """
    for chunk in chunks:
        chunk.pipes.join(board)
    if len(roles) == 1:
        chunks[0].take_role(roles[0])
        return
    vectors = [chunk for chunk, role in zip(chunks, roles) if role.kind == "vector"]
    for chunk, role in zip(chunks, roles):
        seen = [chunk] if role.kind == "vector" else vectors
        chunk.take_role(role, chunks[0], seen, len(vectors) if role.kind == "vector" else 1)


def core_ids(roles: tuple[Role, ...], blocks: int, ranks: int = 0) -> list[CoreId]:
    """All cores of a launch: rank by rank and block by block, each with the cube core first. ``ranks``: 0 for a launch
    on one device."""
    single = len(roles) == 1
    places = [(rank, block, role) for rank in range(ranks) or (-1,) for block in range(blocks) for role in roles]
    return [CoreId(i, r.kind, b, -1 if single else r.sub, rank) for i, (rank, b, r) in enumerate(places)]


def cores_of_blocks(
    roles: tuple[Role, ...],
    chunks: Callable[[int], list[Chunk]],
    semaphores: Semaphores[Any],
    devices: int,
    span: range,
    work: Callable[[Chunk, Role, int, int], Iterator[None]],
    board: Callable[[], Board] = Board,
) -> Iterator[Cluster]:
    """The streams of the cores of every block, made one block at a time, device by device.

    ``chunks``: machines for the cores of a block, by the number of its first core in the launch.
    ``work(chunk, role, device, place)``: what a core runs; places count the blocks of all devices.
    """
    blocks = len(semaphores.cores) // (devices * len(roles))
    meetings: Rendezvous[None] = Rendezvous(semaphores.cores)
    for device in range(devices):
        for block in span:
            place = device * blocks + block
            first = place * len(roles)
            machines = chunks(first)
            join(machines, roles, board())
            for chunk in machines:
                chunk.start(np.array([block], np.int64))
            cluster: Cluster = []
            for number, (role, chunk) in enumerate(zip(roles, machines), first):
                chunk.begin(number, semaphores, meetings)
                cluster.append(Stream(number, block, role, chunk, work(chunk, role, device, place)))
            yield cluster
