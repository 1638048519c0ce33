"""What is known of a function before it is compiled: its syntax tree, rewritten, with the code of its parts."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import place_of

from .. import rules
from ..eager import HELPER
from ..rules import refusal
from ..source import definition_of, first_line, is_library_file, made_of, parameters_of
from .carry import Liveness, assigned, loaded
from .expressions import Rewriter, perhaps

_REFUSED = {
    ast.Try: "write the statements without try: nothing raises while the kernel runs",
    ast.TryStar: "write the statements without try: nothing raises while the kernel runs",
    ast.Match: "write if and elif",
    ast.Global: "pass it as a parameter, and return it",
    ast.Nonlocal: "pass it as a parameter, and return it",
    ast.AsyncFor: "write for",
    ast.AsyncWith: "write with",
    ast.Await: "a kernel is a plain function",
    ast.Yield: "a kernel is a plain function",
    ast.YieldFrom: "a kernel is a plain function",
    ast.ClassDef: "define the class outside of the kernel",
}


class Source:
    """The body of a function as statements, and the code objects of statements and expressions."""

    def __init__(self, node: ast.FunctionDef, file: str, around: str = "") -> None:
        self.file = file
        inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node]
        self._inner = {first_line(n): (deepcopy(n), around) for n in inner}
        if around.strip("_"):
            Mangler(around).visit(node)
        self.name = node.name
        self.body = node.body
        self._refuse(node)
        self.asserted = {id(n): ast.unparse(n.test) for n in ast.walk(node) if isinstance(n, ast.Assert)}
        parameters = [*node.args.posonlyargs, *node.args.args]
        rewriter = Rewriter(parameters[0].arg if parameters else "")
        for statement in self.body:
            rewriter.visit(statement)
        ast.fix_missing_locations(node)
        self.liveness = Liveness(self.body)
        self._codes: dict[int, CodeType] = {}
        self._targets: dict[int, CodeType] = {}
        self._managers: dict[int, CodeType] = {}
        self._mentioned: dict[int, tuple[list[str], list[str]]] = {}

    def place(self, node: ast.AST) -> Location:
        """Where a node stands."""
        names = ("lineno", "end_lineno", "col_offset", "end_col_offset")
        line, end_line, column, end_column = (getattr(node, name, None) for name in names)
        return place_of(self.file, (line, end_line, column, end_column))

    def mentioned(self, node: ast.AST) -> tuple[list[str], list[str]]:
        """The variables that a node reads or assigns, and the names of attributes in it."""
        found = self._mentioned.get(id(node))
        if found is None:
            attributes = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
            found = self._mentioned[id(node)] = (
                list({*(n.id for n in loaded(node)), *assigned([node])} - {HELPER}),
                list(attributes),
            )
        return found

    def execute(self, node: ast.stmt, variables: dict[str, Any]) -> None:
        """Let Python carry out a statement."""
        code = self._codes.get(id(node))
        if code is None:
            code = self._codes[id(node)] = compile(ast.Module([node], []), self.file, "exec")
            for inner in code.co_consts:
                if isinstance(inner, CodeType) and not inner.co_name.startswith("<"):
                    made_of(inner, self._inner.get(inner.co_firstlineno))
        exec(code, variables)

    def evaluate(self, node: ast.expr, variables: dict[str, Any]) -> Any:
        """The value of an expression."""
        code = self._codes.get(id(node))
        if code is None:
            code = self._codes[id(node)] = compile(ast.Expression(node), self.file, "eval")
        return eval(code, variables)

    def assign(self, target: ast.expr, value: Any, variables: dict[str, Any]) -> None:
        """Let Python do ``target = value``."""
        variables["·item"] = value
        code = self._targets.get(id(target))
        if code is None:
            node = ast.copy_location(ast.Assign([target], ast.Name("·item", ast.Load())), target)
            module = ast.fix_missing_locations(ast.Module([node], []))
            code = self._targets[id(target)] = compile(module, self.file, "exec")
        exec(code, variables)

    def enter(self, node: ast.expr, variables: dict[str, Any]) -> tuple[Any, Any]:
        """A context manager, entered, and what entering it gave."""
        manager = self.evaluate(node, variables)
        variables["·manager"] = manager
        code = self._managers.get(id(node))
        if code is None:
            function = ast.Attribute(ast.Name(HELPER, ast.Load()), "enter", ast.Load())
            call = ast.copy_location(ast.Call(function, [ast.Name("·manager", ast.Load())], []), node)
            code = self._managers[id(node)] = compile(
                ast.fix_missing_locations(ast.Expression(call)), self.file, "eval"
            )
        return manager, eval(code, variables)

    def _refuse(self, function: ast.FunctionDef) -> None:
        """Refuse what no kernel can contain (LANG-CONTROL)."""
        todo: list[ast.AST] = list(function.body)
        while todo:
            node = todo.pop()
            for kind, hint in _REFUSED.items():
                if isinstance(node, kind):
                    word = kind.__name__.removeprefix("Async").removesuffix("Star").removesuffix("Def").lower()
                    message = f"{word} cannot be compiled in a kernel"
                    raise refusal(rules.CONTROL, message, location=self.place(node), hint=hint)
            if isinstance(node, (ast.For, ast.While)) and node.orelse:
                message = "else of a loop cannot be compiled in a kernel"
                hint = "set a variable where the loop is left, and test it after the loop"
                raise refusal(rules.CONTROL, message, location=self.place(node.orelse[0]), hint=hint)
            for operand in perhaps(node):
                for inner in ast.walk(operand):
                    if isinstance(inner, ast.NamedExpr):
                        message = ":= in an operand that may not be evaluated cannot be compiled in a kernel"
                        raise refusal(rules.CONTROL, message, location=self.place(inner), hint="assign it before")
            if isinstance(node, ast.FunctionDef):  # looked at where it is called, but for what it takes from around it
                todo += [inner for inner in ast.walk(node) if isinstance(inner, ast.Nonlocal)]
            elif not isinstance(node, ast.Lambda):
                todo += ast.iter_child_nodes(node)


class Mangler(ast.NodeTransformer):
    """Names that begin with two underscores as Python has them inside of a class."""

    def __init__(self, around: str) -> None:
        self._prefix = f"_{around.lstrip('_')}"

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "attr", "arg", "name", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__") and "." not in name:
                setattr(node, field, self._prefix + name)
        return super().generic_visit(node)


def source_of(code: CodeType) -> Source | None:
    """The source of a function; None if there is none to be had. Raises `DiagnosticError`."""
    return _source_of(code, code.co_filename)


@lru_cache(maxsize=256)
def _source_of(code: CodeType, file: str) -> Source | None:  # codes of two files may be equal
    definition = definition_of(code)
    return None if definition is None else Source(deepcopy(definition[0]), file, definition[1])


def is_library(code: CodeType) -> bool:
    """True for functions of Python itself and of installed packages."""
    return is_library_file(code.co_filename)


def variables_of(function: FunctionType) -> dict[str, Any]:
    """What a function sees besides its parameters: its module, and the variables around it."""
    variables = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            variables.pop(name, None)
    return variables


def renew(function: FunctionType, name: str, variables: dict[str, Any]) -> None:
    """Take over what a variable outside of a function has become: code that Python carries out may assign it."""
    if name in function.__code__.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        with suppress(ValueError):  # not assigned yet
            variables[name] = cell.cell_contents
    elif name in function.__globals__:
        variables[name] = function.__globals__[name]


def bound(function: FunctionType, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a call with their values. Raises `TypeError` as Python does."""
    arguments = parameters_of(function).bind(*args, **named)
    arguments.apply_defaults()
    return arguments.arguments
