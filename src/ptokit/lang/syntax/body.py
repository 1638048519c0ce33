"""Functions, statement by statement: what Python carries out, and what becomes branches and loops of the kernel."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, reduce
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from ptokit.diagnostics import Location, Note
from ptokit.ir.control import choice
from ptokit.types.values import I1

from .. import rules
from ..control import Scope, else_, if_
from ..eager import HELPER
from ..rules import refusal
from ..scalar import Scalar
from ..tiles import Tile
from ..trace import Region, current, tracing
from .carry import Names, Unmerged, anything, assigned, falls_through, items_of, join, jumps, loaded
from .code import Source, bound, is_library, renew, source_of, variables_of
from .effects import adopt, carried_out, frozen, once
from .expressions import (
    FUNCTIONS,
    IN_KERNELS,
    answer_of,
    answers_for_kernels,
    class_of,
    init_of,
    larger,
    makes_itself,
    raised_at,
    smaller,
    truth,
)
from .loops import BREAK, CONTINUE, RETURN, Loops

FLAGS = (RETURN, BREAK, CONTINUE)
VALUE = "·value"
"""What a function returns."""

_BEFORE = "use Python's operators, or compute it before the launch and pass it as a parameter"

DEEPEST = 100
"""Calls inside each other; more are a recursion that nothing ends while the kernel is compiled."""

_compiled_anyway: set[Any] = set()


def function(helper: FunctionType) -> FunctionType:
    """Decorator for helpers of kernels that live in an installed package: their control flow is compiled, too.

    Helpers in files of one's own need no decorator.
    """
    _compiled_anyway.add(helper.__code__)
    return helper


def compiles(helper: FunctionType) -> bool:
    """True for functions whose control flow becomes that of the kernel."""
    trace = tracing()
    if trace is None or trace.eager:
        return False
    module = helper.__globals__.get("__name__", "")
    foreign = module == "ptokit" or module.startswith("ptokit.") or is_library(helper.__code__)
    if foreign and helper.__code__ not in _compiled_anyway:
        return False
    return helper.__code__.co_name != "<lambda>" and source_of(helper.__code__) is not None


def call(function: Any, *args: Any, **named: Any) -> Any:
    """``function(*args, **named)``; a function of the user's is compiled from its own syntax tree."""
    if not named and args and isinstance(args[0], Scalar) and (answer := answer_of(function, len(args))):
        return answer(*args)
    if type(function) is type and (init := init_of(function)) is not None and compiles(init):
        made = call(function.__new__, function, *args, **named) if makes_itself(function) else object.__new__(function)
        if isinstance(made, function):
            run(init, (made, *args), named)
        return made
    if type(function) is BuiltinFunctionType and function in IN_KERNELS and tracing() is not None:
        return IN_KERNELS[function](*args, **named)
    if isinstance(function, partial):
        return call(function.func, *function.args, *args, **{**function.keywords, **named})
    if isinstance(function, MethodType):
        return call(function.__func__, function.__self__, *args, **named)
    if isinstance(function, FunctionType) and compiles(function):
        return run(function, args, named)
    if (
        (function is min or function is max)
        and len(args) > 1
        and not named
        and any(isinstance(arg, Scalar) for arg in args)
    ):
        return reduce(smaller if function is min else larger, args)
    return answers_for_kernels(function, args, named)


_HELPERS = SimpleNamespace(call=call, class_of=class_of, **FUNCTIONS)

_depth = 0


