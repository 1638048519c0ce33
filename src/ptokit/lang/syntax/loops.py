"""Loops: over ranges and by a condition they become loops of the kernel, over anything else they are unrolled."""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from ptokit.diagnostics import Location
from ptokit.ir import Op
from ptokit.ir.control import condition_of, conditional, counted, yield_of
from ptokit.types.values import I1, INDEX, Type

from .. import rules
from ..control import Loop
from ..control import range as pto_range
from ..mistakes import NoArithmetic
from ..rules import refusal
from ..scalar import Scalar, is_number, materialize, plain
from ..trace import Region, Trace, current
from .carry import Unmerged, assigned, handle, jumps, leaves, rebuilt, same, type_of, value_of
from .code import Source
from .contents import MINE
from .effects import adopt, frozen, opened
from .expressions import is_helper

RETURN, BREAK, CONTINUE = "·return", "·break", "·continue"
"""Variables that say whether control has left a function, a loop, or an iteration of a loop: false, true, or traced."""

MOST_ITERATIONS = 100_000
"""Iterations of a loop that is unrolled; one of more would never be done."""

MOST_LEFT = 200
"""Iterations of such a loop that the run may leave: each is compiled in a branch of the one before it."""

_NO_MORE = object()


class StaticRange(tuple[int, ...]):
    """What `static_range` returns."""


def static_range(*bounds: Any) -> StaticRange:
    """A loop that is unrolled while the kernel is compiled: ``for i in pto.static_range(4)``.

    ``i`` is a Python integer. Bounds as for Python's range. Raises `DiagnosticError` (LANG-CONTROL) for bounds that
    only the run knows.
    """
    for bound in bounds:
        if isinstance(plain(bound), Scalar):
            raise refusal(
                rules.CONTROL,
                f"{bound!r} is not known while the kernel is compiled, so the loop cannot be unrolled",
                hint="write range, or annotate the parameter with pto.Static",
            )
    return StaticRange(builtins.range(*bounds))


def static(value: Any) -> Any:
    """`value`, which has to be known while the kernel is compiled. Raises `DiagnosticError` (LANG-SCALAR)."""
    for leaf in leaves(value):
        if isinstance(leaf, Scalar):
            raise refusal(
                rules.SCALAR,
                f"{leaf!r} is not known while the kernel is compiled",
                hint="annotate the parameter with pto.Static, or compute it from constants",
            )
    return value


class Carried:
    """The variables that go from iteration to iteration of one loop, as SSA values."""

    def __init__(self, variables: dict[str, Any], names: Sequence[str], place: Location) -> None:
        self.place = place
        self.variables = variables
        self.names: list[str] = []
        self.first: dict[str, Any] = {}
        self.types: dict[str, list[Type | None]] = {}
        for name in names:
            value = variables[name]
            types = [type_of(leaf) for leaf in leaves(value)]
            if isinstance(value, Unmerged) or not any(types):
                continue
            self.names.append(name)
            self.first[name], self.types[name] = value, types

    @property
    def slots(self) -> list[tuple[str, Type]]:
        """Name and type of all that is carried."""
        return [(name, t) for name in self.names for t in self.types[name] if t is not None]

    def values(self) -> list[Any]:
        """What the variables are now. Raises `DiagnosticError` (LANG-CARRIED) where one has become something else."""
        out: list[Any] = []
        for name in self.names:
            now = self.variables.get(name)
            parts = list(leaves(now))
            if len(parts) != len(self.types[name]):
                self._refuse(name, now)
            for part, first, type in zip(parts, leaves(self.first[name]), self.types[name]):
                if type is None:
                    if not same(part, first):
                        self._refuse(name, now)
                    continue
                value = value_of(part, type)
                if value is None:
                    self._refuse(name, now)
                out.append(value)
        return out

    def take(self, values: Iterable[Any]) -> None:
        """Make SSA values the variables, from now on."""
        new = iter(values)
        for name in self.names:
            first = self.first[name]
            parts = [
                leaf if type is None else handle(leaf, next(new)) for leaf, type in zip(leaves(first), self.types[name])
            ]
            self.variables[name] = frozen(rebuilt(first, iter(parts)))

    def _refuse(self, name: str, now: Any) -> None:
        before, after = (_kind(v) for v in (self.first[name], now))
        numbers = all(is_number(v) for v in (self.first[name], now))
        hint = f"begin with pto.cast({self.first[name]!r}, pto.{after})" if numbers else "keep it of one kind"
        message = f"{name!r} is {before} before the loop and {after} at the end of an iteration"
        raise refusal(rules.CARRIED, message, location=self.place, hint=hint)


