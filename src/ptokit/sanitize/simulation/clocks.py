"""Vector clocks over the pipes of all cores (memory-model-and-sync 11.1).

A core has one component per pipe and one for the posted writes of the scalar unit: those are known only to the scalar
unit itself until a flag from it, or a full barrier, passes them on (6, rule 2).
"""

from __future__ import annotations

from ptokit.types.enums import Pipe

COMPONENTS: dict[Pipe, int] = {
    pipe: i for i, pipe in enumerate((Pipe.S, Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX))
}
"""Component of each pipe in a core's part of a clock."""

POSTED = len(COMPONENTS)
"""Component of the scalar unit's writes."""

WIDTH = POSTED + 1
SCALAR = COMPONENTS[Pipe.S]

Part = tuple[int, ...]
_NOTHING: Part = (0,) * WIDTH


class Clock:
    """What is known to have completed: ``own`` on the core itself, ``far`` on others. Counts start at 1."""

    __slots__ = ("core", "far", "own")

    def __init__(self, core: int, own: list[int] | None = None, far: dict[int, Part] | None = None) -> None:
        self.core = core
        self.own = [0] * WIDTH if own is None else own
        self.far = {} if far is None else far  # never changed in place: copies share it

    def copy(self) -> Clock:
        """An independent clock with the same knowledge."""
        return Clock(self.core, self.own[:], self.far)

    def join(self, other: Clock) -> None:
        """Know what `other` knows, too."""
        if other.core == self.core:
            self.own = list(map(max, self.own, other.own))
            if other.far and other.far is not self.far:
                self._join_far(other.far)
            return
        self._join_far({**other.far, other.core: tuple(other.own)})

    def _join_far(self, parts: dict[int, Part]) -> None:
        far = dict(self.far)
        for core, part in parts.items():
            if core == self.core:
                self.own = list(map(max, self.own, part))
            else:
                far[core] = tuple(map(max, far[core], part)) if core in far else part
        self.far = far

    def knows(self, core: int, component: int, count: int) -> bool:
        """True if the access number `count` of that component has completed before."""
        part = self.own if core == self.core else self.far.get(core, _NOTHING)
        return part[component] >= count
