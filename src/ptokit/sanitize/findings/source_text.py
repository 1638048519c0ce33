"""The statements of a source text that operations come from, and how flags are written there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import Called, file_lines
from ptokit.ir.control import choice, executed, is_call, is_loop, is_scope, scope
from ptokit.ir.core import Block, Function, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..simulation.core import FlagKey
from .texts import CppStatement, PythonText, cpp_text, python_text

# Where operations begin and end in a source text, so that something can be inserted before or after them.


_OPEN, _CLOSE = "([{", ")]}"


def first_line(op: Op) -> int:
    """The line an operation begins in."""
    at = op.location
    if at.file is not None and at.file.endswith(".py"):
        return python_text(at.file).span(at.line)[0]
    statement = cpp_statement(op)
    return at.line if statement is None else statement.start[0]


def cpp_statement(op: Op) -> CppStatement | None:
    """The innermost statement of C++ that an operation comes from."""
    at = op.location
    found = cpp_text(at.file or "").around(at.line, at.column) if op.in_cpp else []
    return found[-1][0] if found else None


def last_line(op: Op, following: Op | None) -> int:
    """The last line of an operation; ``following`` is the next one in its block.

    A text that cannot be read is taken to have one operation per line, and the end of a loop on a line of its own.
    """
    at = op.location
    nested = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    if at.file is not None and at.file.endswith(".py"):
        return max([python_text(at.file).span(at.line)[1], *(last_line(inner, None) for inner in nested)])
    statement = cpp_statement(op)
    if statement is not None:
        return statement.end[0]
    lines = file_lines(at.file) if at.file is not None else []
    if at.line > len(lines):  # or is another text by now
        return max([at.line, *(last_line(inner, None) + 1 for inner in nested)])
    stop = following.location.line if following is not None else _end_of_block(lines, at.line, at.column)
    stop = min(stop, len(lines) + 1)
    while stop - 1 > at.line and not lines[stop - 2].partition("//")[0].strip():
        stop -= 1
    return stop - 1 if stop > at.line else at.line


def alone(op: Op, following: Op | None, before: Op | None) -> bool:
    """True if no neighbour shares a line with the operation, so that lines can be inserted around it."""
    if following is not None and first_line(following) <= last_line(op, following):
        return False
    return before is None or last_line(before, op) < first_line(op)


def indent(file: str | None, line: int) -> str:
    """The blanks a line begins with."""
    lines = file_lines(file) if file is not None else []
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return text[: len(text) - len(text.lstrip())]


def _end_of_block(lines: list[str], line: int, column: int) -> int:
    """The line of the brace that ends the block around a place of `.pto` text."""
    depth = 0
    start = max(column - 1, 0)
    for number in range(line, len(lines) + 1):
        quoted, before = False, ""
        for char in lines[number - 1][start:]:
            if char == '"':
                quoted = not quoted
            elif not quoted and char == "/" and before == "/":
                break
            elif not quoted and char in _OPEN:
                depth += 1
            elif not quoted and char in _CLOSE:
                depth -= 1
                if depth < 0:
                    return number
            before = char
        start = 0
    return len(lines) + 1


# The statements of a source text that operations come from, and how operations are nested.


FLAGS = ("set_flag", "wait_flag", "set_flag_dyn", "wait_flag_dyn")


@dataclass(frozen=True, slots=True)
class _Place:
    block: Block
    index: int


@dataclass(eq=False)
class Statement:
    """Lines ``first`` to ``last`` of a file, and the operations that come from them: several where a loop is unrolled,
    or a function of Python called more than once. ``alone``: nothing else comes from its lines, so that lines can be
    inserted around it."""

    file: str
    first: int
    last: int
    ops: list[Op]
    alone: bool = True

    @property
    def once(self) -> bool:
        """True if it has been looked at once: no loop around it is unrolled, and its function is called once."""
        if self.ops[0].in_cpp:
            return len({getattr(op.location, "calls", ()) for op in self.ops}) == 1
        return sum(issues(op) or bool(op.regions) for op in self.ops) <= 1

    @property
    def python(self) -> bool:
        """True for a statement of Python."""
        return self.file.endswith(".py")

    @property
    def flag(self) -> str:
        """ "set" or "wait" for a flag of the pipes of a core, else ""."""
        names = {instr.name for op in self.ops if (instr := instr_of(op)) is not None}
        return next((name.partition("_")[0] for name in FLAGS if name in names), "")


class Structure:
    """How the operations of a program are nested, and which statements they come from."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._place: dict[Op, _Place] = {}
        self._parent: dict[int, Op] = {}  # by id of the block
        self._statements: dict[Op, Statement] | None = None
        self._function: dict[Op, Function] = {}
        self._chains: dict[Op, tuple[tuple[Op, int], ...]] = {}
        for function in functions:
            if function.body is not None:
                self._walk(function, function.body)

    def _walk(self, function: Function, region: Block) -> None:
        for block in region.blocks:
            for i, op in enumerate(block.ops):
                self._place[op], self._function[op] = _Place(block, i), function
                for inner in op.regions:
                    self._parent.update((id(part), op) for part in inner.blocks)
                    self._walk(function, inner)

    def _span(self, op: Op) -> tuple[str, int, int]:
        return op.location.file or "", first_line(op), last_line(op, self.following(op))

    def _alone(self, file: str, first: int, last: int, ops: list[Op]) -> bool:
        if file.endswith(".py"):
            places = {(op.location.line, op.location.column) for op in ops if issues(op) or op.regions}
            return len(places) <= 1 and python_text(file).sharing(first) == 1
        op = ops[0]
        statement = cpp_statement(op)
        if statement is not None:
            return statement.alone and len({op.location[:3] for op in ops if issues(op)}) <= 1
        if len(ops) > 1:
            return False
        following, place = self.following(op), self._place[op]
        before = place.block.ops[place.index - 1] if place.index else None
        if following is not None and first_line(following) <= last:
            return False
        return before is None or last_line(before, op) < first

    @property
    def ops(self) -> Iterator[Op]:
        """All operations, in the order of the program."""
        yield from self._place

    def following(self, op: Op) -> Op | None:
        """The next operation of the block."""
        place = self._place[op]
        return place.block.ops[place.index + 1] if place.index + 1 < len(place.block.ops) else None

    def statement(self, op: Op) -> Statement | None:
        """What an operation comes from; None without a source text."""
        return self._by_op().get(op)

    @property
    def statements(self) -> list[Statement]:
        """All statements, in the order of the program."""
        return list(dict.fromkeys(self._by_op().values()))

    def _by_op(self) -> dict[Op, Statement]:
        if self._statements is not None:
            return self._statements
        by_lines: dict[tuple[str, int, int], list[Op]] = {}
        for op in self._place:
            if op.location.file is not None:
                by_lines.setdefault(self._span(op), []).append(op)
        self._statements = {}
        for (file, first, last), ops in by_lines.items():
            statement = Statement(file, first, last, ops, self._alone(file, first, last, ops))
            self._statements.update((op, statement) for op in ops)
        return self._statements

    def function(self, op: Op) -> Function | None:
        """The function that an operation is in."""
        return self._function.get(op)

    def chain(self, op: Op) -> tuple[tuple[Op, int], ...]:
        """An operation and those it is nested in, inside out, each with how many loops of it and within it are around
        the operation."""
        found = self._chains.get(op)
        if found is None:
            steps, loops = [], 0
            at: Op | None = op
            while at is not None and at in self._place:
                loops += is_loop(at) and at is not op
                steps.append((at, loops))
                at = self._parent.get(id(self._place[at].block))
            found = self._chains[op] = tuple(steps)
        return found

    def outside(self, op: Op) -> Op:
        """The operation, or the vector scope it is in, within which there are no flags."""
        return next((each for each, _ in reversed(self.chain(op)) if is_scope(each)), op)

    def common(self, a: Op, b: Op) -> tuple[Op, Op, Block] | None:
        """The operations of the innermost common block that hold `a` and `b`; None if they share none."""
        if a not in self._place or b not in self._place:
            return None
        blocks = {id(self._place[op].block): op for op, _ in self.chain(a)}
        for op, _ in self.chain(b):
            block = self._place[op].block
            if id(block) in blocks:
                return blocks[id(block)], op, block
        return None

    def block(self, op: Op) -> Block:
        """The block that an operation is in."""
        return self._place[op].block

    def index(self, op: Op) -> int:
        """The number of an operation in its block."""
        return self._place[op].index

    def loop(self, block: Block) -> Op | None:
        """The innermost loop around a block."""
        parent = self._parent.get(id(block))
        return next((op for op, _ in self.chain(parent) if is_loop(op)), None) if parent is not None else None

    def defined(self, value: Value, at: Op) -> bool:
        """True if a value is defined before an operation, in a block around it."""
        owner = value.owner
        if isinstance(owner, Op):
            block = self._place[owner].block if owner in self._place else None
            around = {id(self._place[op].block): self._place[op].index for op, _ in self.chain(at)}
            return block is not None and self._place[owner].index < around.get(id(block), -1)
        return owner is None or any(
            owner is part for op, _ in self.chain(at) for region in op.regions for part in region.blocks
        )


