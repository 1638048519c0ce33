"""Values that go into and out of branches and loops, and the variables that live there.

Numbers, tiles, registers, predicates and pointers can differ between branches and between iterations; tuples and lists
of them, too, element by element. Everything else belongs to the time when the kernel is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from math import copysign
from typing import Any

from ptokit.diagnostics import UNKNOWN_LOCATION, DiagnosticError, Location
from ptokit.ir import Op, Value
from ptokit.ir.control import yield_of
from ptokit.records import dataclass
from ptokit.types.codecs import width
from ptokit.types.values import F32, I1, INDEX, Type
from ptokit.types.values import Scalar as ScalarType

from ..operands import AlignState, Predicate, Register
from ..scalar import Scalar, materialize, plain
from ..tensors import Pointer
from ..tiles import Tile
from ..trace import Region, Trace

# Values that go into and out of the branches and loops of a kernel, as SSA values.


_HANDLES = (Pointer, Register, Predicate, AlignState)


@dataclass(frozen=True)
class Unmerged:
    """In place of a variable whose value nobody can tell when the kernel is compiled; `why` ends "…, which"."""

    why: str = ""
    location: Location = UNKNOWN_LOCATION


def same(a: Any, b: Any) -> bool:
    """True if nothing tells the two values apart; the sign of a zero does."""
    if a is b:
        return True
    equal = type(a) is type(b) and isinstance(a, bool | int | float | str) and a == b
    return equal and (not isinstance(a, float) or copysign(1.0, a) == copysign(1.0, b))


def leaves(value: Any) -> Iterator[Any]:
    """The parts of tuples and lists; the value itself if it is neither."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def rebuilt(value: Any, parts: Iterator[Any]) -> Any:
    """`value` with its leaves replaced."""
    if isinstance(value, (tuple, list)):
        items = [rebuilt(item, parts) for item in value]
        return items if isinstance(value, list) else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return next(parts)


def same_nesting(values: Sequence[Any]) -> bool:
    """True if the values are tuples or lists of one shape, or neither."""
    first = values[0]
    if not isinstance(first, (tuple, list)):
        return not any(isinstance(v, (tuple, list)) for v in values)
    if not all(type(v) is type(first) and len(v) == len(first) for v in values):
        return False
    return all(same_nesting(items) for items in zip(*values))


def type_of(leaf: Any) -> Type | None:
    """The type that a value has in the kernel; None if it has none."""
    leaf = plain(leaf)
    if isinstance(leaf, Scalar):
        return leaf.type
    if isinstance(leaf, bool):
        return I1
    if isinstance(leaf, (int, float)):
        return INDEX if isinstance(leaf, int) else F32
    return leaf.value.type if isinstance(leaf, (Tile, *_HANDLES)) else None


def common_type(values: Sequence[Any]) -> Type | None:
    """The type in which leaves of several branches meet, or None. Python numbers take the type of traced ones."""
    traced = {type_of(v) for v in values if not isinstance(plain(v), (bool, int, float))}
    if len(traced) > 1:
        return _integer([t for t in traced if isinstance(t, ScalarType)]) if None not in traced else None
    if traced:
        type = traced.pop()
        numbers = len({id(v) for v in values if type_of(v) == type}) < len({id(v) for v in values})
        return type if isinstance(type, ScalarType) or not numbers else None
    own = {type_of(v) for v in values}
    return F32 if own == {INDEX, F32} else own.pop() if len(own) == 1 else None


def _integer(types: Sequence[ScalarType]) -> Type | None:
    """The integer type in which numbers of several types meet; None if one is no integer."""
    if len(types) < 2 or not all(t.is_integer and t != I1 for t in types):
        return None
    return INDEX if INDEX in types else max(types, key=lambda t: width(t.name))


def value_of(leaf: Any, type: Type) -> Value | None:
    """The SSA value of a leaf in this type; None if it is none of it."""
    if isinstance(type, ScalarType):
        try:
            return materialize(leaf, type)
        except DiagnosticError:
            return None
    return leaf.value if isinstance(leaf, (Tile, *_HANDLES)) and leaf.value.type == type else None


def filler(like: Any) -> Any:
    """A number of the kind of another one, for a place where any will do; `like` itself if it is none."""
    type = type_of(like)
    if not isinstance(type, ScalarType):
        return like
    return False if type == I1 else 0.0 if type.is_float else 0


