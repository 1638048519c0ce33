"""Control flow of operations: which regions they execute, how often, and the graph of blocks.

An operation with regions has a `Control`. Analyses ask it for edges, as MLIR's region branch interface gives them, and
need not know which operations there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from ptokit.diagnostics import Location

from .core import Block, Function, Module, Op, Value

# Control flow of operations: which regions they execute, how often, and what each place hands to the next.


class Edge(NamedTuple):
    """Control that may pass to a block, or with ``to`` None to what follows the operation: values given and taken."""

    to: Block | None
    given: Sequence[Value] = ()
    taken: Sequence[Value] = ()


class Induction(NamedTuple):
    """An argument of a loop's body that counts from ``lower`` by ``step``, below ``upper``."""

    arg: Value
    lower: Value
    upper: Value
    step: Value


class Control:
    """Operations that execute one of their regions once, whose end hands its values to the results.

    ``decides``: operands that decide which regions are executed and how often. ``repeats``: a region may be executed
    several times.
    """

    def __init__(self, decides: tuple[str, ...] = (), *, repeats: bool = False) -> None:
        self.decides, self.repeats = decides, repeats

    def entered(self, op: Op) -> Iterator[Edge]:
        """Where control goes when it reaches the operation."""
        for region in op.regions:
            yield Edge(region)

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        """Where control goes at an end of one of its regions, which has these values."""
        yield Edge(None, values, op.results)

    def inductions(self, op: Op) -> list[Induction]:
        """The arguments that count iterations."""
        return []


class _Any(Control):
    """Nothing is known of the operation: it may execute none of its regions."""

    def entered(self, op: Op) -> Iterator[Edge]:
        yield from super().entered(op)
        yield Edge(None)


class _If(Control):
    """The second region may be missing."""

    def entered(self, op: Op) -> Iterator[Edge]:
        yield from super().entered(op)
        if len(op.regions) < 2:
            yield Edge(None)


class _Scope(Control):
    """The region sees what it captures as arguments."""

    def entered(self, op: Op) -> Iterator[Edge]:
        yield Edge(op.regions[0], op.group("captured"), op.regions[0].args)


class _For(Control):
    """A loop that counts, and carries values from one iteration to the next."""

    def entered(self, op: Op) -> Iterator[Edge]:
        return self._next(op, op.group("init"))

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        return self._next(op, values)

    @staticmethod
    def _next(op: Op, values: Sequence[Value]) -> Iterator[Edge]:
        (body,) = op.regions
        yield Edge(body, values, body.args[1:])
        yield Edge(None, values, op.results)

    def inductions(self, op: Op) -> list[Induction]:
        return [Induction(op.regions[0].args[0], op["lower"], op["upper"], op["step"])]


class _While(Control):
    """The first region ends with a condition: on into the second one and back to the first, or out."""

    def entered(self, op: Op) -> Iterator[Edge]:
        yield Edge(op.regions[0], op.group("init"), op.regions[0].args)

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        before, after = op.regions
        if region is after:
            yield Edge(before, values, before.args)
        else:
            yield Edge(after, values, after.args)
            yield Edge(None, values, op.results)


BRANCHES = frozenset(("cf.br", "cf.cond_br", "cf.switch"))
"""Terminators that lead to other blocks of their region."""


def passed(branch: Op, k: int) -> list[Value]:
    """What a branch passes to its k-th successor, one value for each argument of that block."""
    if branch.name != "cf.switch":
        return branch.group("args" if branch.name == "cf.br" else ("true", "false")[k])
    if k == 0:
        return branch.group("default")
    sizes = branch.attrs["sizes"]
    start = sum(sizes[: k - 1])
    return branch.group("cases")[start : start + sizes[k - 1]]


