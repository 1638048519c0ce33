"""A race: two accesses that nothing orders, and what is known of them."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ptokit.diagnostics import Location
from ptokit.records import dataclass

from ..memory.footprints import Touch
from ..simulation.events import Loops, Work
from ..simulation.timeline import Timeline
from .fixes import Fix
from .witness import Witness

Span = tuple[int, int]
"""Half open."""


@dataclass(frozen=True, slots=True)
class Access:
    """One of the two accesses of a race.

    ``operand``: tile or argument. ``rows``, ``columns``: where in the tile the shared bytes lie, half open; None in
    global memory. ``loops``: (variable, value) of the loops around it, the outermost first. ``seq`` counts what the
    core has issued, in program order.
    """

    instruction: str
    pipe: str
    block: int
    core: str
    operand: str
    write: bool
    location: Location
    loops: Loops
    seq: int
    rows: Span | None = None
    columns: Span | None = None
    work: Work | None = field(default=None, repr=False, compare=False)
    touch: Touch | None = field(default=None, repr=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {
            "instruction": self.instruction,
            "pipe": self.pipe,
            "block": self.block,
            "core": self.core,
            "operand": self.operand,
            "access": "write" if self.write else "read",
            "file": self.location.file,
            "line": self.location.line,
            "column": self.location.column,
            "loops": [{"name": name, "value": _plain(value)} for name, value in self.loops],
            "rows": None if self.rows is None else list(self.rows),
            "columns": None if self.columns is None else list(self.columns),
        }


@dataclass(slots=True)
class Race:
    """Two accesses that nothing orders; ``first`` by program order, or of the lower core.

    ``space``: buffer or argument; ``bytes`` of it that both touch, in all and as half-open ranges, the first 64 of
    them. ``last_sync``: locations of the set and the wait that last ordered the two pipes. ``iterations``, ``blocks``,
    ``times``: how often it was found. ``fix``: None if the two are on different cores. ``witness``: what the other
    order of the two changes, if that was asked for.
    """

    first: Access
    second: Access
    space: str
    size: int
    ranges: list[Span]
    last_sync: tuple[Location, Location] | None = None
    fix: Fix | None = None
    witness: Witness | None = None
    timeline: tuple[Timeline, ...] = field(default=(), repr=False)
    times: int = 0
    iterations: int = 0
    blocks: list[int] = field(default_factory=list)

    @property
    def same_core(self) -> bool:
        """True for two pipes of one core."""
        return self.first.core == self.second.core

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        sync = None
        if self.last_sync is not None:
            sync = {"set": self.last_sync[0].line, "wait": self.last_sync[1].line}
        fix = None
        if self.fix is not None:
            fix = self.fix.as_json()
        return {
            "accesses": [self.first.as_json(), self.second.as_json()],
            "space": self.space,
            "bytes": self.size,
            "ranges": [list(span) for span in self.ranges],
            "last_sync": sync,
            "fix": fix,
            "times": self.times,
            "iterations": self.iterations,
            "blocks": self.blocks,
            "witness": None if self.witness is None else self.witness.as_json(),
        }


def _plain(value: Any) -> int | float | str:
    return value if isinstance(value, int | float) else str(value)