def anything(like: Any) -> Any:
    """A value that any of its kind may replace, so that the two merge: constants stay known."""
    return rebuilt(like, (filler(leaf) if isinstance(leaf, Scalar) else leaf for leaf in leaves(like)))


def handle(like: Any, value: Value) -> Any:
    """What a kernel holds of an SSA value that takes the place of `like`."""
    if isinstance(like, Tile):
        tile = Tile._alias(value, like._valid.known() or (like.spec.valid_row, like.spec.valid_col))
        tile.merged = True
        return tile
    if isinstance(like, _HANDLES):
        return type(like)(value)
    return Scalar(value)


def join(trace: Trace, op: Op, regions: Sequence[Region], values: Sequence[Sequence[Any]]) -> list[Any]:
    """What several values are after an ``scf.if``: ``values[r][k]`` is value k at the end of region r.

    The regions get their ``scf.yield`` and the operation its results. A value that cannot be told is `Unmerged`.
    """
    merged: list[Any] = []
    pending: list[tuple[list[Any], Type]] = []  # leaves by region
    for column in zip(*values):
        merged.append(_merged(list(column), pending))
    results = _yielded(trace, op, regions, pending)
    return [m.finish(results) if isinstance(m, _Pending) else m for m in merged]


@dataclass
class _Pending:
    """A value whose leaves come from results of the operation; an integer is the result with that number."""

    like: Any
    leaves: list[Any]

    def finish(self, results: list[Any]) -> Any:
        return rebuilt(self.like, (results[x.number] if isinstance(x, _Result) else x for x in self.leaves))


@dataclass(frozen=True)
class _Result:
    number: int


def _merged(column: list[Any], pending: list[tuple[list[Any], Type]]) -> Any:
    if all(same(v, column[0]) for v in column):
        return column[0]
    if any(isinstance(v, Unmerged) for v in column):
        return next(v for v in column if isinstance(v, Unmerged))
    if not same_nesting(column):
        return Unmerged()
    out: list[Any] = []
    added: list[tuple[list[Any], Type]] = []
    for parts in zip(*(leaves(v) for v in column)):
        if all(same(p, parts[0]) for p in parts):
            out.append(parts[0])
            continue
        type = common_type(parts)
        if type is None or not _valid_alike(parts):
            return Unmerged()
        out.append(_Result(len(pending) + len(added)))
        added.append((list(parts), type))
    pending += added
    return _Pending(column[0], out)


def _valid_alike(parts: Sequence[Any]) -> bool:
    """False for tiles whose valid regions differ: one handle could not tell both."""
    valid = [p._valid.known() for p in parts if isinstance(p, Tile)]
    return all(v is not None and all(same(x, y) for x, y in zip(v, valid[0] or ())) for v in valid)


def _yielded(trace: Trace, op: Op, regions: Sequence[Region], pending: Sequence[tuple[list[Any], Type]]) -> list[Any]:
    if not pending:
        return []
    for r, region in enumerate(regions):
        trace.enter(region)
        values = [value_of(parts[r], type) for parts, type in pending]
        assert None not in values
        trace.add(yield_of(op.location, values))  # type: ignore[arg-type]
        trace.leave(region)
    return [handle(parts[0], trace.add_result(op, type, "")) for parts, type in pending]


# Which variables are assigned by statements, and which are read after them before they are assigned again.


Names = frozenset[str]
NONE: Names = frozenset()

_ASSIGNED, _LOADED = "·assigned", "·loaded"  # kept at nodes, which are asked again and again and do not change

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(nodes: Iterable[ast.AST]) -> Names:
    """The variables that statements assign, in whatever is nested in them, functions apart."""
    return NONE.union(*map(_assigned_by, nodes))


def _assigned_by(node: ast.AST) -> Names:
    known: Names | None = node.__dict__.get(_ASSIGNED)
    if known is None:
        found: set[str] = set()
        _assigned(node, found)
        known = node.__dict__[_ASSIGNED] = frozenset(found)
    return known


