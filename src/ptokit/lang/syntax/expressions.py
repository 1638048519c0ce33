"""Expressions of a kernel, and what calls of Python's own functions are answered with.

Python decides these by the truth of values, which a traced number does not have. They are rewritten into calls of the
functions here, which do what Python does for Python values and compile the rest.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from types import FunctionType
from typing import Any

from ptokit.diagnostics import Location
from ptokit.ir.control import choice
from ptokit.types.values import I1, INDEX

from .. import rules
from ..eager import HELPER, is_instance, kind_of
from ..functions import select
from ..intrinsics import intrinsic
from ..mistakes import same_object
from ..rules import here, location_at, refusal, user_frame
from ..scalar import Scalar, is_number, plain
from ..tiles import Tile
from ..trace import Region, current
from .carry import Unmerged, join, type_of
from .effects import frozen, once

# Expressions of a kernel: ``and``, ``or``, ``not``, ``a if c else b``, chains of comparisons, calls.


_HARMLESS = frozenset(
    f"arith.{name}"
    for name in "addi subi muli andi ori xori maxsi minsi cmpi cmpf select addf subf mulf index_cast index_castui "
    "extsi extui trunci sitofp uitofp extf truncf negf constant".split()
)
"""Arithmetic that cannot fail: it may be done where its result is not needed."""


def truth(x: Any) -> Any:
    """A Python boolean, or a traced condition: numbers are compared with zero."""
    x = plain(x)
    if not isinstance(x, Scalar):
        return bool(x)
    return x if x.type == I1 else x != (0.0 if x.type.is_float else 0)


def not_(x: Any) -> Any:
    """``not x``."""
    x = truth(x)
    return ~x if isinstance(x, Scalar) else not x


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """``a and b and …``; an operand is looked at only where those before it hold."""
    return _logical(first, others, False)


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """``a or b or …``; an operand is looked at only where none before it holds."""
    return _logical(first, others, True)


def _logical(first: Any, operands: tuple[Callable[[], Any], ...], decides: bool) -> Any:
    value = plain(first)
    if not operands:
        return value
    if not isinstance(value, Scalar):
        return value if bool(value) is decides else _logical(operands[0](), operands[1:], decides)
    if value.type == I1:
        rest = partial(_truth_of, operands, decides)
        if decides:
            return choose(value, lambda: True, rest, operands)
        return choose(value, rest, lambda: False, operands)
    seen: list[Any] = []

    def others() -> Any:
        seen.append(plain(_logical(operands[0](), operands[1:], decides)))
        return seen[0]

    def itself() -> Any:
        return decides if isinstance(seen[0], bool) or type_of(seen[0]) == I1 else value

    condition = truth(value)
    return choose(~condition if decides else condition, others, itself, operands)


def _truth_of(operands: tuple[Callable[[], Any], ...], decides: bool) -> Any:
    value = plain(_logical(operands[0](), operands[1:], decides))
    return value if _counts(value) else truth(value)


def _counts(value: Any) -> bool:
    """True for a number that is no condition."""
    return is_number(value) and type_of(value) != I1


def if_else(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """``then if condition else otherwise``; only the one that is meant is evaluated."""
    condition = truth(condition)
    if not isinstance(condition, Scalar):
        return then() if condition else otherwise()
    return choose(condition, then, otherwise, (then, otherwise))


def smaller(a: Any, b: Any) -> Any:
    return if_else(b < a, lambda: b, lambda: a)  # as Python chooses, also between numbers that are no numbers


def larger(a: Any, b: Any) -> Any:
    return if_else(b > a, lambda: b, lambda: a)


def choose(
    condition: Scalar, then: Callable[[], Any], otherwise: Callable[[], Any], written: Iterable[Callable[[], Any]]
) -> Any:
    """The value of one of two expressions, by a traced condition; ``written``: what of it is the user's."""
    trace, place = current("a conditional expression"), here()
    op = trace.add(choice(condition.value, here()))
    regions, values = [], []
    for expression in (then, otherwise):
        region = Region("branch", trace.region, place)
        op.regions.append(region.block)
        trace.enter(region)
        with once("branch", place, [("", part) for part in written]):
            values.append(plain(expression()))
        trace.leave(region)
        regions.append(region)
    if any(map(_counts, values)):  # next to which True is 1
        values = [int(value) if isinstance(value, bool) else value for value in values]
    if all(inner.name in _HARMLESS for region in regions for inner in region.block.ops):
        # Both are computed, and one is selected: cheaper than a branch, and easier to read.
        trace.region.block.ops.remove(op)
        for region in regions:
            trace.take_over(region)
        found = _selected(condition, *values)
        if found is not None:
            return found
        op = trace.add(choice(condition.value, here()))
        regions = [Region("branch", trace.region, place) for _ in values]
        op.regions = [region.block for region in regions]
    (result,) = join(trace, op, regions, [[value] for value in values])
    if isinstance(result, Unmerged):
        raise refusal(
            rules.CARRIED,
            f"{_shown(values[0])} and {_shown(values[1])} cannot be chosen between while the kernel runs",
            location=place,
            hint="both have to be numbers of one type, or tiles, registers or pointers of one type",
        )
    return frozen(result)


