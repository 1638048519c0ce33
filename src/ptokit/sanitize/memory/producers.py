"""Which instructions last wrote tiles and views: what TSYNC waits for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ptokit.isa.table import Instr, Role
from ptokit.machine.global_memory import View
from ptokit.machine.tiles import Tile

from ..simulation.events import Work
from .gm import Located
from .owners import Group


class Producers:
    """Of one core. ``tiles``: groups of tiles by id; ``memories``: the argument behind a buffer, by id."""

    def __init__(self, tiles: Mapping[int, Group], memories: Mapping[int, Located]) -> None:
        self._tiles, self._memories = tiles, memories
        self._last: dict[Any, Work] = {}

    def wrote(self, work: Work, instr: Instr, given: Mapping[str, Any]) -> None:
        """`work` is the instruction that writes its destinations now."""
        for operand in instr.operands:
            if operand.role is not Role.IN:
                self._last[self._identity(given.get(operand.name))] = work

    def of(self, waited: Iterable[Any]) -> tuple[Work, ...]:
        """The instructions that last wrote tiles and views."""
        known = (self._identity(value) for value in waited)
        return tuple(dict.fromkeys(self._last[key] for key in known if key is not None and key in self._last))

    def _identity(self, operand: Any) -> Any:
        """What TSYNC knows a tile or view by: the tile with its aliases, the argument behind a view."""
        if isinstance(operand, Tile):
            return self._tiles.get(id(operand))
        if isinstance(operand, View) and operand.buffer is not None:
            return self._memories[id(operand.buffer.whole)][0]
        return None
