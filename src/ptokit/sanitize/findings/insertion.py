"""The missing edge as code: which flag to set and wait for, where, and what a manual version needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from typing import Any

from ptokit.diagnostics.finding import Edit
from ptokit.ir.core import Block, Function, Module, Op
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

TRANSFER_PIPES = frozenset((Pipe.MTE2, Pipe.MTE3))
"""Pipes between which transfers to other ranks hand over; those that reduce, with V (pto-isa include/pto/comm/a2a3)."""

STAGED = ("ping", "pong")
"""Operands of a transfer: the tiles that it goes through. It takes an event id for each, from `EVENT_ID0` on."""


class EventIds:
    """The event ids that new flags may not take: those of flags that are there, and of instructions that set flags."""

    def __init__(self, ops: Iterable[Op], target: Target) -> None:
        self._alone = target.one_flag_per_id
        self._own: dict[frozenset[Pipe], int] = {}  # by pipes, so many ids that instructions use between them
        self._taken: dict[tuple[str, ...], set[int]] = {}
        for op in ops:
            instr = instr_of(op)
            if instr is not None and instr.engines and target.of(instr.engines) is Engine.SEVERAL_PIPES:
                self._own[COMPOSITE_PIPES] = 1
            elif instr is not None and (tiles := sum(op.get(name) is not None for name in STAGED)):
                pipes = COMPOSITE_PIPES - {Pipe.S} if op.get("acc") is not None else TRANSFER_PIPES
                self._own[pipes] = max(tiles, self._own.get(pipes, 0))

    def place(self, core: str, p: Pipe, q: Pipe) -> tuple[str, ...]:
        """Among what the ids of a flag have to differ."""
        return (core, p.name) if p.name in self._alone else (core, p.name, q.name)

    def take(self, core: str, p: Pipe, q: Pipe, number: int) -> None:
        """A flag has an id."""
        self._taken.setdefault(self.place(core, p, q), set()).add(number)

    def closed(self, core: str, p: Pipe, q: Pipe) -> set[int]:
        """What a flag of these pipes may not have."""
        own = max((count for pipes, count in self._own.items() if pipes.issuperset((p, q))), default=0)
        return self._taken.get(self.place(core, p, q), set()) | set(range(own))


def stabbed(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where flags go that order all spans between operations of one block, as few as there are spans apart from each
    other: after the last operation that one of its spans begins with, before the first one with which one ends."""
    start = end = -1
    for lo, hi in sorted(set(spans), key=lambda each: each[::-1]):
        if end < 0 or lo >= end:
            if end >= 0:
                yield start, end
            start, end = lo, hi
        else:
            start = max(start, lo)
    if end >= 0:
        yield start, end


