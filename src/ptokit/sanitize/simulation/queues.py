"""The queues of pipes and the scalar stream, run as one deterministic simulation (memory-model-and-sync 11.1, 11.8).

Items are processed as soon as they are enabled, so a core without waits on others keeps nothing in its queues.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ptokit.machine.signals import Rendezvous
from ptokit.types.enums import Pipe

from .clocks import COMPONENTS, POSTED, SCALAR, WIDTH, Clock
from .core import (
    ENGINE,
    RECENT,
    AwaitSignal,
    Barrier,
    Core,
    GetToken,
    Item,
    Meet,
    ReleaseToken,
    SetFlag,
    Signal,
    Source,
    Submit,
    WaitFlag,
    WaitWork,
    Work,
)
from .signals import Hub, Signals, Waits

Execute = Callable[["Core", Work, Clock], None]
Reuse = Callable[["Core", SetFlag, WaitFlag | None], None]


_SCALAR_UNIT = (Pipe.S, Pipe.ALL)


class Simulation:
    """All cores of a launch. ``execute(core, work, clock)`` is called for every instruction, in an order that the
    flags allow, with what is known to have completed before it begins."""

    def __init__(
        self,
        cores: Iterable[Core],
        hub: Hub,
        execute: Execute,
        reuse: Reuse | None = None,
        waits: Waits | None = None,
    ) -> None:
        self.cores = list(cores)
        self.hub, self.execute, self.reuse = hub, execute, reuse
        self.signals, self.waits = Signals(), Waits() if waits is None else waits
        self.meetings: Rendezvous[Clock] = Rendezvous(list(self.cores))
        self._engines: dict[tuple[int, object], Core] = {}  # by core and session; among the cores, after those
        self._joined: dict[tuple[int, tuple[str, int], int], Clock] = {}  # by rank

    def push(self, core: Core, item: Item) -> None:
        """The next item of a core's program."""
        if core.stream or not self._issue(core, item):
            core.stream.append(item)
        else:
            for queue in core.queues.values():
                if queue:
                    self._advance(core)
                    break
        if self.hub.delivered:
            self._wake()

    def resume(self, core: Core) -> None:
        """What a core waits for has become known."""
        self._advance(core)
        self._wake()

    def _wake(self) -> None:
        """Signals may let other cores go on."""
        while self.hub.delivered:
            waiting = sorted(self.hub.delivered)
            self.hub.delivered.clear()
            for index in waiting:
                self._advance(self.cores[index])

    def _advance(self, core: Core) -> None:
        """Process everything of a core that is enabled."""
        while True:
            moved = False
            while core.stream and self._issue(core, core.stream[0]):
                core.stream.popleft()
                moved = True
            for queue in core.queues.values():
                while queue and self._noted(core, queue[0], self._begin(core, queue[0])):
                    queue.popleft()
                    moved = True
            if not moved:
                return

    # --- the scalar unit -----------------------------------------------------------------------------------------

    def _issue(self, core: Core, item: Item) -> bool:
        """Issue an item; False if the scalar unit is held up by it."""
        if self._holds_scalar_unit(core, item):
            return self._noted(core, item, self._scalar(core, item))
        item.issue = core.issue
        queue = core.queues[item.pipe]
        if queue or not self._noted(core, item, self._begin(core, item)):
            queue.append(item)
        return True

    @staticmethod
    def _noted(core: Core, item: Item, done: bool) -> bool:
        """Whether an item is processed; if so it is remembered for a while."""
        if done:
            core.recent.append(item)
        return done

    def _holds_scalar_unit(self, core: Core, item: Item) -> bool:
        if item.pipe in _SCALAR_UNIT:
            return True
        return isinstance(item, WaitWork) or (isinstance(item, AwaitSignal) and core.target.waits_hold_core)

    def _scalar(self, core: Core, item: Item) -> bool:
        """An item of the scalar unit itself; False if it has to wait."""
        match item:
            case Work():
                self._scalar_work(core, item)
            case Barrier() if item.pipe is Pipe.ALL:
                if any(core.queues.values()):
                    return False
                core.learn(core.completed(Pipe.ALL))
            case Signal() if item.pipe is Pipe.ALL:
                if any(core.queues.values()):
                    return False
                self.hub.send(core, item, core.completed(Pipe.ALL))
            case WaitFlag():
                waiting = core.flags.get(item.key)
                if not waiting:
                    return False
                clock, source = waiting.popleft()
                item.source = source
                core.last_sync[item.key[:2]] = (source, item)
                core.learn(clock)
                if self.reuse is not None:
                    self._waited(core, item, core.clocks[Pipe.S], core.issue)  # which `learn` has made anew
            case WaitWork():
                if item.works is None:
                    return False
                missing = [work for work in item.works if work.done is None]
                for work in missing:
                    work.wakes.add(core.index)
                if missing:
                    return False
                before = core.clocks[Pipe.S].copy()
                corrected = self.waits.corrected.get((core.index, item.seq))
                if corrected is not None:
                    core.learn(corrected)
                elif item.works:
                    clocks = [work.done for work in item.works if work.done is not None]
                    joined = clocks[0].copy()
                    for clock in clocks[1:]:
                        joined.join(clock)
                    core.learn(joined)
                for work in item.works:
                    assert work.done is not None
                    if corrected is None and work.done.core != core.index:
                        core.heard.setdefault(work.done.core, deque(maxlen=RECENT)).append(work)
                if item.sources:
                    posts = [(work.done.core, work) for work in item.works if work.done is not None]
                    self._told(core, item, before, item.sources, posts)
            case Meet():
                return self._meet(core, item)
            case AwaitSignal():
                clock_or_none = self.hub.take(core, item, SCALAR, core.counts[SCALAR] + 1)
                if clock_or_none is None:
                    return False
                before = core.clocks[Pipe.S].copy()
                core.learn(self.waits.corrected.get((core.index, item.seq), clock_or_none))
                if self.hub.sources:
                    self._told(core, item, before, self.hub.sources, self.hub.posts)
            case GetToken():
                return self._get(core, item)
            case Submit():
                self._submit(core, item)
            case _:
                self._act(core, item)
        return True

    def _told(
        self, core: Core, item: Item, before: Clock, sources: list[Source], posts: Sequence[tuple[int, Item]]
    ) -> None:
        """A wait that others may end is over. It counts as an access, so that those after it are known."""
        for sender, post in posts if (core.index, item.seq) in self.waits.corrected else ():
            if sender != core.index:
                core.doubted.setdefault(sender, deque(maxlen=RECENT)).append((post, item))
        scalar = self._holds_scalar_unit(core, item)
        clock, component = core.clocks[Pipe.S if scalar else item.pipe], COMPONENTS[Pipe.S if scalar else item.pipe]
        told, number = clock.copy(), core.counts[component] + 1
        if scalar or core.ordered[item.pipe]:  # else it has the number of what comes next on the pipe
            core.counts[component] = clock.own[component] = number
        if scalar:
            core.issue.own[component] = number  # which `learn` has made anew
        self.waits.over(item.seq, component, number, before, told, sources)

    def _submit(self, core: Core, item: Submit) -> None:
        """The session's engine begins a transfer, after those that it has."""
        work, engine = item.work, self._engine(core, item.session)
        assert work is not None
        work.seq, work.loops = item.seq, item.loops
        clock, index = engine.clocks[work.pipe], COMPONENTS[work.pipe]
        clock.join(core.completed(Pipe.S))
        self.execute(engine, work, clock)
        work.touches = []
        engine.counts[index] += 1
        clock.own[index] = engine.counts[index]
        self._finish(work, engine.completed(work.pipe))

    def _engine(self, core: Core, session: object) -> Core:
        found = self._engines.get((core.index, session))
        if found is None:
            target, rank = core.target, core.rank
            found = Core(len(self.cores), ENGINE, core.block, -1, target, profile=False, rank=rank)
            found.issuer = core
            self._engines[core.index, session] = found
            self.cores.append(found)
        return found

    def _meet(self, core: Core, item: Meet) -> bool:
        """SYNCALL: drain all pipes, arrive, and go on once the others are there."""
        if not item.times:
            if any(core.queues.values()):
                return False
            for pipe in COMPONENTS:
                core.learn(core.completed(pipe))
            item.times = self.meetings.arrive(core.index, item.key, core.completed(Pipe.S))
        met = self.meetings.met(core.index, item.key, item.times)
        if met is None:
            return False
        joined = self._joined.get((core.rank, item.key, item.times))
        if joined is None:
            joined = self._joined[core.rank, item.key, item.times] = core.completed(Pipe.S)
            for clock in met.values():
                joined.join(clock)
            met.update(dict.fromkeys(met, joined))  # nobody asks any more what each of them brought
            self.hub.delivered.update(met)
        core.learn(joined)
        return True

    def _scalar_work(self, core: Core, item: Work) -> None:
        """Reads complete at once; writes are posted (6, rule 2)."""
        clock = core.clocks[Pipe.S]
        self.execute(core, item, clock)
        wrote = any(touch.write for touch in item.touches)
        item.touches = []
        if wrote:
            core.counts[POSTED] += 1
            clock.own[POSTED] = core.counts[POSTED]
        core.counts[SCALAR] += 1
        clock.own[SCALAR] = core.counts[SCALAR]
        core.issue = core.issue.copy()
        core.issue.own[SCALAR] = core.counts[SCALAR]
        if item.keep:
            self._finish(item, core.completed(Pipe.S))

    def _finish(self, item: Work, clock: Clock) -> None:
        item.done = clock
        self.hub.delivered.update(item.wakes)

    # --- the pipes -----------------------------------------------------------------------------------------------

    def _begin(self, core: Core, item: Item) -> bool:
        """Process the head of a queue; False if it has to wait."""
        pipe = item.pipe
        clock = core.clocks[pipe]
        if item.issue is not None:
            if core.inherited.get(pipe) is not item.issue:
                clock.join(item.issue)
                core.inherited[pipe] = item.issue
            item.issue = None
        match item:
            case Work():
                if item.use is not None:
                    if core.units.missing(item.use):
                        return False
                    for known in core.units.known(item.use):
                        clock.join(known)
                self.execute(core, item, clock)
                item.touches = []  # what others remember of it must not keep the memories of this core
                index = COMPONENTS[pipe]
                core.counts[index] += 1
                if core.ordered[pipe]:
                    clock.own[index] = core.counts[index]
                if item.use is not None:
                    core.units.over(item, item.use, core.completed(pipe))
                if item.keep:
                    self._finish(item, core.completed(pipe))
            case WaitFlag():
                waiting = core.flags.get(item.key)
                if not waiting:
                    return False
                told, source = waiting.popleft()
                item.source = source
                core.last_sync[item.key[:2]] = (source, item)
                clock.join(told)
                if self.reuse is not None:
                    self._waited(core, item, clock)
            case Barrier():
                clock.own[COMPONENTS[pipe]] = core.counts[COMPONENTS[pipe]]
            case GetToken():
                return self._get(core, item)
            case AwaitSignal():
                known_or_none = self.hub.take(core, item, COMPONENTS[pipe], core.counts[COMPONENTS[pipe]] + 1)
                if known_or_none is None:
                    return False
                before = clock.copy()
                clock.join(self.waits.corrected.get((core.index, item.seq), known_or_none))
                if self.hub.sources:
                    self._told(core, item, before, self.hub.sources, self.hub.posts)
            case _:
                self._act(core, item)
        return True

    def _act(self, core: Core, item: Item) -> None:
        """Process an item that never waits."""
        match item:
            case SetFlag():
                clock = core.completed(item.pipe)
                if self.reuse is not None:
                    self._check_reuse(core, item, clock)
                core.flags.setdefault(item.key, deque()).append((clock, item))
            case ReleaseToken():
                assert item.taken is not None
                item.taken.released = core.completed(item.pipe)
            case Signal():
                self.hub.send(core, item, core.completed(item.pipe))
            case _:
                pass

    def _waited(self, core: Core, item: WaitFlag, *clocks: Clock) -> None:
        """The pipe, whose clocks these are, has waited: what it does from now on knows so."""
        core.waits[item.pipe] = core.waits.get(item.pipe, 0) + 1
        core.last_wait[item.key] = item, core.waits[item.pipe]
        for clock in clocks:
            clock.own[WIDTH + COMPONENTS[item.pipe]] = core.waits[item.pipe]

    def _check_reuse(self, core: Core, item: SetFlag, clock: Clock) -> None:
        """The previous wait of the flag has to come before it is set again."""
        wait, number = core.last_wait.get(item.key, (None, 0))
        if core.flags.get(item.key) or clock.own[WIDTH + COMPONENTS[item.key[1]]] < number:
            assert self.reuse is not None
            self.reuse(core, item, wait)

    def _get(self, core: Core, item: GetToken) -> bool:
        """Tokens change hands in the order of the program, whichever pipe asks first."""
        clocks = [get.released for get in item.after]
        if None in clocks:
            return False
        for clock in clocks:
            assert clock is not None
            if item.pipe is Pipe.S:
                core.learn(clock)
            else:
                core.clocks[item.pipe].join(clock)
        item.after = ()
        return True
