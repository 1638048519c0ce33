"""What mends a program: the smallest change of one statement that takes findings away and adds none.

Changes are proposed from the flags that have no partner, and from the accesses that race; each is judged by ordering
the launch once more with it (`replay`). What one change takes away has one cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import islice

from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..simulation.core import FlagKey, Item, WaitFlag, Work
from .addresses import PLACES, Addresses
from .candidates import Anchor, Candidate, Candidates, together
from .insertion import Insertion
from .race import Balance, Fix, Found, ProgramChange, Replayed
from .source_text import Statement

Key = tuple[str, Hashable]

PIPES = frozenset(("RACE-RAW", "RACE-WAR", "RACE-WAW", "RACE-INTRAPIPE"))
STUCK = frozenset(("DEADLOCK", "FLAG-ORDER"))
FLAGS = frozenset(("FLAG-UNMATCHED", "FLAG-REUSE", *STUCK))
MENDED = PIPES | FLAGS | set(PLACES)
"""Rules whose findings flags, barriers and other addresses mend."""

_TRIALS = 160  # changes that are tried for one finding
_ITEMS = 80_000  # items that are ordered again, for all
_MOVED = 100  # of them, those that move a flag, before new ones are tried
_NEAR = 16  # places that a flag is moved to
_RACES = 6  # races for which flags are proposed
_TOGETHER = 8  # changes that make one
_NEIGHBOURS = 4  # flags whose ids another one may be meant to have


@dataclass
class Cause:
    """A change that mends findings, and which they are, the first of them as the example. ``words``: what is wrong,
    where the findings do not say it."""

    fix: Fix
    keys: list[Key] = field(default_factory=list)
    words: str = ""


@dataclass
class Repairs:
    """The causes of findings, whose changes belong together, and the findings that no change has mended."""

    causes: list[Cause] = field(default_factory=list)
    unmended: set[Key] = field(default_factory=set)


def repair(
    insertion: Insertion,
    addresses: Addresses,
    items: Sequence[tuple[int, Item]],
    replay: Replayed,
    found: Iterable[Key],
) -> Repairs:
    """The causes of what was found in a launch whose cores issued `items`.

    ``replay`` orders them again with changes; ``found``: rule and key of each finding. What is in no cause and not
    unmended was not looked at.
    """
    return _Search(insertion, addresses, items, replay).repairs(set(found))


class _Search:
    def __init__(
        self, insertion: Insertion, addresses: Addresses, items: Sequence[tuple[int, Item]], replay: Replayed
    ) -> None:
        self.insertion, self.addresses, self.items, self.replay = insertion, addresses, items, replay
        self.candidates = Candidates(insertion.structure, items)
        self.changes: list[ProgramChange] = []
        self.left = _ITEMS

    def repairs(self, wanted: set[Key]) -> Repairs:
        outcome = self.replay(())
        now, causes = outcome.found, list[Cause]()
        self.given_up: set[Hashable] = set()
        while self.left > 0:
            target = next((key for key in _urgent(now) if _same(key) not in self.given_up), None)
            if target is None:
                break
            best = self._best(target, now) or self._several(target, now)
            if best is None:
                self.given_up.add(_same(target))
                continue
            candidate, later = best
            mended = [key for key in _gone(now, later) if key in wanted]
            self.changes.append(candidate.change)
            self.addresses.made(candidate)
            if mended:
                causes.append(Cause(candidate.fix, mended, candidate.cause))
            now = later
        done = {key for cause in causes for key in cause.keys}
        return Repairs(causes, {key for key in wanted - done if _same(key) in self.given_up})

    def _best(self, target: Key, now: Found) -> tuple[Candidate, Found] | None:
        """The change that takes `target` away and most of the rest; the first where several are as good."""
        self.balance = Balance(self.items, self.changes)
        before = self.balance.total
        known = set(map(_alike, now))
        best: tuple[int, Candidate, Found] | None = None
        trials = 0
        for candidate in self._proposed(target, now, before):
            if best is not None and candidate.last:
                break
            changes = [*self.changes, candidate.change]
            after, early = self.balance.after(candidate.change)
            if (after and after >= before) or early > self.balance.early:
                continue
            trials += 1
            self.left -= len(self.items)
            later = self.replay(changes).found
            alike = set(map(_alike, later))
            if target in _gone(now, later) and alike <= known:
                left = len(later)
                if best is None or left < best[0]:
                    best = left, candidate, later
                if not any(rule in MENDED and _same((rule, key)) not in self.given_up for rule, key in later):
                    break
            if trials >= _TRIALS or self.left <= 0:
                break
        return None if best is None else best[1:]

    def _several(self, target: Key, now: Found) -> tuple[Candidate, Found] | None:
        """Several changes that give flags their partners and together take `target` away."""
        known, changes = set(map(_alike, now)), list(self.changes)
        parts: list[Candidate] = []
        try:
            while len(parts) < _TOGETHER and self.left > 0:
                balance = self.balance = Balance(self.items, self.changes)
                tried = self._partners(*balance.single(), keep=True)
                weighed = ((balance.after(candidate.change), candidate) for candidate in tried)
                better = [(after[1], candidate) for after, candidate in weighed if after[0] < balance.total]
                if not better:
                    return None
                found = min(better, key=lambda each: each[0])[1]
                parts.append(found)
                self.changes.append(found.change)
                self.left -= len(self.items)
                later = self.replay(self.changes).found
                alike = set(map(_alike, later))
                if target in _gone(now, later) and alike <= known:
                    return together(parts), later
        finally:
            self.changes = changes
        return None

    # --- what may mend -------------------------------------------------------------------------------------------

    def _proposed(self, target: Key, now: Found, wrong: int) -> Iterator[Candidate]:
        if wrong and target[0] not in PLACES:
            yield from self._partners(*self.balance.single())
        rule, key = target
        lost = {frozenset(each) for name, each in now if name == "UB-OVERLAP" and isinstance(each, tuple)}
        if rule in PIPES or rule in PLACES:
            yield from self.addresses.candidates(rule, key, lost)
        if rule in STUCK:
            blocked = self.replay(self.changes).blocked
            keys = {item.key for item in blocked if isinstance(item, WaitFlag)}
            for statement in self._with(keys):
                yield from self._moves(statement, ())
        if rule in PIPES:
            races = [key, *(k for r, k in now if r in PIPES and k != key)][:_RACES]
            yield from islice((found for race in races for found in self._moved(race)), _MOVED)
            for race in races:
                yield from self._flagged(race, [other for r, other in now if r in PIPES])
            yield from self.addresses.candidates(rule, key, lost, meant=True)
            yield from self._stopped(key)

    def _with(self, keys: Iterable[FlagKey]) -> list[Statement]:
        """The statements that set one of some flags or wait for one."""
        wanted = set(keys)
        return [s for s in self.candidates.flags if self.candidates.keys(s) & wanted]

    def _partners(
        self, over: dict[FlagKey, None], under: dict[FlagKey, None], *, keep: bool = False
    ) -> Iterator[Candidate]:
        """Changes that give flags their partners: other ids, what is missing, what is too much, other places.
        ``keep``: none is left out or moved."""
        single = {**over, **under}
        made = self.candidates
        suspects = self._with(single)
        for statement in suspects:
            keys = made.keys(statement)
            wants = [k for k in (under if statement.flag == "set" else over) if k[:2] == made.pair(statement)]
            if not wants or not keys & set(over if statement.flag == "set" else under):
                continue
            for model in self._with(wants):
                number = made.like(model, statement)
                if number is not None and model is not statement and (found := made.rename(statement, number)):
                    yield found
            for key in wants:
                if (found := made.rename(statement, made.constant(key[2]))) is not None:
                    yield found
        first: list[Statement] = []
        rest: list[Statement] = []
        for key, verb in [*((k, "wait") for k in over), *((k, "set") for k in under)]:
            own = [s for s in self._with((key,)) if s.flag != verb]
            other = [s for s in self._with((key,)) if s.flag == verb]
            (first if len(own) > len(other) else rest).extend(own)
        for statement in dict.fromkeys(() if keep else first):
            if (found := made.remove(statement)) is not None:
                yield found
        for key, verb in [*((k, "wait") for k in over), *((k, "set") for k in under)]:
            yield from self._partner(key, verb)
        if keep:
            return
        for statement in dict.fromkeys(rest):
            if (found := made.remove(statement)) is not None:
                yield found
        for statement in suspects:
            near = sorted(made.flags, key=lambda s: (s.file != statement.file, abs(s.first - statement.first)))
            same = [s for s in made.flags if made.pair(s) == made.pair(statement)]
            for model in dict.fromkeys([*same, *near[: _NEIGHBOURS + 1]]):
                number = made.like(model, statement) if model is not statement else None
                if number is not None and (found := made.rename(statement, number)) is not None:
                    yield found
        for statement in suspects:
            yield from self._moves(statement, ())

    def _partner(self, key: FlagKey, verb: str) -> Iterator[Candidate]:
        """The missing set or wait, at every place that may be meant, the nearest first."""
        made = self.candidates
        partners = [s for s in self._with((key,)) if s.flag != verb]
        if not partners:
            return
        pipe = key[0] if verb == "set" else key[1]
        near = partners[0]
        places = [
            Anchor(statement, after)
            for statement in made.anchors(near.ops[0], {pipe})
            for after in (True, False)
            if statement.file == near.file
        ]
        # The set follows its producer, the wait precedes its consumer.
        places.sort(key=lambda a: (a.after is not (verb == "set"), min(_apart(a, p, verb) for p in partners)))
        for anchor in places:
            ids = [made.like(model, anchor.statement) for model in partners]
            if anchor.statement.flag:
                ids.append(made.like(anchor.statement, anchor.statement))
            ids.append(made.constant(key[2]))
            texts = set()
            for number in ids:
                if number is not None and number.text not in texts:
                    texts.add(number.text)
                    if (found := made.insert(verb, key[:2], number, anchor)) is not None:
                        yield found

    def _moves(self, statement: Statement, first: Sequence[Anchor]) -> Iterator[Candidate]:
        """A flag at other places, the nearest first."""
        made = self.candidates
        places = [
            Anchor(other, after)
            for other in made.anchors(statement.ops[0], set(made.pair(statement) or ()))
            for after in (True, False)
            if other is not statement and other.file == statement.file
        ]
        places.sort(key=lambda a: abs(a.line - statement.first))
        for anchor in [*first, *places[:_NEAR]]:
            if (found := made.move(statement, anchor)) is not None:
                yield found

    def _sides(self, race: Hashable) -> tuple[Work, Work] | None:
        """The two accesses of a race."""
        assert isinstance(race, tuple)
        p, q = self._pipe(race[0]), self._pipe(race[1])
        return None if p is None or q is None else (Work(race[0], "", p), Work(race[1], "", q))

    def _moved(self, race: Hashable) -> Iterator[Candidate]:
        """A flag of the pipes of two accesses moved between them."""
        sides = self._sides(race)
        if sides is None:
            return
        structure, made = self.insertion.structure, self.candidates
        a, b = (structure.outside(side.op) for side in sides)
        p, q = (side.pipe for side in sides)
        ends: dict[str, list[Anchor]] = {"set": [], "wait": []}
        for op, verb in ((a, "set"), (b, "wait")):
            for outer, _ in structure.chain(op):
                statement = structure.statement(outer)
                if statement is not None and statement.alone:
                    ends[verb].append(Anchor(statement, verb == "set"))
        related = [s for s in made.flags if made.pair(s) == (p, q)]
        for statement in related:
            for anchor in ends[statement.flag][:2]:
                if (found := made.move(statement, anchor)) is not None:
                    yield found
        for statement in related:
            yield from self._moves(statement, ())

    def _flagged(self, race: Hashable, others: Sequence[Hashable]) -> Iterator[Candidate]:
        """A new flag that orders two accesses, and what it can of others."""
        sides = self._sides(race)
        if sides is None or sides[0].pipe is sides[1].pipe:
            return
        structure, made = self.insertion.structure, self.candidates
        fix = self.insertion.fix(*sides, filter(None, map(self._sides, others)))
        if fix.steps[0].verb == "barrier":
            return
        if fix.edits:
            yield made.steps(fix)
            return
        # Several operations come from one statement: each gets the flag.
        first, second = (structure.statement(structure.outside(side.op)) for side in sides)
        if first is not None and second is not None and first.alone and second.alone:
            pipes, number = (sides[0].pipe, sides[1].pipe), made.constant(fix.steps[0].number)
            parts = [
                made.insert("set", pipes, number, Anchor(first, True)),
                made.insert("wait", pipes, number, Anchor(second, False)),
            ]
            found = [part for part in parts if part is not None]
            if len(found) == len(parts):
                yield together(found)

    def _stopped(self, race: Hashable) -> Iterator[Candidate]:
        """A barrier between two accesses."""
        sides = self._sides(race)
        if sides is None:
            return
        a, b = sides
        pipe = a.pipe if a.pipe is b.pipe else Pipe.ALL
        fix = self.insertion.barrier(pipe, b.op)
        statement = self.insertion.structure.statement(self.insertion.structure.outside(b.op))
        if fix.edits:
            yield self.candidates.steps(fix)
        elif statement is not None and statement.alone:
            found = self.candidates.barrier(pipe, Anchor(statement, False))
            if found is not None:
                yield found

    def _pipe(self, op: Op) -> Pipe | None:
        """The pipe of an instruction that raced."""
        return next((item.pipe for _, item in self.items if item.op is op and isinstance(item, Work)), None)


def _apart(anchor: Anchor, partner: Statement, verb: str) -> tuple[bool, int]:
    """How far a place is from the other half of a flag: a wait follows its set, also by way of the next iteration."""
    distance = anchor.line - partner.last - 1 if verb == "wait" else partner.first - anchor.line
    return distance < 0, abs(distance)


def _gone(now: Found, later: Found) -> list[Key]:
    """The findings that a change takes away. One that only takes another form is still there: a race of the same two
    instructions, the other way round."""
    before, after = Counter(map(_alike, now)), Counter(map(_alike, later))
    same = set(map(_same, later))
    return [key for key in now if _same(key) not in same and after[_alike(key)] < before[_alike(key)]]


def _same(key: Key) -> Hashable:
    """What tells findings apart within one order: being stuck is one."""
    return "DEADLOCK" if key[0] in STUCK else key


def _alike(key: Key) -> Hashable:
    """What two findings have in common that count as the same before and after a change."""
    rule, what = key
    if rule in STUCK:
        return "DEADLOCK"
    if rule in PIPES and isinstance(what, tuple):
        return frozenset(what[:2]), what[2:4]
    return key


def _urgent(found: Found) -> list[Key]:
    """Findings that can be mended, in the order in which to look at them: about flags themselves, places, races."""
    return [key for rules in (FLAGS, PLACES, PIPES) for key in found if key[0] in rules]