def run(helper: FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Compile a call of a function into the kernel that is being traced; what it returns.

    Raises `DiagnosticError` (LANG-CONTROL, LANG-CARRIED and what the statements raise).
    """
    global _depth
    if helper.__code__.co_name == "<lambda>":  # one expression: Python carries it out
        return helper(*args, **named)
    source = source_of(helper.__code__)
    if source is None:
        message = f"the source of {helper.__name__} cannot be read, and a kernel is compiled from its source"
        place = Location(helper.__code__.co_filename, helper.__code__.co_firstlineno)
        raise refusal(rules.CONTROL, message, location=place, hint="define it in a file, or in a notebook")
    if _depth >= DEEPEST:
        message = f"{helper.__name__} calls itself without end while the kernel is compiled"
        raise refusal(rules.CONTROL, message, hint="write a loop")
    _depth += 1
    try:
        parameters = bound(helper, args, named)
        variables = {**variables_of(helper), **parameters, HELPER: _HELPERS}
        adopt(parameters.items(), by=helper)
        return Body(source, variables, frozenset(parameters), helper).returned()
    finally:
        _depth -= 1


class Body(Loops):
    """One call of a function: its variables, and the statements as they are compiled."""

    def __init__(self, source: Source, variables: dict[str, Any], parameters: Names, function: FunctionType) -> None:
        self.source = source
        self.function = function
        self.variables = variables
        self.own = assigned(source.body) | parameters
        for name in self.own - parameters:  # a variable of the function, whatever the module has
            self.variables.pop(name, None)
        self.variables.update({RETURN: False, BREAK: False, CONTINUE: False, VALUE: None})

    def returned(self) -> Any:
        """Compile all of it; what it returns."""
        self.block(self.source.body)
        value, reached = self.variables[VALUE], self.variables[RETURN]
        if reached is False:
            return None
        if isinstance(value, Unmerged) or (reached is not True and value is not None):
            message = "what the function returns cannot be told while the kernel is compiled"
            hint = "return numbers, tiles, registers or pointers of one type, on every way to its end"
            raise refusal(rules.CARRIED, message, hint=hint)
        return value

    # --- statements ----------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Statements one after the other, as far as control comes."""
        for k, statement in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(statement, ast.If):
                condition = self.holds(statement.test)
                if self._branch(statement, condition, statement.body, statement.orelse, rest):
                    return
            elif isinstance(statement, ast.With):
                explicit = self._explicit_branch(statement, rest)
                if explicit is not None:
                    self.block(rest[explicit:])
                    return
                self._with(statement)
            elif isinstance(statement, ast.For):
                self.for_(statement)
            elif isinstance(statement, ast.While):
                self.while_(statement)
            elif isinstance(statement, ast.Return):
                self.variables[VALUE] = None if statement.value is None else self.value(statement.value)
                self.variables[RETURN] = True
                return
            elif isinstance(statement, (ast.Break, ast.Continue)):
                self.variables[BREAK if isinstance(statement, ast.Break) else CONTINUE] = True
                return
            else:
                self._plain(statement)
                continue
            left = self.left()
            if left is True:
                return
            if isinstance(left, Scalar) and rest:
                self.fork(~left, partial(self._where_not_left, rest), self.where_left, rest, statements[-1])
                return

    def left(self) -> Any:
        """Whether control has left the statements that are being compiled: a boolean, or a traced condition."""
        flags = [self.variables[name] for name in FLAGS]
        if any(flag is True for flag in flags):
            return True
        traced = [flag for flag in flags if isinstance(flag, Scalar)]
        result: Any = False
        for flag in traced:
            result = flag if result is False else result | flag
        return result

    def _where_not_left(self, statements: Sequence[ast.stmt]) -> None:
        self.variables.update(dict.fromkeys(FLAGS, False))
        self.block(statements)

    def where_left(self) -> None:
        """The way of a branch on which control has left the statements: it is known how, if there is one kind."""
        possible = [name for name in FLAGS if self.variables[name] is not False]
        if len(possible) == 1:
            self.variables[possible[0]] = True

    def _plain(self, statement: ast.stmt) -> None:
        self.look(statement)
        if isinstance(statement, ast.Assert):
            self._assert(statement)
            return
        if isinstance(statement, ast.Raise) and current("raise").region.kind == "branch":
            message = "only the run knows whether this is raised"
            place = self.source.place(statement)
            raise refusal(rules.CONTROL, message, location=place, hint="write assert condition, message")
        with self.by_python(statement):
            self.source.execute(statement, self.variables)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._name(target)

    @contextmanager
    def _own_names(self, node: ast.AST) -> Iterator[None]:
        """Python carries something out: refuse variables of the function that have no value yet (LANG-SCOPE)."""
        try:
            yield
        except NameError as error:
            if error.name not in self.own or error.name in self.variables:
                raise
            places = [self.source.place(name) for name in loaded(node) if name.id == error.name]
            message = f"{error.name!r} has no value at this place while the kernel is compiled"
            hint = "give it a value before the loop or branch, of the kind that it has later"
            raise refusal(rules.SCOPE, message, location=(places or [self.source.place(node)])[0], hint=hint) from None
        except (TypeError, AttributeError, ValueError) as error:
            text = str(error)
            if Scalar.__name__ not in text:
                raise
            message, hint = "Python cannot do this with a number that only the run knows", None
            if "ufunc" in text:
                message, hint = "NumPy cannot compute with a number that only the run knows", _BEFORE
            else:
                message += f": {text.replace(Scalar.__name__, 'number')}"
            raise refusal(rules.SCALAR, message, hint=hint, location=raised_at(error)) from None

    def _name(self, target: ast.expr) -> None:
        """Let tiles that have no name yet have that of the variable: ``a``; ``a[0]`` for an item, in text ``a_0``."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self._name(item)
        elif isinstance(target, ast.Name):
            for k, (called, item) in enumerate(items_of(target.id, self.variables.get(target.id))):
                if isinstance(item, Tile):
                    item.take_name(target.id if called == target.id else f"{target.id}_{k}", called)

    def _assert(self, statement: ast.Assert) -> None:
        holds = self.holds(statement.test)
        if isinstance(holds, Scalar):
            message = "" if statement.msg is None else str(self.value(statement.msg))
            text = message or self.source.asserted[id(statement)]
            place = self.source.place(statement)
            current("assert").emit("cf.assert", {"condition": holds.value}, {"msg": text}, location=place)
        else:
            with self.by_python(statement):
                self.source.execute(statement, self.variables)

    def holds(self, test: ast.expr) -> Any:
        """Whether a condition is true: a boolean, or a traced condition."""
        value = self.value(test)
        if isinstance(value, Tile):
            raise value.no_truth(self.source.place(test))
        return truth(value)

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        self.look(node)
        with self.by_python(node):
            return self.source.evaluate(node, self.variables)

    def named(self, node: ast.expr) -> Any:
        """What a name means, or a name of a module: what can be looked up without code of the user's. Else None."""
        if isinstance(node, ast.Name):
            self.look(node)
            return self.variables.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            module = self.named(node.value)
            return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        return None

    def look(self, node: ast.AST) -> None:
        """Refuse variables that nobody can tell at this place (LANG-SCOPE)."""
        for name in loaded(node):
            if name.id not in self.own:
                renew(self.function, name.id, self.variables)
            found = self.variables.get(name.id)
            if isinstance(found, Unmerged):
                raise refusal(
                    rules.SCOPE,
                    f"{name.id!r} {found.why or 'cannot be told here'}",
                    location=self.source.place(name),
                    hint="give it a value of the same kind on every way that leads here",
                    notes=[Note("it depends on this", found.location)] if found.location.line else [],
                )

    # --- with ----------------------------------------------------------------------------------------------------

    def _with(self, statement: ast.With) -> None:
        managers = []
        for item in statement.items:
            self.look(item.context_expr)
            with self.by_python(item.context_expr):
                manager, value = self.source.enter(item.context_expr, self.variables)
            adopt([("", manager)])
            managers.append(manager)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        word = "section" if any(isinstance(m, Scope) for m in managers) else "with-statement"
        self.refuse_jumps(statement.body, word, self.source.place(statement))
        self.block(statement.body)
        for manager in reversed(managers):
            with self.by_python(statement.items[0].context_expr, manager):
                type(manager).__exit__(manager, None, None, None)

    def _explicit_branch(self, statement: ast.With, rest: Sequence[ast.stmt]) -> int | None:
        """``with pto.if_(c):``, and ``with pto.else_():`` after it; how many statements of `rest` that took.

        None for every other with-statement.
        """
        condition = self._called(statement, if_)
        if condition is None:
            return None
        other = rest[0] if rest and isinstance(rest[0], ast.With) and self._called(rest[0], else_) is not None else None
        bodies = [statement.body, other.body if isinstance(other, ast.With) else []]
        for body in bodies:
            self.refuse_jumps(body, "branch", self.source.place(statement.items[0].context_expr))
        value = self.value(condition.args[1]) if len(condition.args) == 2 else None
        if not isinstance(value, bool) and not (isinstance(value, Scalar) and value.type == I1):
            message = f"pto.if_ needs a condition, not {value!r}"
            raise refusal(rules.SCALAR, message, location=self.source.place(condition), hint="compare it: x != 0")
        self._branch(statement, value, bodies[0], bodies[1], (), last=other)
        return 0 if other is None else 1

    def _called(self, statement: ast.With, wanted: Callable[..., Any]) -> ast.Call | None:
        """The call in the head of a with-statement, if it is one of `wanted`."""
        node = statement.items[0].context_expr
        if not isinstance(node, ast.Call) or not node.args:
            return None
        return node if self.named(node.args[0]) is wanted else None  # of the rewritten call: the function comes first

    def refuse_jumps(self, body: Sequence[ast.stmt], word: str, start: Location) -> None:
        """Refuse statements that lead out of a with-statement or of a loop written with pto.range (LANG-CONTROL)."""
        for jump in jumps(body):
            name = type(jump).__name__.lower()
            raise refusal(
                rules.CONTROL,
                f"{name} leaves the {word}",
                location=self.source.place(jump),
                hint="write the branch as `if condition:` and the loop as `for i in range(n):`",
                notes=[Note(f"the {word} begins here", start)],
            )

    def assign(self, target: ast.expr, value: Any) -> None:
        """``target = value``."""
        with self.by_python(target, value):
            self.source.assign(target, value, self.variables)

    # --- branches ------------------------------------------------------------------------------------------------

    def _branch(
        self,
        statement: ast.stmt,
        condition: Any,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        rest: Sequence[ast.stmt],
        *,
        last: ast.stmt | None = None,
    ) -> bool:
        """One way or the other; True if `rest`, which follows, has been compiled with it.

        ``last``: the statement that ends both, where that is not `statement`.
        """
        if not isinstance(condition, Scalar):
            self.block(body if condition else orelse)
            return False
        joint = not (falls_through(body) and falls_through(orelse))
        last = last or statement
        if joint and rest:  # what follows belongs to the branch that reaches it
            last = rest[-1]
            body = [*body, *rest] if falls_through(body) else body
            orelse = [*orelse, *rest] if falls_through(orelse) else orelse
        self.fork(condition, lambda: self.block(body), lambda: self.block(orelse), [*body, *orelse], last, statement)
        return joint and bool(rest)

    def fork(
        self,
        condition: Scalar,
        then: Callable[[], None],
        otherwise: Callable[[], None],
        statements: Sequence[ast.stmt],
        last: ast.stmt,
        where: ast.stmt | None = None,
    ) -> None:
        """Compile two ways; the run takes one of them; `last` is the statement after which they meet again."""
        trace, place = current("if"), self.source.place(where or last)
        names = [*sorted(assigned(statements)), *FLAGS, VALUE]
        before_them = otherwise == self.where_left  # a jump before these statements has led here
        apart = self.source.liveness.jumped(None if before_them else statements) | {*FLAGS, VALUE}
        live = self.source.liveness.after(last) | apart
        op = trace.add(choice(condition.value, place))
        before = {name: self.variables[name] for name in names if name in self.variables}
        regions: list[Region] = []
        ends: list[dict[str, Any]] = []
        for way in (then, otherwise):
            region = Region("branch", trace.region, place)
            op.regions.append(region.block)
            if regions:
                regions[0].alternative = region
            self.restore(names, before)
            trace.enter(region)
            with self.once("branch", place, statements):
                way()
            trace.leave(region)
            regions.append(region)
            ends.append({name: self.variables[name] for name in names if name in self.variables})
        missing = Unmerged("has a value on one way that leads here, and none on the other", place)
        wanted = [name for name in names if name in live]
        left = [any(end[flag] is True for flag in FLAGS) for end in ends]
        columns: list[list[Any]] = [[], []]
        for name in wanted:
            values = [end.get(name, missing) for end in ends]
            if name not in apart and left[0] != left[1]:  # where control has left, nobody asks what it is
                values = [anything(other) if gone else v for gone, v, other in zip(left, values, values[::-1])]
            if name == VALUE:  # nobody asks what a function has returned that has not
                values = [anything(o) if end[RETURN] is False else v for end, v, o in zip(ends, values, values[::-1])]
            for column, value in zip(columns, values):
                column.append(value)
        merged = frozen(join(trace, op, regions, columns))
        self.restore(names, before)  # of those that are not live any value will do
        for name, value in zip(wanted, merged):
            if value is not missing or name in before or any(name in end for end in ends):
                why = "is of different kinds on the ways that lead here"
                unknown = isinstance(value, Unmerged) and not value.why
                self.variables[name] = Unmerged(why, place) if unknown else value
        if not regions[1].block.ops:
            op.regions.pop()

    def restore(self, names: Iterable[str], values: dict[str, Any]) -> None:
        """Give variables the values they had; those that had none lose theirs."""
        for name in names:
            if name in values:
                self.variables[name] = values[name]
            else:
                self.variables.pop(name, None)

    # --- what Python carries out ---------------------------------------------------------------------------------

    def mentioned(self, nodes: Iterable[ast.AST]) -> tuple[list[tuple[str, Any]], set[str]]:
        """The variables that occur in nodes, and the names of attributes there."""
        names, attributes = set[str](), set[str]()
        for node in nodes:
            read, others = self.source.mentioned(node)
            names.update(read)
            attributes.update(others)
        return [(name, self.variables[name]) for name in names if name in self.variables], attributes

    def once(self, word: str, place: Location, nodes: Iterable[ast.AST]) -> AbstractContextManager[None]:
        """Compile a branch or loop: refuse what is left in objects of Python that were there before (LANG-CARRIED)."""
        roots, attributes = self.mentioned(nodes)
        own = [(name, self.variables[name]) for name in self.own if name in self.variables]
        return once(word, place, [*own, *roots], attributes)

    @contextmanager
    def by_python(self, node: ast.AST, *others: Any) -> Iterator[None]:
        """Let Python carry out a part of a statement, which leads to `others` besides its variables."""
        place = partial(self.source.place, node)
        with self._own_names(node), carried_out(place, self.variables) as ledger:
            if ledger is None:
                yield
                return
            more = [("", other) for other in others]
            roots, attributes = self.mentioned([node])
            ledger.before([*roots, *more], attributes)
            yield
            roots, _ = self.mentioned([node])
            ledger.after([*roots, *more], attributes, place)
