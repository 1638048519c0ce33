"""All executions that the memory model allows of a small program, one after the other (memory-model-and-sync 5, 6).

A machine without time: the scalar stream of each core issues steps to pipes, a pipe carries out its steps one after the
other, and whatever may happen next is tried in every order. All that is known here about order is which single steps
may happen next in a given state; there are no clocks and no relation of events.

Only steps that touch memory are tried in every order. Issuing, flags, barriers, tokens and signals happen as soon as
they can: they read and write nothing, and none of them can keep another step from happening. (``eager=False`` tries
their orders, too.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

State = tuple[int, tuple[int, ...]]  # steps that have happened, as bits; steps that each scalar stream has passed

IN_ORDER = {"a2a3": {"S", "M", "FIX", "MTE1"}, "a5": {"S", "V", "M", "FIX", "MTE1"}}
"""Pipes that keep the order of their instructions by themselves in profile mode."""


class TooLarge(Exception):
    """More states than the caller wants to see."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a core's program. ``reads`` and ``writes`` are sets of places, as bits.

    ``kind``: work, set, wait, barrier, get, rls, signal, await, sync (the scalar unit waits for the works ``of``), or
    arrive (the scalar unit has waited for all before it) and join (for all cores to arrive).
    ``key`` is the flag, token or event. ``pipe`` is the one that carries it out.
    """

    kind: str
    pipe: str
    line: int
    reads: int = 0
    writes: int = 0
    atomic: bool = False
    key: tuple[object, ...] = ()
    of: tuple[int, ...] = ()  # indices in the core's program


@dataclass
class Found:
    """What some execution shows."""

    races: set[tuple[str, int, int]] = field(default_factory=set)  # (rule, line of the first, line of the second)
    unwritten: set[int] = field(default_factory=set)  # lines that read unwritten places in every execution
    perhaps_unwritten: set[int] = field(default_factory=set)  # ... in some execution
    ends: set[State] = field(default_factory=set)
    states: int = 0


def mixed(*parts: object) -> int:
    """A hash whose sums are as good as itself; those of Python's tuples are not."""
    h = hash(parts) & ((1 << 64) - 1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ h >> shift) * factor & ((1 << 64) - 1)
    return h ^ h >> 31


