"""Programs whose cores wait for each other: every core is a stream of its own, advanced in a fixed order.

A cluster runs its cube core, then its vector cores, each until it has to wait for another, and so on until none can go
on; then comes the next cluster. Clusters that wait for later ones are taken up again at the end, in the same order.
Those of a launch on several devices come rank by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, Location, Note, Severity
from ptokit.ir.core import Op
from ptokit.ir.launch import Role
from ptokit.isa.order.core_sync import Asked
from ptokit.records import dataclass

from .chunk import Chunk
from .rings import Board
from .signals import CoreId, Place, Rendezvous, Semaphores, place_text

_LISTED = 16  # cores that a deadlock names

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


def run_clusters(
    clusters: Iterator[Cluster],
    *,
    ended: Callable[[Cluster], None] = lambda cluster: None,
    release: Callable[[Stream], bool] = lambda stream: stream.chunk.go_on(),
    failed: Callable[[Stream, Exception], None] | None = None,
) -> list[Stream]:
    """Run all clusters; the streams that wait in vain, in order.

    ``ended``: called for each cluster when its streams are done. ``release``: lets a stream go on past its wait where
    nobody can, if the target allows that. ``failed``: takes an exception of a stream, which then
    counts as done; without it the exception ends the launch.
    """
    waiting: list[Cluster] = []
    for cluster in clusters:
        if settle(cluster, failed):
            ended(cluster)
        else:
            waiting.append(cluster)
    asked = 0
    while waiting:
        left = [stream for cluster in waiting for stream in cluster]
        before = [(stream.chunk.passed, stream.done) for stream in left]
        if not settle(left, failed) and not any(release(stream) for stream in left if not stream.done):
            asked = asked + 1 if before == [(stream.chunk.passed, stream.done) for stream in left] else 0
            if asked >= ASKED or not any(stream.asks for stream in left):
                return [stream for stream in left if not stream.done]
        for cluster in [c for c in waiting if all(stream.done for stream in c)]:
            waiting.remove(cluster)
            ended(cluster)
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


def deadlock(held: Sequence[tuple[Place, Op | None, str]], file: str | None) -> Diagnostic:
    """DEADLOCK: what every core that cannot go on waits for: where, and in words."""
    texts = [(f"{place_text(core)} waits here for {what}", op) for core, op, what in held]
    where = [Location(file) if op is None else op.location for _, op in texts]
    notes = tuple(Note(text, at) for (text, _), at in list(zip(texts, where))[1:_LISTED])
    hint = "`ptokit sanitize` shows what every pipe waits for"
    return Diagnostic("DEADLOCK", Severity.ERROR, f"deadlock: {texts[0][0]}", where[0], hint, notes)


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
