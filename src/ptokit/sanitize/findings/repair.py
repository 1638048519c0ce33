"""The missing edge as code: which flag to set and wait for, where, and what orders the two pipes now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ptokit.diagnostics import Location, Note
from ptokit.diagnostics.source import file_lines
from ptokit.ir.core import Block, Function, Op
from ptokit.ir.facts import instr_of
from ptokit.isa.order.event_tags import class_pipe
from ptokit.isa.traits import Engine
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from ..simulation.core import Core
from ..simulation.events import FlagKey, Item, Work, barrier_call, flag_call
from .lines import alone, first_line, indent, last_line

COMPOSITE_PIPES = frozenset((Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3))
"""Pipes between which composite instructions hand over (memory-model-and-sync 2.1)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A line to insert before line `line`, which counts from 1 in the text as it is."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One operation to insert before or after `op`: a set or wait of a flag, or a barrier (``verb`` is "barrier")."""

    op: Op
    after: bool
    verb: str
    pipes: tuple[Pipe, ...]
    number: int = 0

    def make(self) -> Op:
        """The operation."""
        if self.verb == "barrier":
            return Op("pto.barrier", {}, {"pipe": self.pipes[0]}, location=self.op.location)
        attrs = {"src_pipe": self.pipes[0], "dst_pipe": self.pipes[1], "event_id": self.number}
        return Op(f"pto.{self.verb}_flag", {}, attrs, location=self.op.location)


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a race. ``steps``: what is inserted, as ``edits`` of the text; no edits where only words can tell."""

    text: str
    edits: tuple[Edit, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def paired(self) -> list[tuple[Step, Edit]]:
        """Each step with its line."""
        return list(zip(self.steps, self.edits))

    def apply(self, source: str) -> str:
        """The text of the file with the lines inserted; they end as its first line does."""
        ends = _LINE_END.findall(source)
        lines = _LINE_END.split(source)
        end = ends[0] if ends else "\n"
        for edit in sorted(self.edits, key=lambda e: e.line)[::-1]:
            lines.insert(edit.line - 1, edit.text)
            ends.insert(edit.line - 1, end)
        return "".join(map(str.__add__, lines, [*ends, ""]))


_LINE_END = re.compile(r"\r\n|[\r\n]")  # those that the lexer counts


@dataclass(frozen=True, slots=True)
class _Place:
    block: Block
    index: int


class Repair:
    """Knows the text of the program: which ids it uses, and where instructions stand."""

    def __init__(self, functions: Sequence[Function], target: Target) -> None:
        self.cores: list[Core] = []
        self._used: dict[tuple[Pipe, Pipe], set[int]] = {}
        self._place: dict[Op, _Place] = {}
        self._parent: dict[int, Op] = {}  # by id of the block
        self._lines: dict[tuple[str | None, int, str], int] = {}  # operations of a name that begin there
        self._given: dict[tuple[Pipe, Pipe, int, int], int] = {}  # by the lines of set and wait
        self._composite = False
        self._one_flag_per_id = target.one_flag_per_id
        for function in functions:
            if function.body is not None:
                self._walk(function.body, target)

    def _walk(self, region: Block, target: Target) -> None:
        for here, i, op in ((b, k, o) for b in region.blocks for k, o in enumerate(b.ops)):
            self._place[op] = _Place(here, i)
            line = op.location.file, op.location.line, op.name
            self._lines[line] = self._lines.get(line, 0) + 1
            pair = _pipes(op)
            if pair is not None:
                self._used.setdefault(pair, set()).add(op.attrs.get("event_id") or 0)
            instr = instr_of(op)
            self._composite = self._composite or (
                instr is not None and target.of(instr.engines) is Engine.SEVERAL_PIPES
            )
            for inner in op.regions:
                self._parent.update((id(part), op) for part in inner.blocks)
                self._walk(inner, target)

    def used(self, core: Core) -> None:
        """A core has ended: remember the ids that it has used."""
        for p, q, number in core.flags:
            self._used.setdefault((p, q), set()).add(number)

    # --- the fix -------------------------------------------------------------------------------------------------

    def fix(self, a: Work, b: Work) -> Fix:
        """The flag or barrier that orders `a` before `b`, which begins later, on the same core."""
        if a.pipe is b.pipe:
            return self._barrier(a.pipe, b.op)
        found = self._common(a.op, b.op)
        if found is None:
            return self._barrier(Pipe.ALL, b.op)
        after, before, block = found
        carried = self._place[before].index <= self._place[after].index
        loop = self._loop(block) if carried else None
        if carried and loop is None:
            return self._barrier(Pipe.ALL, b.op)
        number = self._free(a.pipe, b.pipe, self._last(after), first_line(before))
        if number is None:
            return self._barrier(Pipe.ALL, b.op)
        return self._flag((a.pipe, b.pipe, number), after, before, loop)

    def _flag(self, key: FlagKey, after: Op, before: Op, loop: Op | None) -> Fix:
        set_flag, wait_flag = (flag_call(verb, key, before) for verb in ("set", "wait"))
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
        steps = tuple(Step(op, behind, verb, key[:2], key[2]) for _, verb, op, behind in lines)
        apart = set_at < wait_at if loop is None else before is after or self._last(before) < first_line(after)
        if not apart or not all(map(self._free_standing, around)):
            return Fix(text, steps=steps)
        edits = [self._edit(line, _flag_code(verb, key, op.location), op) for line, verb, op, _ in lines]
        return Fix(text, tuple(edits), steps)

    def _barrier(self, pipe: Pipe, before: Op) -> Fix:
        line = first_line(before)
        text = f"insert {barrier_call(pipe, before)} before line {line}"
        steps = (Step(before, False, "barrier", (pipe,)),)
        if not self._free_standing(before):
            return Fix(text, steps=steps)
        return Fix(text, (self._edit(line, _barrier_code(pipe, before.location), before),), steps)

    def _edit(self, line: int, code: str, like: Op) -> Edit:
        file = like.location.file or ""
        return Edit(file, line, indent(file, first_line(like)) + code)

    def _following(self, op: Op) -> Op | None:
        place = self._place[op]
        return place.block.ops[place.index + 1] if place.index + 1 < len(place.block.ops) else None

    def _last(self, op: Op) -> int:
        return last_line(op, self._following(op))

    def _free_standing(self, op: Op) -> bool:
        """True if lines can be inserted around an operation: nothing else comes from its lines."""
        place = self._place[op]
        before = place.block.ops[place.index - 1] if place.index else None
        if op.location.file is not None and op.location.file.endswith(".py"):
            # More than one: the statement ran several times while the kernel was traced.
            return self._lines[op.location.file, op.location.line, op.name] == 1
        return alone(op, self._following(op), before)

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

    # --- structure -----------------------------------------------------------------------------------------------

    def _chain(self, op: Op | None) -> Iterator[Op]:
        """An operation and those it is nested in, inside out."""
        while op is not None:
            yield op
            op = self._parent.get(id(self._place[op].block))

    def _common(self, a: Op, b: Op) -> tuple[Op, Op, Block] | None:
        """The operations of the innermost common block that hold `a` and `b`; None if they share none."""
        if a not in self._place or b not in self._place:
            return None
        blocks = {id(self._place[op].block): op for op in self._chain(a)}
        for op in self._chain(b):
            block = self._place[op].block
            if id(block) in blocks:
                return blocks[id(block)], op, block
        return None

    def _loop(self, block: Block) -> Op | None:
        """The innermost loop around a block."""
        return next(
            (op for op in self._chain(self._parent.get(id(block))) if op.name in ("scf.for", "scf.while")), None
        )


def _pipes(op: Op) -> tuple[Pipe, Pipe] | None:
    """The pair of pipes that a flag operation of the text names."""
    pair = op.attrs.get("src_pipe"), op.attrs.get("dst_pipe")
    if isinstance(pair[0], Pipe) and isinstance(pair[1], Pipe):
        return pair[0], pair[1]
    if "src_op" in op.attrs and "dst_op" in op.attrs:
        src, dst = class_pipe(op.attrs["src_op"], ""), class_pipe(op.attrs["dst_op"], "")
        return None if src is None or dst is None else (src, dst)
    return None


def _flag_code(verb: str, key: FlagKey, at: Location) -> str:
    if at.file is not None and at.file.endswith(".py"):
        pto = _package(at.file)
        return f"{pto}.{verb}_flag({pto}.{key[0].text}, {pto}.{key[1].text}, {key[2]})"
    return f"pto.{verb}_flag[<{key[0].text}>, <{key[1].text}>, <EVENT_ID{key[2]}>]"


def _barrier_code(pipe: Pipe, at: Location) -> str:
    if at.file is not None and at.file.endswith(".py"):
        pto = _package(at.file)
        return f"{pto}.pipe_barrier({pto}.{pipe.text})"
    return f"pto.barrier <{pipe.text}>"


_IMPORT = re.compile(r"^\s*import ptokit(?:\.lang)? as (\w+)")


def _package(file: str) -> str:
    """The name by which a Python file has imported the package."""
    found = (match[1] for line in file_lines(file) if (match := _IMPORT.match(line)))
    return next(found, "pto")


# --- what orders them now --------------------------------------------------------------------------------------------


def last_sync(core: Core, a: Work, b: Work) -> tuple[Item, Item] | None:
    """The set and the wait that last ordered the two pipes."""
    return None if a.pipe is b.pipe else core.last_sync.get((a.pipe, b.pipe))


def sync_notes(a: Work, b: Work, last: tuple[Item, Item] | None) -> Iterable[Note]:
    """The same in words."""
    pair = f"{a.pipe.text} to {b.pipe.text}"
    if last is not None:
        source, wait = last
        lines = f"set in line {source.op.location.line}, waited for in line {wait.op.location.line}"
        yield Note(f"the last flag from {pair} was {lines}", wait.op.location)
    elif a.pipe is not b.pipe:
        yield Note(f"nothing has ordered {pair} so far")
