"""The statements of a source text that operations come from, and how flags are written there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import file_lines
from ptokit.ir.control import is_loop, is_scope
from ptokit.ir.core import Block, Function, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

from ..simulation.core import FlagKey

# A Python text as far as its flags go: where statements begin and end, calls of flags, names in scope.


_Around = list[ast.FunctionDef | ast.For]


class PythonText:
    """A text; nothing is in one that Python refuses."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        self._nodes = list(ast.walk(tree))
        self._body = tree.body
        self._statements = [node for node in self._nodes if isinstance(node, ast.stmt)]
        self.in_scope = cache(self._in_scope)

    # --- statements ----------------------------------------------------------------------------------------------

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """The innermost statement of every line."""
        spans = [(node.lineno, node.end_lineno or node.lineno) for node in self._statements]
        found: dict[int, tuple[int, int]] = {}
        for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
            found.update((line, (first, last)) for line in range(first, last + 1))
        return found

    def span(self, line: int) -> tuple[int, int]:
        """The first and the last line of the innermost statement that covers a line."""
        return self._spans.get(line, (line, line))

    @cached_property
    def _beginning(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for node in self._statements:
            simple = not any(isinstance(inner, ast.stmt) for inner in ast.iter_child_nodes(node))
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1) if simple else (node.lineno,):
                found[line] = found.get(line, 0) + 1
        return found

    def sharing(self, line: int) -> int:
        """How many statements share a line."""
        return self._beginning.get(line, 0)

    @cached_property
    def _lonely(self) -> set[int]:
        bodies = [getattr(node, name, None) for node in self._nodes for name in ("body", "orelse", "finalbody")]
        return {body[0].lineno for body in bodies if isinstance(body, list) and len(body) == 1}

    def only_one(self, line: int) -> bool:
        """True if the statement that begins in a line is the only one of its block."""
        return line in self._lonely

    # --- flags ---------------------------------------------------------------------------------------------------

    @cached_property
    def _calls(self) -> list[ast.Call]:
        """The calls of set_flag and wait_flag."""
        found = []
        for node in self._nodes:
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                found += [node] if name in ("set_flag", "wait_flag") else []
        return found

    def flag_call(self, first: int, last: int) -> ast.Call | None:
        """The call of a flag in some lines; None if its arguments cannot be told apart."""
        calls = [call for call in self._calls if first <= call.lineno <= last]
        if len(calls) != 1 or len(calls[0].args) != 3 or any(isinstance(arg, ast.Starred) for arg in calls[0].args):
            return None
        return calls[0]

    def assignments(self, tile: str) -> list[Location]:
        """The calls of TASSIGN that give a tile, which is called so, an address."""
        return [
            Location(self._file, node.lineno, node.col_offset + 1)
            for node in self._nodes
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.args[0]) == tile
            if (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == "TASSIGN"
        ]

    @cached_property
    def package(self) -> str:
        """The name by which the text has imported the package."""
        imports = (alias for node in self._nodes if isinstance(node, ast.Import) for alias in node.names)
        names = (alias.asname for alias in imports if alias.name in ("ptokit", "ptokit.lang"))
        return next((name for name in names if name), "pto")

    @cached_property
    def pipes(self) -> dict[Pipe, str]:
        """Short names that the text has given to pipes, and uses for flags."""
        names: dict[str, Pipe] = {}
        for node in self._body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                for target, value in _pairs(node.targets[0], node.value):
                    known = value.attr.removeprefix("PIPE_") if isinstance(value, ast.Attribute) else ""
                    if isinstance(target, ast.Name) and known in Pipe.__members__:
                        names[target.id] = Pipe.__members__[known]
        used = {arg.id for call in self._calls for arg in call.args if isinstance(arg, ast.Name)}
        return {pipe: name for name, pipe in reversed(names.items()) if name in used}

    # --- names ---------------------------------------------------------------------------------------------------

    @cached_property
    def _blocks(self) -> list[ast.FunctionDef | ast.For]:
        return [node for node in self._nodes if isinstance(node, ast.FunctionDef | ast.For)]

    def _around(self, line: int) -> _Around:
        """The functions and loops around a line, from the outside in."""
        found = [node for node in self._blocks if node.lineno < line <= (node.end_lineno or node.lineno)]
        return sorted(found, key=lambda node: node.lineno)

    def _in_scope(self, expression: ast.expr, line: int) -> bool:
        """True if the names of an expression are known in another line and mean the same there as where it is."""
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        if not names:
            return True
        here, there = self._around(line), self._around(expression.lineno)
        functions = [[node for node in nodes if isinstance(node, ast.FunctionDef)][-1:] for nodes in (here, there)]
        if functions[0] != functions[1] or not functions[0]:
            return False
        return all(self._same(name, functions[0][0], here, there, (line, expression.lineno)) for name in names)

    def _same(
        self, name: str, function: ast.FunctionDef, here: _Around, there: _Around, lines: tuple[int, int]
    ) -> bool:
        """True if a name of the second line, which is `there`, is known and means the same in the first, `here`."""
        loops = [
            [node for node in nodes if isinstance(node, ast.For) and name in _names([node.target])][-1:]
            for nodes in (here, there)
        ]
        if [_head(loop) for loop in loops[0]] != [_head(loop) for loop in loops[1]]:
            return False
        scopes: list[ast.FunctionDef | ast.For] = [*loops[0], *loops[1]] or [function]
        for node in self._bindings(function):
            if isinstance(node, ast.For) or not any(s.lineno < node.lineno <= (s.end_lineno or 0) for s in scopes):
                continue
            if name not in _names(node.targets if isinstance(node, ast.Assign) else [node.target]):
                continue
            loop = next((outer for outer in reversed(self._around(node.lineno)) if isinstance(outer, ast.For)), None)
            if (loop is not None and loop not in here) or min(lines) <= node.lineno < max(lines):
                return False
        return True

    @cached_property
    def _bound(self) -> dict[ast.FunctionDef, list[ast.For | ast.Assign | ast.AugAssign]]:
        return {}

    def _bindings(self, function: ast.FunctionDef) -> list[ast.For | ast.Assign | ast.AugAssign]:
        found = self._bound.get(function)
        if found is None:
            kinds = ast.For | ast.Assign | ast.AugAssign
            found = self._bound[function] = [node for node in ast.walk(function) if isinstance(node, kinds)]
        return found


def _head(loop: ast.For) -> str:
    """What a loop counts: loops with one head give a name the same values."""
    return f"{ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"


def _names(targets: Iterable[ast.expr]) -> list[str]:
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts))
    return [(target, value)]


@lru_cache(maxsize=8)
def _made(file: str, text: str) -> PythonText:
    return PythonText(file, text)


def python_text(file: str) -> PythonText:
    """A Python file as it is now."""
    return _made(file, "\n".join(file_lines(file)))


# Where operations begin and end in a source text, so that something can be inserted before or after them.


_OPEN, _CLOSE = "([{", ")]}"


def first_line(op: Op) -> int:
    """The line an operation begins in."""
    at = op.location
    if at.file is not None and at.file.endswith(".py"):
        return python_text(at.file).span(at.line)[0]
    return at.line


def last_line(op: Op, following: Op | None) -> int:
    """The last line of an operation; ``following`` is the next one in its block.

    A text that cannot be read is taken to have one operation per line, and the end of a loop on a line of its own.
    """
    at = op.location
    nested = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    if at.file is not None and at.file.endswith(".py"):
        return max([python_text(at.file).span(at.line)[1], *(last_line(inner, None) for inner in nested)])
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
        """True if it has been looked at once: no loop around it is unrolled."""
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