def _selected(condition: Scalar, a: Any, b: Any) -> Any:
    """``a if condition else b`` of values that are there already; None if that needs a branch."""
    if a is b:
        return a
    if isinstance(a, bool) and isinstance(b, bool):
        return (condition if a else ~condition) if a != b else a
    if isinstance(a, bool) and isinstance(b, Scalar) and b.type == I1:
        return condition | b if a else ~condition & b
    if isinstance(b, bool) and isinstance(a, Scalar) and a.type == I1:
        return ~condition | a if b else condition & a
    if isinstance(a, (Scalar, int, float)) and isinstance(b, (Scalar, int, float)):
        return select(condition, a, b)
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def compare(left: Any, operator: Callable[[Any, Any], Any], operand: Callable[[], Any], *rest: Any) -> Any:
    """``a < b < c``: comparisons as functions, and operands that are evaluated once, when they are needed."""
    right = operand()
    holds = operator(left, right)
    return and_(holds, lambda: compare(right, *rest)) if rest else holds


def is_not(a: Any, b: Any) -> bool:
    """``a is not b``."""
    return not same_object(a, b)


def enter(manager: Any) -> Any:
    """``manager.__enter__()``."""
    return type(manager).__enter__(manager)


FUNCTIONS = {f.__name__: f for f in (and_, or_, not_, is_not, if_else, compare, enter)} | {"is_": same_object}
"""What rewritten expressions call."""


def perhaps(node: ast.AST) -> list[ast.expr]:
    """The operands of an expression that Python may not come to."""
    if isinstance(node, ast.BoolOp):
        return node.values[1:]
    if isinstance(node, ast.Compare):
        return node.comparators if len(node.ops) > 1 else []
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else []


class Rewriter(ast.NodeTransformer):
    """Rewrites the expressions of a function in place, positions kept.

    ``first``: its first parameter, which ``super()`` takes; "" without one.
    """

    def __init__(self, first: str = "") -> None:
        self.first = first

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        first, *others = node.values
        return _call(node, name, [first, *map(_later, others)])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call(node, "not_", [node.operand]) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call(node, "if_else", [node.test, _later(node.body), _later(node.orelse)])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return _compared(node, node.ops[0], node.left, node.comparators[0])
        operands: list[ast.expr] = [node.left]
        for operator, value in zip(node.ops, node.comparators):
            a, b = (ast.Name(name, ast.Load()) for name in ("a", "b"))
            test = _compared(node, operator, a, b)
            operands += [ast.Lambda(_parameters("a", "b"), test), _later(value)]
        return _call(node, "compare", operands)

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        while len(node.items) > 1:  # one inside the other
            inner = ast.copy_location(ast.With([node.items.pop()], node.body), node)
            node.body = [inner]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "__class__" or not isinstance(node.ctx, ast.Load):
            return node
        return _call(node, "class_of", [node.value])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.first:
            node.args = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in ("__class__", self.first)]
        return _call(node, "call", [node.func, *node.args], node.keywords)


