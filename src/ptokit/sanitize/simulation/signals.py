"""Flags between cores that carry what their senders know, and who gave signals in global memory
(memory-model-and-sync 5.5, 6 rule 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial
from operator import le

from ptokit.machine.signals import Semaphores
from ptokit.records import dataclass
from ptokit.types.enums import SECOND_CORE, Pipe

from .clocks import SCALAR, Clock, Touch
from .core import AwaitSignal, AwaitSlot, Core, Posts, PostSlot, Signal, Work
from .waits import Given, Post, Source

Arrival = tuple[Clock, Signal]
_Sender = tuple[int, int, int]


@dataclass(slots=True)
class _Stream:
    """The flags that a core gives in one way, and who has waited for them: component and number, by receiver."""

    posts: list[Post] = field(default_factory=list)
    taken: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


class Hub:
    """The semaphores of a launch, as the queues see them. ``overflow`` is called for a signal beyond their limit.

    ``unsure``: the flags, without the number of a core in them, that several pipes give or take.
    """

    def __init__(
        self,
        cores: Sequence[Core] = (),
        overflow: Callable[[Core, Signal], None] = lambda core, signal: None,
        unsure: frozenset[int] = frozenset(),
    ) -> None:
        self._unsure = unsure
        self._streams: dict[_Sender, _Stream] = {}
        self.sources: list[Source] = []  # of the last flag taken, if it is unsure; and who has given it
        self.posts: list[tuple[int, Signal]] = []

        def beyond(core: object, arrival: Arrival) -> None:
            overflow(core, arrival[1])  # type: ignore[arg-type]

        self._posts = Posts()
        target = cores[0].target if cores else None
        self._semaphores: Semaphores[Arrival] = Semaphores(cores, target, beyond)

    @property
    def delivered(self) -> set[int]:
        """Cores that received something since it was last looked at."""
        return self._semaphores.delivered

    def send(self, core: Core, item: Signal, clock: Clock) -> None:
        """`core` signals; ``clock``: what has completed by then."""
        if isinstance(item, PostSlot):
            self._posts.post(core, item, clock)
            self.delivered.update(other.index for other in core.cluster)
            return
        if item.event % SECOND_CORE in self._unsure:
            stream = self._streams.setdefault((core.index, item.event, item.mode), _Stream())
            stream.posts.append(Post(core.index, clock))
        self._semaphores.send(core, item.event, item.mode, (clock, item))

    def take(self, core: Core, item: AwaitSignal, component: int, number: int) -> Clock | None:
        """Consume one count; what its senders knew, or None if there is none.

        ``component``, ``number``: the access that the wait counts as.
        """
        self.sources, self.posts = [], []
        if isinstance(item, AwaitSlot):
            return self._posts.take(core, item)
        parts = self._semaphores.take(core.index, item.event)
        if parts is None:
            return None
        if item.event % SECOND_CORE in self._unsure:
            before = core.clocks[item.pipe if component != SCALAR else Pipe.S].own
            for sender, (_, signal) in parts.items():
                stream = self._streams[sender, signal.event, signal.mode]
                taken = stream.taken.setdefault(core.index, [])
                count = 1 + sum(before[c] >= n or c == component for c, n in taken)
                taken.append((component, number))
                self.posts.append((sender, signal))
                self.sources.append(Source(partial(Given, [stream.posts], False, 1), 0, partial(le, count)))
        if parts.together is None:
            (joined, signal), *others = parts.values()
            joined = joined.copy()
            for clock, _ in others:
                joined.join(clock)
            parts.together = joined, signal
        return parts.together[0]

    def left(self, over: set[int]) -> list[tuple[int, Signal]]:
        """(core, signal) for every count that nobody can consume any more, also of a rendezvous that never came about.

        ``over``: the cores that do nothing any more.
        """
        return [(index, item) for index, (_, item) in self._semaphores.left(over)]


@dataclass(slots=True)
class _History:
    """One signal: its values, the first before all notifications, and who gave it the later ones."""

    values: list[int]
    given: list[tuple[int, Work, bool]] = field(default_factory=list)  # core, notification, whether it replaces
    _all: Given | None = None
    seen: dict[int, tuple[int, dict[int, Work]]] = field(default_factory=dict)  # by core: what it has waited for

    def until(self, core: int, holds: Callable[[int], bool]) -> Iterable[Work]:
        """The notifications that led to the first value for which a condition holds, or the present one if none is.

        A core that has waited for a value before does not see an older one.
        """
        at, senders = self.seen.get(core, (0, {}))
        senders = dict(senders)
        while at < len(self.given) and not holds(self.values[at]):
            sender, work, fresh = self.given[at]
            if fresh:
                senders.clear()
            senders[sender] = work
            at += 1
        self.seen[core] = at, senders
        return senders.values()

    def all(self) -> Given:
        """The notifications that have happened, when the launch is over."""
        if self._all is None:
            by_core: dict[int, list[Post]] = {}
            amounts: set[int | None] = set()
            changes = zip(self.given, self.values, self.values[1:])
            for order, ((sender, work, fresh), before, now) in enumerate(changes):
                if work.done is not None:
                    amount = now if fresh else now - before
                    amounts.add(None if fresh else amount)
                    post = Post(sender, work.done, amount, fresh, order)
                    by_core.setdefault(sender, []).append(post)
            self._all = Given(list(by_core.values()), True, amounts.pop() if len(amounts) == 1 else None)
        return self._all


class Signals:
    """Who gave the signals in global memory the values they had, by memory and granule."""

    def __init__(self) -> None:
        self._histories: dict[tuple[int, int], _History] = {}

    def give(
        self, touch: Touch, core: int, work: Work, before: Sequence[int], now: Sequence[int], *, fresh: bool
    ) -> None:
        """`work` replaces the values of signals (``fresh``), or adds to them; ``before`` and ``now``: the values."""
        for key, old, new in zip(self._keys(touch, len(now)), before, now, strict=True):
            history = self._histories.setdefault(key, _History([old]))
            history.given.append((core, work, fresh))
            history.values.append(new)

    def notifications(
        self, touch: Touch, core: int, count: int, holds: Callable[[int], bool]
    ) -> tuple[list[Work], list[Source]]:
        """The notifications that a core has waited for when it sees that a condition holds for all `count` signals, and
        for each signal those that it may have waited for.

        Later ones may have happened by now, but on a device the core need not have waited for them.
        """
        found: dict[Work, None] = {}
        sources = []
        for key in self._keys(touch, count):
            history = self._histories.get(key)
            if history is not None:
                found.update(dict.fromkeys(history.until(core, holds)))
                sources.append(Source(history.all, history.values[0], holds))
        return list(found), sources

    @staticmethod
    def _keys(touch: Touch, count: int) -> Iterable[tuple[int, int]]:
        """A signal is known by its first granule."""
        granules = touch.where.granules().reshape(count, -1)[:, 0].tolist()
        return [(id(touch.space), granule) for granule in granules]
