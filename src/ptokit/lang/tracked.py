"""A property of a tile that the kernel changes while it runs: its address binding, its valid region."""

from __future__ import annotations

from typing import Generic, TypeVar

from ptokit.diagnostics import Location, Note

from . import rules
from .trace import Region, Trace
from .where import here, refusal

T = TypeVar("T")


class Tracked(Generic[T]):
    """The latest value of a property, as far as the trace can know it.

    A change in a branch or loop is known inside of it. Afterwards either value is possible, so asking is refused until
    the property is set again; so is a change inside a loop after the loop has asked (LANG-SCOPE).
    """

    def __init__(self, trace: Trace, what: str, value: T) -> None:
        self._trace = trace
        self._what = what
        self._changes: list[tuple[Region, T, Location]] = [(trace.region, value, here())]
        self._asked_in: dict[Region, Location] = {}

    def get(self) -> T:
        """The value at this point of the trace."""
        self._asked_in.setdefault(self._trace.region, here())
        for region, value, place in reversed(self._changes):
            if region.open:
                return value
            if not region.excluded():
                raise refusal(
                    rules.SCOPE,
                    f"{self._what} was changed in a {region.kind} that has ended, so it is not known here",
                    hint="set it again here",
                    notes=[Note("changed here", place)],
                )
        raise refusal(rules.SCOPE, f"{self._what} belongs to a region that has ended")

    def known(self) -> T | None:
        """The value at this point, or None if the trace cannot know it."""
        for region, value, _ in reversed(self._changes):
            if region.open:
                return value
            if not region.excluded():
                return None
        return None

    def set(self, value: T) -> None:
        """Record a change at this point of the trace."""
        for region, place in self._asked_in.items():
            loop = self._loop_around(region)
            if loop is not None:
                raise refusal(
                    rules.SCOPE,
                    f"{self._what} changes in a loop that used it before, so it differs in the next iteration",
                    hint="set it at the beginning of the loop body",
                    notes=[Note("used here", place)],
                )
        self._changes.append((self._trace.region, value, here()))

    def _loop_around(self, asked: Region) -> Region | None:
        """The open loop that holds both this point and `asked`, entered since the last change."""
        region: Region | None = self._trace.region
        known_in = self._changes[-1][0]
        while region is not None and region is not known_in:
            if region.kind == "loop" and asked.is_in(region):
                return region
            region = region.parent
        return None
