"""Waits for what comes later in the text, or from another rank.

A pipe may wait for a flag that is set later in the text. The scalar unit goes on, and the pipe has a queue of what
comes after its wait. That is executed once the flag is set, each pipe in its own order, as a device does it. One such
order is enough: no pipe takes from another what it may do. Where the scalar unit depends on what is queued, or an
iteration ends before it is executed, the program is gone through once more in the order of its text, in which such a
wait is suspected never to end.

All ranks run one program. A rank counts its notifications and its waits for those of another rank; wait number n needs
notification number n, and is over then only. So it orders accesses of both as a signal between cores does. That no wait
is for ever follows if every rank has given number n before it waits for that: the ranks can go on side by side.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import z3

from ptokit.plan.steps import Step
from ptokit.records import dataclass
from ptokit.types.enums import CmpMode, NotifyOp, Pipe

from .claims import Found, Fragment, Instance
from .numbers import Number, both, either, is_number, key_of, lifted, negated, renamed, simple
from .places import Touch, View, of_view, overlap
from .ranges import element_of
from .report import Claim
from .signals import TOLD, Signals, number_of
from .state import Body, Ended, FlagKey, Queued, State, older


class _Late(Exception):
    """Something in a queue would have to be executed now."""


# Notifications between ranks.


VALUE = z3.Int("value#")
"""What a notification says, or a wait waits for."""

_COMPARE = {CmpMode[name.upper()]: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


@dataclass(frozen=True, slots=True)
class Round:
    """Notifications through the array `window`, which is `array` of the rank `by` further on, and the waits there.

    ``told``, ``heard``: the counts of steps that notify and wait.
    """

    window: str
    array: str
    by: int
    told: tuple[Any, ...]
    heard: tuple[Any, ...]


def _sum(counts: Sequence[Any]) -> Any:
    return z3.Sum(*(number_of(*count) for count in counts))


class Ranks(Signals):
    """Goes through notifications between ranks. ``rounds``: those that make an order."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.rounds: list[Round] = []
        super().__init__(*given, **options)

    def notified(self, step: Step, state: State, given: Mapping[str, Any], tells: bool) -> None:
        """A notification of another rank, or a wait for one."""
        signal, value = given.get("signal"), given.get("value")
        if not isinstance(signal, View):
            raise Fragment(f"the signals of {step.name} are not followed", step)
        facts, count = state.facts, self.notices.get(id(step))
        state.facts = (*facts, lifted(value) == VALUE) if is_number(value) else facts
        self.access(step, state, Pipe.S, [of_view(signal, tells, TOLD)])
        state.facts = facts
        if count is not None:
            around = {id(loop.step) for loop in self.loops}
            access = self._accesses[self.core, tuple(n for n in self.context if n not in around), id(step)]
            self.signal_at[access] = count
            self.told_at[self.core, self.context, id(step)] = count
            state.values[count] = simple(lifted(state.values[count]) + 1)
        if tells:
            state.drained()

    def together(self) -> None:
        super().together()
        if not self.told_at:
            return
        try:
            self.rounds = list(self._rounds())
            self._alike()
        except Fragment as fragment:
            self.leave_open(Claim.FLAGS, fragment.reason, fragment.step)

    def _home(self, space: Any) -> tuple[str, int]:
        """The array that one of another rank is, and how much further on that rank is."""
        return self.windows.get(space[1], (space[1], 0))

    def _touching(self, told: bool) -> Iterator[tuple[Instance, Touch]]:
        """Accesses to arrays that other ranks have too; ``told``: of notifications, and waits for them."""
        shared = {name for window, (name, _) in self.windows.items() for name in (window, name)}
        for instance in (x for found in self.found.instances.values() for x in found.values()):
            for touch in instance.touches:
                if touch.space[0] == "argument" and touch.space[1] in shared and (touch.atomic == TOLD) is told:
                    yield instance, touch

    def _rounds(self) -> Iterator[Round]:
        if self.signals or self.program.cores.mixed:
            raise Fragment("signals between ranks and those between cores are not followed together")
        noticed = list(self._touching(True))
        if {x.access for x, _ in noticed} != {
            a for a, count in self.signal_at.items() if count in self.told_at.values()
        }:
            raise Fragment("a signal in an array, and it is not said whose that is, as in next is mine[rank + 1]")
        arrays = dict.fromkeys(self._home(touch.space)[0] for _, touch in noticed)
        for touch, step in ((touch, x.step) for x, touch in self._touching(False)):
            if touch.write and self._home(touch.space)[0] in arrays:
                raise Fragment(f"{step.name} writes where signals are", step)
        for array in arrays:
            here = [(x, touch) for x, touch in noticed if self._home(touch.space)[0] == array]
            windows = {touch.space[1] for _, touch in here if touch.write}
            told, heard = ([(x, t) for x, t in here if t.write is way] for way in (True, False))
            for x, touch in heard:
                if len(windows) > 1 or self._home(touch.space)[1]:
                    raise Fragment("a wait for notifications of more or less than one rank is not followed", x.step)
            if heard and not told:
                text = f"nobody notifies {heard[0][0].step.name}"
                self.suspect(Claim.FLAGS, "DEADLOCK", heard[0][0].step, heard[0][0].facts, text)
            elif heard:
                keys = [tuple(dict.fromkeys(self.signal_at[x.access] for x, _ in each)) for each in (told, heard)]
                (window,) = windows
                found = Round(window, *self.windows[window], *keys)
                for waits in heard:
                    self._over(found, waits, told)
                yield found

    def _over(self, found: Round, waits: tuple[Instance, Touch], told: Sequence[tuple[Instance, Touch]]) -> None:
        """Show that a wait is over once its notification has come, and then only."""
        x, touch = waits
        compare, step = _COMPARE[x.step.attrs["cmp"]], x.step
        heard, given = map(_sum, (found.heard, found.told))
        first = element_of(found.array)
        starts = (*x.facts, *self.elements_are.get(found.array, ()))
        for n, at in told:
            others, ours = self._elsewhere(n), n.step.attrs["op"] is NotifyOp.Set
            names = {old.get_id(): new for old, new in others}
            theirs, said = renamed(given, others), names.get(VALUE.get_id(), z3.Int("value#'"))
            facts = (*x.facts, *(renamed(f, others) for f in n.facts), *self._from(found, others))
            block = names.get(self.block.get_id(), z3.Int("block#'"))
            alike, apart = block == self.block, block != self.block
            meet = overlap(self._at_home(at), self._at_home(touch), others, self.solver, self.assumed)
            ends = compare(said, VALUE) if ours else z3.BoolVal(True)
            early = both(meet, ends, either(theirs < heard, apart) if ours else apart)
            missed = both(alike, theirs == heard if ours else theirs <= heard, negated(both(meet, ends)))
            late = both(meet, theirs >= heard, negated(ends))
            if not ours:
                counts = both(said == 1, heard + 1 == VALUE)
                early, late = either(early, negated(counts)), meet if step.attrs["cmp"] is not CmpMode.GE else False
            where = f"in line {n.step.op.location.line}"
            if self.solver.possible((*facts, early)):
                raise Fragment(f"{step.name} may be over before its notification {where}", step)
            for wrong, text in ((missed, "may not end with its notification"), (late, "may not see its notification")):
                self.suspect(Claim.FLAGS, "DEADLOCK", step, (*facts, wrong), f"{step.name} {text} {where}")
            if len({each.step.attrs["op"] for each, _ in told}) > 1:
                raise Fragment("signals that are set and added to are not followed", n.step)
        least = compare(first, VALUE) if all(n.step.attrs["op"] is NotifyOp.Set for n, _ in told) else first != 0
        if self.solver.possible((*starts, least)):
            raise Fragment(f"what {found.array} holds at first may end {step.name}: assume {found.array} == 0", step)
        if any(touch.hi is None or simple(lifted(t.hi) - lifted(t.lo)) != 4 for t in (touch, *(t for _, t in told))):
            raise Fragment("several signals at once are not followed", step)
        text = f"{step.name} may wait for what the other rank gives after such a wait, if at all"
        self.suspect(Claim.FLAGS, "DEADLOCK", step, (*x.facts, given <= heard), text)

    def _alike(self) -> None:
        """All ranks go through the same notifications and waits."""
        self._tokens, self._met = dict.fromkeys(self.told_at, ("give", ())), set()
        items = list(self._on_pipes(self.program.entry.name, ()))
        if self._met != self._tokens.keys():
            raise Fragment("signals between ranks in loops that a condition ends are not followed")
        self._everywhere(items, {key[2] for key in self.told_at}, self.assumed, ranks=True)

    # --- what they order -----------------------------------------------------------------------------------------

    def _elsewhere(self, a: Instance) -> list[tuple[Any, Any]]:
        """Names for the unknowns of an access of another rank."""
        return [*self._others(a, keep=False), (self.rank, z3.Int(f"{self.rank}'"))]

    def _at_home(self, touch: Touch) -> Touch:
        """The same in the array of the rank that has it."""
        space = "argument", self._home(touch.space)[0]
        return replace(touch, space=space, view=touch.view and replace(touch.view, space=space))

    def _distance(self, others: Sequence[tuple[Any, Any]], by: int) -> Number:
        """This rank is `by` further on than the other one."""
        far = renamed(self.rank, others) + by - self.rank
        return either(*(far == n * lifted(self.ranks) for n in range(-abs(by) - 1, abs(by) + 2)))

    def _from(self, found: Round, others: Sequence[tuple[Any, Any]]) -> tuple[Number, ...]:
        other = renamed(self.rank, others)
        return self._distance(others, found.by), other >= 0, other < self.ranks

    def block_races(self) -> None:
        super().block_races()
        every = list(self._touching(False)) if self.windows else []
        for (a, s), (b, t) in combinations_with_replacement(every, 2):
            (mine, by), (theirs, further) = self._home(s.space), self._home(t.space)
            if mine == theirs and by != further and (s.write or t.write) and not s.atomic == t.atomic != None:  # noqa: E711
                self._rank_race(a, s, b, t, by - further)

    def _rank_race(self, a: Instance, s: Touch, b: Instance, t: Touch, by: int) -> None:
        if s.lo is None or t.lo is None:
            which = a if s.lo is None else b
            self.leave_open(Claim.BLOCKS, f"what {which.step.name} touches of another rank is not followed", which.step)
            return
        if a is b:
            b = replace(b)
        others = self._elsewhere(a)
        other = renamed(self.rank, others)
        facts = [*b.facts, *(renamed(f, others) for f in a.facts), other >= 0, other < self.ranks]
        facts += [
            self._distance(others, by),
            overlap(self._at_home(s), self._at_home(t), others, self.solver, self.assumed),
        ]
        text = f"{b.step.name} and {a.step.name} in line {a.step.op.location.line} of"
        if self.solver.possible((*facts, other == self.rank)):
            self.leave_open(Claim.BLOCKS, f"{text} one rank, for which both arrays are one", b.step)
            return
        names = {old.get_id(): new for old, new in others}
        block = names.get(self.block.get_id(), z3.Int("block#'"))
        for found in self.rounds:
            for x, y, back in ((a, b, found.by), (b, a, -found.by)):
                if any((x.core, key[1], x.access) in self.missed for key in found.told):
                    continue
                pairs = (_sum(found.told), x), (_sum(found.heard), y)
                given, heard = (renamed(n, others) if z is a else n for n, z in pairs)
                facts.append(either(negated(self._distance(others, back)), block != self.block, heard <= given))
        self.counted_on |= bool(self.rounds)
        self.suspect(Claim.BLOCKS, "RACE-XRANK", b.step, facts, f"{text} another rank")


