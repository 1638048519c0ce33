"""Source texts in Python and C++ as far as flags go: where statements begin and end, and what is around them."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cache, cached_property, lru_cache

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import file_lines
from ptokit.records import dataclass
from ptokit.types.enums import Pipe

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


# C++ as far as its statements go, without a look at what they mean: brackets, semicolons and the words of control flow.


_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
    |R"(?P<raw>[^()\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'
    |\w(?:[\w.]|'(?=\w))*|::|.""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLOSING = {"(": ")", "[": "]"}
_LOOPS = ("for", "while")
SCOPE = "__VEC_SCOPE__"
"""Before the block of a vector scope."""

_Place = tuple[int, int]


@dataclass(eq=False)
class CppStatement:
    """A statement of C++, from its first character to its last one, lines and columns from 1.

    ``kind``: "loop", "choice", "scope", "block", "label" or "simple". ``parts``: the statements in it, of a choice by
    its ways; with ``functions`` they are bodies of functions or lambdas, which are executed elsewhere. ``opens``: the
    line in which its body begins, 0 for one without braces. ``alone``: nothing else is in its lines, and it is in
    braces, so that lines can be inserted around it.
    """

    kind: str
    start: _Place
    end: _Place
    parts: list[list[CppStatement]] = field(default_factory=list)
    functions: bool = False
    opens: int = 0
    alone: bool = True


class CppText:
    """A text; nothing is in one whose brackets do not match."""

    def __init__(self, text: str) -> None:
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._tokens: list[str] = []
        self._at: list[_Place] = []
        self._ends: list[_Place] = []
        for match in _TOKEN.finditer(text):
            if match["skip"] is None:
                self._tokens.append(match[0])
                for places, offset in ((self._at, match.start()), (self._ends, match.end() - 1)):
                    line = bisect_right(starts, offset)
                    places.append((line, offset - starts[line - 1] + 1))
        self._next = 0
        try:
            self._all = list(self._until(""))
        except (IndexError, RecursionError):
            self._all = []

    def around(self, line: int, column: int, *, whole: bool = False) -> list[tuple[CppStatement, int]]:
        """The statements around a place of one function, from the outside in, each with the number of the part.

        ``whole``: also those around the function.
        """
        found: list[tuple[CppStatement, int]] = []
        inner, place = [self._all], (line, column)
        while inner:
            at = next(((s, k) for k, part in enumerate(inner) for s in part if s.start <= place <= s.end), None)
            if at is None:
                break
            found = [*found[:-1], (found[-1][0], at[1])] if found else []
            found = [] if found and found[-1][0].functions and not whole else found
            found.append((at[0], -1))
            inner = at[0].parts
        return found

    # --- statements ----------------------------------------------------------------------------------------------

    def _until(self, end: str) -> Iterator[CppStatement]:
        while (self._tokens[self._next] if end or self._next < len(self._tokens) else end) != end:
            yield self._statement()

    def _block(self) -> list[CppStatement]:
        """What is in braces."""
        self._next += 1
        found = list(self._until("}"))
        self._next += 1
        return found

    def _bracket(self) -> None:
        """Skip what is in brackets."""
        close, depth = _CLOSING[self._tokens[self._next]], 0
        opening = self._tokens[self._next]
        while True:
            token = self._tokens[self._next]
            depth += (token == opening) - (token == close)
            self._next += 1
            if not depth:
                return

    def _statement(self) -> CppStatement:
        first, word = self._next, self._tokens[self._next]
        made = CppStatement("simple", self._at[first], self._at[first])
        if word == "{" or (word == SCOPE and self._tokens[first + 1] == "{"):
            made.kind = "block" if word == "{" else "scope"
            self._next += word == SCOPE
            self._body(made)
        elif word in (*_LOOPS, "switch", "if"):
            made.kind = "loop" if word in _LOOPS else "choice"
            self._next += 1 + (self._tokens[first + 1] == "constexpr")
            self._bracket()
            self._body(made)
            if word == "switch":
                made.parts = list(_ways(made.parts[0]))
            elif word == "if" and self._next < len(self._tokens) and self._tokens[self._next] == "else":
                self._next += 1
                self._body(made)
        elif word == "do":
            made.kind = "loop"
            self._next += 1
            self._body(made)
            self._next += 1
            self._bracket()
            self._next += 1
        elif word in ("case", "default"):
            made.kind = "label"
            self._next = self._tokens.index(":", self._next) + 1
        else:
            self._simple(made)
        last = self._next - 1
        made.end = self._ends[last]
        before = self._ends[first - 1][0] if first else 0
        after = self._at[self._next][0] if self._next < len(self._tokens) else made.end[0] + 1
        made.alone = before < made.start[0] and made.end[0] < after
        return made

    def _body(self, made: CppStatement) -> None:
        """The body of a loop or branch."""
        if self._tokens[self._next] == "{":
            made.opens = made.opens or self._at[self._next][0]
            made.parts.append(self._block())
        else:
            (only,) = made.parts[len(made.parts) :] = [[self._statement()]]
            only[0].alone = False

    def _simple(self, made: CppStatement) -> None:
        """Up to a semicolon, or to the end of a body that none follows."""
        depth = 0
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token == "{":
                made.functions = True
                made.parts.append(self._block())
                following = self._tokens[self._next : self._next + 1]
                if not depth and (not following or re.match(r"[\w{}#~]|::", following[0])):
                    return
                continue
            if token == "}":
                return
            depth += (token in _CLOSING) - (token in ")]")
            self._next += 1
            if token == ";" and depth <= 0:
                return


def _ways(statements: list[CppStatement]) -> Iterator[list[CppStatement]]:
    """The ways of a switch, and one where none is taken."""
    yield []
    way: list[CppStatement] = []
    for statement in statements:
        if statement.kind == "label" and any(s.kind != "label" for s in way):
            yield way
            way = []
        way.append(statement)
    yield way


@lru_cache(maxsize=8)
def _cpp_made(text: str) -> CppText:
    return CppText(text)


def cpp_text(file: str) -> CppText:
    """A C++ file as it is now."""
    return _cpp_made("\n".join(file_lines(file)))
