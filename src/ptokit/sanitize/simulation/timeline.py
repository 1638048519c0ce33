"""What a core did shortly before a race was found: the part of its queues that a picture shows."""

from __future__ import annotations

from ptokit.records import dataclass

from .core import Core
from .events import Item, Work

AROUND = 9
"""Items shown before the first access, and after it where the second comes much later."""

LONGEST = 26
"""Items shown at most before the second access."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Items of one core in the order of the simulation; None where some are left out."""

    core: str
    items: tuple[Item | None, ...]


def timelines(first: tuple[Core, Work], second: tuple[Core, Work]) -> tuple[Timeline, ...]:
    """For the core of two accesses, or for each of their cores."""
    (core_a, a), (core_b, b) = first, second
    if core_a is core_b:
        return (Timeline(core_a.place, _window(list(core_a.recent), [a, b])),)
    return tuple(Timeline(core.place, _window(list(core.recent), [work])) for core, work in (first, second))


def _window(items: list[Item], marked: list[Work]) -> tuple[Item | None, ...]:
    """The items around those of interest. One that runs right now is the last, one long gone stands before a gap."""
    out: list[Item | None] = []
    for work in marked:
        if work in items:
            continue
        if work.touches:
            items = [*items, work]
        else:
            out += [work, None] if items else [work]
    places = sorted(items.index(work) for work in marked if work in items)
    if not places:
        return (*out, *items[-AROUND:])
    start, stop = max(0, places[0] - AROUND), min(len(items), places[-1] + 3)
    if out:
        start = max(start, stop - LONGEST)
    if stop - start <= AROUND + LONGEST:
        return (*out, *items[start:stop])
    return (*out, *items[start : places[0] + AROUND], None, *items[stop - LONGEST : stop])
