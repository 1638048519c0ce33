"""Which of several ways to order a program takes the least time, and what may be left out of one that has flags."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, NamedTuple

from ptokit.ir.core import Op
from ptokit.ir.facts import constant_of, instr_of
from ptokit.isa.order.sync_rules import flag_pipes, held_pipe
from ptokit.isa.table import Sync
from ptokit.records import dataclass
from ptokit.sanitize.findings.source_text import Statement, Structure, first_line, issues
from ptokit.types.enums import Pipe

from .dependences import Barrier, Flag, Order, Placed, suffices
from .numbering import Numbering, rotate
from .timer import Timer, identity

MOST_MERGES = 16
"""So many ways to merge flags are timed where ids run out."""

MOST_TIMED = 64
"""So many ways to merge flags of a program are timed."""

ENOUGH = 1e-4
"""A share of the time below which nothing is lost: the model leaves out iterations that repeat others."""

# Flags that are merged where that costs no time.


def joined(a: Flag, b: Flag, structure: Structure) -> Flag | None:
    """The flag that orders what both do, None if they have no place for one."""
    alike = (a.core, a.pipes, a.around, a.home) == (b.core, b.pipes, b.around, b.home)
    if not alike or a.block is not b.block or a.at_once or b.at_once:
        return None
    after = max((a.after, b.after), key=structure.index)
    before = min((a.before, b.before), key=structure.index)
    if a.around is None and structure.index(after) >= structure.index(before):
        return None
    return replace(a, after=after, before=before, depth=min(a.depth, b.depth), needed=None)


def merged(placed: Placed, timer: Timer) -> Placed:
    """Flags merged where the launch takes no longer, the ones that lie closest first."""
    best = timer.cycles(placed)
    refused: set[Hashable] = set()
    last = timer.timed + MOST_TIMED
    merging = True
    while merging:
        merging = False
        for _, a, b, one in _pairs(placed.flags, timer.structure):
            key = identity(a), identity(b)
            if key in refused or timer.timed >= last:
                continue
            tried = Placed([one if x is a else x for x in placed.flags if x is not b], placed.barriers, placed.widened)
            merging = timer.cycles(tried) <= best * (1 + ENOUGH)
            if merging:
                placed = tried
                break
            refused.add(key)
    return placed


def _pairs(flags: Sequence[Flag], structure: Structure) -> Iterator[tuple[int, Flag, Flag, Flag]]:
    """Pairs of flags that may be one, and that one, with how far they lie apart: the closest first."""
    found = []
    for k, a in enumerate(flags):
        for b in flags[k + 1 :]:
            one = joined(a, b, structure)
            if one is not None:
                apart = abs(structure.index(a.after) - structure.index(b.after))
                apart += abs(structure.index(a.before) - structure.index(b.before))
                found.append((apart, a, b, one))
    yield from sorted(found, key=lambda entry: entry[0])


# Flags that the others make superfluous.


def reduced(order: Order, placed: Placed) -> Placed:
    """Without flags that the others make superfluous: those of loops first, then those that lie far apart."""
    flags = list(placed.flags)
    if not order.whole or suffices(order, flags, placed.barriers) is not None:
        return placed
    for flag in list(flags):
        while flag in flags and flag.around is not None:
            outer = next((x for x in flags if _takes_along(x, flag)), None)
            if outer is None:
                break
            rest, before = [x for x in flags if x is not outer], flag.around
            flag.around = outer.around
            if suffices(order, rest, placed.barriers) is not None:
                flag.around = before
                break
            flags = rest
    numbered = {op: k for block in {id(f.block): f.block for f in flags}.values() for k, op in enumerate(block.ops)}
    for flag in sorted(flags, key=lambda f: (f.around is None, numbered[f.after] - numbered[f.before])):
        rest = [other for other in flags if other is not flag]
        flag.needed = suffices(order, rest, placed.barriers)
        flags = rest if flag.needed is None else flags
    return Placed(flags, placed.barriers, placed.widened)


def _takes_along(outer: Flag, inner: Flag) -> bool:
    """True if a flag of a loop may be one with that of a loop in it."""
    alike = outer is not inner and outer.pipes == inner.pipes and outer.core == inner.core
    alike = alike and outer.depth == inner.depth == 1  # ids in rotation begin anew with the inner loop
    return alike and outer.around is not None and inner.around in outer.block.ops


# One flag in place of two where control flow is straight: fewer waits, and more that waits for more.


def one_for_two(order: Order, placed: Placed) -> Placed:
    """With a flag from P to R in place of one from P to Q and one from Q to R that begins no later, if that orders all.

    So it is where tiles are used again: what R waits for of Q is over when what P waited for is. In loops the two stay:
    there the one would keep the next iteration from starting.
    """
    flags = list(placed.flags)
    while (less := _one_less(order, placed, flags)) is not None:
        flags = less
    if len(flags) < len(placed.flags):
        for flag in flags:
            flag.needed = suffices(order, [other for other in flags if other is not flag], placed.barriers)
    return Placed(flags, placed.barriers)


def _one_less(order: Order, placed: Placed, flags: Sequence[Flag]) -> list[Flag] | None:
    if any(flag.needed is None for flag in flags):
        return None
    straight = [flag for flag in flags if flag.home is None and flag.around is None and not flag.at_once]
    places: dict[Op, int] = {op: k for flag in straight for k, op in enumerate(flag.block.ops)}
    for back in straight:
        for on in straight:
            if on.block is not back.block or back.pipes[0] is not on.pipes[1] or back.pipes[1] is on.pipes[0]:
                continue
            begin, end = places[back.after], places[back.before]
            if not begin <= places[on.after] < end <= places[on.before]:
                continue
            pipes = on.pipes[0], back.pipes[1]
            one = Flag(pipes, back.core, back.block, on.after, back.before, needed=back.needed)
            rest = [one if flag is back else flag for flag in flags if flag is not on]
            if suffices(order, rest, placed.barriers) is None:
                return rest
    return None


# Flags of inner loops that outer ones carry.


def lengthened(order: Order, placed: Placed, numbering: Numbering) -> Placed:
    """Flags of inner loops set before an outer loop and waited for after it instead, where that orders all and ids do.

    So pipes wait less often, and no flag is set again before it was waited for: nothing orders the last wait after an
    inner loop before the set with which it begins the next time.
    """
    structure = numbering.structure
    for flag in placed.flags if order.whole else ():
        while flag.around is not None and flag.depth == 1:
            before = flag.around
            outer = structure.loop(structure.block(before))
            if outer is None:
                break
            flag.around = outer
            if (
                suffices(order, placed.flags, placed.barriers) is not None
                or numbering.lacking(placed.flags) is not None
            ):
                flag.around = before
                break
    return placed


# Flags that may be set again before the wait for the last time has come.


class Reuse(Order):
    """Finds them: a flag is one bit, and its source may be ahead of its destination.

    ``single``: loops that run at most once; ``early``: the flags that are found, and at what.
    """

    def __init__(self, *args: Any, single: set[Op]) -> None:
        super().__init__(*args)
        self.single = single
        self.early: dict[Flag, set[str]] = {}

    def found(self, flags: Sequence[Flag], barriers: Sequence[Barrier]) -> dict[Flag, set[str]]:
        """What may be set too early, and whether when it is "set" or set first, before a loop ("prime")."""
        self.early = {}
        self.check(flags, barriers)
        return self.early

    def _do(self, verb: str, k: int, state: Any) -> None:
        if verb == "barrier" or ((flag := self.flags[k]).depth > 1 and verb in ("set", "wait")):
            super()._do(verb, k, state)  # where ids rotate, as many iterations are between
            return
        (p, q), wait = flag.pipes, -1 - k  # a wait is like an access
        if verb in ("set", "prime"):
            if verb in flag.told:
                self._told(state, p, dict(state.unknown[q]))
            elif wait in state.unknown[p]:
                self.early.setdefault(flag, set()).add(verb)
        super()._do(verb, k, state)
        if verb in ("wait", "drain") and q is not Pipe.S:
            for ages in state.everything():
                if ages is not state.unknown[q]:
                    ages[wait] = (1,)

    def _loop(self, node: Any, entry: Any) -> Any:
        if node.op not in self.single:
            return super()._loop(node, entry)
        end = self._go(node.regions[0], entry.copy())
        return end if node.certain else entry.join(end)


def tell(order: Reuse, placed: Placed) -> None:
    """Have the sources of flags told of waits where nothing else does."""
    flags, barriers = placed.flags, placed.barriers
    for flag in flags:
        flag.told = frozenset()
    if not order.whole or suffices(order, flags, barriers) is not None:
        return
    while early := order.found(flags, barriers):
        for flag, verbs in early.items():
            flag.told |= verbs
    for flag in flags:
        for verb in sorted(flag.told):
            flag.told -= {verb}
            if order.found(flags, barriers):
                flag.told |= {verb}


def least(order: Reuse, placed: Placed, numbering: Numbering, fewest: bool, alone: bool) -> Placed:
    """Flags of one kind of core without superfluous ones, told of waits where that is needed.

    ``fewest``: also where others then wait for more; ``alone``: the program has no flags of its own; it is not
    known here what those order.
    """
    found = reduced(order, placed)
    found = lengthened(order, one_for_two(order, found) if fewest else found, numbering)
    if alone:
        tell(order, found)
    return found


# Ids that run out.


class Widening(NamedTuple):
    """A way to need fewer ids: the flags then, those that it is about, and what it is in words, the narrowest first."""

    flags: list[Flag]
    kind: int
    apart: int
    about: Flag
    words: str


def fitted(placed: Placed, timed: Callable[[], Timer], numbering: Numbering) -> None:
    """Let flags order more until there are ids for all, each time what costs least, and of that the narrowest.

    ``timed``: what times them, which is asked for where ids run out.
    """
    while (held := numbering.lacking(placed.flags)) is not None:
        timer, group = timed(), [flag for *_, flag in held]
        before = timer.cycles(placed)
        ways = [
            (round(timer.cycles(Placed(way.flags, placed.barriers)) / before / ENOUGH), *way[1:3], k, way)
            for k, way in enumerate(_widenings(placed.flags, group, timer.structure))
        ]
        if not ways:
            break
        *_, way = min(ways, key=lambda entry: entry[:4])
        placed.flags = way.flags
        after = timer.cycles(placed)
        cost = f"{after - before:.0f} of {before:.0f} cycles" if after > before * (1 + ENOUGH) else "nothing"
        p, q = (pipe.text for pipe in way.about.pipes)
        placed.widened.append(f"event ids from {p} to {q} run out: {way.words}; that costs {cost}")


def _widenings(flags: Sequence[Flag], group: Sequence[Flag], structure: Structure) -> Iterator[Widening]:
    for apart, a, b, one in islice(_pairs(group, structure), MOST_MERGES):
        lines = sorted({first_line(flag.before) for flag in (a, b)})
        words = f"one flag for those that are waited for before lines {lines[0]} and {lines[-1]}"
        yield Widening([one if x is a else x for x in flags if x is not b], 0, apart, a, words)
    for flag in group:
        line = first_line(flag.before)
        if flag.at_once:
            continue
        if flag.depth > 1 and flag.around is not None:
            less, words = replace(flag, depth=flag.depth - 1), f"{flag.depth - 1} iterations under way at the wait"
            kind = 1
        else:
            less = replace(flag, at_once=True, around=None, depth=1)
            kind, words = 2, "the flag is set where it is waited for,"
        others = [less if x is flag else replace(x) if kind == 1 else x for x in flags]
        if kind == 1:
            rotate(others)
        yield Widening(others, kind, 0, flag, f"{words} before line {line}")


# What may be superfluous.


@dataclass(frozen=True, eq=False)
class Group:
    """Statements that order pipes, and are in a program together or not at all."""

    what: str
    statements: tuple[Statement, ...]

    def shares(self, statements: Iterable[Statement]) -> bool:
        """True if it has one of these."""
        return any(statement in self.statements for statement in statements)


def operations(statements: Iterable[Statement]) -> frozenset[Op]:
    """The operations of some statements."""
    return frozenset(op for statement in statements for op in statement.ops)


def _orders(op: Op) -> bool:
    instr = instr_of(op)
    return instr is not None and instr.order.only


def removable(structure: Structure, core: str, file: str) -> Iterator[Group]:
    """What may be superfluous: barriers, all of a flag or token, a flag that is waited for in its own block."""
    keyed: dict[tuple[Any, ...], list[Statement]] = {}
    for statement in structure.statements:
        for op in statement.ops:
            instr = instr_of(op)
            whole = statement.alone and (statement.file == file or not op.in_cpp)
            if instr is None or not whole or not instr.order.only or instr.order.between_cores:
                continue
            if any(issues(other) and not _orders(other) for other in statement.ops):  # events of an instruction
                continue
            does = instr.order.does
            if does is Sync.BARRIER:
                held = held_pipe(op.attrs, core)
                yield Group(f"the barrier of {'all pipes' if held in (None, Pipe.ALL) else held.text}", (statement,))
            elif does in (Sync.SET, Sync.WAIT):
                src, dst = flag_pipes(op.attrs, core)
                event = op.get("event")
                number = op.attrs.get("event_id", 0) if event is None else constant_of(event)
                if src is not None and dst is not None:
                    keyed.setdefault((f"the flag {src.text} to {dst.text}", number), []).append(statement)
            elif does in (Sync.TAKE, Sync.RELEASE):
                number = op.attrs.get("id") if op.get("buf") is None else None
                keyed.setdefault(("the token", number), []).append(statement)
            break
    for (what, number), statements in keyed.items():
        like = [s for (other, n), each in keyed.items() if other == what and None in (n, number) for s in each]
        every = dict.fromkeys([*statements, *like])
        yield Group(what, tuple(sorted(every, key=lambda s: (s.file, s.first))))
        for one, other in pairwise(statements):
            alike = structure.block(one.ops[0]) is structure.block(other.ops[0])
            if alike and (one.flag, other.flag) == ("set", "wait") and len(statements) > 2:
                yield Group(what, (one, other))