CONTROL: dict[str, Control] = {
    "scf.for": _For(("lower", "upper", "step"), repeats=True),
    "scf.while": _While(repeats=True),
    "scf.if": _If(("condition",)),
    "scf.index_switch": Control(("index",)),
    "scf.execute_region": Control(),
    "pto.vecscope": _Scope(),
    "pto.strict_vecscope": _Scope(),
    "pto.section.cube": Control(),  # cores of the other kind skip it, and have nothing that it works on
    "pto.section.vector": Control(),
    "pto.section.simt": Control(repeats=True),
}
"""By name: how operations execute their regions. A new one has its class here, and no analysis names it."""

_UNKNOWN = _Any(repeats=True)
_DECIDING = {"scf.condition": ("condition",), "cf.cond_br": ("condition",), "cf.switch": ("flag",)}
_CALL, _RETURN = "func.call", "func.return"
_ENDS = frozenset(("scf.yield", "scf.condition", _RETURN))

TERMINATORS = _ENDS | BRANCHES
"""What blocks end with."""


def control_of(op: Op) -> Control:
    """How an operation executes its regions; of one that nothing is known of, each any number of times."""
    return CONTROL.get(op.name, _UNKNOWN)


def decides(op: Op) -> tuple[str, ...]:
    """Operands that decide where control goes: of operations with regions, ends of regions and branches."""
    known = CONTROL.get(op.name)
    return _DECIDING.get(op.name, ()) if known is None else known.decides


def is_loop(op: Op) -> bool:
    """True if the operation has regions that may be executed several times."""
    return bool(op.regions) and control_of(op).repeats


def ends(region: Block) -> list[Op]:
    """The operations that end a region and have its values; where there are none, one may be left out."""
    return [block.ops[-1] for block in region.blocks if block.ops and block.ops[-1].name in _ENDS]


def edges(op: Op) -> Iterator[Edge]:
    """All that may be taken on reaching an operation, at the ends of its regions, or by a branch."""
    if op.successors:
        for k, to in enumerate(op.successors):
            yield Edge(to, passed(op, k), to.args)
    elif op.regions:
        control = control_of(op)
        yield from control.entered(op)
        for region in op.regions:
            for values in [end.group("values") for end in ends(region)] or [list[Value]()]:
                yield from control.left(op, region, values)


def is_call(op: Op) -> bool:
    """True if the operation calls a function of the module."""
    return op.name == _CALL


def call_of(function: Function, args: Sequence[Value]) -> Op:
    """A call of a function that has no results."""
    return Op(_CALL, {"args": list(args)}, {"callee": function.name}, location=function.location)


def returns(op: Op) -> bool:
    """True if the operation ends the execution of its function."""
    return op.name == _RETURN


def return_of(location: Location, values: Sequence[Value] = ()) -> Op:
    """The end of a function."""
    return Op(_RETURN, {"values": list(values)}, location=location)


def callee(op: Op, module: Module) -> Function | None:
    """The function with a body that an operation calls."""
    if not is_call(op):
        return None
    function = module.function(op.attrs["callee"])
    return function if function is not None and function.body is not None else None


def call_edges(op: Op, function: Function) -> Iterator[Edge]:
    """Into a function that is called, and back to the call."""
    assert function.body is not None
    yield Edge(function.body, op.group("args"), function.params)
    for inner in function.body.walk():
        if returns(inner):
            yield Edge(None, inner.group("values"), op.results)


def called_from(module: Module, entry: Function, *, threads: bool = True) -> list[Function]:
    """The functions with a body that run when `entry` does, itself first, each once.

    ``threads``: those that threads execute as well.
    """
    found = [entry]
    for function in found:
        ops = function.body.walk() if function.body is not None else ()
        called = (f for f in dict.fromkeys(callee(op, module) for op in ops) if f is not None and f not in found)
        found += [f for f in called if threads or not f.of_threads]
    return found


def givers(ops: Iterable[Op], more: Iterable[Edge] = ()) -> dict[Value, list[Value]]:
    """By argument of a block or result of an operation: the values that it may be, as edges hand them over."""
    found: dict[Value, list[Value]] = {}
    for edge in chain(chain.from_iterable(map(edges, ops)), more):
        for value, taken in zip(edge.given, edge.taken):
            found.setdefault(taken, []).append(value)
    return found


