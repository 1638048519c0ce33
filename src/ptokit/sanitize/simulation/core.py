"""One core: its clocks, queues and flags."""

from __future__ import annotations

from collections import deque

from ptokit.machine.signals import place_text
from ptokit.targets import Target
from ptokit.types.enums import Pipe

from .clocks import COMPONENTS, POSTED, WIDTH, Clock
from .events import FlagKey, Item, SetFlag, WaitFlag, Work
from .units import UnitFlags

RECENT = 64
"""Items of a core that are remembered for a picture of what led to a race."""

ENGINE = "engine"
"""Kind of the transfer engines: each session is a core without a program."""

_NOTHING: deque[Item] = deque(maxlen=0)


def _promised(target: Target) -> dict[Pipe, bool]:
    """Whether the target completes the instructions of a pipe in order."""
    return {pipe: pipe.name in target.in_order for pipe in COMPONENTS}


class Core:
    """One core: its clocks, queues, and flags. ``kind`` is "vector", "cube" or ""."""

    def __init__(
        self,
        index: int,
        kind: str,
        block: int,
        sub: int,
        target: Target,
        *,
        profile: bool,
        waits: bool = False,
        started: bool = True,
        rank: int = -1,
    ) -> None:
        self.index, self.kind, self.block, self.sub, self.target = index, kind, block, sub, target
        self.rank = rank  # of its device, in a launch on several
        self._width = WIDTH + len(COMPONENTS) if waits else WIDTH  # with the waits of each pipe, where they matter
        self.ordered = dict.fromkeys(COMPONENTS, True) if not profile else _promised(target)
        self.ended = True  # False if the program stopped early
        self.over = False  # nothing is left to do
        self.cluster: list[Core] = [self]  # the cores that see its buffers
        self.recent: deque[Item] = deque(maxlen=RECENT)  # what it has processed last
        self.issuer: Core = self  # of a transfer engine: the core that submits to it
        # By core: the notifications that it has waited for; and signals that have ended a wait which others may end.
        self.heard: dict[int, deque[Work]] = {}
        self.doubted: dict[int, deque[tuple[Item, Item]]] = {}
        self._empty()
        if started:
            self.begin()

    def _empty(self) -> None:
        """Without clocks and queues: before it begins, and when it has ended."""
        self.waits: dict[Pipe, int] = {}  # waits for flags so far
        self.last_wait: dict[FlagKey, tuple[WaitFlag, int]] = {}  # the last of each flag, and its number on its pipe
        self.inherited: dict[Pipe, Clock] = {}  # the last issue that a pipe has joined
        self.flags: dict[FlagKey, deque[tuple[Clock, SetFlag]]] = {}
        self.units = UnitFlags()
        self.last_sync: dict[tuple[Pipe, Pipe], tuple[Item, Item]] = {}
        self.clocks: dict[Pipe, Clock] = {}
        self.queues: dict[Pipe, deque[Item]] = {}
        self.stream: deque[Item] = _NOTHING  # issued by nobody yet: the scalar unit is held up

    def begin(self) -> None:
        """The core's program starts."""
        self.clocks = {pipe: Clock(self.index, [0] * self._width) for pipe in COMPONENTS}
        self.issue = Clock(self.index, [0] * self._width)  # what later issues inherit; replaced, never changed
        self.counts = [0] * (POSTED + 1)
        self.queues = {pipe: deque() for pipe in COMPONENTS if pipe is not Pipe.S}
        self.stream = deque()

    def forget(self) -> None:
        """The core has ended and nothing of it is left to do: only the last items are kept."""
        self._empty()
        self.recent = deque(self.recent, RECENT // 4)
        self.over = True

    @property
    def place(self) -> str:
        """The core in words."""
        return f"the transfer engine of {self.issuer.place}" if self.kind == ENGINE else place_text(self)

    def completed(self, pipe: Pipe) -> Clock:
        """What is known once everything issued to `pipe` so far has completed; PIPE_ALL is all of them."""
        if pipe is Pipe.ALL:
            everything = self.clocks[Pipe.S].copy()
            for each in COMPONENTS:
                everything.join(self.completed(each))
            return everything
        clock = self.clocks[pipe].copy()
        clock.own[COMPONENTS[pipe]] = self.counts[COMPONENTS[pipe]]
        if pipe is Pipe.S:
            clock.own[POSTED] = self.counts[POSTED]
        return clock

    def learn(self, clock: Clock) -> None:
        """The scalar unit waited for something: whatever it issues later comes after."""
        self.clocks[Pipe.S].join(clock)
        self.issue = self.issue.copy()
        self.issue.join(clock)

    def overtakes(self, item: Item) -> bool:
        """True if something that stands before `item` in the program has not begun yet."""
        return any(queue and queue[0].seq < item.seq for queue in self.queues.values())

    @property
    def blocked(self) -> list[Item]:
        """The items that hold up the stream and the queues, the stream's first."""
        heads = [self.stream[0]] if self.stream else []
        return heads + [queue[0] for queue in self.queues.values() if queue]