def is_helper(node: ast.expr, name: str) -> bool:
    """True for the function of this module in a rewritten expression."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == HELPER
    )


def _parameters(*names: str) -> ast.arguments:
    args = [ast.arg(name) for name in names]
    return ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])


def _compared(node: ast.Compare, operator: ast.cmpop, a: ast.expr, b: ast.expr) -> ast.expr:
    """A comparison; those of identity as calls, since only the run may know which tile a variable is."""
    if isinstance(operator, ast.Is | ast.IsNot):
        return _call(node, "is_" if isinstance(operator, ast.Is) else "is_not", [a, b])
    return ast.copy_location(ast.Compare(a, [operator], [b]), node)


def _later(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Lambda(_parameters(), node), node)


def _call(node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.expr:
    function = ast.Attribute(ast.Name(HELPER, ast.Load()), name, ast.Load())
    for part in (function, function.value):  # on one line: Python says that a call is where the line of its name ends
        part.lineno = part.end_lineno = node.lineno
        part.col_offset = part.end_col_offset = node.col_offset
    return ast.copy_location(ast.Call(function, args, keywords or []), node)


# Calls of Python's own functions and classes in a kernel: what they are answered with.


_ANSWERS: dict[Any, tuple[int, Callable[..., Any]]] = {
    isinstance: (2, is_instance),
    type: (1, kind_of),
    bool: (1, truth),
}


def answer_of(function: Any, count: int) -> Callable[..., Any] | None:
    """What answers for the number that the run has, where Python would for the object in its place."""
    found = _ANSWERS.get(function) if isinstance(function, Hashable) else None
    return found[1] if found is not None and found[0] == count else None


def prints(*items: Any, sep: str | None = " ", end: str | None = "\n", **more: Any) -> None:
    """``print(...)``: numbers of the run are printed by the run, with PRINT; the rest once, while compiling.

    Refuses what would be printed once instead of many times (LANG-SCALAR).
    """
    trace = current("print")
    tile = next((item for item in items if isinstance(item, Tile)), None)
    if tile is not None:
        hint = f"pto.TPRINT({tile.name or 't'}) prints it in the run; or run the kernel with .interpret"
        raise refusal(rules.SCALAR, "a tile has no contents while the kernel is compiled", hint=hint)
    if not any(isinstance(item, Scalar) for item in items):
        kind = next((region.kind for region in trace.regions if region.kind in ("loop", "branch")), "")
        if kind:
            hint = 'print a number of the run with it, as in print("i =", i), or run the kernel with .interpret'
            raise refusal(rules.SCALAR, f"only the run knows how often it prints this, in a {kind}", hint=hint)
        print(*items, sep=sep, end=end, **more)
        return
    if any(value is not None for name, value in more.items() if name != "flush"):
        raise refusal(rules.SCALAR, "numbers of the run are printed where the run prints", hint="leave out file=")
    text = ""
    for k, item in enumerate(items):
        text += (" " if sep is None else sep) if k else ""
        if isinstance(item, Scalar):
            intrinsic("PRINT")(item, format=f"{text}{_conversion(item)}")
            text = ""
        else:
            text += str(item).replace("%", "%%")
    text += "\n" if end is None else end
    # The text after the last number belongs to its format.
    last = trace.region.block.ops[-1]
    last.attrs["format"] += text


def _conversion(number: Scalar) -> str:
    if number.type.is_float:
        return "%g"
    return "%lld" if number.type == INDEX or number.type.name.endswith("64") else "%d"


def answers_for_kernels(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``function(*args, **named)``, which gets no text of a number without value: `asked.of_kernel` knows the name."""
    return function(*args, **named)


def stops(*args: Any, **named: Any) -> None:
    """``breakpoint()``: Python's debugger comes to the line of the kernel, past the frames that compile it.

    What an editor or the environment has in its place is called as it is.
    """
    chosen = os.environ.get("PYTHONBREAKPOINT") or "pdb.set_trace"
    if sys.breakpointhook is not sys.__breakpointhook__ or chosen != "pdb.set_trace":
        return breakpoint(*args, **named)
    from pdb import Pdb

    return Pdb(skip=["ptokit", "ptokit.*", "contextlib"]).set_trace(user_frame())


IN_KERNELS: dict[Any, Callable[..., Any]] = {print: prints, breakpoint: stops}
"""What functions of Python do in a kernel that is compiled."""


def class_of(value: Any) -> Any:
    """``value.__class__``."""
    return kind_of(value) if isinstance(value, Scalar) else value.__class__


def init_of(kind: type) -> FunctionType | None:
    """The ``__init__`` of a class whose objects Python code makes."""
    init = getattr(kind, "__init__", None)
    known = makes_itself(kind) or getattr(kind, "__new__", None) is object.__new__
    return init if known and isinstance(init, FunctionType) else None


def makes_itself(kind: type) -> bool:
    """True for a class with a ``__new__`` in Python."""
    return isinstance(getattr(kind, "__new__", None), FunctionType)


def raised_at(error: BaseException) -> Location | None:
    """Where code of a kernel raised an error, directly or in what it called."""
    trace, found = error.__traceback__, None
    while trace is not None:
        if HELPER in trace.tb_frame.f_globals:
            found = location_at(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return found
