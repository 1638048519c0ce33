"""Which tile the bytes belong to: lost values and reads through another type (memory-model-and-sync 11.4, 11.6).

Followed in program order, on the bytes that are accessed. Tiles that share storage by treshape, bitcast or subset are
one group.

An instruction that reads a tile and writes another one over the same elements updates the value in place: it is not
lost, and either tile holds the new one. If it is used as a value of the other tile, however, the program tells the two
apart, and the first one's is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ptokit.ir.core import Op
from ptokit.types.enums import SLayout
from ptokit.types.tile import TileSpec

from .footprints import Footprint


@dataclass(slots=True, eq=False)
class Group:
    """A tile with its aliases. ``op`` allocates it."""

    number: int
    op: Op
    name: str
    spec: TileSpec


@dataclass(slots=True, eq=False)
class Loss:
    """A value of `group` that was overwritten through `by`."""

    group: Group
    by: Group
    write: Op


class Owners:
    """The bytes of one buffer."""

    def __init__(self, size: int) -> None:
        self._owner = np.zeros(size, np.int32)
        self._groups: dict[int, Group] = {}
        self._lost: dict[int, np.ndarray] = {}  # by group: number of the loss, per byte; negative after an update
        self._updated: dict[int, set[int]] = {}  # by group: those whose values it has updated in place
        self._losses: list[Loss] = []
        self._numbers: dict[tuple[int, int, Op], int] = {}

    def write(self, group: Group, place: Footprint, op: Op, sources: Sequence[Group] = ()) -> bool:
        """`group` writes bytes; ``sources``: groups whose elements the instruction reads at the same places.

        False if they were its own already, so that nothing has changed.
        """
        self._groups[group.number] = group
        index = place.index
        before = self._owner[index]
        changed = not (before == group.number).all()
        if changed:
            for number in np.unique(before).tolist():
                if number not in (0, group.number):
                    self._lose(number, group, index, before == number, op, updates=bool(sources))
            self._owner[index] = group.number
        if not sources:
            changed |= self._replace(group, index, before == group.number, op)
        lost = self._lost.get(group.number)
        if lost is not None and lost[index].any():
            lost[index] = 0
            changed = True
        return changed

    def _replace(self, group: Group, index: slice | np.ndarray, mask: np.ndarray, op: Op) -> bool:
        """A tile gets a new value where it holds what it has updated. True if that loses a value."""
        changed = False
        for other in self._updated.get(group.number, ()):
            gone = mask & (self._lost[other][index] < 0)
            if gone.any():
                changed = True
                self._mark(other, group, index, gone, op, updates=False)
        return changed

    def _lose(
        self, number: int, by: Group, index: slice | np.ndarray, mask: np.ndarray, op: Op, *, updates: bool
    ) -> None:
        """`by` takes bytes of a group, and with them those of the groups that this one has updated."""
        self._mark(number, by, index, mask, op, updates=updates)
        for other in self._updated.get(number, set()) - {by.number}:
            self._mark(other, by, index, mask & (self._lost[other][index] < 0), op, updates=updates)

    def _mark(
        self, number: int, by: Group, index: slice | np.ndarray, mask: np.ndarray, op: Op, *, updates: bool
    ) -> None:
        lost = self._lost.get(number)
        if lost is None:
            lost = self._lost[number] = np.zeros(len(self._owner), np.int32)
        known = self._numbers.setdefault((number, by.number, op), len(self._losses) + 1)
        if known > len(self._losses):
            self._losses.append(Loss(self._groups[number], by, op))
        part = lost[index]
        part[mask] = -known if updates else known
        lost[index] = part
        if updates:
            self._updated.setdefault(by.number, set()).add(number)

    def release(self, place: Footprint) -> bool:
        """Bytes are written by address, through no tile: they are anybody's. True if that changes something."""
        owned = bool(self._owner[place.index].any())
        self._owner[place.index] = 0
        return owned

    def used(self, group: Group, place: Footprint) -> bool:
        """Bytes are read for another purpose than to update them. True if this changes what is lost."""
        changed = False
        for number in self._updated.get(group.number, ()):
            part = self._lost[number][place.index]
            mine = (part < 0) & (self._owner[place.index] == group.number)
            if mine.any():
                changed = True
                self._lost[number][place.index] = np.where(mine, -part, part)
        return changed

    def read(self, group: Group, place: Footprint) -> tuple[Loss | None, Group | None]:
        """(value of `group` that is gone, group of another type that wrote the bytes), if there is any."""
        owner = self._owner[place.index]
        foreign = (owner != group.number) & (owner != 0)
        if not foreign.any():
            return None, None
        lost = self._lost.get(group.number)
        if lost is not None:
            last = int(lost[place.index][foreign].max())
            if last > 0:
                return self._losses[last - 1], None
        for number in np.unique(owner[foreign]).tolist():
            other = self._groups[number]
            if not _alike(other.spec, group.spec):
                return None, other
        return None, None


def _alike(a: TileSpec, b: TileSpec) -> bool:
    """True if both see the same elements in the same order: equal types, or reshapes of one another without boxes.

    A row or column of elements has one order, whichever layout it is declared with.
    """
    if _type(a) == _type(b):
        return True
    plain = type(a) is type(b) is TileSpec and a.slayout is b.slayout is SLayout.NoneBox
    if not plain or a.dtype is not b.dtype or a.rows * a.cols != b.rows * b.cols:
        return False
    return a.blayout is b.blayout or any(1 in (spec.rows, spec.cols) for spec in (a, b))


def _type(spec: TileSpec) -> tuple[object, ...]:
    return spec.dtype, spec.rows, spec.cols, spec.blayout, spec.slayout, spec.fractal
