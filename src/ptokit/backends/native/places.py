"""Where the tiles of a program may lie, by all of its text: also those that it makes or moves further down."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from ptokit.ir.core import Value
from ptokit.plan.steps import Operand, Plan, Step, constant
from ptokit.run.machine.tile_words import slot_bytes
from ptokit.targets import Target
from ptokit.types.tile import TileSpec
from ptokit.types.values import MultiTile

from .flows import Flows


class Place(NamedTuple):
    """So many bytes of a buffer that begin at `first`, at `last`, or in between.

    ``space``: the buffer, or what identifies the memory of a tile without an address.
    """

    space: Hashable
    first: int
    last: int
    nbytes: int

    @property
    def end(self) -> int:
        return self.last + self.nbytes

    def meets(self, other: Place) -> bool:
        """True if both may share bytes."""
        return self.space == other.space and self.first < other.end and other.first < self.end


class Places:
    """Of all tiles of a plan: where only the run knows, anywhere in the buffer."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self.target = target
        self._of: dict[Operand, frozenset[Place]] = {}
        self._sources = Flows(plan).sources
        self._made: dict[Value, Step] = {}
        for function in plan.functions.values():
            for step in function.walk():
                self._made.update(dict.fromkeys(step.results, step))
        values = [v for v in dict.fromkeys((*self._made, *self._sources)) if isinstance(v.type, TileSpec | MultiTile)]
        changed = True
        while changed:
            changed = False
            for value in values:
                found = self._found(value)
                if found != self._of.get(value):
                    self._of[value] = found
                    changed = True
        self._shared = _shared({v: found for v, found in self._of.items() if isinstance(v.type, TileSpec)})

    def meet(self, a: Operand, b: Operand) -> bool:
        """True if two values are tiles that may share bytes."""
        return any(x.meets(y) for x in self._of.get(a, ()) for y in self._of.get(b, ()))

    def alone(self, tile: Value) -> bool:
        """True if no other tile of the program ever lies on a byte of this one."""
        return tile not in self._shared

    def _found(self, value: Value) -> frozenset[Place]:
        """Where a value may lie, by where those may lie that it comes from."""
        if value in self._sources:
            return self._union(self._sources[value])
        step, spec = self._made[value], value.type
        if isinstance(spec, MultiTile):
            return frozenset(self._at(step, slot, spec.slot) for slot in range(spec.count))
        assert isinstance(spec, TileSpec)
        match step.word:
            case "tile" | "rebind":
                return frozenset((self._at(step, 0, spec),))
            case "alias" | "numbers":
                return frozenset(place._replace(nbytes=spec.nbytes) for place in self._union([step["src"]]))
            case "window":
                return frozenset(Place(p.space, p.first, p.end - 1, 1) for p in self._union([step["source"]]))
            case "element":
                return self._union(step.values[:1])
        return frozenset((self._anywhere(spec.loc, spec),))

    def _union(self, values: Iterable[Value]) -> frozenset[Place]:
        return frozenset(place for value in values for place in self._of.get(value, ()))

    def _at(self, step: Step, slot: int, spec: TileSpec) -> Place:
        """Where a tile is put, or a slot of several."""
        if step.get("addr") is None:
            return Place((step, slot), 0, 0, spec.nbytes)
        known = constant(step["addr"])
        if not isinstance(known, int):
            return self._anywhere(spec.loc, spec)
        first = known + slot * slot_bytes(spec)
        return Place(spec.loc, first, first, spec.nbytes)

    def _anywhere(self, space: Hashable, spec: TileSpec) -> Place:
        return Place(space, 0, self.target.capacity[spec.loc], spec.nbytes)


def _shared(places: dict[Value, frozenset[Place]]) -> set[Value]:
    """The values that may share bytes with another one."""
    spaces: dict[Hashable, list[tuple[int, int, Value]]] = {}
    for value, found in places.items():
        for place in found:
            spaces.setdefault(place.space, []).append((place.first, place.end, value))
    out: set[Value] = set()
    for ranges in spaces.values():
        ranges.sort(key=lambda item: item[:2])
        _, reached, owner = ranges[0]
        for first, end, value in ranges[1:]:
            if first < reached:
                out |= {value, owner}
            if end > reached:
                reached, owner = end, value
    return out
