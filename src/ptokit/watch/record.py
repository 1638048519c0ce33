"""`Recorder`: an observer that keeps, or hands on, what the chosen operands hold after each instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptokit.machine.observer import Moment, Observer

from .seen import Known, Seen, look, named, seen
from .selection import Selection


class Recorder(Observer):
    """Calls ``found`` with every `Seen` that one of the selections chooses; without selections, all that is written.

    ``hits`` counts for each selection how often it applied.
    """

    def __init__(self, selections: Sequence[Selection], found: Callable[[Seen], None]) -> None:
        self.selections, self.found = selections, found
        self.hits = [0] * len(selections)
        self._known = Known() if any(choice.name and choice.line is not None for choice in selections) else None

    def after(self, moment: Moment) -> None:
        if self._known is not None:
            self._known.remember(moment)
        if not self.selections:
            for operand in moment.left:
                self.found(seen(moment, operand))
            return
        chosen: dict[str, Seen] = {}
        for number, selection in enumerate(self.selections):
            if selection.at(moment):
                some = self._chosen(moment, selection)
                self.hits[number] += len(some)
                chosen |= {s.name or s.operand: s for s in some}
        for each in chosen.values():
            self.found(each)

    def _chosen(self, moment: Moment, selection: Selection) -> list[Seen]:
        if not selection.name:
            return [seen(moment, operand) for operand in moment.left]
        known = named(moment)
        if selection.line is None:
            return [look(moment, o, known[o]) for o in moment.left if known[o].name == selection.name]
        for operand, it in known.items():
            if it.name == selection.name:
                return [look(moment, operand, it)]
        used = self._known.look(moment, selection.name) if self._known is not None else None
        return [] if used is None else [used]