def _kind(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    kind = type_of(value)
    return f"a {type(value).__name__}" if kind is None else str(kind)


class Loops:
    """The loops of a body. `Body` has the rest."""

    source: Source
    variables: dict[str, Any]

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt]) -> None: ...
    @abstractmethod
    def value(self, node: ast.expr) -> Any: ...

    def holds(self, test: ast.expr) -> Any: ...
    @abstractmethod
    def assign(self, target: ast.expr, value: Any) -> None: ...
    @abstractmethod
    def left(self) -> Any: ...
    @abstractmethod
    def where_left(self) -> None: ...
    @abstractmethod
    def restore(self, names: Iterable[str], values: dict[str, Any]) -> None: ...
    @abstractmethod
    def once(self, word: str, place: Location, nodes: Iterable[ast.AST]) -> AbstractContextManager[None]: ...
    @abstractmethod
    def named(self, node: ast.expr) -> Any: ...
    @abstractmethod
    def mentioned(self, nodes: Iterable[ast.AST]) -> tuple[list[tuple[str, Any]], set[str]]: ...
    @abstractmethod
    def by_python(self, node: ast.AST, *others: Any) -> AbstractContextManager[None]: ...
    @abstractmethod
    def refuse_jumps(self, body: Sequence[ast.stmt], word: str, start: Location) -> None: ...
    @abstractmethod
    def fork(
        self,
        condition: Scalar,
        then: Callable[[], None],
        otherwise: Callable[[], None],
        statements: Sequence[ast.stmt],
        last: ast.stmt,
        where: ast.stmt | None = None,
    ) -> None: ...

    def for_(self, node: ast.For) -> None:
        """A for-statement."""
        bounds = self._bounds(node)
        if bounds is None:
            items = self.value(node.iter)
            if isinstance(items, Loop):
                bounds = (items.bounds["lower"], items.bounds["upper"], items.bounds["step"])
            elif isinstance(items, builtins.range):
                bounds = (items.start, items.stop, items.step)
            else:
                self._unroll(node, items)
                return
        if not isinstance(node.target, ast.Name):
            message = "the variable of a loop over a range is one name"
            raise refusal(rules.CONTROL, message, location=self.source.place(node.target))
        self._over_range(node, *bounds)

    def _bounds(self, node: ast.For) -> tuple[Any, Any, Any] | None:
        """Start, stop and step of ``range(…)`` and ``pto.range(…)``; None for other loops."""
        call = node.iter
        if not isinstance(call, ast.Call) or not is_helper(call.func, "call") or call.keywords:
            return None
        function = call.args[0]
        called = self.named(function)
        if called is pto_range:
            self.refuse_jumps(node.body, "loop written with pto.range", self.source.place(node))
        elif called is not builtins.range:
            return None
        if any(isinstance(arg, ast.Starred) for arg in call.args):
            return None
        args = [plain(self.value(arg)) for arg in call.args[1:]]
        place = self.source.place(call)
        if not 1 <= len(args) <= 3:
            raise refusal(rules.CONTROL, f"range takes 1 to 3 arguments, not {len(args)}", location=place)
        for arg in args:
            if not is_number(arg) or isinstance(arg, float) or (isinstance(arg, Scalar) and arg.type.is_float):
                raise refusal(rules.CONTROL, f"range needs integers, not {arg!r}", location=place)
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        if not isinstance(step, Scalar) and step == 0:
            raise refusal(rules.CONTROL, "the step of range is 0", location=place)
        if called is pto_range and not isinstance(step, Scalar) and step < 0:
            message = f"the step of pto.range is {step}, but must be positive"
            raise refusal(rules.CONTROL, message, location=place, hint="count upwards")
        return start, stop, step

    # --- loops of the kernel -------------------------------------------------------------------------------------

    def _over_range(self, node: ast.For, start: Any, stop: Any, step: Any) -> None:
        """A loop over a range. One that is left early becomes a loop with a condition."""
        assert isinstance(node.target, ast.Name)
        turned = not isinstance(step, Scalar) and step < 0
        lower, upper, by = start, stop, step
        if turned:  # counted upwards; division rounds toward zero: no iterations are as good as fewer than none
            lower, upper, by = 0, (start - stop + (-step - 1)) // -step, 1
        place = self.source.place(node)
        early = [jump for jump in jumps(node.body) if not isinstance(jump, ast.Continue)]

        def number(i: Scalar) -> Any:
            return start + i * step if turned else i

        if early:
            self._while_in_range(node, place, lower, upper, by, number)
            return
        trace = current("for")
        bounds = {name: materialize(v, INDEX) for name, v in (("lower", lower), ("upper", upper), ("step", by))}
        carried = self._carried(node)
        op = trace.add(counted(bounds, carried.values(), place))
        region = Region("loop", trace.region, place)
        op.regions.append(region.block)
        index = Scalar(trace.argument(region, INDEX, node.target.id))
        args = [trace.argument(region, type, name) for name, type in carried.slots]
        before = self._begin(node)
        trace.enter(region)
        self.variables[node.target.id] = number(index)
        carried.take(args)
        with self.once("loop", place, node.body):
            self._iteration(node.body)
        if carried.names:
            trace.add(yield_of(place, carried.values()))
        trace.leave(region)
        self._after_loop(trace, op, node, carried, before, place)

    def _while_in_range(
        self, node: ast.For, place: Location, lower: Any, upper: Any, by: Any, number: Callable[[Scalar], Any]
    ) -> None:
        """A loop over a range that break or return may leave: it counts itself."""
        assert isinstance(node.target, ast.Name)
        if isinstance(by, Scalar):
            operands = {"condition": materialize(by > 0, I1)}
            current("for").emit("cf.assert", operands, {"msg": "the step of range is not positive"}, location=place)
        counter = f"·{node.target.id}"
        self.variables[counter] = Scalar(materialize(lower, INDEX))

        def more() -> Any:
            return self.variables[counter] < upper

        def iteration() -> None:
            i = self.variables[counter]
            assert isinstance(node.target, ast.Name)
            self.variables[node.target.id] = number(i)
            self._iteration(node.body)
            self.variables[counter] = i + by

        self._conditional(node, place, more, iteration, [counter])
        self.variables.pop(counter, None)

    def while_(self, node: ast.While) -> None:
        """A while-statement: iterations are unrolled as long as the condition is known while the kernel is compiled."""
        if isinstance(node.test, ast.Constant) and node.test.value and not jumps(node.body):
            hint = "leave it with break, or write for i in range(n)"
            raise refusal(rules.CONTROL, "nothing ends this loop", location=self.source.place(node), hint=hint)
        self._while(node, 0)
        self.variables[BREAK] = False

    def _while(self, node: ast.While, iterations: int) -> None:
        place = self.source.place(node)
        while True:
            condition = self._probe(node.test)
            if isinstance(condition, Scalar) or (condition and self._leaves_by_run(node)):
                more, iteration = partial(self.holds, node.test), partial(self._iteration, node.body)
                self._conditional(node, place, more, iteration, [])
                return
            if not condition:
                return
            iterations += 1
            if iterations > MOST_ITERATIONS:
                message = f"the loop has not ended after {MOST_ITERATIONS} iterations while the kernel is compiled"
                hint = "let its condition depend on a number of the run, or end it"
                raise refusal(rules.CONTROL, message, location=place, hint=hint)
            self._iteration(node.body)
            left = self.left()
            if isinstance(left, Scalar):
                self.fork(~left, partial(self._further, node, iterations), self.where_left, [node], node)
            if left is not False:
                return

    def _further(self, node: ast.While, iterations: int) -> None:
        self.variables.update(dict.fromkeys((BREAK, RETURN), False))
        self._while(node, iterations)

    def _leaves_by_run(self, node: ast.While) -> bool:
        """True for ``while True:`` with break or return: only the run knows when it ends."""
        return isinstance(node.test, ast.Constant) and bool(jumps(node.body))

    def _probe(self, test: ast.expr) -> Any:
        """The condition of a loop, without any trace of its evaluation where only the run knows it."""
        trace = current("while")
        region = Region("condition", trace.region, self.source.place(test))
        trace.enter(region)
        with opened("loop", region.location, *self.mentioned([test])) as ledger:
            condition = self.holds(test)
            if isinstance(condition, Scalar):
                ledger.check()  # it is evaluated again in the loop
            elif ledger.around is not None:
                ledger.around.made.update(ledger.made)
        trace.leave(region)
        if not isinstance(condition, Scalar):
            trace.take_over(region)
        return condition

    def _conditional(
        self,
        node: ast.For | ast.While,
        place: Location,
        more: Callable[[], Any],
        iteration: Callable[[], None],
        counters: Sequence[str],
    ) -> None:
        trace = current("while")
        early = {type(jump) for jump in jumps(node.body)}
        flags = [name for name, kind in ((BREAK, ast.Break), (RETURN, ast.Return)) if kind in early]
        for jump in jumps(node.body):
            if isinstance(jump, ast.Return) and jump.value is not None:
                message = "a value is returned from inside a loop of the kernel"
                hint = "assign it to a variable, leave the loop with break, and return after it"
                raise refusal(rules.CONTROL, message, location=self.source.place(jump), hint=hint)
        carried = self._carried(node, [*counters, *flags])
        op = trace.add(conditional(carried.values(), place))
        before = self._begin(node)

        first = Region("condition", trace.region, place)
        op.regions.append(first.block)
        args = [trace.argument(first, type, name) for name, type in carried.slots]
        trace.enter(first)
        carried.take(args)
        left = self.left()
        with self.once("loop", place, [node]):
            condition = self._and_not(left, more)
        values = carried.values()
        trace.add(condition_of(place, materialize(condition, I1), values))
        trace.leave(first)

        body = Region("loop", trace.region, place)
        op.regions.append(body.block)
        args = [trace.argument(body, type, name) for name, type in carried.slots]
        trace.enter(body)
        carried.take(args)
        self.variables.update(dict.fromkeys((BREAK, RETURN, CONTINUE), False))
        with self.once("loop", place, [node]):
            iteration()
        trace.add(yield_of(place, carried.values()))
        trace.leave(body)
        self._after_loop(trace, op, node, carried, before, place)
        self.variables[BREAK] = False
        if RETURN not in flags:
            self.variables[RETURN] = False

    @staticmethod
    def _and_not(left: Any, more: Callable[[], Any]) -> Any:
        from .expressions import and_

        return more() if left is False else and_(~left, more)

    def _iteration(self, body: Sequence[ast.stmt]) -> None:
        """One iteration of a loop."""
        self.block(body)
        self.variables[CONTINUE] = False

    def _carried(self, node: ast.For | ast.While, more: Sequence[str] = ()) -> Carried:
        """The variables that the loop changes and that a later iteration, or what follows the loop, reads."""
        changed = assigned(node.body)
        if isinstance(node, ast.For):
            changed -= assigned([node.target])
        wanted = changed & (self.source.liveness.head(node) | self.source.liveness.after(node))
        names = [*more, *sorted(name for name in wanted if name in self.variables)]
        return Carried(self.variables, names, self.source.place(node))

    def _begin(self, node: ast.For | ast.While) -> dict[str, Any]:
        """The variables that the loop assigns, as they are before it."""
        return {name: self.variables[name] for name in assigned([node]) if name in self.variables}

    def _after_loop(
        self, trace: Trace, op: Op, node: ast.For | ast.While, carried: Carried, before: dict[str, Any], place: Location
    ) -> None:
        """The variables after a loop of the kernel."""
        results = [trace.add_result(op, type, name) for name, type in carried.slots]
        live = self.source.liveness.after(node)
        for name in assigned([node]) - set(carried.names):
            kept = name in before and same(before[name], self.variables.get(name))
            if not kept and name in self.variables:
                why = "is assigned in a loop, and may be another thing in each iteration"
                self.variables[name] = Unmerged(why, place) if name in live else self.variables[name]
                if name not in live:
                    self.variables.pop(name)
        carried.take(results)

    # --- unrolled ------------------------------------------------------------------------------------------------

    def _unroll(self, node: ast.For, items: Any) -> None:
        """Every iteration by itself, while the kernel is compiled. Items are taken one by one, as Python does."""
        adopt([("", items)])
        if isinstance(items, NoArithmetic):
            raise items.no_iteration(self.source.place(node.iter))
        with self.by_python(node.iter, items):
            try:
                iterator = iter(items)
            except TypeError:
                if type(items).__module__.partition(".")[0] != MINE and hasattr(type(items), "__iter__"):
                    raise
                message = f"{items!r} is not something to loop over"
                place = self.source.place(node.iter)
                raise refusal(rules.CONTROL, message, location=place, hint="write range(n)") from None
        adopt([("", iterator)])
        self._iterations(node, iterator, 0, 0)
        self.variables[BREAK] = False

    def _iterations(self, node: ast.For, iterator: Iterator[Any], iterations: int, left_by: int) -> None:
        while True:
            with self.by_python(node.iter, iterator):
                item = next(iterator, _NO_MORE)
            if item is _NO_MORE:
                return
            iterations += 1
            if iterations > MOST_ITERATIONS:
                message = f"the loop has more than {MOST_ITERATIONS} iterations, which would all be compiled"
                raise refusal(rules.CONTROL, message, location=self.source.place(node.iter), hint="write range(n)")
            self.assign(node.target, item)
            self._iteration(node.body)
            left = self.left()
            if isinstance(left, Scalar):
                further = partial(self._others, node, iterator, iterations, left_by + 1)
                self.fork(~left, further, self.where_left, [node], node)
            if left is not False:
                return

    def _others(self, node: ast.For, iterator: Iterator[Any], iterations: int, left_by: int) -> None:
        if left_by > MOST_LEFT:
            message = f"the loop is unrolled, and the run may leave more than {MOST_LEFT} of its iterations"
            raise refusal(rules.CONTROL, message, location=self.source.place(node.iter), hint="write range(n)")
        adopt([("", iterator)])  # the loop's own, unless a variable leads to it
        self.variables.update(dict.fromkeys((BREAK, RETURN), False))
        self._iterations(node, iterator, iterations, left_by)
