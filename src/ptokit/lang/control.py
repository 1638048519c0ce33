"""The explicit words for control flow and sections, in kernels and where Python itself executes.

The words stand in for-statements and with-statements of a kernel, which `ptokit.lang.syntax` compiles.

A with-statement cannot pass over its body. So the functions of a kernel that have these words, and those that lead to
them, are made once more, with other code.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, NoReturn

from ptokit.ir.control import CORES, section

from . import rules
from .outside import all_names_of, called_in
from .rules import here, refusal
from .scalar import Scalar, is_number, plain
from .source import definition_of, made_of
from .trace import Region, Trace, current

# The explicit words for control flow, `range`, `if_` and `else_`, and sections of a kernel.


def range(*bounds: Any) -> Loop:
    """A loop of the kernel: ``for i in pto.range(stop)`` or ``pto.range(start, stop, step)``; ``i`` is an index.

    Bounds are Python integers or traced ones. The interval is half open and the step positive. As Python's own
    `range` in a kernel. Raises `DiagnosticError` (LANG-CONTROL).
    """
    return Loop(*bounds)


class Loop:
    """What `range` returns."""

    def __init__(self, *bounds: Any) -> None:
        if not 1 <= len(bounds) <= 3:
            raise refusal(rules.CONTROL, f"pto.range takes 1 to 3 arguments, not {len(bounds)}")
        for bound in bounds:
            if not is_number(bound) or (bound.type.is_float if isinstance(bound, Scalar) else bound != int(bound)):
                raise refusal(rules.CONTROL, f"pto.range needs integers, not {bound!r}")
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if not isinstance(step, Scalar) and step <= 0:
            raise refusal(rules.CONTROL, f"the step of pto.range is {step}, but must be positive", hint="count upwards")
        self.bounds = {
            name: plain(value) if isinstance(value, Scalar) else int(value)
            for name, value in (("lower", start), ("upper", stop), ("step", step))
        }

    def __iter__(self) -> Iterator[int]:
        if not current("pto.range").eager:
            raise refusal(
                rules.CONTROL,
                "pto.range stands in a for-statement of a kernel, or of a function that is compiled with it",
                hint="write for i in range(n); mark a helper of an installed package with @pto.function",
            )
        return iter(builtins.range(self.bounds["lower"], self.bounds["upper"], self.bounds["step"]))

    def __repr__(self) -> str:
        return f"pto.range({', '.join(repr(bound) for bound in self.bounds.values())})"


class Scope:
    """A region that runs once, as a context manager."""

    def __init__(self, trace: Trace, region: Region) -> None:
        self._trace = trace
        self._region = region
        trace.expected.append(region)

    def __enter__(self) -> None:
        self._trace.enter(self._region)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self._trace.leave(self._region)


def cube_section() -> Scope:
    """Code for the cube core of a cluster: ``with pto.cube_section(): …``. Vector cores skip it."""
    return _section("cube")


def vector_section() -> Scope:
    """Code for the vector cores of a cluster, `get_subblock_idx` 0 and 1. The cube core skips it."""
    return _section("vector")


def _section(kind: str) -> Scope:
    trace = current(f"pto.{kind}_section")
    if trace.kind:
        message = f"pto.{kind}_section stands where an interpreted kernel cannot pass over it"
        hint = f"write `with pto.{kind}_section():` in the kernel, or in a function that it calls by its name"
        raise refusal(rules.CONTROL, message, hint=hint)
    region = Region("section", trace.region, here())
    trace.add(section(kind, here())).regions.append(region.block)
    return Scope(trace, region)


def if_(condition: Any) -> NoReturn:
    """A branch of the kernel: ``with pto.if_(i == 0): …``, with `else_` for the other case. As ``if`` and ``else``.

    The condition is a comparison of traced numbers, or a Python boolean.
    """
    _for_kernels("pto.if_")
    raise refusal(rules.CONTROL, "this branch has no body", hint="write: with pto.if_(condition): …, or a plain if")


def else_() -> NoReturn:
    """The other branch of the `if_` that ended just before: ``with pto.else_(): …``."""
    _for_kernels("pto.else_")
    raise refusal(
        rules.CONTROL,
        "pto.else_ does not follow a pto.if_ directly",
        hint="write: with pto.if_(condition): … and with pto.else_(): … after it, or plain if and else",
    )


def _for_kernels(word: str) -> None:
    if current(word).eager:
        message = f"{word} is for kernels; a core executes every call at once"
        raise refusal(rules.CONTEXT, message, hint="use Python's own if and else")


# ``with pto.if_(c):`` and sections in Python code that Python itself executes: as if-statements.


SECTION_WORDS = {f"{kind}_section": kind for kind in CORES}
"""The functions that begin a section, with the kind of core."""

_ON = "__ptokit_on__"
_INNER = "__ptokit_inner__"  # another name than the function's, which may be that of a variable around it
_ALL_WORDS = {"if_", *SECTION_WORDS}


Runs = Callable[[str, int], bool]
"""Whether a section for a kind of core, in a line, is to be executed."""


def explicit_words_as_python(function: FunctionType) -> Callable[[Runs], FunctionType]:
    """What makes the function with if-statements in place of these words, in the functions that it calls, too."""
    leading = _leading_to_words(function)
    return lambda runs: _Remade(leading, runs).function(function)


def _leading_to_words(function: FunctionType) -> set[FunctionType]:
    """Those of the function and all that it reaches which have words, or call a function that leads to them."""
    calls: dict[FunctionType, list[FunctionType]] = {}
    pending = [function]
    while pending:
        here = pending.pop()
        if here not in calls:
            calls[here] = [called for _, _, called in called_in(here)]
            pending += calls[here]
    leading = {f for f in calls if _with_words(f) is not None}
    while more := {f for f in calls if f not in leading and not leading.isdisjoint(calls[f])}:
        leading |= more
    return leading


def _with_words(function: FunctionType) -> CodeType | None:
    code = function.__code__
    return None if _ALL_WORDS.isdisjoint(all_names_of(code)) else _rewritten(code, code.co_filename)


class _Remade:
    """Functions made once more, which call each other and otherwise see what the originals see."""

    def __init__(self, leading: set[FunctionType], runs: Runs) -> None:
        self.leading, self.runs = leading, runs
        self.made: dict[FunctionType, FunctionType] = {}

    def function(self, function: FunctionType) -> FunctionType:
        """The other one of a function; the same where no words are reached."""
        if function not in self.leading:
            return function
        if function in self.made:
            return self.made[function]
        code = _with_words(function) or function.__code__
        scope = {**function.__globals__, _ON: self.runs}
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        cells |= {name: CellType() for name, _, _ in called_in(function) if name in cells}
        new = FunctionType(
            code, scope, function.__name__, function.__defaults__, tuple(cells[name] for name in code.co_freevars)
        )
        new.__kwdefaults__ = function.__kwdefaults__
        self.made[function] = new
        known: dict[str, Any] = {}
        for name, module, called in called_in(function):
            other = self.function(called)
            known[name] = other if module is None else _with(known.get(name, module), called, other)
        for name, value in known.items():
            if name in cells:
                cells[name].cell_contents = value
            else:
                scope[name] = value
        return new


def _with(module: ModuleType, old: FunctionType, new: FunctionType) -> ModuleType:
    """A module with another function in place of one."""
    made = ModuleType(module.__name__)
    made.__dict__.update({name: new if value is old else value for name, value in vars(module).items()})
    return made


@lru_cache(maxsize=256)
def _rewritten(code: CodeType, file: str) -> CodeType | None:
    """The code of a function without these words; None where it has none of them."""
    definition = definition_of(code)
    if definition is None:
        return None
    node = deepcopy(definition[0])
    words = _Words()
    body = words.joined([words.visit(statement) for statement in node.body])
    if not words.found:
        return None
    inner = ast.copy_location(ast.FunctionDef(_INNER, node.args, body, []), node)
    names = [ast.arg(name) for name in code.co_freevars]
    arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    around = ast.copy_location(ast.FunctionDef("__around__", arguments, [inner], []), node)
    _without_annotations(inner)
    statement: ast.stmt = around
    if definition[1]:  # whose private names it has
        statement = ast.copy_location(ast.ClassDef(definition[1], [], [], [around], []), node)
    made = _inner(compile(ast.fix_missing_locations(ast.Module([statement], [])), file, "exec"))
    made = _inner(_inner(made) if definition[1] else made)
    made = made.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    made_of(made, definition)
    return made


def _inner(code: CodeType) -> CodeType:
    """The code of the function that a module or function begins with."""
    return next(c for c in code.co_consts if isinstance(c, CodeType))


def _without_annotations(node: ast.FunctionDef) -> None:
    """They and defaults have been evaluated where the function was defined."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in arguments:
        argument.annotation = None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)