# C++ is a graph of blocks by the time it is IR; flags go into the loops and branches of its text.


_KINDS: dict[str, Callable[[Location], Op]] = {
    "loop": partial(Op, "ptokit.loop", {}, {}, [], []),
    "choice": partial(choice, None),
    "scope": scope,
}
"""What makes the operations that have a statement's parts for regions; nothing is known of a loop."""


def as_written(functions: Sequence[Function], accesses: Iterable[Op]) -> list[Function]:
    """Functions whose operations are nested and ordered as the text of a C++ program has them.

    What is called in place is an operation with a region; only what a pipe or the scalar unit has to do, calls, and
    ``accesses`` are left. Functions that are not in C++ stay.
    """
    kept = set(accesses)
    made = []
    for function in functions:
        ops = [] if function.body is None else list(function.body.walk())
        written = [op for op in ops if op in kept or issues(op) or is_call(op)]
        inside = [op for op in written if op.in_cpp and cpp_statement(op) is not None]
        made.append(_Written(function, written).made if inside else function)
    return made


def compiled_for(op: Op, structure: Structure, others: Iterable[Collection[int]]) -> bool:
    """True if what is around a statement of C++ is compiled for other kinds of cores, too, which have these lines."""
    statement = structure.statement(op)
    mine = structure.function(op)
    if not op.regions and statement is not None and all(structure.function(x) is mine for x in statement.ops):
        return False  # else the others had the instruction, too
    around = cpp_text(op.location.file or "").around(op.location.line, op.location.column, whole=True)
    if len(around) < 2:
        return True
    part = around[-2][0].parts[around[-2][1]]
    return any(part[0].start[0] <= line <= part[-1].end[0] for lines in others for line in lines)


