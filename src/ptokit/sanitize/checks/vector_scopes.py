"""The order of loads and stores inside one vector scope, which mem_bar makes (vector-path 7).

Registers give results in program order. Memory does not: a load may overtake a store before it, and a store a load,
unless the store's value comes from that load, be it by way of memory: through a store, a barrier and a load behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.diagnostics import Note
from ptokit.ir.core import Block, Function, Op, Value
from ptokit.ir.graph import passed

from ..findings.folded import Draft
from ..memory.footprints import Touch
from ..memory.shadow import Space
from ..simulation.events import Loops

Report = Callable[[str, Op, Any, Callable[[], Draft]], None]

_ENDS = {True: frozenset(("VV_ALL", "VST_VLD")), False: frozenset(("VV_ALL", "VLD_VST"))}
"""Barriers behind which loads see earlier stores (True), and stores leave earlier loads alone (False)."""


class ScopeOrder:
    """What has happened in the running vector scope. Numbers count its accesses."""

    def __init__(self, sources: Sources, report: Report) -> None:
        self._sources = sources
        self._report = report
        self.open = False

    def begin(self) -> None:
        """A scope begins: whatever was before it is over."""
        self.open = True
        self._count = 0
        self._done: list[tuple[Op, Loops, int]] = [(Op(""), (), 0)]  # with the last store that loads there see
        self._barriers = {True: 0, False: 0}
        self._last: dict[tuple[Space, bool], np.ndarray] = {}

    def end(self) -> None:
        """The scope has ended."""
        self.open = False
        self._last = {}

    def barrier(self, kind: str) -> None:
        """mem_bar."""
        if self.open:
            for stores, kinds in _ENDS.items():
                if kind in kinds:
                    self._barriers[stores] = self._count

    def follow(self, op: Op, loops: Loops, touches: list[Touch]) -> None:
        """An instruction of the scope touches memory."""
        if not self.open or not touches:
            return
        self._count += 1
        self._done.append((op, loops, self._barriers[True]))
        for touch in touches:
            before = self._last.get((touch.space, not touch.write))
            if before is not None:
                newest = int(before[touch.where.index].max())
                if newest > self._barriers[not touch.write]:
                    self._disordered(op, loops, touch, newest)
        for touch in touches:
            key = (touch.space, touch.write)
            if key not in self._last:
                self._last[key] = np.zeros(len(touch.space.state), np.int32)
            self._last[key][touch.where.index] = self._count

    def _disordered(self, op: Op, loops: Loops, touch: Touch, newest: int) -> None:
        first, where, _ = self._done[newest]
        if first is op and where == loops:
            return
        if touch.write and self._feeds(newest, op, loops):
            return
        kind = "VLD_VST" if touch.write else "VST_VLD"
        early, late = first.name.removeprefix("pto."), op.name.removeprefix("pto.")
        does, undone = ("overwrites", "read") if touch.write else ("reads", "written")

        def draft() -> Draft:
            place = f"bytes {touch.where.lo:#x}..{touch.where.hi - 1:#x} of {touch.space.name}"
            message = f"{late} {does} {place} that {early} before it may not have {undone} yet"
            hint = f'insert pto.mem_bar "{kind}" before line {op.location.line}'
            return Draft(
                message,
                op.location,
                hint,
                [Note(f"{early} is here; nothing orders the two inside the vector scope", first.location)],
            )

        self._report("SYN-A5-05", op, (first, op), draft)

    def _feeds(self, load: int, op: Op, loops: Loops) -> bool:
        """True if the value of a store comes from a load, by way of registers or of memory."""
        first, where, _ = self._done[load]
        if where == loops and self._sources.feeds(first, op):
            return True
        seen = 0  # the last store that a load of the value has waited for
        for k in range(self._count - 1, load, -1):
            source, there, stores = self._done[k]
            if there != loops:
                break
            if self._sources.feeds(source, op):
                seen = max(seen, stores)
        between = self._done[load + 1 : seen + 1]
        return any(there == where and self._sources.feeds(first, store) for store, there, _ in between)


class Sources:
    """Which instructions the operands of others are computed from."""

    def __init__(self, functions: list[Function]) -> None:
        self._from: dict[Value, list[Value]] = {}
        self._known: dict[Op, set[Op]] = {}
        for function in functions:
            if function.body is not None:
                self._block(function.body)

    def _block(self, first: Block) -> None:
        for op in (op for block in first.blocks for op in block.ops):
            for k, to in enumerate(op.successors):
                for arg, value in zip(to.args, passed(op, k)):
                    self._from.setdefault(arg, []).append(value)
            for region in op.regions:
                self._block(region)
                inside = (inner for block in region.blocks for inner in block.ops)
                ends = [v for inner in inside if inner.name == "scf.yield" for v in inner.group("values")]
                for arg, value in zip(region.args[1:] if op.name == "scf.for" else [], op.group("init")):
                    self._from.setdefault(arg, []).append(value)
                for arg, value in zip(region.args[1:] if op.name == "scf.for" else [], ends):
                    self._from.setdefault(arg, []).append(value)
                for k, value in enumerate(ends):
                    self._from.setdefault(op.results[k % len(op.results)], []).append(value)

    def feeds(self, first: Op, second: Op) -> bool:
        """True if an operand of `second` is computed from a result of `first`."""
        known = self._known.get(second)
        if known is None:
            known = self._known[second] = set()
            todo, seen = list(second.values), set(second.values)
            while todo:
                value = todo.pop()
                more = list(self._from.get(value, ()))
                if isinstance(value.owner, Op):
                    known.add(value.owner)
                    more += value.owner.values
                todo += [v for v in more if v not in seen]
                seen.update(more)
        return first in known
