"""The loops around what a core executes."""

from __future__ import annotations

from typing import Any

Loops = tuple[tuple[str, Any], ...]
"""The loops around something, from the outside in: what findings call each loop variable, and its value."""


class Nest:
    """The loops around what a core executes now. Levels count from 1 in the running function."""

    __slots__ = ("_calls", "loops")

    def __init__(self) -> None:
        self.loops: Loops = ()
        self._calls: list[Loops] = [()]

    def enter(self) -> None:
        """A function of the program is called: its loops are nested in those around the call."""
        self._calls.append(self.loops)

    def back(self) -> None:
        """A function of the program has returned."""
        self.loops = self._calls.pop()

    def _outside(self, level: int) -> int:
        """Number of loops around that at nesting depth `level` of the running function."""
        return len(self._calls[-1]) + level - 1

    def iteration(self, level: int, name: str, value: Any) -> None:
        """An iteration of the loop at nesting depth `level` begins."""
        self.loops = (*self.loops[: self._outside(level)], (name, value))

    def again(self, level: int) -> None:
        """The next iteration of a loop that does not count."""
        outside = self._outside(level)
        count = self.loops[outside][1] + 1 if len(self.loops) > outside else 1
        self.loops = (*self.loops[:outside], ("iteration", count))

    def leave(self, level: int) -> None:
        """A loop has ended."""
        self.loops = self.loops[: self._outside(level)]
