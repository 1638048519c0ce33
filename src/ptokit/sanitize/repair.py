"""The missing edge as code: which flag to set and wait for, and what orders the two pipes now."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.diagnostics import Note
from ptokit.ir.core import Block, Function, Op
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from .events import Work
from .queues import Core


class Repair:
    """Knows the text of the program: which ids it uses, and which loops instructions stand in."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.cores: list[Core] = []
        self._used: dict[tuple[Pipe, Pipe], set[int]] = {}
        self._loops: dict[Op, tuple[Op, ...]] = {}
        self._order: dict[Op, int] = {}
        for function in functions:
            if function.body is not None:
                self._walk(function.body, ())

    def _walk(self, block: Block, loops: tuple[Op, ...]) -> None:
        for op in block.ops:
            self._order[op] = len(self._order)
            self._loops[op] = loops
            pair = op.attrs.get("src_pipe"), op.attrs.get("dst_pipe")
            if isinstance(pair[0], Pipe) and isinstance(pair[1], Pipe):
                ids = self._used.setdefault((pair[0], pair[1]), set())
                dynamic = op.name.endswith("_dyn")
                ids |= set(range(EVENT_ID_COUNT)) if dynamic else {op.attrs.get("event_id", 0)}
            inner = (*loops, op) if op.name in ("scf.for", "scf.while") else loops
            for region in op.regions:
                self._walk(region, inner)

    def edge(self, core: Core, a: Work, b: Work) -> str:
        """The flag or barrier that orders `a` before `b`."""
        after, before = f"after line {a.op.location.line}", f"before line {b.op.location.line}"
        if a.pipe is b.pipe:
            return f"insert pipe_barrier({a.pipe.text}) {before}"
        used = self._used.get((a.pipe, b.pipe), set())
        free = [i for i in range(EVENT_ID_COUNT) if i not in used]
        if not free:
            return f"insert pipe_barrier(PIPE_ALL) {before}"
        flag = f"{a.pipe.text}, {b.pipe.text}, EVENT_ID{free[0]}"
        text = f"insert set_flag({flag}) {after} and wait_flag({flag}) {before}"
        if self._carried(a.op, b.op):
            text += "; set it once before the loop and wait for it once after"
        elif self._loops.get(a.op) != self._loops.get(b.op):
            text += ", both the same number of times"
        return text

    def _carried(self, a: Op, b: Op) -> bool:
        """True if the second stands before the first in the text, so that it belongs to a later iteration."""
        return self._order.get(b, 0) <= self._order.get(a, 0)

    def last_sync(self, core: Core, a: Work, b: Work) -> list[Note]:
        """What last ordered the two pipes."""
        if a.pipe is b.pipe:
            return []
        pair = f"{a.pipe.text} to {b.pipe.text}"
        found = core.last_sync.get((a.pipe, b.pipe))
        if found is None:
            return [Note(f"nothing has ordered {pair} so far")]
        source, wait = found
        lines = f"set in line {source.op.location.line}, waited for in line {wait.op.location.line}"
        return [Note(f"the last flag from {pair} was {lines}", wait.op.location)]
