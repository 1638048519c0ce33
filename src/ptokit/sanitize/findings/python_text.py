"""A Python text as far as its flags go: where statements begin and end, calls of flags, names in scope."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache

from ptokit.diagnostics import Location
from ptokit.diagnostics.location import file_lines
from ptokit.types.enums import Pipe

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