def shortest(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans that hold no other one: flags for these order all of them, and let pipes go on as early as they can."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(set(spans), key=lambda span: (-span[0], span[1])):
        if not found or end < found[-1][1]:
            found.append((start, end))
    yield from reversed(found)


def carried(spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Where the one flag goes that orders all that a loop carries from one pipe to another."""
    found = list(spans)
    return max(start for start, _ in found), min(end for _, end in found)


def statements(after: Op, before: Op, around: Op | None) -> Iterator[tuple[str, Op, bool]]:
    """What a flag takes, in the order of the text: verb, operation beside which it is, and whether it is after it."""
    if around is None:
        yield "set", after, True
        yield "wait", before, False
    else:
        yield "set", around, False
        yield "wait", before, False
        yield "set", after, True
        yield "wait", around, True


class Insertion:
    """Knows the text of the program: which ids it uses, and where instructions are."""

    def __init__(self, functions: Sequence[Function], target: Target) -> None:
        self.structure = Structure(functions)
        self.cores: list[Core] = []
        self.ids = EventIds(self.structure.ops, target)
        self._given: dict[tuple[Pipe, Pipe, int, int], int] = {}  # by the lines of set and wait
        for op in self.structure.ops:
            pair = _pipes(op)
            if pair is not None:
                self.ids.take("", *pair, op.attrs.get("event_id") or 0)

    def used(self, core: Core) -> None:
        """A core has ended: remember the ids that it has used."""
        for key in core.flags:
            self.ids.take("", *key)

    def fix(self, a: Work, b: Work, others: Iterable[tuple[Work, Work]] = ()) -> Fix:
        """The flag or barrier that orders `a` before `b`, which begins later, on the same core.

        ``others``: what else races; the flag orders what of these it can as well.
        """
        if a.pipe is b.pipe:
            return self.barrier(a.pipe, b.op)
        span = self._span(a, b)
        if span is None:
            return self.barrier(Pipe.ALL, b.op)
        block, start, end = span
        back = end <= start
        loop = self.structure.loop(block) if back else None
        if back and loop is None:
            return self.barrier(Pipe.ALL, b.op)
        like = [self._span(x, y) for x, y in others if (x.pipe, y.pipe) == (a.pipe, b.pipe)]
        spans = [(start, end), *((x[1], x[2]) for x in like if x is not None and x[0] is block)]
        if back:
            start, end = carried(each for each in spans if each[1] <= each[0])
        else:
            flags = stabbed(each for each in spans if each[0] < each[1])
            start, end = next((x, y) for x, y in flags if start <= x < y <= end)
        after, before = block.ops[start], block.ops[end]
        number = self._free(a.pipe, b.pipe, self._last(after), first_line(before))
        if number is None:
            return self.barrier(Pipe.ALL, b.op)
        return self._flag((a.pipe, b.pipe, number), after, before, loop)

    def _span(self, a: Work, b: Work) -> tuple[Block, int, int] | None:
        """Two accesses as operations of one block, by their numbers there."""
        found = self.structure.common(self.structure.outside(a.op), self.structure.outside(b.op))
        if found is None:
            return None
        after, before, block = found
        return block, self.structure.index(after), self.structure.index(before)

    def _flag(self, key: FlagKey, after: Op, before: Op, loop: Op | None) -> Fix:
        set_flag, wait_flag = (flag_code(verb, key, before) for verb in ("set", "wait"))
        set_at, wait_at = self._last(after), first_line(before)
        text = f"insert {set_flag} after line {set_at} and {wait_flag} before line {wait_at}"
        if loop is not None:
            text += f"; also set it once before the loop in line {first_line(loop)} and wait for it once after the loop"
            if self._last(loop) > first_line(loop):
                text += f", after line {self._last(loop)}"
        around = [op for op in (after, before, loop) if op is not None]
        lines = list(statements(after, before, loop))
        steps = tuple(Step(op, later, verb, key[:2], key[2]) for verb, op, later in lines)
        apart = set_at < wait_at if loop is None else before is after or self._last(before) < first_line(after)
        if not apart or not all(map(self._separate, around)):
            return Fix(text, steps=steps)
        edits = [
            self._edit(self._last(op) + 1 if later else first_line(op), flag_code(verb, key, op), op)
            for verb, op, later in lines
        ]
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
        """An event id that nothing else uses; the same one for the same edge."""
        known = self._given.get((src, dst, after, before))
        if known is not None:
            return known
        for core in self.cores:
            self.used(core)
        closed = self.ids.closed("", src, dst)
        free = next((i for i in range(EVENT_ID_COUNT) if i not in closed), None)
        if free is not None:
            self._given[src, dst, after, before] = free
            self.ids.take("", src, dst, free)
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
        sides = [
            (_as(race.first.work, original), _as(race.second.work, original))
            for race in races
            if race.same_core and race.first.work is not None and race.second.work is not None
        ]
        if not sides:
            break
        found.fixes.append(insertion.fix(*sides[0], sides[1:]))
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
    before: dict[Op, list[Op]] = {}
    after: dict[Op, list[Op]] = {}
    copied = dict(zip(ops, copies))
    for step in (step for fix in fixes for step in fix.steps):
        (after if step.after else before).setdefault(copied[step.op], []).append(step.make())
    regions = [f.body for f in copy.functions if f.body is not None] + [r for op in copies for r in op.regions]
    for block in (block for region in regions for block in region.blocks):
        block.ops[:] = interleaved(block.ops, before, after)
    return copy, original


def interleaved(ops: Iterable[Op], before: Mapping[Op, Sequence[Op]], after: Mapping[Op, Sequence[Op]]) -> list[Op]:
    """Operations with others before and after some of them."""
    return [x for op in ops for x in (*before.get(op, ()), op, *after.get(op, ()))]