class Queues(Ranks):
    """Sets and waits for flags. ``delays``: a pipe may wait for a flag that is set later in the text."""

    delays = True

    def delayed(self, run: Callable[[], None]) -> None:
        """Go through the program, at last in the order of its text."""
        try:
            run()
        except _Late:
            self.delays, self.in_scope, self.late, self.looks = False, False, False, True
            self.found, self.frames, self.loops_seen, self._steps = Found(), [], {}, 0
            run()

    def in_order(self, state: State) -> None:
        """What comes now may depend on everything before it."""
        if state.queued:
            raise _Late

    def access(self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch]) -> None:
        if pipe is Pipe.S or (self.in_scope and pipe in state.queued):
            self.in_order(state)
        super().access(step, state, pipe, touches)

    def counting(self, body: Body, state: State) -> Body:
        counted = super().counting(body, state)

        def run(begun: State) -> Iterator[Ended]:
            for each in counted.run(begun):
                if any(len(x.frames) >= len(self.frames) for queue in each[0].queued.values() for x in queue):
                    raise _Late
                yield each

        return Body(counted.args, counted.first, run, counted.steps)

    def ended(self, state: State) -> None:
        """A core comes to its end."""
        self.in_order(state)
        for src, dst, number in state.flags:
            text = f"the flag {src.text} to {dst.text}, id {number}, is still set at the end"
            self.suspect(Claim.FLAGS, "FLAG-UNMATCHED", None, state.facts, text)

    # --- queues --------------------------------------------------------------------------------------------------

    def waits(
        self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch], run: Callable[[State], Any]
    ) -> bool:
        """Put an instruction into the queue of its pipe, if that waits."""
        if pipe not in state.queued:
            return False
        if self.in_scope:
            raise _Late
        self._queue(state, pipe, (id(step), *(touch.identity for touch in touches)), run)
        return True

    def _queue(self, state: State, pipe: Pipe, key: Any, run: Callable[[State], Any], **flag: Any) -> None:
        full = key, self.context, tuple(map(key_of, state.facts))
        made = Queued(full, run, tuple(self.frames), state.facts, **flag)
        state.queued[pipe] = (*state.queued.get(pipe, ()), made)

    def _advance(self, state: State) -> None:
        """Execute what need not wait any more."""
        moved = True
        while moved:
            moved = False
            for pipe in list(state.queued):
                while pipe in state.queued:
                    first, *rest = state.queued[pipe]
                    if first.awaits is not None and first.awaits not in state.flags:
                        break
                    self._execute(first, state)
                    moved = True
                    if rest:
                        state.queued[pipe] = tuple(rest)
                    else:
                        del state.queued[pipe]

    def _execute(self, item: Queued, state: State) -> None:
        now = state.facts, self.frames, self.late
        state.facts, self.frames, self.late = item.facts, list(item.frames), True
        item.run(state)
        state.facts, self.frames, self.late = now

    # --- flags ---------------------------------------------------------------------------------------------------

    def set_so_far(self, state: State, key: FlagKey) -> int:
        """How often a flag has been set in the text, and not been waited for; less than 0: waits before their sets."""
        queued = [each for queue in state.queued.values() for each in queue]
        return (key in state.flags) + sum((x.sets == key) - (x.awaits == key) for x in queued)

    def _issued(self, state: State) -> set[FlagKey]:
        queued = (each.sets for queue in state.queued.values() for each in queue)
        return {*state.flags, *(key for key in queued if key is not None)}

    def set_flag(self, step: Step, state: State, key: FlagKey) -> State:
        """A pipe sets a flag when it comes to that."""
        src, dst, number = key
        flag, before = f"{src.text} to {dst.text}, id {number}", self.set_so_far(state, key)
        if before > 0:
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"the flag {flag} is set again before a wait")
        if src.name in self.target.one_flag_per_id and before >= 0:
            alike = (k for k in self._issued(state) if k[0] is src and k[2] == number and k[1] is not dst)
            if any(self.set_so_far(state, k) > 0 for k in alike):
                text = f"the flag {flag} is set while one of the same pipe and id is"
                self.suspect(Claim.IDS, "FLAG-ALIAS", step, state.facts, text)
        if src in state.queued:
            self._queue(state, src, ("set", key), lambda then: self._set(then, key), sets=key)
        else:
            self._set(state, key)
            self._advance(state)
        return state

    def _set(self, state: State, key: FlagKey) -> None:
        mine = dict(state.unknown[key[0]])
        if key in state.flags and state.queued:
            raise _Late  # the flag would count
        state.flags[key] = older(mine, state.flags[key]) if key in state.flags else mine

    def wait_flag(self, step: Step, state: State, key: FlagKey) -> State:
        """A pipe waits for a flag; what comes after that on the pipe waits, too."""
        src, dst, number = key
        if dst is Pipe.S:
            self.in_order(state)
        elif self.delays and (dst in state.queued or key not in state.flags):
            self._queue(state, dst, ("wait", key), lambda then: then.told(dst, then.flags.pop(key)), awaits=key)
            return state
        ages = state.flags.pop(key, None)
        if ages is None:
            text = f"nothing before it sets the flag {src.text} to {dst.text}, id {number}"
            self.suspect(Claim.FLAGS, "DEADLOCK", step, state.facts, text)
            if dst is not Pipe.S:
                self.leave_open(
                    Claim.WRITTEN,
                    "it holds only if this wait ends before what comes later, which is open or refuted",
                    step,
                )
        else:
            state.told(dst, ages)
        return state

    def hidden(self, step: Step, state: State) -> None:
        """An instruction of several pipes uses a flag of id 0 itself."""
        if any(key[2] == 0 and self.set_so_far(state, key) > 0 for key in self._issued(state)):
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"{step.name} uses EVENT_ID0, which is set")
