"""The ranks of a host program that is replayed: their memory, what they have launched, and what they wait for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.backends.numpy.launch import CoresOfLaunch
from ptokit.machine.buffers import Buffer
from ptokit.machine.global_memory import Pointer
from ptokit.records import dataclass
from ptokit.run.arguments import Addresses
from ptokit.run.program import Param
from ptokit.types.dtypes import DType, u8

AFTER = 1 << 21
"""Bytes after an allocation that a kernel may reach, as on a device with pages of 2 MiB; not under observation."""


@dataclass
class Launch:
    """A launch of a rank. ``flight``: its cores, where it may wait for other launches and has begun."""

    rank: int
    symbol: str
    blocks: int
    given: list[str]
    flight: CoresOfLaunch | None = None

    @property
    def asks(self) -> bool:
        """True if a core asks for a signal again and again."""
        return self.flight is not None and any(stream.asks for stream in self.flight.left)


class World:
    """The ranks of a test: their memory, what they have launched, and what they wait for."""

    def __init__(self, ranks: int, base: int, memory: np.ndarray) -> None:
        self.ranks, self.base, self.memory = ranks, base, memory
        self.sizes: dict[int, int] = {}  # of allocations, by address
        self.addresses, self.buffers = Addresses(()), list[Buffer]()
        self.queues: dict[tuple[int, int], list[Launch]] = {}  # by rank and stream
        self.waits: dict[int, int | None] = {}  # ranks that have stopped: for which stream, None for the other ranks
        self.ended, self.failed = set[int](), set[int]()

    def add(self, address: int, size: int) -> None:
        """Memory that a rank has allocated."""
        self.sizes[address] = size
        start = address - self.base
        buffer = Buffer(f"memory at {address:#x}", self.memory[start : start + size + AFTER], u8)
        buffer.written = True
        self.buffers.append(buffer)
        self.addresses.add(address, buffer)

    def settle(self) -> None:
        """Somebody else may write to memory now: tiles that wait keep what they have loaded."""
        if any(launch.flight is not None for launch in self.first):
            for buffer in self.buffers:
                buffer.before_write()

    # --- what ranks do

    def stops(self, word: str, rank: int, stream: int | None = None) -> None:
        """A rank has ended, or waits for launches, 0 for those of all its streams, or for the other ranks."""
        if word == "@ended":
            self.ended.add(rank)
        else:
            self.waits[rank] = stream

    @property
    def stopped(self) -> bool:
        """True if no rank goes on by itself."""
        return len(self.waits) + len(self.ended) == self.ranks

    @property
    def first(self) -> list[Launch]:
        """The launches that may run now: of each stream the first."""
        return [queue[0] for _, queue in sorted(self.queues.items()) if queue]

    def over(self, launch: Launch) -> None:
        """A launch is done."""
        for queue in self.queues.values():
            queue[:] = [each for each in queue if each is not launch]

    @property
    def ready(self) -> list[int]:
        """The ranks that may go on."""
        busy = {key for (rank, stream), queue in self.queues.items() if queue for key in ((rank, stream), (rank, 0))}
        ready = [rank for rank, stream in self.waits.items() if stream is not None and (rank, stream) not in busy]
        return ready or ([] if self.ended or any(each is not None for each in self.waits.values()) else [*self.waits])

    # --- arguments of launches

    def at(self, text: str) -> tuple[Buffer, int] | None:
        """The memory that an argument points to, and how many bytes of it lie before; None for other arguments."""
        found = self.addresses.at(int(text[1:])) if text[0] == "p" else None
        return None if found is None or found[1] > self.sizes[found[0].address] else found

    def pointer(self, text: str, dtype: DType) -> Pointer | None:
        """An argument as a pointer into the memory of all ranks."""
        found = self.at(text)
        return None if found is None else Pointer(found[0].of_type(dtype), found[1] // dtype.size, dtype)

    def value(self, text: str, param: Param, after: int = 0) -> Any:
        """An argument: a part of the memory with so many bytes after its allocation, or a number."""
        if text[0] == "p":
            assert param.dtype is not None
            kind, found = param.dtype.storage, self.at(text)
            if found is None:
                return np.zeros(64, kind)
            buffer, before = found
            end = self.sizes[buffer.address] + after
            return buffer.mem[before : before + (end - before) // kind.itemsize * kind.itemsize].view(kind)
        size, _, bits = text[1:].partition(":")
        raw = int(bits).to_bytes(8, "little")[: int(size)]
        if text[0] == "f":
            return float(np.frombuffer(raw, {"2": np.float16, "4": np.float32, "8": np.float64}[size])[0])
        return int.from_bytes(raw, "little", signed=True)