class _Words(ast.NodeTransformer):
    """``with pto.if_(c): a`` and ``with pto.else_(): b`` as ``if c: a`` and ``else: b``; sections as ``if``."""

    def __init__(self) -> None:
        self.found = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, self.joined(statements))
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        word, call = _word(node)
        if word == "if_" and call is not None and len(call.args) == 1:
            self.found = True
            return ast.copy_location(ast.If(call.args[0], node.body, []), node)
        if word in SECTION_WORDS:
            self.found = True
            test = ast.Call(
                ast.Name(_ON, ast.Load()), [ast.Constant(SECTION_WORDS[word]), ast.Constant(node.lineno)], []
            )
            return ast.copy_location(ast.If(ast.copy_location(test, node), node.body, []), node)
        return node

    def joined(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Every ``else_`` as the other branch of the statement before it."""
        out: list[ast.stmt] = []
        for statement in statements:
            other = isinstance(statement, ast.With) and _word(statement)[0] == "else_"
            if other and out and isinstance(out[-1], ast.If):
                assert isinstance(statement, ast.With)
                out[-1].orelse = statement.body
            else:
                out.append(statement)
        return out


def _word(node: ast.With) -> tuple[str, ast.Call | None]:
    call = node.items[0].context_expr
    if len(node.items) != 1 or not isinstance(call, ast.Call):
        return "", None
    target = call.func
    name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    return name, call
