"""The event ids of flags: apart where they are under way at once, in rotation where several iterations are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ptokit.ir.control import is_call, returns
from ptokit.ir.core import Function
from ptokit.sanitize.findings.insertion import EventIds
from ptokit.sanitize.findings.source_text import Structure
from ptokit.targets import Target
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from .dependences import Flag


def rotate(flags: Sequence[Flag]) -> None:
    """Flags rotate with those that come back: else one is set again before it was waited for."""
    back = {(x.core, x.pipes, x.home): x.depth for x in flags if x.around is not None}
    for flag in flags:
        if flag.around is None and flag.home is not None and flag.home.regions[0] is flag.block:
            flag.depth = back.get((flag.core, flag.pipes[::-1], flag.home), 1)


def place_of(flag: Flag) -> Any:
    """What is equal for the flags of one place in a text: of a function of C++ that is called several times."""
    ops = (flag.after, flag.before, flag.around)
    if not flag.before.in_cpp:
        return flag
    return flag.core, flag.pipes, *(None if op is None else op.location[:3] for op in ops)


def of_text(flags: Iterable[Flag]) -> list[Flag]:
    """Flags, one for each place in the text: one that is needed, if one of those that have it is."""
    found: dict[Any, Flag] = {}
    for flag in flags:
        if found.setdefault(place_of(flag), flag).needed is None:
            found[place_of(flag)] = flag
    return list(found.values())


def number(
    flags: Sequence[Flag],
    structure: Structure,
    entry: Function,
    used: Iterable[tuple[str, Pipe, Pipe, int]],
    target: Target,
) -> Flag | None:
    """Give flags their ids: apart where they are under way at once. One that gets none whatever is done, or None.

    ``used``: the flags that the program has, by core. Where ids run out, the flag that holds some for longest rotates
    through one less, or is set where it is waited for.
    """
    numbering = Numbering(structure, entry, used, target)
    alike: dict[Any, list[Flag]] = {}
    for flag in flags:
        alike.setdefault(place_of(flag), []).append(flag)
    for same in alike.values():
        same[0].told = same[0].told.union(*(flag.told for flag in same))
    flags = [same[0] for same in alike.values()]
    while (group := numbering.lacking(flags)) is not None:
        longest = max((span for span in group if not span[-1].at_once), key=lambda s: (s[1] - s[0], s[2]), default=None)
        if longest is None:
            return group[-1][-1]
        flag = longest[-1]
        if flag.depth > 1 and flag.around is not None:
            flag.depth -= 1
            rotate(flags)
        else:
            flag.at_once, flag.around, flag.depth = True, None, 1
    for flag, *others in alike.values():
        for other in others:
            other.number, other.depth, other.at_once = flag.number, flag.depth, flag.at_once
            other.told, other.answer = flag.told, flag.answer
            other.around = None if flag.at_once else other.around
    return None


_Held = tuple[float, float, int, Flag]
"""A flag, with its place among all, from where to where it holds its ids."""


def answer(flag: Flag) -> Flag:
    """What tells the source of a flag that it has been waited for."""
    return replace(flag, pipes=flag.pipes[::-1], depth=1, at_once=True, told=frozenset())


class Numbering:
    """Gives flags ids. ``used``: those that the program has, by core."""

    def __init__(
        self, structure: Structure, entry: Function, used: Iterable[tuple[str, Pipe, Pipe, int]], target: Target
    ) -> None:
        self.structure, calls = structure, [op.attrs["callee"] for op in structure.ops if is_call(op)]
        self.once = {entry.name}  # what is executed once, and not inside of what else has flags
        if entry.body is not None and all(is_call(op) or returns(op) for op in entry.body.ops):
            self.once |= {name for name in calls if calls.count(name) == 1}
        self.at = {op: k for k, op in enumerate(structure.ops)}
        self.last = {
            op: max([k, *(self.at[inner] for region in op.regions for inner in region.walk())])
            for op, k in self.at.items()
        }
        self.ids = EventIds(structure.ops, target)
        for key in used:
            self.ids.take(*key)

    def lacking(self, flags: Sequence[Flag]) -> list[_Held] | None:
        """Flags that are under way at once and have not ids enough; None if all got theirs."""
        groups: dict[tuple[str, ...], list[_Held]] = {}
        told = {answer(flag): flag for flag in flags if flag.told}
        for k, flag in enumerate([*flags, *told]):
            span = self._span(told.get(flag, flag))
            groups.setdefault(self.ids.place(flag.core, *flag.pipes), []).append((*span, k, flag))
        for spans in groups.values():
            busy: dict[int, float] = {}
            known: list[_Held] = []
            for held in sorted(spans, key=lambda span: span[:3]):
                start, end, _, flag = held
                closed = self.ids.closed(flag.core, *flag.pipes)
                known = [*(other for other in known if other[1] >= start), held]
                fits = [
                    i
                    for i in range(EVENT_ID_COUNT + 1 - flag.depth)
                    if all(busy.get(i + j, -2.0) < start and i + j not in closed for j in range(flag.depth))
                ]
                if not fits and flag in told:
                    told[flag].told = frozenset()
                    continue
                if not fits:
                    return known
                flag.number = min(fits, key=lambda i: (max(busy.get(i + j, -2.0) for j in range(flag.depth)), i))
                busy |= {flag.number + j: end for j in range(flag.depth)}
        for one, flag in told.items():
            flag.answer = one.number
        return None

    def _span(self, flag: Flag) -> tuple[float, float]:
        statement = self.structure.statement(flag.before)
        function = self.structure.function(flag.before)
        ordered = function is not None and function.name in self.once  # in C++ all other functions are put in line
        if not ordered and not (flag.before.in_cpp and statement is not None and statement.once):
            return -1.0, float(len(self.at))
        before = self.at[flag.before]
        around = flag.around or (flag.home if flag.depth > 1 else None)  # in which no other flag may have its ids
        if flag.at_once:
            return before - 0.375, before - 0.25
        return (
            (self.last[flag.after] + 0.25, before - 0.25)
            if around is None
            else (self.at[around] - 0.5, self.last[around] + 0.5)
        )
