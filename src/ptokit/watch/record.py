"""`Recorder`: an observer that keeps, or hands on, what the chosen operands hold after each instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptokit.run.observer import Moment, Observer

from .seen import Seen, name_of, seen
from .selection import Selection


class Recorder(Observer):
    """Calls ``found`` with every `Seen` that one of the selections chooses; without selections, all that is written.

    ``hits`` counts for each selection how often it applied.
    """

    def __init__(self, selections: Sequence[Selection], found: Callable[[Seen], None]) -> None:
        self.selections, self.found = selections, found
        self.hits = [0] * len(selections)
        self._wanted = {selection.name for selection in selections if selection.name and selection.line is not None}
        self._known: dict[tuple[int, str], Any] = {}  # the operand of that name which a core has used last

    def after(self, moment: Moment) -> None:
        for name in self._wanted:
            self._remember(moment, name)
        if not self.selections:
            for operand in moment.written:
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

    def _remember(self, moment: Moment, name: str) -> None:
        for operand, value in moment.given.items():
            if name_of(moment, operand) == name and value is not None:
                self._known[moment.core, name] = value
        if any(result.name == name for result in moment.op.results):
            self._known[moment.core, name] = moment.result

    def _chosen(self, moment: Moment, selection: Selection) -> list[Seen]:
        if not selection.name:
            return [seen(moment, operand) for operand in moment.written]
        if selection.line is None:
            return [seen(moment, o) for o in moment.written if name_of(moment, o) == selection.name]
        for operand in moment.given:
            if name_of(moment, operand) == selection.name:
                return [seen(moment, operand)]
        value = self._known.get((moment.core, selection.name))
        return [] if value is None else [seen(moment, "", value)]
