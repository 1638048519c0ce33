"""Names of values and where they can be seen."""

from __future__ import annotations

from ptokit.diagnostics.finding import suggest
from ptokit.ir import Value

_HINT_NAMES, _HINTS = 5000, 100  # names to compare with, hints in one text; more take too long


class Scope:
    """Values by name with ``%``, in nested regions. An inner name may not hide an outer one (assembly 13.1, TY-9)."""

    __slots__ = ("hidden", "values", "_regions", "_replaced", "_hints")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.hidden: dict[str, Value] = {}
        self._regions: list[list[str]] = [[]]
        self._replaced: list[tuple[int, str, Value]] = []
        self._hints = 0

    def define(self, name: str, value: Value) -> None:
        """Make `value` visible until the region ends."""
        self.values[name] = value
        self._regions[-1].append(name)

    def define_for_function(self, name: str, value: Value) -> None:
        """Make `value` visible until the function ends."""
        self.values[name] = value
        self._regions[min(1, len(self._regions) - 1)].append(name)

    def replace(self, name: str, value: Value) -> None:
        """Let a visible name stand for another value until the region ends."""
        self._replaced.append((len(self._regions), name, self.values[name]))
        self.values[name] = value

    def enter(self) -> None:
        """Begin a region."""
        self._regions.append([])

    def hide(self) -> dict[str, Value]:
        """Take all values out of sight; `reveal` brings them back."""
        hidden, self.values = self.values, {}
        self.hidden = hidden
        return hidden

    def reveal(self, hidden: dict[str, Value]) -> None:
        """Bring back what `hide` returned."""
        self.values, self.hidden = hidden, {}

    def leave(self) -> None:
        """End a region: its names go out of sight."""
        values = self.values
        for name in self._regions.pop():
            values.pop(name, None)
        while self._replaced and self._replaced[-1][0] > len(self._regions):
            _, name, value = self._replaced.pop()
            if name in values:
                values[name] = value

    @property
    def level(self) -> int:
        """How many regions are open."""
        return len(self._regions)

    def unwind(self, level: int) -> None:
        """End the regions that an error left open."""
        while len(self._regions) > level:
            self.leave()

    def hint(self, name: str) -> str | None:
        """A similar visible name, as a did-you-mean hint."""
        self._hints += 1
        return suggest(name, self.values) if len(self.values) <= _HINT_NAMES and self._hints <= _HINTS else None
