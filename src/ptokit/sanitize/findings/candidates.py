"""Changes of one statement that may mend a program: a flag inserted, left out, moved, or given another id."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from textwrap import dedent
from textwrap import indent as indented

from ptokit.diagnostics.finding import Edit, file_lines
from ptokit.ir.control import is_loop
from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..simulation.core import FlagKey, Item, Loops, SetFlag, WaitFlag
from .race import Fix, ProgramChange, Step, barrier, flag
from .source_text import Statement, Structure, as_statement, barrier_code, flag_code, indent
from .texts import python_text

Number = Callable[[int, int, Loops], int | None]
"""The event id of a flag: of the copy of a statement with a number, on a core, inside of loops."""


@dataclass(eq=False)
class Candidate:
    """A change, what it does in words, and as edits of the text. ``last``: only if nothing else mends. ``cause``: what
    is wrong, where the change tells that better than the finding."""

    words: str
    change: ProgramChange
    edits: tuple[Edit, ...]
    last: bool = False
    cause: str = ""

    @property
    def fix(self) -> Fix:
        """What a finding shows."""
        return Fix(self.words, self.edits)


def together(parts: Sequence[Candidate]) -> Candidate:
    """Several changes as one."""
    change = ProgramChange()
    for part in parts:
        for places, more in ((change.before, part.change.before), (change.after, part.change.after)):
            for item, extra in more.items():
                places.setdefault(item, []).extend(extra)
        change.dropped |= part.change.dropped
        change.renamed |= part.change.renamed
    edits = tuple(edit for part in parts for edit in part.edits)
    return Candidate("; ".join(part.words for part in parts), change, edits)


@dataclass(frozen=True)
class Id:
    """How an event id is written, and which numbers that are."""

    text: int | str
    number: Number


@dataclass(frozen=True)
class Anchor:
    """Before or after a statement."""

    statement: Statement
    after: bool

    @property
    def line(self) -> int:
        """The line before which is inserted."""
        return self.statement.last + 1 if self.after else self.statement.first

    @property
    def words(self) -> str:
        """``after line 7``."""
        return f"after line {self.statement.last}" if self.after else f"before line {self.statement.first}"


class Candidates:
    """Makes changes of a program whose cores issued `items`."""

    def __init__(self, structure: Structure, items: Sequence[tuple[int, Item]]) -> None:
        self.structure = structure
        self._spans: dict[Op, list[_Span]] = {}
        self._numbers: dict[Op, dict[tuple[int, object], FlagKey]] = {}
        self._keys: dict[Op, set[FlagKey]] = {}
        self.pipes: dict[Op, set[Pipe]] = {}  # of the queues that an operation has something in
        self._follow(items)
        self.flags = [s for s in structure.statements if s.flag and any(op in self._keys for op in s.ops)]

    def _follow(self, items: Sequence[tuple[int, Item]]) -> None:
        open_spans: dict[int, dict[Op, _Span]] = {}
        for core, item in items:
            if isinstance(item, SetFlag | WaitFlag):
                self._numbers.setdefault(item.op, {})[core, item.loops] = item.key
                self._keys.setdefault(item.op, set()).add(item.key)
            self.pipes.setdefault(item.op, set()).add(item.pipe)
            now: dict[Op, _Span] = {}
            before = open_spans.get(core, {})
            for op, inside in self.structure.chain(item.op):
                around = item.loops[: len(item.loops) - inside]
                span = before.get(op)
                if span is None or span.around != around:
                    span = _Span(core, around, item, item)
                    self._spans.setdefault(op, []).append(span)
                span.last = item
                now[op] = span
            open_spans[core] = now

    def keys(self, statement: Statement) -> set[FlagKey]:
        """The flags that a statement has set or waited for."""
        return {key for op in statement.ops for key in self._keys.get(op, ())}

    def pair(self, statement: Statement) -> tuple[Pipe, Pipe] | None:
        """The pipes of a flag."""
        return next((key[:2] for key in self.keys(statement)), None)

    # --- places --------------------------------------------------------------------------------------------------

    def anchors(self, op: Op, pipes: set[Pipe]) -> Iterator[Statement]:
        """The statements of the function of `op`, or called by or calling it, at which flags of these pipes may be
        inserted: those that have something in their queues, all flags, and loops and branches."""
        for statement in self.structure.statements:
            first = statement.ops[0]
            leaf = [each for each in statement.ops if each in self.pipes]
            if not statement.alone or any(self.structure.outside(each) is not each for each in statement.ops):
                continue
            if (
                (leaf and (statement.flag or any(self.pipes[each] & pipes for each in leaf)))
                or any(each.regions and each in self._spans for each in statement.ops)
                or is_loop(first)
            ):
                yield statement

    # --- ids -----------------------------------------------------------------------------------------------------

    def constant(self, number: int) -> Id:
        """An id as a number."""
        return Id(number, lambda copy, core, loops: number)

    def like(self, model: Statement, anchor: Statement) -> Id | None:
        """The id that another flag has, as its text says it; None where that cannot be said at the anchor."""
        ops = [op for op in model.ops if op in self._numbers]
        places = self.copies(anchor)
        if not ops or not places or (len(ops) != 1 and len(ops) != len(places)) or model.file != anchor.file:
            return None
        if model.python:
            text = python_text(model.file)
            found = text.flag_call(model.first, model.last)
            if found is None or not text.in_scope(found.args[2], anchor.first):
                return None
            said: int | str = ast.unparse(found.args[2])
        else:
            event = ops[0].get("event")
            if event is None:
                said = next(iter(self._keys[ops[0]]))[2]
            elif event.name and self.structure.defined(event, places[0]):
                said = f"%{event.name}"
            else:
                return None

        def number(copy: int, core: int, loops: Loops) -> int | None:
            known = self._numbers[ops[copy if len(ops) > 1 else 0]]
            while True:
                key = known.get((core, loops))
                if key is not None:
                    return key[2]
                if not loops:
                    every = {each[2] for each in known.values()}
                    return every.pop() if len(every) == 1 else None
                loops = loops[:-1]

        return Id(said, number)

    def copies(self, statement: Statement) -> list[Op]:
        """The operations of a statement that have issued something, or hold some that have."""
        return [op for op in statement.ops if op in self._spans]

    # --- changes -------------------------------------------------------------------------------------------------

    def insert(self, verb: str, pipes: tuple[Pipe, Pipe], number: Id, anchor: Anchor) -> Candidate | None:
        """A new set or wait."""
        statement = anchor.statement
        op = Op(f"pto.{verb}_flag", location=statement.ops[0].location)
        change = self._inserted(
            op, verb, lambda copy, core, loops: _key(pipes, number.number(copy, core, loops)), anchor
        )
        if change is None:
            return None
        code = flag_code(verb, (*pipes, number.text), statement.ops[0])
        words = f"add {code} {anchor.words}"
        return Candidate(words, change, (self._line(code, anchor),))

    def remove(self, statement: Statement) -> Candidate | None:
        """A flag left out."""
        if not statement.alone:
            return None
        words = f"remove the {statement.flag}_flag in line {statement.first}"
        return Candidate(words, ProgramChange(dropped=set(statement.ops)), (without(statement),))

    def move(self, statement: Statement, anchor: Anchor) -> Candidate | None:
        """A flag somewhere else."""
        if not statement.alone or anchor.statement is statement or statement.file != anchor.statement.file:
            return None
        ops = [op for op in statement.ops if op in self._numbers]
        if len(ops) != 1 and len(ops) != len(self.copies(anchor.statement)):
            return None
        number, pipes = self.like_itself(statement, anchor.statement), self.pair(statement)
        if number is None or pipes is None:
            return None
        key = lambda copy, core, loops: _key(pipes, number.number(copy, core, loops))  # noqa: E731
        change = self._inserted(ops[0], statement.flag, key, anchor, ops)
        if change is None:
            return None
        change.dropped = set(statement.ops)
        lines = file_lines(statement.file)[statement.first - 1 : statement.last]
        code = indented(dedent("\n".join(lines)), indent(statement.file, anchor.statement.first))
        words = f"move the {statement.flag}_flag of line {statement.first}: put it {anchor.words}"
        edit = Edit(statement.file, anchor.line, code)
        return Candidate(words, change, (without(statement), edit))

    def like_itself(self, statement: Statement, anchor: Statement) -> Id | None:
        """The id of a flag that is moved; a call whose arguments cannot be told apart keeps them where it stays in its
        loop."""
        found = self.like(statement, anchor)
        if (
            found is None
            and statement.python
            and python_text(statement.file).flag_call(statement.first, statement.last) is None
        ):
            keys = {key[2] for key in self.keys(statement)}
            return Id("", lambda copy, core, loops: next(iter(keys))) if len(keys) == 1 else None
        return found

    def rename(self, statement: Statement, number: Id) -> Candidate | None:
        """Another id for a flag."""
        pipes = self.pair(statement)
        if not statement.alone or pipes is None:
            return None
        copies = self.copies(statement)
        renamed: dict[Item, FlagKey] = {}
        for copy, op in enumerate(copies):
            for span in self._spans[op]:
                told = number.number(copy, span.core, span.around)
                if told is None:
                    return None
                renamed[span.first] = (*pipes, told)
        code = flag_code(statement.flag, (*pipes, number.text), statement.ops[0])
        text = number.text if isinstance(number.text, str) or statement.python else f"EVENT_ID{number.text}"
        words = f"write {text} as the event id of the {statement.flag}_flag in line {statement.first}"
        edit = self._rewritten(statement, number, code)
        return None if edit is None else Candidate(words, ProgramChange(renamed=renamed), (edit,))

    def steps(self, fix: Fix) -> Candidate:
        """A flag or barrier of its own, as `Insertion` proposes it."""
        change = ProgramChange()
        for step in fix.steps:
            op = step.make()
            self._put(change, step.op, step.after, partial(_stepped, op, step))
        return Candidate(fix.text, change, fix.edits, fix.steps[0].verb == "barrier")

    def barrier(self, pipe: Pipe, anchor: Anchor) -> Candidate | None:
        """A barrier."""
        statement, change = anchor.statement, ProgramChange()
        op = Op("pto.barrier", location=statement.ops[0].location)
        for at in self.copies(statement):
            self._put(change, at, anchor.after, lambda item, span: barrier(item, op, pipe))
        code = barrier_code(pipe, statement.ops[0])
        return Candidate(f"add {code} {anchor.words}", change, (self._line(code, anchor),), True)

    def _inserted(
        self,
        op: Op,
        verb: str,
        key: Callable[[int, int, Loops], FlagKey | None],
        anchor: Anchor,
        ops: Sequence[Op] = (),
    ) -> ProgramChange | None:
        change = ProgramChange()
        for copy, at in enumerate(self.copies(anchor.statement)):
            mine = ops[copy] if len(ops) > 1 else op

            def made(item: Item, span: _Span, copy: int = copy, mine: Op = mine) -> Item | None:
                found = key(copy, span.core, span.around)
                return None if found is None else flag(item, mine, found, verb == "set")

            if not self._put(change, at, anchor.after, made):
                return None
        return change if change.before or change.after else None

    def _put(self, change: ProgramChange, at: Op, after: bool, make: Callable[[Item, _Span], Item | None]) -> bool:
        """Insert what `make` makes wherever an operation has been carried out; False if it cannot."""
        places = change.after if after else change.before
        for span in self._spans.get(at, ()):
            place = span.last if after else span.first
            item = make(place, span)
            if item is None:
                return False
            item.loops = span.around
            places.setdefault(place, []).append(item)
        return True

    # --- the text ------------------------------------------------------------------------------------------------

    def _line(self, code: str, anchor: Anchor) -> Edit:
        statement = anchor.statement
        code = as_statement(code, statement.ops[0])
        return Edit(statement.file, anchor.line, indent(statement.file, statement.first) + code)

    def _rewritten(self, statement: Statement, number: Id, code: str) -> Edit | None:
        """The statement with another id; what else its lines hold stays."""
        if statement.ops[0].in_cpp:
            return None
        lines = file_lines(statement.file)[statement.first - 1 : statement.last]
        count = len(lines)
        if statement.python:
            call = python_text(statement.file).flag_call(statement.first, statement.last)
            if call is None:
                return None
            old = call.args[2]
            if old.lineno != old.end_lineno:
                return None
            row = old.lineno - statement.first
            line = lines[row].encode()
            lines[row] = (line[: old.col_offset] + str(number.text).encode() + line[old.end_col_offset :]).decode()
            return Edit(statement.file, statement.first, "\n".join(lines), count)
        if count != 1:
            return None
        head, comment, rest = lines[0].partition("//")
        blank = head[: len(head) - len(head.lstrip())]
        after = head[len(head.rstrip()) :] if comment else ""
        return Edit(statement.file, statement.first, f"{blank}{code}{after}{comment}{rest}", 1)


@dataclass(eq=False, slots=True)
class _Span:
    """One time that an operation was carried out on a core: the loops around it, its first item and its last."""

    core: int
    around: Loops
    first: Item
    last: Item


def _key(pipes: tuple[Pipe, Pipe], number: int | None) -> FlagKey | None:
    return None if number is None else (*pipes, number)


def _stepped(op: Op, step: Step, item: Item, span: _Span) -> Item:
    del span
    if step.verb == "barrier":
        return barrier(item, op, step.pipes[0])
    return flag(item, op, (step.pipes[0], step.pipes[1], step.number), step.verb == "set")


def without(statement: Statement) -> Edit:
    """A statement left out of its text."""
    count = statement.last - statement.first + 1
    text = None
    if statement.python and python_text(statement.file).only_one(statement.first):
        text = f"{indent(statement.file, statement.first)}pass"
    return Edit(statement.file, statement.first, text, count)