# Blocks of one region and the branches between them: order and dominance (assembly 2).


def ordered(region: Block) -> list[Block]:
    """The blocks of a region, each behind all that dominate it; those that nothing leads to come last."""
    if not region.more:
        return [region]
    blocks = region.blocks
    number = {id(block): k for k, block in enumerate(blocks)}
    edges = [[number[id(to)] for to in block.ops[-1].successors] if block.ops else [] for block in blocks]
    order = reverse_postorder(edges)
    reached = set(order)
    return [blocks[k] for k in (*order, *(k for k in range(len(blocks)) if k not in reached))]


def reachable(region: Block) -> list[Block]:
    """As `ordered`, without blocks that nothing leads to."""
    blocks = ordered(region)
    seen = {id(region)}
    for block in blocks:  # a predecessor that is no back edge stands before it
        if id(block) in seen and block.ops:
            seen.update(id(to) for to in block.ops[-1].successors)
    return [block for block in blocks if id(block) in seen]


def reverse_postorder(edges: Sequence[Sequence[int]], start: int = 0, seen: set[int] | None = None) -> list[int]:
    """Nodes reached from `start`, each before its successors but for edges that close a cycle.

    ``seen``: nodes not to be entered, to which those that are reached are added.
    """
    seen = set() if seen is None else seen
    seen.add(start)
    out: list[int] = []
    stack = [(start, 0)]
    while stack:
        node, k = stack.pop()
        if k < len(edges[node]):
            stack.append((node, k + 1))
            to = edges[node][k]
            if to not in seen:
                seen.add(to)
                stack.append((to, 0))
        else:
            out.append(node)
    return out[::-1]


def dominators(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """The immediate dominator of every node reached from node 0, which has itself.

    Lengauer and Tarjan's algorithm with path compression: O(e log n), whatever the shape of the graph.
    """
    order, parent = _depth_first(edges)
    number = {node: k for k, node in enumerate(order)}
    entering: list[list[int]] = [[] for _ in order]
    for k, node in enumerate(order):
        for to in edges[node]:
            entering[number[to]].append(k)
    semi = list(range(len(order)))
    best = list(range(len(order)))
    ancestor = [-1] * len(order)
    bucket: list[list[int]] = [[] for _ in order]
    idom = [0] * len(order)

    def lowest(v: int) -> int:
        """The node with the least semidominator on the way up from v, as far as it has been linked."""
        path = []
        while ancestor[v] >= 0 and ancestor[ancestor[v]] >= 0:
            path.append(v)
            v = ancestor[v]
        for w in reversed(path):
            above = ancestor[w]
            if semi[best[above]] < semi[best[w]]:
                best[w] = best[above]
            ancestor[w] = ancestor[above]
        return path[0] if path else v

    for w in range(len(order) - 1, 0, -1):
        for v in entering[w]:
            semi[w] = min(semi[w], semi[best[lowest(v)]])
        bucket[semi[w]].append(w)
        above = parent[w]
        ancestor[w] = above
        for v in bucket[above]:
            u = best[lowest(v)]
            idom[v] = u if semi[u] < semi[v] else above
        bucket[above] = []
    for w in range(1, len(order)):
        if idom[w] != semi[w]:
            idom[w] = idom[idom[w]]
    return {order[k]: order[idom[k]] for k in range(len(order))}


def _depth_first(edges: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Nodes in depth-first order, and the position in it of the node each was reached from."""
    order: list[int] = []
    parent: list[int] = []
    seen: set[int] = set()
    stack = [(0, 0)]
    while stack:
        node, above = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        here = len(order)
        order.append(node)
        parent.append(above)
        stack.extend((to, here) for to in reversed(edges[node]) if to not in seen)
    return order, parent