class _Written:
    """The body of a function as its text has it."""

    def __init__(self, function: Function, ops: Sequence[Op]) -> None:
        self._known: dict[tuple[int, int], Op] = {}
        self._at: dict[Op, tuple[int, int]] = {}
        self._made: set[Op] = set()
        root = Block()
        for op in ops:
            self._put(root, op)
        self._sort(root)
        self.made = Function(function.name, function.params, attrs=function.attrs, body=root)

    def _put(self, block: Block, op: Op) -> None:
        at = op.location
        places = [place for _, place in getattr(at, "calls", ())[::-1]]
        for k, place in enumerate((*places, at)):
            like = Called.at(place, getattr(at, "calls", ())[len(places) - k :])
            for statement, part in cpp_text(place.file or "").around(place.line, place.column):
                if part >= 0 and statement.kind in _KINDS:
                    block = self._region(block, statement, _KINDS[statement.kind], like, part)
                elif part < 0 and k < len(places):
                    block = self._region(block, statement, executed, like, 0)
                elif part < 0 and statement.kind == "loop":  # in its head
                    block = self._region(block, statement, _KINDS["loop"], like, 0)
        self._at[op] = at.line, at.column
        block.add(op)

    def _region(
        self, block: Block, statement: CppStatement, make: Callable[[Location], Op], like: Location, part: int
    ) -> Block:
        """A part of a statement, or what it calls."""
        key = id(block), id(statement)
        op = self._known.get(key)
        if op is None:
            op = make(Called.at(Location(like.file, *statement.start), getattr(like, "calls", ())))
            op.regions = [Block() for _ in range(1 if make is executed else max(1, len(statement.parts)))]
            self._known[key] = op
            self._made.add(op)
            self._at[op] = statement.start
            block.add(op)
        return op.regions[part]

    def _sort(self, block: Block) -> None:
        block.ops.sort(key=lambda op: self._at[op])
        for op in block.ops:
            for region in op.regions if op in self._made else ():
                self._sort(region)


def issues(op: Op) -> bool:
    """True for an operation that a pipe, or the scalar unit, has to do something for; others make tiles and views."""
    return instr_of(op) is not None and not op.results