class Explorer:
    """The programs of all cores, from the lowest. ``given``: places that are initialised at the start.

    Cores are blocks that signal to all others, or with ``cluster`` a cube core and its two vector cores.
    """

    def __init__(
        self,
        programs: Sequence[Sequence[Step]],
        target: str,
        *,
        profile: bool,
        given: int,
        cluster: bool = False,
        eager: bool = True,
    ) -> None:
        self.steps = [step for program in programs for step in program]
        self.core = [c for c, program in enumerate(programs) for _ in program]
        self.first = [0]
        for program in programs:
            self.first.append(self.first[-1] + len(program))
        self.target, self.given, self.cluster, self.eager = target, given, cluster, eager
        self.held = -1  # a step that does not happen
        self.free = set() if not profile else {"V", "MTE1", "MTE2", "MTE3", "M", "FIX"} - IN_ORDER[target]
        self.need = [self._needed(j) for j in range(len(self.steps))]  # -1: never
        self.conflicts = [self._conflicting(j) for j in range(len(self.steps))]

    # --- what must have happened before a step, whatever the flags say --------------------------------------------

    def _queue(self, j: int) -> str:
        """The queue a step stands in: its pipe's, the posted writes of the scalar unit, or "" for the stream itself."""
        step = self.steps[j]
        if step.pipe == "S":
            posted = step.kind == "set" or (step.kind == "work" and step.writes)
            return "posted" if posted else ""
        if step.pipe == "ALL" or step.kind == "sync" or (step.kind == "await" and self.target == "a2a3"):
            return ""
        return step.pipe

    def _needed(self, j: int) -> int:
        step, queue = self.steps[j], self._queue(j)
        bits = 0
        earlier = range(self.first[self.core[j]], j)
        if queue:
            holds = ("wait", "await", "get", "barrier")
            for i in earlier:
                if self._queue(i) == queue:
                    loose = queue in self.free and not (
                        self.steps[i].kind in holds or step.kind in ("set", "rls", "signal", "barrier")
                    )
                    if not loose:
                        bits |= 1 << i
        if step.kind in ("barrier", "arrive") and step.pipe == "ALL":
            bits = sum(1 << i for i in earlier)
        if step.kind == "sync":  # by a hidden flag after the work, which covers what its pipe did before
            for i in step.of:
                work = self.first[self.core[j]] + i
                bits |= 1 << work | sum(1 << k for k in earlier if k < work and self._queue(k) == self._queue(work))
        if step.kind == "get":
            for i in earlier:
                if self.steps[i].kind == "get" and self.steps[i].key == step.key:
                    given_back = self._release(i)
                    if given_back is None:
                        return -1
                    bits |= 1 << given_back
        return bits

    def _release(self, get: int) -> int | None:
        """The step that gives a token back."""
        core = self.core[get]
        for i in range(get + 1, self.first[core + 1]):
            step = self.steps[i]
            if step.kind == "rls" and step.key == self.steps[get].key and step.pipe == self.steps[get].pipe:
                return i
        return None

    def _conflicting(self, j: int) -> int:
        return sum(1 << i for i in range(len(self.steps)) if i != j and self.classes(min(i, j), max(i, j)))

    def classes(self, i: int, j: int) -> set[str]:
        """How two steps conflict: RAW, WAR, WAW."""
        a, b = self.steps[i], self.steps[j]
        if self.core[i] == self.core[j] and a.pipe == b.pipe == "S":
            return set()  # one unit, which sees its own posted writes
        out = set()
        if a.writes & b.reads:
            out.add("RAW")
        if a.reads & b.writes:
            out.add("WAR")
        if a.writes & b.writes and not (a.atomic and b.atomic):
            out.add("WAW")
        return out

    # --- the machine ---------------------------------------------------------------------------------------------

    def start(self) -> State:
        return self._settle((0, tuple(self.first[:-1])))

    def possible(self, state: State) -> Iterator[int]:
        """The steps that may happen next."""
        done, passed = state
        for core, at in enumerate(passed):
            if at < self.first[core + 1] and not self._queue(at) and self._enabled(at, done):
                yield at
            for j in range(self.first[core], at):
                if not done >> j & 1 and self._enabled(j, done):
                    yield j

    def _enabled(self, j: int, done: int) -> bool:
        need = self.need[j]
        if need < 0 or need & ~done or j == self.held:
            return False
        step = self.steps[j]
        match step.kind:
            case "wait":
                core = self.core[j]
                return self._count("set", core, step.key, done) > self._count("wait", core, step.key, done)
            case "await":
                waited = self._count("await", self.core[j], step.key, done)
                return all(self._count("signal", *sender, done) > waited for sender in self._senders(j))
            case "join":
                joined, cores = self._count("join", self.core[j], step.key, done), range(len(self.first) - 1)
                return all(self._count("arrive", core, step.key, done) > joined for core in cores)
            case _:
                return True

    def _senders(self, j: int) -> list[tuple[int, tuple[object, ...]]]:
        """The cores that a step waits for, each with what it calls the signal."""
        core, key = self.core[j], self.steps[j].key
        if not self.cluster:
            return [(c, key) for c in range(len(self.first) - 1)]
        if self.target == "a2a3":
            return [(0, key)] if core else [(1, key), (2, key)]
        (event,) = key
        assert isinstance(event, int)  # 0..15 the first vector core, 16..31 the second
        return [(0, (event + 16 * (core - 1),))] if core else [(1 + event // 16, (event % 16,))]

    def _count(self, kind: str, core: int, key: tuple[object, ...], done: int) -> int:
        """How often it has happened."""
        steps = range(self.first[core], self.first[core + 1])
        return sum(1 for i in steps if done >> i & 1 and self.steps[i].kind == kind and self.steps[i].key == key)

    def after(self, state: State, j: int) -> State:
        """The state after a step that may happen."""
        done, passed = state
        if not self._queue(j):
            passed = tuple(at + 1 if core == self.core[j] else at for core, at in enumerate(passed))
        return self._settle((done | 1 << j, passed))

    def _settle(self, state: State) -> State:
        """Issue what can be issued, and let everything happen that touches no memory."""
        moved = True
        while moved:
            moved = False
            done, passed = state
            for core, at in enumerate(passed):
                while at < self.first[core + 1] and self._queue(at):
                    at += 1
                    moved = True
                passed = (*passed[:core], at, *passed[core + 1 :])
            state = done, passed
            if not self.eager:
                return state
            for j in self.possible(state):
                if self.steps[j].kind != "work":
                    done, passed = state
                    if not self._queue(j):
                        passed = tuple(at + 1 if core == self.core[j] else at for core, at in enumerate(passed))
                    state = done | 1 << j, passed
                    moved = True
                    break
        return state

    def may_precede(self, j: int, other: int) -> bool:
        """True if a step happens before another one in some execution: if it happens while the other is held back."""
        self.held = other
        state = self.start()
        while steps := list(self.possible(state)):
            state = self.after(state, steps[0])
        self.held = -1
        return bool(state[0] >> j & 1)

    # --- every execution -----------------------------------------------------------------------------------------

    def explore(self, limit: int = 4000) -> Found:
        """Go through all states. Raises `TooLarge` if there are more than `limit`."""
        found = Found()
        pairs: set[tuple[int, int]] = set()
        bad: set[int] = set()
        good: set[int] = set()
        seen = {self.start()}
        stack = list(seen)
        while stack:
            state = stack.pop()
            steps = list(self.possible(state))
            together = sum(1 << j for j in steps)
            for j in steps:
                both = self.conflicts[j] & together
                while both:
                    low = both & -both
                    pairs.add((min(j, low.bit_length() - 1), max(j, low.bit_length() - 1)))
                    both ^= low
                if self.steps[j].kind == "work":
                    (bad if self._lacking(j, state) else good).add(j)
                nxt = self.after(state, j)
                if nxt not in seen:
                    if len(seen) >= limit:
                        raise TooLarge
                    seen.add(nxt)
                    stack.append(nxt)
            if not steps:
                found.ends.add(state)
        for i, j in pairs:
            self._name(i, j, found)
        found.unwritten = {self.steps[j].line for j in bad - good}
        found.perhaps_unwritten = {self.steps[j].line for j in bad}
        found.states = len(seen)
        return found

    def _name(self, i: int, j: int, found: Found) -> None:
        a, b = self.steps[i], self.steps[j]
        for kind in self.classes(i, j):
            if self.core[i] != self.core[j]:
                rule = f"RACE-XCORE-{kind}"
            elif a.pipe == b.pipe:
                rule = "RACE-INTRAPIPE"
            else:
                rule = f"RACE-{kind}"
            found.races.add((rule, a.line, b.line))

    def _lacking(self, j: int, state: State) -> int:
        """Places that a step reads and nothing has written."""
        step = self.steps[j]
        written = self.given
        for i, other in enumerate(self.steps):
            own = other.pipe == step.pipe == "S" and self.core[i] == self.core[j] and i < j
            if state[0] >> i & 1 or own:
                written |= other.writes
        return (step.reads | (step.writes if step.atomic else 0)) & ~written

    @property
    def complete(self) -> int:
        """The bits of all steps."""
        return (1 << len(self.steps)) - 1

    # --- values --------------------------------------------------------------------------------------------------

    def results(self, enough: int = 2, limit: int = 20000) -> tuple[int, int]:
        """(number of different executions, number of different final memories), counted up to `enough` and over at
        most `limit` states.

        Every value is the hash of the step that made it and of all values it was made from. Two executions are the
        same if every step has read the same values and has overwritten the same ones.
        """
        atoms = self._atoms()
        memory = tuple(mixed(-1, n) for n in range(len(atoms)))
        beginning = (self.start(), memory, 0)
        seen, stack = {beginning}, [beginning]
        traces, memories = set(), set()
        while stack and len(seen) < limit:
            state, memory, trace = stack.pop()
            steps = list(self.possible(state))
            if not steps:
                traces.add(trace)
                memories.add(memory)
                if len(memories) >= enough:
                    break
            for j in steps:
                new, told = self._perform(j, state, memory, atoms)
                nxt = (self.after(state, j), new, (trace + told) % (1 << 61))
                if nxt not in seen:
                    seen.add(nxt)
                    stack.append(nxt)
        return min(len(traces), enough), min(len(memories), enough)

    def _atoms(self) -> list[int]:
        """The places, split so that no step touches one only in part."""
        atoms = [0]
        for step in self.steps:
            for places in (step.reads, step.writes):
                rest = places
                for part in atoms:
                    rest &= ~part
                atoms = [p for a in atoms for p in (a & places, a & ~places) if p]
                atoms += [rest] if rest else []
        return atoms

    def _perform(self, j: int, state: State, memory: tuple[int, ...], atoms: list[int]) -> tuple[tuple[int, ...], int]:
        """(memory afterwards, what the step saw)."""
        step = self.steps[j]
        if step.kind != "work":
            return memory, 0
        own = {}  # what the scalar unit has posted, and sees itself
        if step.pipe == "S" and not step.writes:
            for i in range(self.first[self.core[j]], j):
                if self.steps[i].pipe == "S" and self.steps[i].writes and not state[0] >> i & 1:
                    for n, places in enumerate(atoms):
                        if places & self.steps[i].writes:
                            own[n] = mixed(i, (), n)
        seen = tuple(own.get(n, memory[n]) for n, places in enumerate(atoms) if places & step.reads)
        lost = () if step.atomic else tuple(memory[n] for n, places in enumerate(atoms) if places & step.writes)
        out = list(memory)
        for n, places in enumerate(atoms):
            if places & step.writes:
                value = mixed(j, seen, n)
                out[n] = (memory[n] + value) % (1 << 61) if step.atomic else value
        return tuple(out), mixed(j, seen, lost)
