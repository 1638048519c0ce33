"""The order of loads and stores inside one vector scope, which mem_bar makes (vector-path 7).

Registers give results in program order. Memory does not: a load may overtake a store before it, and a store a load.
What is known of an access is which of the accesses before it have completed when it begins: those that its operands are
computed from, those that a barrier waits for, stores of the same unit to the same bytes, and what these came after.
Sets of accesses are numbers, one bit for each access of the scope.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import or_
from typing import Any

import numpy as np

from ptokit.diagnostics import Note
from ptokit.ir.control import reached, sources
from ptokit.ir.core import Function, Op, Value
from ptokit.isa.order.sync import SCALAR, UNITS, Access, ordered_by

from ..findings.races import Draft
from ..memory.shadow import Group, Space
from ..simulation.clocks import Touch, places_of
from ..simulation.core import Loops

Report = Callable[[str, Op, Any, Callable[[], Draft]], None]


_MANY = 4096  # sets to remember before looking which of them no byte names any more


class _Shadow:
    """By byte of a buffer: the last store, and the number of the set of accesses that it may not come after."""

    def __init__(self, size: int) -> None:
        self.stores, self.others = np.zeros((2, size), np.int32)


class ScopeOrder:
    """What has happened in the running vector scope."""

    def __init__(self, sources: Sources, report: Report) -> None:
        self._sources = sources
        self._report = report
        self.open = False

    def begin(self) -> None:
        """A scope begins: whatever was before it is over."""
        self.open = True
        self._done: list[tuple[Op, Loops, Access]] = [(Op(""), (), Access.LD)]
        self._all = [0] * len(Access)  # by class: its accesses so far and what they came after
        self._known = [0] * len(Access)  # what the next access of a class comes after, by barriers
        self._shadows: dict[Space, _Shadow] = {}
        self._before: dict[int, int] = {}  # by store that some byte remembers: what it came after
        self._written = 0  # the accesses that are stores
        self._sets: dict[int, int] = {0: 0}
        self._next, self._limit = 1, _MANY
        self._values: dict[int, tuple[Any, int]] = {}  # by register: it, and what it is computed from
        self._numbers: dict[Op, int] = {}  # the same of the last result that is no register

    def end(self) -> None:
        """The scope has ended."""
        self.open = False
        self._shadows, self._values = {}, {}

    def barrier(self, kind: str) -> None:
        """mem_bar."""
        if self.open:
            for first, second in ordered_by(kind):
                self._known[second] |= self._all[first]

    def follow(
        self, op: Op, loops: Loops, touches: list[Touch], operands: Iterable[Any] = (), result: Any = None
    ) -> None:
        """An operation of the scope is carried out; `result` is what it gives."""
        if not self.open:
            return
        came = self._computed_from(op, operands)
        if touches:
            came |= self._access(op, loops, touches, came)
        self._give(op, result, came)

    # --- values ------------------------------------------------------------------------------------------------------

    def _computed_from(self, op: Op, operands: Iterable[Any]) -> int:
        came = 0
        for operand in operands:
            known = self._values.get(id(operand))
            if known is not None:
                came |= known[1]
        if self._numbers:
            for source in self._sources.numbers_of(op):
                came |= self._numbers.get(source, 0)
        return came

    def _give(self, op: Op, result: Any, came: int) -> None:
        for value in result if isinstance(result, tuple | list) else (result,):
            if value is None:
                continue
            if isinstance(value, int | float):
                self._numbers[op] = came
                continue
            key = id(value)
            if not came:
                self._values.pop(key, None)
                continue
            held: Any = value
            if isinstance(value, np.ndarray):  # known as long as it lives
                held = weakref.ref(value, partial(self._gone, self._values, key))
            self._values[key] = held, came

    @staticmethod
    def _gone(values: dict[int, tuple[Any, int]], key: int, held: Any) -> None:
        known = values.get(key)
        if known is not None and known[0] is held:
            del values[key]

    # --- memory ------------------------------------------------------------------------------------------------------

    def _access(self, op: Op, loops: Loops, touches: list[Touch], came: int) -> int:
        """Loads and stores of one operation, computed from `came`; what comes before its results besides."""
        load, store = UNITS["S" if op.name in SCALAR else "V"]
        me = len(self._done)
        reads, writes = (any(touch.write is write for touch in touches) for write in (False, True))
        classes = [load] * reads + [store] * writes
        self._done.append((op, loops, classes[-1]))
        for kind in classes:
            came |= self._known[kind]
            if kind in UNITS["S"]:
                came |= self._all[Access.LD] | self._all[Access.ST]
        met = [(touch, *self._met(touch)) for touch in touches]
        for touch, stores, _ in met:
            for i in stores if touch.write else ():
                if i and self._done[i][2] is store:
                    came |= 1 << i | self._before[i]
        for touch, stores, others in met:
            late = [i for i in stores if i and not came >> i & 1]
            for number in others:
                late += _bits(self._sets[number] & ~came & (-1 if touch.write else self._written))
            for first, i in {self._done[i][0]: i for i in sorted(late)}.items():
                self._disordered(op, store if touch.write else load, touch, first, self._done[i][2])
        for touch, stores, others in met:
            if len(met) == len(others) == 1 and (len(stores) == 1 or not touch.write):
                self._remember_alike(touch, me, came, stores[0], others[0])
            else:
                self._remember(touch, me, came)
        self._before[me] = came
        for kind in classes:
            self._all[kind] |= came | 1 << me
        if writes:
            self._written |= 1 << me
        if len(self._sets) + len(self._before) > self._limit:
            self._forget()
        return came | 1 << me if reads else 0

    def _met(self, touch: Touch) -> tuple[list[int], list[int]]:
        """The last stores to the bytes of an access, and the numbers of the sets of others there; 0 for none."""
        shadow = self._shadows.get(touch.space)
        if shadow is None:
            shadow = self._shadows[touch.space] = _Shadow(len(touch.space.state))
        return _distinct(shadow.stores[touch.where.index]), _distinct(shadow.others[touch.where.index])

    def _remember_alike(self, touch: Touch, me: int, came: int, last: int, number: int) -> None:
        """As `_remember`, where all bytes of the only access have been treated alike."""
        shadow, where = self._shadows[touch.space], touch.where.index
        bits = self._sets[number]
        if touch.write:
            shadow.stores[where] = me
            bits = (bits | 1 << last if last else bits) & ~came
        else:
            bits |= 1 << me
        shadow.others[where] = self._number(bits)

    def _remember(self, touch: Touch, me: int, came: int) -> None:
        """A store takes the place of what it comes after; a load joins others."""
        shadow, where = self._shadows[touch.space], touch.where.index
        if not touch.write:
            self._change(shadow, where, lambda bits: bits | 1 << me)
            return
        stores = shadow.stores[where]
        for i in _distinct(stores):
            if i and not came >> i & 1:
                self._change(shadow, places_of(touch.where)[stores == i], partial(or_, 1 << i))
        self._change(shadow, where, lambda bits: bits & ~came)
        shadow.stores[where] = me

    def _change(self, shadow: _Shadow, where: Any, change: Callable[[int], int]) -> None:
        """Other sets for some bytes."""
        entries = shadow.others[where]
        numbers = _distinct(entries)
        sets = [change(self._sets[n]) for n in numbers]
        fresh = {bits: self._number(bits) for bits in dict.fromkeys(sets)}
        new = np.array([fresh[bits] for bits in sets], np.int32)
        shadow.others[where] = new[0] if len(new) == 1 else new[np.searchsorted(numbers, entries)]

    def _number(self, bits: int) -> int:
        if not bits:
            return 0
        number = self._next
        self._next += 1
        self._sets[number] = bits
        return number

    def _forget(self) -> None:
        """Drop what no byte remembers."""
        others, stores = {0}, {0}
        for shadow in self._shadows.values():
            others.update(np.unique(shadow.others).tolist())
            stores.update(np.unique(shadow.stores).tolist())
        self._sets = {n: bits for n, bits in self._sets.items() if n in others}
        self._before = {i: bits for i, bits in self._before.items() if i in stores}
        self._limit = max(_MANY, 2 * (len(self._sets) + len(self._before)))

    def _disordered(self, op: Op, kind: Access, touch: Touch, first: Op, before: Access) -> None:
        early, late = first.name.removeprefix("pto."), op.name.removeprefix("pto.")
        does = "overwrites" if touch.write else "reads"
        undone = "written" if before in (Access.VST, Access.ST) else "read"

        def draft() -> Draft:
            place = f"bytes {touch.where.lo:#x}..{touch.where.hi - 1:#x} of {touch.space.name}"
            message = f"{late} {does} {place} that {early} before it may not have {undone} yet"
            hint = f'insert pto.mem_bar "{before.name}_{kind.name}" before line {op.location.line}'
            return Draft(
                message,
                op.location,
                hint,
                [Note(f"{early} is here; nothing orders the two inside the vector scope", first.location)],
            )

        self._report("SYN-A5-05", op, (first, op), draft)


def _bits(bits: int) -> Iterator[int]:
    """The accesses of a set, the first one first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _distinct(entries: np.ndarray) -> list[int]:
    """The numbers that occur, ascending."""
    first = entries[0]
    return [int(first)] if (entries == first).all() else np.unique(entries).tolist()


class Sources:
    """Which operations the operands of others come from."""

    def __init__(self, functions: list[Function]) -> None:
        self._ops = [op for function in functions if function.body is not None for op in function.body.walk()]
        self._from = sources(iter(self._ops))
        self._known: dict[Op, tuple[Op, ...]] = {}

    def pops(self, tile: Group | None) -> list[Op]:
        """What makes a declared tile a slot of a pipe."""
        made = () if tile is None else tile.op.results
        return [op for op in self._ops if op.name == "pto.tpop" and op.get("tile") in made]

    def numbers_of(self, op: Op) -> tuple[Op, ...]:
        """Operations whose results the operands of `op` are computed from, be it by arithmetic or loops."""
        known = self._known.get(op)
        if known is None:
            owners = (value.owner for value in reached(op.values, self._made_of))
            known = tuple(dict.fromkeys(o for o in owners if isinstance(o, Op) and not o.name.startswith("arith.")))
            self._known[op] = known
        return known

    def _made_of(self, value: Value) -> list[Value]:
        found = list(self._from.get(value, ()))
        if isinstance(value.owner, Op) and value.owner.name.startswith("arith."):
            found += value.owner.values
        return found
