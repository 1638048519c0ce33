"""`Stepper`: a run in a terminal, one instruction at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.diagnostics import Location
from ptokit.diagnostics.location import file_lines
from ptokit.machine.observer import Moment, Observer

from .seen import Known, Seen, look, named, seen

HELP = """\
  Enter, n      the next instruction
  c             on to the end
  u LINE        on until an instruction in that line
  b             on to the next block
  p NAME        what a tile, view or register holds
  l             the lines around
  q             quit: nothing is saved"""


class Quit(Exception):
    """The user has had enough: the run ends without results."""


class Stepper(Observer):
    """Stops after every instruction, says what it has changed, and asks what to do.

    ``ask()`` returns a line, or None at the end of input, which quits; ``tell`` prints. Raises `Quit` from the launch.
    """

    def __init__(self, ask: Callable[[], str | None], tell: Callable[[str], None]) -> None:
        self._ask, self._tell = ask, tell
        self._stops: Callable[[Moment], bool] = lambda moment: True
        self._before: dict[str, Seen] = {}
        self._known = Known()

    def before(self, moment: Moment) -> None:
        if self._stops(moment):
            self._before = {name: seen(moment, name) for name in moment.written}

    def after(self, moment: Moment) -> None:
        self._known.remember(moment)
        if self._stops(moment):
            self._show(moment)
            self._prompt(moment)

    def _show(self, moment: Moment) -> None:
        self._tell(f"{moment.name} ({seen(moment, '').when})")
        for line in _source(moment.location, 0):
            self._tell(line)
        for operand, it in named(moment).items():
            if it.value is not None:
                now = look(moment, operand, it)
                changed = _changed(self._before.get(operand), now) if operand in moment.written else ""
                self._tell(f"     {operand:<6} {now.name:<10} {now.what}{changed}".rstrip())

    def _prompt(self, moment: Moment) -> None:
        while True:
            answer = self._ask()
            if answer is None:
                raise Quit
            word, _, rest = answer.strip().partition(" ")
            rest = rest.strip().removeprefix("%")
            match word:
                case "" | "n" | "next" | "s" | "step":
                    self._stops = lambda other: True
                    return
                case "c" | "continue":
                    self._stops = lambda other: False
                    return
                case "b" | "block":
                    self._stops = _in_another_block(moment.block)
                    return
                case "u" | "until" if rest.isdigit():
                    self._stops = _in_line(int(rest))
                    return
                case "p" | "print" if rest:
                    self._print(moment, rest)
                case "l" | "list":
                    for line in _source(moment.location, 4):
                        self._tell(line)
                case "q" | "quit":
                    raise Quit
                case _:
                    self._tell(HELP)

    def _print(self, moment: Moment, name: str) -> None:
        now = self._known.look(moment, name)
        if now is None:
            names = ", ".join(self._known.names(moment.core))
            self._tell(f"no instruction has used {name!r} so far; used: {names}")
            return
        self._tell(f"{name}: {now.what}" + ("" if now.array is None or not now.array.ndim else f"\n{now.table()}"))


def _source(at: Location, around: int) -> list[str]:
    """The lines of a place, an arrow at its own."""
    lines = file_lines(at.file) if at.file is not None else []
    shown = range(max(1, at.line - around), min(len(lines), at.line + around) + 1)
    return [f"{'->' if n == at.line else '':>3}{n:5} | {lines[n - 1].rstrip()}" for n in shown]


def _in_another_block(block: int) -> Callable[[Moment], bool]:
    return lambda moment: moment.block != block


def _in_line(line: int) -> Callable[[Moment], bool]:
    return lambda moment: moment.location.line == line


def _changed(before: Seen | None, now: Seen) -> str:
    """How many elements have become others, and the first of them."""
    if before is None or before.array is None or now.array is None or before.array.shape != now.array.shape:
        return ""
    a, b = before.array, now.array
    bits = np.dtype(f"u{a.dtype.itemsize}")
    places = np.argwhere(np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits))
    if not len(places):
        return ", no element changed"
    first = tuple(int(i) for i in places[0])
    at = ", ".join(str(i) for i in first)
    return f", {len(places)} of {a.size} changed; at ({at}): {_short(a[first])} -> {_short(b[first])}"


def _short(value: Any) -> str:
    """A number: integers whole, others with six digits."""
    return str(value) if isinstance(value, np.bool_ | np.integer) else f"{float(value):.6g}"
