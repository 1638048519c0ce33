"""Places in source texts."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """A place in a source text: lines and columns count from 1, ``length`` is in characters.

    Every operation and value has one, so it is of a kind that is made quickly.
    """

    file: str | None = None
    line: int = 0
    column: int = 0
    length: int = 1

    def __str__(self) -> str:
        if self.file is None:
            return "<unknown>"
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Called(Location):
    """A place in a function that was put in line: ``calls`` are those that led to it, with what they are."""

    calls: tuple[tuple[str, Location], ...] = ()

    @classmethod
    def at(cls, place: Location, calls: tuple[tuple[str, Location], ...]) -> Location:
        """A place with the calls that led to it."""
        if not calls:
            return place
        made = cls(*place)
        made.calls = calls
        return made


UNKNOWN_LOCATION = Location()