# How flags and barriers are written, in `.pto` text, in Python and in C++.


def flag_text(key: FlagKey, like: Op) -> str:
    """A flag as the program of `like` writes it: ``PIPE_V, PIPE_MTE3, EVENT_ID1``; ``pto.PIPE_V, pto.PIPE_MTE3, 1``."""
    pipes, number = key[:2], key[2]
    if like.in_python:
        return f"{_pipes(_text(like), pipes)}, {number}"
    return _in_cpp(key)


def flag_code(verb: str, flag: tuple[Pipe, Pipe, int | str], like: Op) -> str:
    """A set or a wait (``verb``) in the program of `like`. The event id is a number, or how the text says it."""
    pipes, number = flag[:2], flag[2]
    if like.in_python:
        text = _text(like)
        return f"{text.package}.{verb}_flag({_pipes(text, pipes)}, {number})"
    if like.in_cpp:
        return f"{verb}_flag({_in_cpp(flag)})"
    p, q = (f"<{pipe.text}>" for pipe in pipes)
    if isinstance(number, str):
        return f"pto.{verb}_flag_dyn[{p}, {q}, {number}]"
    return f"pto.{verb}_flag[{p}, {q}, <EVENT_ID{number}>]"


def barrier_code(pipe: Pipe, like: Op) -> str:
    """A barrier of a pipe in the program of `like`."""
    if like.in_python:
        package = _text(like).package
        return f"{package}.pipe_barrier({package}.{pipe.text})"
    return f"pipe_barrier({pipe.text})" if like.in_cpp else f"pto.barrier <{pipe.text}>"


def scope_code(kind: str, like: Op) -> str:
    """A barrier inside a vector scope in the program of `like`."""
    if like.in_python:
        return f'{_text(like).package}.mem_bar("{kind}")'
    return f"mem_bar({kind})" if like.in_cpp else f'pto.mem_bar "{kind}"'


def as_statement(code: str, like: Op) -> str:
    """A set, wait or barrier as a statement of its own."""
    return f"{code};" if like.in_cpp else code


def _in_cpp(flag: tuple[Pipe, Pipe, int | str]) -> str:
    number = f"EVENT_ID{flag[2]}" if isinstance(flag[2], int) else flag[2]
    return f"{flag[0].text}, {flag[1].text}, {number}"


def _text(op: Op) -> PythonText:
    return python_text(op.location.file or "")


def _pipes(text: PythonText, pipes: tuple[Pipe, Pipe]) -> str:
    """Pipes by the short names of a text, where it has some."""
    return ", ".join(text.pipes.get(pipe, f"{text.package}.{pipe.text}") for pipe in pipes)


# How the iterations of a loop are numbered, in Python and in C++.


_COUNTS = re.compile(
    r"for\s*\(\s*[\w:]+\s+(\w+)\s*=\s*([^;]+?)\s*;[^;]*;\s*(?:\+\+\s*\1|\1\s*\+\+|\1\s*\+=\s*([^;]+?))\s*\)\s*\{?\s*(?://.*)?$"
)
"""The head of a loop in C++ that counts upwards: the variable, where it begins, and by what it grows."""


def loop_head(loop: Op) -> tuple[str, str, str] | None:
    """The variable of a loop in Python or C++, where it begins and by what it grows, as its text says them."""
    lines = file_lines(loop.location.file) if loop.location.file is not None else []
    line = first_line(loop)
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if loop.in_cpp:
        found = _COUNTS.search(text)
        return None if found is None else (found[1], found[2], found[3] or "1")
    try:
        (node,) = ast.parse(f"{text.strip()} pass").body
    except (SyntaxError, ValueError):
        return None
    if not (isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
        return None
    if not (isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range") or node.iter.keywords:
        return None
    args = [ast.unparse(arg) for arg in node.iter.args]
    return node.target.id, args[0] if len(args) > 1 else "0", args[2] if len(args) > 2 else "1"


def ordinal_code(head: tuple[str, str, str], loop: Op) -> str:
    """The number of an iteration, as Python or C++ says it."""
    name, lower, step = head
    divided = "/" if loop.in_cpp else "//"
    made = name if lower == "0" else f"({name} - {_closed(lower)})"
    return made if step == "1" else f"{made} {divided} {_closed(step)}"


def _closed(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+(\([\w., ]*\))?", text) else f"({text})"
