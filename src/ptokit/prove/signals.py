"""Signals between cores: how many have been given and waited for, what that orders, and whether all of them come.

A core counts what it gives and waits for, by id. In loops these are numbers that grow. Wait number n is over once
signal number n has been given: an access that comes before this signal comes before what follows the wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import z3

from ptokit.isa.order.core_sync import CORE_KINDS
from ptokit.isa.order.sync_rules import no_flag
from ptokit.isa.table import Sync
from ptokit.plan.steps import Data, Step, constant, without_form
from ptokit.records import dataclass
from ptokit.types.enums import SECOND_CORE, Pipe

from .alternation import Chooses, Does, times_of
from .claims import Fragment, Instance, Loop
from .cluster import Cluster
from .numbers import Number, both, either, lifted, renamed, same, simple, symbols
from .places import Pointer, Tile, Touch, View
from .report import Claim
from .state import Body, Ended, State

LIMIT = 15
"""The largest count of a signal."""

SIGNALS = (Sync.SIGNAL, Sync.AWAIT, Sync.MEET)
BETWEEN_CORES = frozenset((*SIGNALS, Sync.TELL, Sync.HEAR, Sync.SEEN))

ALL_CORES, VECTORS, CLUSTER = 0, 1, 2
"""Modes of a signal: to all cores of one kind, to the vector cores of a cluster, to those of the other kind in it."""

TOLD = ("signal",)
"""Among what commutes: notifications of other ranks, and waits for them."""

NONE = z3.Int("none#")
"""0. Counts begin with it, so that loops take them for numbers that grow, and do not follow their values."""


def number_of(does: Sync, which: Any) -> Any:
    """The unknown that says how many signals a core has given, or waited for."""
    return z3.Int(f"{does.name.lower()}#{which}")


@dataclass(frozen=True, slots=True)
class Stream:
    """Signals of one id from one kind of core, which get another id or keep it: number n that is given is number n
    that is taken. ``sub``: the vector core that gives or takes them, None for every one."""

    setter: str
    given: int
    mode: int
    waiter: str
    taken: int
    sub: int | None


class Signals(Cluster):
    """Goes through signals between cores.

    ``counts``: what is counted; ``signals``: by core, what is around and step, what an operation does, its id, mode and
    pipe; ``streams``: those that make an order.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        self.counts: list[tuple[Sync, Any]] = []
        self.signals: dict[Any, tuple[Sync, Any, int, Pipe]] = {}
        self.streams: list[Stream] = []
        self.notices: dict[int, tuple[Sync, Any]] = {}  # by step, of notifications and waits for them, what they count
        self.told_at: dict[Any, tuple[Sync, Any]] = {}  # the same by core, what is around and step, of those come to
        self.signal_at: dict[int, tuple[Sync, Any]] = {}  # by access, what it counts
        self.missed: set[tuple[str, int, int]] = set()  # by core and id, accesses that some of its signals do not know
        self._lost = False  # True if some signal has an unknown id, so that nothing is known of any
        self.counted_on = False  # True if an order was needed that signals make
        super().__init__(*given, **options)

    def start(self) -> State:
        if not self.counts:
            steps = [step for function in self.program.plan.functions.values() for step in function.walk()]
            self.counts = [*dict.fromkeys(count for step in steps for count in _counted(step))]
            kinds = [(step, step.instr.order.does) for step in steps if step.instr is not None and self.windows]
            noticed = [(step, does) for step, does in kinds if does in (Sync.TELL, Sync.HEAR)]
            self.notices = {id(step): (does, f"m{k}") for k, (step, does) in enumerate(noticed) if does is not None}
            self.counts += self.notices.values()
        state = super().start()
        if self.counts:
            self.homes[NONE.get_id()] = ()
            state.values.update(dict.fromkeys(self.counts, NONE))
            state.facts = self.assumed = (*self.assumed, NONE == 0)
        return state

    # --- operations ----------------------------------------------------------------------------------------------

    def between_cores(self, step: Step, state: State, given: Mapping[str, Any]) -> list[State]:
        """A signal to others, a wait for one, or what makes memory seen."""
        assert step.instr is not None
        does = step.instr.order.does
        if does in (Sync.TELL, Sync.HEAR):
            if not self.windows:
                self.unpaired(step)
            self.notified(step, state, given, does is Sync.TELL)
        elif does is Sync.SEEN and step.attrs.get("scope", "local_memory") != "local_memory":
            if self.core == "vector":  # of others it drains some pipes, which is not followed
                state.drained()
        elif does in SIGNALS:
            if any(isinstance(value, View | Pointer | Tile) for value in given.values()):
                raise Fragment(f"what {step.name} touches is not followed", step)
            self._signalled(step, state, given, does)
        return [state]

    def unpaired(self, step: Step) -> None:
        """A notification of ranks, or a wait for one, by whom or for whom is not known."""
        why = "and it is not said whose arrays these are, as in next is mine[rank + 1]"
        self.leave_open(Claim.FLAGS, f"{step.name} is for other ranks, {why}", step)
        self.leave_open(Claim.BLOCKS, f"{step.name} orders ranks, {why}", step)

    def _signalled(self, step: Step, state: State, given: Mapping[str, Any], does: Sync) -> None:
        event = given.get("event")
        number: Any = step.attrs.get("event_id", 0) if event is None else event
        mode, pipe = step.attrs.get("ffts_mode"), step.attrs.get("pipe", Pipe.S)
        if does is Sync.MEET:
            number = None if given.get("used") is not None else CORE_KINDS[step.attrs["core_type"]]
        elif type(number) is int and (message := no_flag(number, self.target)) is not None:
            self.suspect(Claim.FLAGS, "XFLAG-RANGE", step, state.facts, message)
            return
        elif type(number) is int and self._names_cores and self.core == "vector" and does is Sync.AWAIT:
            number %= SECOND_CORE
        what = does, number, CLUSTER if mode is None else mode, pipe
        count = does, number
        strange = what[2] not in (ALL_CORES, VECTORS, CLUSTER) or (what[2] == VECTORS and self.core != "vector")
        strange |= does is Sync.MEET and number not in ("", self.core)
        if self._names_cores and self.core == "vector" and does is Sync.SIGNAL:
            strange |= number not in range(SECOND_CORE)
        if (
            strange
            or count not in self.counts
            or self.signals.setdefault((self.core, self.context, id(step)), what) != what
        ):
            self._lost = True
            self.leave_open(Claim.FLAGS, f"the signals of {step.name} are not counted", step)
            return
        if does is Sync.MEET:
            state.drained()
        holds = pipe in (Pipe.S, Pipe.ALL) or (does is Sync.AWAIT and self.target.waits_hold_core)
        seen = state if does is Sync.AWAIT and not holds else state.copy()
        if pipe is Pipe.ALL:
            seen.drained()
        around = {id(loop.step) for loop in self.loops}
        self.access(step, seen, Pipe.S if holds else pipe, ())
        access = self._accesses[self.core, tuple(n for n in self.context if n not in around), id(step)]
        self.signal_at[access] = count
        state.values[count] = simple(lifted(state.values[count]) + 1)

    @property
    def _names_cores(self) -> bool:
        """True if a signal between the kinds of cores is to one vector core, or from one."""
        return not self.target.waits_hold_core

    def access(self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch]) -> None:
        facts = state.facts
        unsure = {self.signal_at[access] for access in state.unknown[pipe] if access in self.signal_at}
        known = [count for count in self.counts if count[0] is not Sync.AWAIT or count not in unsure]
        state.facts = (*facts, *(number_of(*count) == state.values[count] for count in known))
        super().access(step, state, pipe, touches)
        state.facts = facts

    def counting(self, body: Body, state: State) -> Body:
        """What a loop repeats, which carries on what is counted."""
        if not self.counts:
            return body

        def run(begun: State) -> Iterator[Ended]:
            for each, handed, to, results in body.run(begun):
                now = {count: each.values[count] for count in self.counts}
                yield each, None if handed is None else (*handed, *now.values()), to, {**results, **now}

        first = [state.values[count] for count in self.counts]
        return Body((*body.args, *self.counts), [*body.first, *first], run, body.steps)  # type: ignore[arg-type]

    def counted_up(self, none: State | None, ended: Sequence[State], runs: Number) -> None:
        """Say what is counted after a loop in one way, whether it `runs` or not. ``none``: the state if it does not."""
        for count in self.counts if none is not None else ():
            assert none is not None
            old = lifted(none.values[count])
            more = [lifted(simple(state.values[count] - old)) for state in ended if state is not none]
            if more and all(same(n, more[0]) for n in more):
                for state in ended:
                    state.values[count] = simple(old + z3.If(lifted(runs), more[0], z3.IntVal(0)))

    def notified(self, step: Step, state: State, given: Mapping[str, Any], tells: bool) -> None:
        """A notification of another rank, or a wait for one."""
        raise NotImplementedError

    # --- order ---------------------------------------------------------------------------------------------------

    def between(
        self, a: Instance, b: Instance, others: Sequence[tuple[Any, Any]], facts: Sequence[Number], inside: bool
    ) -> list[Number]:
        """What holds if no signal orders two accesses. ``others``: names for the unknowns of the first."""
        if self._lost or not self.signals or not self.solver.possible(facts):
            return []
        names = {old.get_id(): new for old, new in others}

        def at(x: Instance, symbol: Any) -> Any:
            return lifted(symbol) if x is not a else names.get(lifted(symbol).get_id(), lifted(symbol))

        if a is b:
            b = Instance(b.access, b.core, b.step, b.pipe, b.touches, b.facts, b.loops)
        found: list[Number] = []
        for stream in self.streams:
            for x, y in ((a, b), (b, a)):
                if (x.core, y.core) != (stream.setter, stream.waiter) or not (inside or stream.mode == ALL_CORES):
                    continue
                if (stream.setter, stream.given, x.access) in self.missed:
                    continue
                given, taken = at(x, number_of(Sync.SIGNAL, stream.given)), at(y, number_of(Sync.AWAIT, stream.taken))
                apart = stream.sub is not None and at(x if x.core == "vector" else y, self.sub) != stream.sub
                found.append(either(apart, taken <= given))
        for does, kind in self.counts:
            if does is Sync.MEET and all(kind in ("", x.core) for x in (a, b)):
                found.append(at(a, number_of(does, kind)) == at(b, number_of(does, kind)))
        self.counted_on |= bool(found)
        return found

    def reasons(self, claim: Claim) -> list[tuple[str, int]]:
        found = super().reasons(claim)
        if not found and claim is Claim.BLOCKS and self.counted_on and super().reasons(Claim.FLAGS):
            found.append(("it holds only if all signals come, which is open or refuted", 0))
        return found

    # --- whether they come ---------------------------------------------------------------------------------------

    def together(self) -> None:
        """What the cores of a launch do together: what they exchange through pipes, and signals."""
        if self.program.cores.mixed:
            self.cluster()
        for access, _, other in self.found.unordered:
            does, number = self.signal_at.get(access, (None, 0))
            if does in (Sync.SIGNAL, Sync.TELL):
                core = next(iter(self.found.instances[access].values())).core
                self.missed.add((core, number, other))
        self.streams = list(self._orders())
        if self._lost or not self.signals:
            return
        try:
            for sub in range(self.vectors if self.program.cores.mixed and self._names_cores else 1):
                self._come(sub)
        except Fragment as fragment:
            self.leave_open(Claim.FLAGS, fragment.reason, fragment.step)
        self._overflows()

    def _ways(self, core: str, number: int, mode: int) -> Iterator[tuple[str, int, int | None]]:
        """Who gets a signal, by which id, and the vector core that gives or gets it."""
        other = "cube" if core == "vector" else "vector"
        if mode != CLUSTER:
            yield core if mode == ALL_CORES else "vector", number, None
        elif not self._names_cores:
            yield other, number, None
        elif core == "cube":
            yield other, number % SECOND_CORE, number // SECOND_CORE
        else:
            for sub in range(self.vectors):
                yield other, number + SECOND_CORE * sub, sub

    def _orders(self) -> Iterator[Stream]:
        """Streams whose signals are given one after the other by one operation of a kind, and waited for so."""
        given: dict[tuple[str, int, int], set[Pipe]] = {}
        taken: dict[tuple[str, int], set[Pipe]] = {}
        for (core, *_), (does, number, mode, pipe) in self.signals.items():
            if does is Sync.SIGNAL:
                given.setdefault((core, number, mode), set()).add(pipe)
            elif does is Sync.AWAIT:
                taken.setdefault((core, number), set()).add(Pipe.S if self.target.waits_hold_core else pipe)
        found = [
            (Stream(core, number, mode, *way), len(pipes))
            for (core, number, mode), pipes in given.items()
            for way in self._ways(core, number, mode)
        ]
        for stream, pipes in found:
            alike = [x for x, _ in found if (x.waiter, x.taken) == (stream.waiter, stream.taken)]
            alike += [x for x, _ in found if (x.setter, x.given) == (stream.setter, stream.given)]
            single = all(x.mode == stream.mode and x.setter == stream.setter for x in alike)
            subs = [x.sub for x, _ in found if (x.waiter, x.taken) == (stream.waiter, stream.taken)]
            waits = taken.get((stream.waiter, stream.taken), ())
            if single and len({*subs}) == len(subs) and pipes == len(waits) == 1:
                yield stream

    def _come(self, sub: int) -> None:
        """Every wait of a cube core and a vector core of its cluster comes to its end, and takes all signals."""
        tokens: dict[Any, tuple[str, Any]] = dict(self.piped)
        counts: dict[Any, list[int]] = {}
        for key, (does, number, mode, _) in self.signals.items():
            core = key[0]
            if does is Sync.MEET:
                joint = number == "" and self.program.cores.mixed
                tokens[key] = ("meet", number) if joint else ("give", ())
            elif does is Sync.SIGNAL:
                ways = [way[:2] for way in self._ways(core, number, mode) if way[2] in (None, sub)]
                tokens[key] = "give", tuple(ways)
                counts |= {way: [0, 0] for way in ways}
                if self._names_cores and core == "cube" and number // SECOND_CORE >= self.vectors:
                    raise Fragment("a signal to a vector core that does not run")
            elif core == "cube" and self._names_cores and number // SECOND_CORE != sub:
                tokens[key] = "give", ()
            else:
                tokens[key] = "take", (core, number)
                counts[core, number] = [0, 0]
        everywhere = {key for key, (does, _, mode, _) in self.signals.items() if does is Sync.MEET or mode != CLUSTER}
        everywhere = {key for key in everywhere if self.signals[key][0] is not Sync.AWAIT}
        bodies = self.alternate(tokens, counts)
        for items in bodies if everywhere else ():
            self._everywhere(items, {key[2] for key in everywhere}, self.assumed)

    def _everywhere(self, items: list[Any], steps: set[int], facts: tuple[Number, ...], *, ranks: bool = False) -> bool:
        """True if some operation of `items` is among `steps`; loops around these have to run equally often in all
        blocks and vector cores, or in one block of all ranks."""
        found = False
        for item in items:
            if isinstance(item, Does):
                found |= id(item.step) in steps
                continue
            if isinstance(item, Chooses):
                if any(self._everywhere(arm, steps, facts, ranks=ranks) for arm in item.arms):
                    raise Fragment("operations on signals in branches are not followed")
                continue
            seen: list[Loop] = self.loops_seen.get(item.at, [])
            inside = tuple(both(x.k >= 0, x.k < times_of(x)) for x in seen)
            if not self._everywhere(item.body, steps, (*facts, *inside), ranks=ranks):
                continue
            found = True
            fixed = {s.get_id() for s in (*self.params.values(), self.total, NONE) if isinstance(s, z3.ExprRef)}
            if ranks:
                fixed = (fixed | {lifted(self.block).get_id()}) - {self.rank.get_id()}
            fixed |= {x.k.get_id() for x in self._around(item.at)}
            for x, y in product(seen, repeat=2):
                names = symbols([y.lower, y.upper, y.by, *facts]).items()
                others = [(s, z3.Int(f"{s}'")) for n, s in names if n not in fixed and not z3.is_bool(s)]
                same_facts = (*facts, *(renamed(f, others) for f in facts))
                if not self.solver.implied(same_facts, times_of(x) == lifted(renamed(times_of(y), others))):
                    who = "ranks wait for each other" if ranks else "all cores meet"
                    raise Fragment(f"a loop in which {who} may not run equally often everywhere", x.step)
        return found

    def _around(self, key: Any) -> Iterator[Loop]:
        """The loops around a loop."""
        core, context, _ = key
        for k, step in enumerate(context):
            yield from self.loops_seen.get((core, context[:k], step), ())

    def _overflows(self) -> None:
        """A core that gives a signal knows that others have waited for all but few of those before."""
        every = [
            (self.signal_at[access], instance)
            for access, found in self.found.instances.items()
            if access in self.signal_at
            for instance in found.values()
        ]
        for (does, number), given in every:
            if does is not Sync.SIGNAL:
                continue
            sent = number_of(does, number)
            bounds = [sent >= LIMIT]
            for stream in self.streams:
                if (stream.setter, stream.given) != (given.core, number):
                    continue
                if stream.mode != CLUSTER:
                    bounds.append(sent - number_of(Sync.AWAIT, stream.taken) >= LIMIT)
                    continue
                for back in self.streams:
                    if (back.setter, back.waiter, back.sub) == (stream.waiter, stream.setter, stream.sub):
                        heard = number_of(Sync.AWAIT, back.taken)
                        far = [
                            self._far(given, x, sent, heard, stream, back)
                            for count, x in every
                            if count == (Sync.SIGNAL, back.given) and x.core == back.setter
                        ]
                        bounds.append(either(heard == 0, *far))
            text = f"more than {LIMIT} signals of {given.step.name} may not have been waited for"
            self.suspect(Claim.FLAGS, "XFLAG-OVERFLOW", given.step, (*given.facts, *bounds), text)

    def _far(self, given: Instance, x: Instance, sent: Any, heard: Any, stream: Stream, back: Stream) -> Number:
        """The signal `x` is the last one that `given` comes after, and few have been waited for before it."""
        others = [pair for pair in self._others(x, keep=True) if not pair[0].eq(NONE)]
        names = {old.get_id(): new for old, new in others}
        mine, taken = number_of(Sync.SIGNAL, back.given), number_of(Sync.AWAIT, stream.taken)
        mine, taken = (names.get(s.get_id(), z3.Int(f"{s}'")) for s in (mine, taken))
        return both(*(renamed(f, others) for f in x.facts), mine == heard - 1, sent - taken >= LIMIT, taken >= 0)


def _counted(step: Step) -> Iterator[tuple[Sync, Any]]:
    """What a step may count: an id, also as a second vector core has it."""
    does = None if step.instr is None else step.instr.order.does
    if does is Sync.MEET:
        yield does, CORE_KINDS[step.attrs["core_type"]]
    elif does in SIGNALS:
        event = without_form(dict(zip(step.names, step.operands)).get("event", Data(None)))
        number = step.attrs.get("event_id", 0) if event == Data(None) else constant(event)
        if type(number) is int:
            yield from ((does, number), (does, number % SECOND_CORE))
