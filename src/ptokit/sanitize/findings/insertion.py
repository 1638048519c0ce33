"""The missing edge as code: which flag to set and wait for, where, and what a manual version needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import field
from typing import Any

from ptokit.diagnostics.finding import Edit
from ptokit.ir.core import Function, Module, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.order.sync_rules import class_pipe
from ptokit.isa.table import Engine
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from ..simulation.core import Core, FlagKey, Work
from .race import Fix, Race, Step
from .source_text import Structure, as_statement, barrier_code, first_line, flag_code, indent, last_line

# The missing edge as code: which flag to set and wait for, and where.


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
        if not apart or not all(map(self._separate, around)):
            return Fix(text, steps=steps)
        edits = [self._edit(line, flag_code(verb, key, op), op) for line, verb, op, _ in lines]
        return Fix(text, tuple(edits), steps)

    def barrier(self, pipe: Pipe, before: Op) -> Fix:
        """A barrier before an operation."""
        before = self.structure.outside(before)
        line = first_line(before)
        text = f"insert {barrier_code(pipe, before)} before line {line}"
        steps = (Step(before, False, "barrier", (pipe,)),)
        if not self._separate(before):
            return Fix(text, steps=steps)
        return Fix(text, (self._edit(line, barrier_code(pipe, before), before),), steps)

    def _edit(self, line: int, code: str, like: Op) -> Edit:
        file = like.location.file or ""
        return Edit(file, line, indent(file, first_line(like)) + as_statement(code, like))

    def _last(self, op: Op) -> int:
        return last_line(op, self.structure.following(op))

    def _separate(self, op: Op) -> bool:
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


# The synchronisations that a manual version of a program needs: found by adding one at a time to a copy of it, until
# no two pipes of a core race, and then leaving out those that the others make superfluous.


_ROUNDS = 200  # synchronisations at most
_TRIALS = 1_000_000  # instructions executed to find superfluous ones

Watch = Callable[[Module], tuple[list[Race], int]]
"""Runs a module: its races, and how many instructions that took."""


@dataclass
class Synchronisation:
    """Flags and barriers, in the order in which they were found. ``complete``: nothing races with them; ``minimal``:
    each of them is needed."""

    fixes: list[Fix] = field(default_factory=list)
    complete: bool = True
    minimal: bool = True

    @property
    def edits(self) -> list[Edit]:
        """The lines to insert, in the order of the text; those at one place in the order in which they belong."""
        found = [(edit.line, not step.after, i, edit) for i, fix in enumerate(self.fixes) for step, edit in fix.paired]
        return [edit for *_, edit in sorted(found, key=lambda entry: entry[:3])]

    def __str__(self) -> str:
        if not self.fixes:
            return "a manual version needs no flags and barriers"
        lines = ["a manual version needs:"]
        if all(fix.edits for fix in self.fixes):
            width = len(str(max(edit.line for edit in self.edits)))
            lines += [f"  before line {edit.line:>{width}}: {(edit.text or '').strip()}" for edit in self.edits]
        else:
            lines += [f"  {fix.text}" for fix in self.fixes]
        if not self.complete:
            lines.append("  and more: the search was given up")
        elif not self.minimal:
            lines.append("  some may be superfluous: the program is too long to leave out each of them in turn")
        return "\n".join(lines)

    def apply(self, source: str) -> str:
        """The text of the file with the lines inserted."""
        return Fix("", tuple(self.edits)).apply(source)

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {
            "complete": self.complete,
            "minimal": self.minimal,
            "needs": [fix.text for fix in self.fixes],
            "insert": [{**edit.as_json(), "text": (edit.text or "").strip()} for edit in self.edits],
        }


def explain(module: Module, target: Target, watch: Watch) -> Synchronisation:
    """The synchronisations between pipes that `module` needs; ``watch`` runs a version of it."""
    insertion = Insertion(module.functions, target)
    found = Synchronisation()
    for _ in range(_ROUNDS):
        copy, original = _with(module, found.fixes)
        races, cost = watch(copy)
        race = next((race for race in races if race.same_core), None)
        if race is None:
            break
        a, b = race.first.work, race.second.work
        assert a is not None
        assert b is not None
        found.fixes.append(insertion.fix(_as(a, original), _as(b, original)))
    else:
        found.complete = False
    found.minimal = found.complete and cost * len(found.fixes) <= _TRIALS
    if found.minimal:
        _drop_superfluous(module, found, watch)
    return found


def _drop_superfluous(module: Module, found: Synchronisation, watch: Watch) -> None:
    for fix in list(found.fixes):
        rest = [other for other in found.fixes if other is not fix]
        races, _ = watch(_with(module, rest)[0])
        if not any(race.same_core for race in races):
            found.fixes = rest


def _as(work: Work, original: dict[Op, Op]) -> Work:
    """The same instruction of the program itself."""
    return Work(original[work.op], work.name, work.pipe)


def _with(module: Module, fixes: list[Fix]) -> tuple[Module, dict[Op, Op]]:
    """A copy of a program with synchronisations inserted, and the operation that each of its operations comes from."""
    ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
    memo: dict[int, Any] = {}
    for op in ops:
        shared: list[Any] = [*op.attrs.values(), *(v.type for v in (*op.values, *op.results)), op.location]
        shared += [arg.type for region in op.regions for block in region.blocks for arg in block.args]
        memo.update((id(part), part) for part in shared)
    for function in module.functions:
        memo.update((id(part), part) for part in (*function.attrs.values(), *(p.type for p in function.params)))
    copy: Module = deepcopy(module, memo)
    copies = [op for f in copy.functions if f.body is not None for op in f.body.walk()]
    original = dict(zip(copies, ops))
    steps: dict[tuple[Op, bool], list[Step]] = {}
    for fix in fixes:
        for step in fix.steps:
            steps.setdefault((step.op, step.after), []).append(step)
    regions = [f.body for f in copy.functions if f.body is not None] + [r for op in copies for r in op.regions]
    for block in (block for region in regions for block in region.blocks):
        placed: list[Op] = []
        for op in block.ops:
            placed += [step.make() for step in steps.get((original[op], False), [])]
            placed.append(op)
            placed += [step.make() for step in steps.get((original[op], True), [])]
        block.ops[:] = placed
    return copy, original
