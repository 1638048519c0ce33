"""Names of values and where they can be seen."""

from __future__ import annotations

from ptokit.ir import Value

from .faults import suggest

_HINT_LIMIT = 5000  # names to compare with; a did-you-mean hint over more takes too long


class Scope:
    """Values by name with ``%``, in nested regions. An inner name may not hide an outer one (assembly 13.1, TY-9)."""

    __slots__ = ("values", "_regions")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self._regions: list[list[str]] = [[]]

    def define(self, name: str, value: Value) -> None:
        """Make `value` visible until the region ends."""
        self.values[name] = value
        self._regions[-1].append(name)

    def enter(self) -> None:
        """Begin a region."""
        self._regions.append([])

    def leave(self) -> None:
        """End a region: its names go out of sight."""
        values = self.values
        for name in self._regions.pop():
            values.pop(name, None)

    def hint(self, name: str) -> str | None:
        """A similar visible name, as a did-you-mean hint."""
        return suggest(name, self.values) if len(self.values) <= _HINT_LIMIT else None
