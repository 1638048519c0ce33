"""Launches whose cores wait for each other, on one device or several: every core is a stream of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.ir.core import Module, Op
from ptokit.ir.launch import Launch, Role
from ptokit.targets import Target

from ..arguments import Argument, buffers_of
from ..fault import Fault
from ..faults import Faults
from ..machine.chunk import Chunk
from ..machine.printed import Printed
from ..machine.workspace import Workspace
from ..observer import Observer
from ..python.code import PythonCode
from .cluster import Cluster, Stream, core_ids, deadlock, join, run_clusters
from .rendezvous import Rendezvous
from .rings import Board
from .signals import Semaphores


class Compiled(Protocol):
    """A program, as its streams need it."""

    module: Module
    target: Target
    cores: Launch

    def waits_at(self, stream: Stream) -> Op | None:
        """The operation at which a stream waits for another core."""

    def code_for(self, machine: Chunk) -> PythonCode:
        """The functions that the machine of a core runs."""

    def diagnose(self, error: Fault | OverflowError, chunk: Chunk) -> Diagnostic:
        """The finding about a failure."""


def run_streams(
    program: Compiled,
    workspace: Workspace,
    devices: Sequence[list[Argument]],
    blocks: int,
    matmul: str,
    progress: Callable[[int, int], None] | None,
    observer: Observer | None,
    span: range,
    *,
    ranks: int = 0,
    faults: Faults | None = None,
) -> None:
    """Run every core of the blocks `span` on every device. Raises `DiagnosticError`, also if they deadlock.

    A core that fails ends; who waits for it never goes on, and all others run. ``faults`` collects what would be
    raised when they have. ``devices``: the arguments of each. ``ranks``: how many there are, 0 where the launch is on
    one device.
    """
    semaphores: Semaphores[None] = Semaphores(core_ids(program.cores.roles, blocks, ranks), program.target)
    passed: dict[tuple[int, int], tuple[Op | None, str]] = {}
    finished = 0

    def chunks(first: int) -> list[Chunk]:
        machines = [workspace.core(blocks, matmul) for _ in program.cores.roles]
        for machine in machines:
            machine.observer = observer
        return machines

    def ended(cluster: Cluster) -> None:
        nonlocal finished
        finished += 1
        workspace.give_back(stream.chunk for stream in cluster)
        if progress is not None:
            progress(finished, len(span) * len(devices))

    found = Faults(blocks if ranks else 0) if faults is None else faults
    failures: set[int] = set()

    def failed(stream: Stream, error: Exception) -> None:
        if not isinstance(error, DiagnosticError):
            raise error
        place = stream.index // len(program.cores.roles)  # of the block in the launch
        if place not in failures:  # what comes of the first failure of a block is none of its own
            failures.add(place)
            found.add(place if ranks else stream.block, error.diagnostics[0])

    def release(stream: Stream) -> bool:
        if failures:
            return False
        forced = stream.chunk.go_on()
        if forced:
            event = semaphores.own(stream.index, stream.chunk.awaited)
            passed[stream.index, event] = program.waits_at(stream), stream.waits_for
        return forced

    streams = clusters(program, chunks, semaphores, devices, span)
    stuck = run_clusters(streams, ended=ended, release=release, failed=failed)
    held = [(stream.index, program.waits_at(stream), stream.waits_for) for stream in stuck]
    held = held or [(core, *passed[core, event]) for core, event in semaphores.owed()]
    for stream in stuck:  # what they have printed comes first
        stream.stop()
    if failures:
        if faults is None:
            found.done()
        return
    if held:
        places = [(semaphores.cores[index], op, what) for index, op, what in held]
        raise DiagnosticError(deadlock(places, program.module.file))


def clusters(
    program: Compiled,
    chunks: Callable[[int], list[Chunk]],
    semaphores: Semaphores[Any],
    devices: Sequence[list[Argument]],
    span: range,
) -> Iterator[Cluster]:
    """The streams of the cores of every block, made one block at a time, device by device.

    ``chunks``: machines for the cores of a block, by the number of its first core in the launch.
    """
    printed = Printed(len(program.cores.roles), span.start)

    def work(chunk: Chunk, role: Role, device: int, place: int) -> Iterator[None]:
        return _stream(program, chunk, devices[device], place, printed)

    def board() -> Board:
        return Board(program.cores.vectors, program.cores.reserved)

    return cores_of_blocks(program.cores.roles, chunks, semaphores, len(devices), span, work, board)


def cores_of_blocks(
    roles: tuple[Role, ...],
    chunks: Callable[[int], list[Chunk]],
    semaphores: Semaphores[Any],
    devices: int,
    span: range,
    work: Callable[[Chunk, Role, int, int], Iterator[None]],
    board: Callable[[], Board] = Board,
) -> Iterator[Cluster]:
    """As `clusters`. ``work(chunk, role, device, place)``: what a core runs; places count the blocks of all devices."""
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


def _stream(program: Compiled, chunk: Chunk, values: list[Argument], place: int, printed: Printed) -> Iterator[None]:
    """The program of one core, which stops where it waits for another. Raises `DiagnosticError`."""
    code, chunk.memories = program.code_for(chunk), buffers_of(values)
    try:
        running = code.function(chunk, *values)
        if isinstance(running, Generator):  # anything else is what a function returns that waits for nobody
            yield from running
    except (Fault, OverflowError) as error:
        raise DiagnosticError(program.diagnose(error, chunk)) from None
    finally:
        printed.add(place, chunk.printed[0])
        chunk.printed = [[]]
        printed.done(place)