def _assigned(node: ast.AST, found: set[str]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        found.add(node.name)
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        found.add(node.id)
    elif isinstance(node, ast.alias):
        found.add((node.asname or node.name).split(".")[0])
    if isinstance(node, _COMPREHENSIONS):  # its variables are its own
        inner: set[str] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
                inner.add(part.target.id)
        found.update(inner)
        return
    for child in ast.iter_child_nodes(node):
        _assigned(child, found)


def loaded(node: ast.AST) -> list[ast.Name]:
    """The variables that a statement or expression reads, in whatever is nested in it."""
    known: list[ast.Name] | None = node.__dict__.get(_LOADED)
    if known is None:
        known = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        node.__dict__[_LOADED] = known
    return known


def jumps(nodes: Iterable[ast.AST], *, loop: bool = False) -> list[ast.stmt]:
    """The statements that lead out of `nodes`: return, and break and continue of loops around them.

    ``loop``: the nodes stand in a loop of their own, which break and continue belong to.
    """
    found: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not loop):
            found.append(node)
        elif isinstance(node, (ast.For, ast.While)):
            found += jumps(node.body, loop=True) + jumps(node.orelse, loop=loop)
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found += jumps(ast.iter_child_nodes(node), loop=loop)
    return found


def falls_through(nodes: Sequence[ast.stmt]) -> bool:
    """False if control surely leaves the statements before their end."""
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return False
        if isinstance(node, ast.If) and node.orelse and not falls_through(node.body) and not falls_through(node.orelse):
            return False
    return True


class Liveness:
    """For each statement of a function the variables that may be read after it before they are assigned."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._after: dict[int, Names] = {}
        self._jumps: dict[int, Names] = {}  # where a jump leads to
        self._heads: dict[int, Names] = {}  # of loops: what is live where the next iteration begins
        self._always = frozenset(  # nested functions read variables whenever they are called
            name.id
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, _FUNCTIONS)
            for name in loaded(node)
        )
        self._block(body, NONE, NONE, NONE)

    def after(self, node: ast.stmt) -> Names:
        """What is live after a statement."""
        return self._after.get(id(node), NONE) | self._always

    def jumped(self, statements: Iterable[ast.stmt] | None) -> Names:
        """What is live where the jumps in statements lead to, or any jump of the function (None)."""
        if statements is None:
            return self._always.union(*self._jumps.values())
        return self._always.union(*(self._jumps.get(id(jump), NONE) for jump in jumps(statements)))

    def head(self, loop: ast.stmt) -> Names:
        """What is live where an iteration of the loop begins."""
        return self._heads.get(id(loop), NONE) | self._always

    def _block(self, nodes: Sequence[ast.stmt], out: Names, on_break: Names, on_continue: Names) -> Names:
        live = out
        for node in reversed(nodes):
            self._after[id(node)] = self._after.get(id(node), NONE) | live
            live = self._statement(node, live, on_break, on_continue)
        return live

    def _statement(self, node: ast.stmt, out: Names, on_break: Names, on_continue: Names) -> Names:
        match node:
            case ast.Return() | ast.Raise():
                return _reads(node)
            case ast.Break() | ast.Continue():
                there = on_break if isinstance(node, ast.Break) else on_continue
                self._jumps[id(node)] = self._jumps.get(id(node), NONE) | there
                return there
            case ast.If(test, body, orelse):
                either = self._block(body, out, on_break, on_continue) | self._block(orelse, out, on_break, on_continue)
                return either | _reads(test)
            case ast.While(test, body, orelse):
                at_end = self._block(orelse, out, on_break, on_continue)
                return self._loop(node, body, at_end, out, _reads(test), NONE)
            case ast.For(target, iterable, body, orelse):
                at_end = self._block(orelse, out, on_break, on_continue)
                return self._loop(node, body, at_end, out, NONE, assigned([target])) | _reads(iterable)
            case ast.With(items, body):
                live = self._block(body, out, on_break, on_continue) | out  # pto.if_ may skip it
                for item in reversed(items):
                    live = (live - assigned([item])) | _reads(item)
                return live
            case ast.AugAssign(target):
                return out | _reads(node) | {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            case ast.Assign() | ast.AnnAssign() | ast.FunctionDef() | ast.Import() | ast.ImportFrom() | ast.Delete():
                return (out - assigned([node])) | _reads(node)
        return out | _reads(node)

    def _loop(
        self, node: ast.stmt, body: list[ast.stmt], at_end: Names, after: Names, test: Names, targets: Names
    ) -> Names:
        head = at_end | test
        while True:  # until what the next iteration reads is known at the end of the body
            live = (self._block(body, head, after, head) - targets) | head
            if live == head:
                self._heads[id(node)] = head
                return head
            head = live


def _reads(node: ast.AST) -> Names:
    return frozenset(name.id for name in loaded(node))


def items_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What lists and tuples in a variable hold, by the expressions that lead there; the value itself if it is none."""
    if isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from items_of(f"{name}[{k}]", item)
    else:
        yield name, value
