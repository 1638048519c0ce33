"""What flags and signals carry from core to core: who gave them, and what a wait for them orders
(memory-model-and-sync 5.5, 6 rule 8).

A launch is carried out in one order, and there a wait ends with certain signals. Other orders may end it with others: a
counter that two blocks add to and a third one waits to be 1 tells of neither. What a wait tells is what has happened
whichever of them end it: something is known if those that do not know of it cannot end the wait by themselves.

Who may end a wait is known only when the launch is over: a signal may come that comes later in the order of the launch.
A launch in which some wait has told too much is therefore simulated again with what it may tell, until nothing changes.
What waits tell becomes less from one time to the next, and is true in all orders in the end: the first wait of an order
to break it would have been ended by signals that do not know of the thing, and those cannot.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial
from operator import le

import numpy as np

from ptokit.machine.signals import Semaphores
from ptokit.records import dataclass
from ptokit.types.enums import SECOND_CORE, Pipe

from .clocks import POSTED, SCALAR, Clock, Part, Touch
from .core import AwaitSignal, AwaitSlot, Core, Given, Post, Posts, PostSlot, Signal, Source, Work

_VALUES = 4096  # of a counter that are told apart
_ORDERS = 20_000  # states of counters that are tried


@dataclass(slots=True, eq=False)
class Taken:
    """A wait that is over. ``seq``: its place in the program of its core; ``before``: what that knew when it began;
    ``number``: of an access that it counts as, by which those that come after it are known; ``told``: what was known
    afterwards."""

    seq: int
    component: int
    number: int
    before: Clock
    told: Clock
    sources: list[Source]

    def known(self) -> Clock:
        """What the wait tells, whoever ends it."""
        out = Clock(self.before.core, [0] * len(self.before.own))
        core = self.before.core
        for source in self.sources:
            choices = self._choices(source)
            if choices.all_needed():
                for post in choices.free:
                    out.join(post.clock)
                continue
            for number, part in _common(choices).items():
                if number == core:
                    out.own = list(map(max, out.own, part))
                else:
                    out.far = out.far.raised(number, part)
        return out

    def _choices(self, source: Source) -> _Choices:
        """The signals that may end the wait, without those that come after it, and apart from those seen before."""
        given, before = source.given(), self.before

        def late(post: Post) -> bool:
            return post.clock.knows(before.core, self.component, self.number)

        def unseen(post: Post) -> bool:
            return not before.knows(post.core, POSTED, post.clock.own[POSTED])

        free: list[Post] = []
        seen: list[Post] = []
        sets = given.amount is None and any(post.fresh for posts in given.by_core for post in posts)
        for posts in given.by_core:
            if given.ordered:
                end = bisect_left(posts, True, key=late)
                # What has been seen may be seen by a wait that tells too much: additions are counted anew.
                first = bisect_left(posts, True, hi=end, key=unseen) if sets else 0
                seen += posts[:first]
                free += posts[first:end]
            else:
                free += [post for post in posts if not late(post)]
        return _Choices(free, seen, source, given.amount)


def _less(before: Clock, known: Clock, told: Clock) -> bool:
    """True if something of `told` is not known."""
    known = known.copy()
    known.join(before)
    if any(a < b for a, b in zip(known.own, told.own)):
        return True
    return known.far.joined(told.far) is not known.far


class _Choices:
    """Those that may end a wait."""

    def __init__(self, free: list[Post], seen: list[Post], source: Source, amount: int | None) -> None:
        self.holds, self.value = source.holds, source.start
        self.free, self._seen = free, seen
        self._known: dict[frozenset[int], bool] = {}
        if amount is None:
            for post in sorted(seen, key=lambda post: post.order):
                self.value = post.amount if post.fresh else self.value + post.amount
            self.enough = -1  # it is not that simple
        else:  # so many of them end it, whichever
            self.value += amount * len(seen)
            fits = (n for n in range(len(free) + 1) if self.holds(self.value + amount * n))
            self.enough = next(fits, len(free))

    def all_needed(self) -> bool:
        """True if the wait surely needs each of them."""
        if self.enough >= 0:
            return 0 < self.enough == len(self.free)
        return len(self.free) == 1 and not self.suffice(frozenset())

    def suffice(self, chosen: frozenset[int]) -> bool:
        """True if the wait can end when no others than these have been given."""
        found = self._known.get(chosen)
        if found is None:
            found = self._known[chosen] = self._possible([self.free[n] for n in sorted(chosen)])
        return found

    def _possible(self, chosen: list[Post]) -> bool:
        adding = [post for post in chosen if not post.fresh]
        values = _sums(self.value, adding)
        for setting in (post for post in chosen if post.fresh):
            if values is None or any(g.fresh and _after(g, setting) for g in self._seen):
                continue
            others = [g for g in (*adding, *self._seen) if not g.fresh and not _after(setting, g)]
            more = _sums(setting.amount, others)
            values = None if more is None else values | more
        return values is None or any(self.holds(value) for value in values)


def _after(post: Post, other: Post) -> bool:
    """True if one signal is given after another one."""
    return post.clock.knows(other.core, POSTED, other.clock.own[POSTED])


def _sums(start: int, posts: list[Post]) -> set[int] | None:
    """The values that some of them can add up to; None if they are too many."""
    values = {start}
    for post in posts:
        values |= {value + post.amount for value in values}
        if len(values) > _VALUES:
            return None
    return values


def _common(choices: _Choices) -> dict[int, Part]:
    """By core, what is known whoever of them ends the wait: of each component the greatest number that those who know
    less cannot do without."""
    free = choices.free
    if not free or choices.enough == 0:
        return {}
    out = {}
    for core in sorted({core for post in free for core in (post.clock.core, *post.clock.far)}):
        parts = [post.clock.own if post.clock.core == core else post.clock.far.get(core, ()) for post in free]
        width = max(map(len, parts))
        table = np.array([(*part, *(0,) * (width - len(part))) for part in parts])
        if choices.enough > 0:
            least = np.partition(table, choices.enough - 1, axis=0)[choices.enough - 1]
        else:
            least = np.array([_least(choices, column) for column in table.T])
        if least.any():
            out[core] = tuple(least.tolist())
    return out


def _least(choices: _Choices, column: np.ndarray) -> int:
    """The greatest number of a component that those who know less of it cannot do without."""
    if choices.suffice(frozenset()):
        return 0
    numbers = np.unique(column).tolist()
    for number in numbers:
        if choices.suffice(frozenset(np.flatnonzero(column <= number).tolist())):
            return int(number)
    return int(numbers[-1])


_Step = tuple[int, Post | None, Source | None, Taken | None]
"""Of a core: the signal, and who gives it, or what is waited for, with the wait where that is the last of it."""


def _in_all_orders(taken: list[Taken]) -> dict[int, Clock]:
    """What waits tell, by their ids: those for counters that are both set and added to.

    Which additions are used up by the time that a value is set depends on what its core has waited for. All orders of
    notifications and waits are tried, and of each core what it has given whenever a wait ends is known to the wait.
    Nothing is said where there are too many.
    """
    waits = [wait for wait in taken if all(source.given().ordered for source in wait.sources)]
    given = {id(g): (g, source.start) for wait in waits for source in wait.sources for g in (source.given(),)}
    mixed = {key for key, (g, _) in given.items() if len({one.fresh for part in g.by_core for one in part}) == 2}
    if not any(id(source.given()) in mixed for wait in waits for source in wait.sources):
        return {}
    steps = _steps(waits, {key: g for key, (g, _) in given.items()})
    least = _least_steps(list(steps.values()), tuple(start for _, start in given.values()))
    out = {}
    for wait in waits:
        if id(wait) in least and any(id(source.given()) in mixed for source in wait.sources):
            clock = out[id(wait)] = Clock(wait.before.core, [0] * len(wait.before.own))
            for (core, own), end in zip(steps.items(), least[id(wait)]):
                last = next((post for _, post, *_ in reversed(own[:end]) if post is not None), None)
                if core != wait.before.core and last is not None:
                    clock.join(last.clock)
    return out


def _steps(waits: list[Taken], given: dict[int, Given]) -> dict[int, list[_Step]]:
    """What each core does, in order."""
    signals = {key: n for n, key in enumerate(given)}
    places: dict[int, list[tuple[tuple[int, int], _Step]]] = {}
    own: dict[int, list[Taken]] = {}
    for wait in waits:
        before = own.setdefault(wait.before.core, [])
        before.append(wait)
        for n, source in enumerate(wait.sources):
            step = signals[id(source.given())], None, source, wait if n == len(wait.sources) - 1 else None
            places.setdefault(wait.before.core, []).append(((len(before), 0), step))
    for key, g in given.items():
        for post in (post for part in g.by_core for post in part):
            after = sum(post.clock.own[wait.component] >= wait.number for wait in own.get(post.core, ()))
            place = after, post.clock.own[POSTED]
            places.setdefault(post.core, []).append((place, (signals[key], post, None, None)))
    return {core: [step for _, step in sorted(of, key=lambda one: one[0])] for core, of in places.items()}


def _least_steps(cores: list[list[_Step]], values: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """By the id of a wait, how many steps each core has done at least when it ends; nothing where that is too much."""
    least: dict[int, tuple[int, ...]] = {}
    first = (0,) * len(cores), values
    seen, left = {first}, [first]
    while left:
        at, values = left.pop()
        for n, steps in enumerate(cores):
            if at[n] == len(steps):
                continue
            signal, post, source, wait = steps[at[n]]
            new = values
            if post is not None:
                value = post.amount + (0 if post.fresh else values[signal])
                new = (*values[:signal], value, *values[signal + 1 :])
            elif source is not None and not source.holds(values[signal]):
                continue
            if wait is not None:
                least[id(wait)] = tuple(map(min, at, least.get(id(wait), at)))
            state = (*at[:n], at[n] + 1, *at[n + 1 :]), new
            if state not in seen:
                if len(seen) == _ORDERS:
                    return {}
                seen.add(state)
                left.append(state)
    return least


class Waits:
    """The waits of a launch that others than those of its order may end. ``corrected``: what they tell, by core and
    place in its program, once it is known that the order of the launch shows too much."""

    def __init__(self, corrected: dict[tuple[int, int], Clock] | None = None) -> None:
        self.corrected = corrected or {}
        self._taken: list[Taken] = []

    def over(self, seq: int, component: int, number: int, before: Clock, told: Clock, sources: list[Source]) -> None:
        """A wait is over; see `Taken`."""
        self._taken.append(Taken(seq, component, number, before, told, sources))

    def wrong(self) -> dict[tuple[int, int], Clock]:
        """What all waits may tell, if one of them has told more."""
        exact = _in_all_orders(self._taken)
        known = [exact[id(wait)] if id(wait) in exact else wait.known() for wait in self._taken]
        if not any(_less(wait.before, k, wait.told) for k, wait in zip(known, self._taken)):
            return {}
        return {(wait.before.core, wait.seq): k for k, wait in zip(known, self._taken)}


# Flags between cores that carry what their senders know, and who gave signals in global memory.


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
