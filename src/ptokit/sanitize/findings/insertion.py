"""The missing edge as code: which flag to set and wait for, and where."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.diagnostics.finding import Edit
from ptokit.ir.core import Function, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.order.sync_rules import class_pipe
from ptokit.isa.table import Engine
from ptokit.targets import Target
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from ..simulation.core import Core
from ..simulation.events import FlagKey, Work
from .fixes import Fix, Step
from .lines import first_line, indent, last_line
from .spelling import as_statement, barrier_code, flag_code
from .statements import Structure

COMPOSITE_PIPES = frozenset((Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3))
"""Pipes between which composite instructions hand over (memory-model-and-sync 2.1)."""


class Insertion:
    """Knows the text of the program: which ids it uses, and where instructions are."""

    def __init__(self, functions: Sequence[Function], target: Target) -> None:
        self.structure = Structure(functions)
        self.cores: list[Core] = []
        self._used: dict[tuple[Pipe, Pipe], set[int]] = {}
        self._given: dict[tuple[Pipe, Pipe, int, int], int] = {}  # by the lines of set and wait
        self._composite = False
        self._one_flag_per_id = target.one_flag_per_id
        for op in self.structure.ops:
            pair = _pipes(op)
            if pair is not None:
                self._used.setdefault(pair, set()).add(op.attrs.get("event_id") or 0)
            instr = instr_of(op)
            self._composite = self._composite or (
                instr is not None and target.of(instr.engines) is Engine.SEVERAL_PIPES
            )

    def used(self, core: Core) -> None:
        """A core has ended: remember the ids that it has used."""
        for p, q, number in core.flags:
            self._used.setdefault((p, q), set()).add(number)

    def fix(self, a: Work, b: Work) -> Fix:
        """The flag or barrier that orders `a` before `b`, which begins later, on the same core."""
        if a.pipe is b.pipe:
            return self.barrier(a.pipe, b.op)
        found = self.structure.common(self.structure.outside(a.op), self.structure.outside(b.op))
        if found is None:
            return self.barrier(Pipe.ALL, b.op)
        after, before, block = found
        carried = self.structure.index(before) <= self.structure.index(after)
        loop = self.structure.loop(block) if carried else None
        if carried and loop is None:
            return self.barrier(Pipe.ALL, b.op)
        number = self._free(a.pipe, b.pipe, self._last(after), first_line(before))
        if number is None:
            return self.barrier(Pipe.ALL, b.op)
        return self._flag((a.pipe, b.pipe, number), after, before, loop)

    def _flag(self, key: FlagKey, after: Op, before: Op, loop: Op | None) -> Fix:
        set_flag, wait_flag = (flag_code(verb, key, before) for verb in ("set", "wait"))
        set_at, wait_at = self._last(after), first_line(before)
        text = f"insert {set_flag} after line {set_at} and {wait_flag} before line {wait_at}"
        if loop is not None:
            text += f"; also set it once before the loop in line {first_line(loop)} and wait for it once after the loop"
            if self._last(loop) > first_line(loop):
                text += f", after line {self._last(loop)}"
        around = [op for op in (after, before, loop) if op is not None]
        lines = [(set_at + 1, "set", after, True), (wait_at, "wait", before, False)]
        if loop is not None:
            outside = [(first_line(loop), "set", loop, False), (self._last(loop) + 1, "wait", loop, True)]
            lines = [outside[0], *lines[::-1], outside[1]]
        steps = tuple(Step(op, later, verb, key[:2], key[2]) for _, verb, op, later in lines)
        apart = set_at < wait_at if loop is None else before is after or self._last(before) < first_line(after)
        if not apart or not all(map(self._free_standing, around)):
            return Fix(text, steps=steps)
        edits = [self._edit(line, flag_code(verb, key, op), op) for line, verb, op, _ in lines]
        return Fix(text, tuple(edits), steps)

    def barrier(self, pipe: Pipe, before: Op) -> Fix:
        """A barrier before an operation."""
        before = self.structure.outside(before)
        line = first_line(before)
        text = f"insert {barrier_code(pipe, before)} before line {line}"
        steps = (Step(before, False, "barrier", (pipe,)),)
        if not self._free_standing(before):
            return Fix(text, steps=steps)
        return Fix(text, (self._edit(line, barrier_code(pipe, before), before),), steps)

    def _edit(self, line: int, code: str, like: Op) -> Edit:
        file = like.location.file or ""
        return Edit(file, line, indent(file, first_line(like)) + as_statement(code, like))

    def _last(self, op: Op) -> int:
        return last_line(op, self.structure.following(op))

    def _free_standing(self, op: Op) -> bool:
        """True if lines can be inserted around an operation: nothing else comes from its lines."""
        statement = self.structure.statement(op)
        return statement is not None and statement.alone and statement.once

    def _free(self, src: Pipe, dst: Pipe, after: int, before: int) -> int | None:
        """An event id that nothing else uses, best for no other destination either; the same one for the same edge."""
        known = self._given.get((src, dst, after, before))
        if known is not None:
            return known
        used = set(self._used.get((src, dst), ()))
        for core in self.cores:
            used |= {number for p, q, number in core.flags if (p, q) == (src, dst)}
        if self._composite and src in COMPOSITE_PIPES and dst in COMPOSITE_PIPES:
            used.add(0)
        shared = {
            i for (p, _), ids in self._used.items() if p is src and src.name in self._one_flag_per_id for i in ids
        }
        free = min((i for i in range(EVENT_ID_COUNT) if i not in used), key=lambda i: (i in shared, i), default=None)
        if free is not None:
            self._given[src, dst, after, before] = free
            self._used.setdefault((src, dst), set()).add(free)
        return free


def _pipes(op: Op) -> tuple[Pipe, Pipe] | None:
    """The pair of pipes that a flag operation of the text names."""
    pair = op.attrs.get("src_pipe"), op.attrs.get("dst_pipe")
    if isinstance(pair[0], Pipe) and isinstance(pair[1], Pipe):
        return pair[0], pair[1]
    if "src_op" in op.attrs and "dst_op" in op.attrs:
        src, dst = class_pipe(op.attrs["src_op"], ""), class_pipe(op.attrs["dst_op"], "")
        return None if src is None or dst is None else (src, dst)
    return None
