"""The program: module, functions, blocks and the branches between them, operations, values. Positions on everything.

One structured form serves every front end. Operands of an operation are named; names and order of ISA operations come
from the instruction table, of `arith` and control flow from `ptokit.isa.scalar.arithmetic` and `ptokit.ir.control`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.diagnostics.finding import Argument, argument_place, expression_at
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Ptr, TensorView, Type, in_python

# The program: module, functions, operations, values. Positions on everything.


CPP_FILES = (".cpp", ".cce", ".cc", ".cxx", ".hpp", ".h", ".inl", ".tpp")
"""What the names of files with code of C++ end with."""

_UNNAMED = {TileSpec: "a tile", TensorView: "a tensor", PartitionView: "a slice", Ptr: "a pointer"}


class Value:
    """An SSA value. ``name`` is its text without ``%``; empty if the author gave none.

    ``called``: of a kernel in Python, what the source calls it: ``bufs[1]``, or nothing; None in `.pto` text.
    """

    __slots__ = ("name", "type", "owner", "location", "called")

    def __init__(
        self,
        type: Type,
        name: str = "",
        owner: Op | Block | None = None,
        location: Location = UNKNOWN_LOCATION,
        called: str | None = None,
    ) -> None:
        self.type = type
        self.name = name
        self.owner = owner
        self.location = location
        self.called = called

    @property
    def shown(self) -> str:
        """What findings call it: ``%t``; in Python its variable, or the expression that made it."""
        if self.called is None:
            return f"%{self.name or '?'}"
        return self.called or expression_at(self.location) or _UNNAMED.get(type(self.type), "a value")

    @property
    def shown_type(self) -> str:
        """Its type, in the language of its program."""
        return str(self.type) if self.called is None else in_python(self.type)

    @property
    def described(self) -> str:
        """Its name and type: ``%t is !pto.tile_buf<vec, 16x1xf32>``, or ``t: Tile(Vec, f32, 16, 1)``."""
        return f"{self.shown}{' is ' if self.called is None else ': '}{self.shown_type}"

    def __repr__(self) -> str:
        return self.described


@dataclass(eq=False, slots=True)
class Block:
    """A sequence of operations with arguments (loop variables, values carried by a loop).

    A region is its first block. ``more`` are further blocks of that region, in text order: branches (`cf`) at the ends
    of blocks lead from one to the other (`ptokit.ir.control`). ``label`` is the name the author gave, without ``^``.
    """

    args: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    more: list[Block] = field(default_factory=list)
    label: str = ""

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the region that this one is the first of, in text order."""
        return [self, *self.more]

    def add(self, op: Op) -> Op:
        """Append an operation and return it."""
        self.ops.append(op)
        return op

    def walk(self) -> Iterator[Op]:
        """Every operation that is in the region now, nested ones after the one that holds them."""
        found: list[Op] = []  # nested generators would hand every operation through every level
        self._collect(found)
        return iter(found)

    def _collect(self, found: list[Op]) -> None:
        for op in self.ops:
            found.append(op)
            for region in op.regions:
                region._collect(found)
        for block in self.more:
            block._collect(found)


Operands = dict[str, "Value | list[Value] | None"]


@dataclass(eq=False, slots=True)
class Op:
    """One operation: full name (``pto.tadd``), operands by name, attributes, results, regions.

    A variadic operand is a list of values; an absent optional one is missing or None. Attribute values are Python
    values: enumeration members, bool, int, float, str, or `RawAttr` for what ptokit only carries. ``successors`` are
    the blocks a branch may lead to; its operands have a group for the arguments of each (`ptokit.ir.control.passed`).
    ``arguments`` says of an operation of a Python kernel which argument of the call at its location an operand is;
    None in `.pto` text.
    """

    name: str
    operands: Operands = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    results: list[Value] = field(default_factory=list)
    regions: list[Block] = field(default_factory=list)
    location: Location = UNKNOWN_LOCATION
    successors: list[Block] = field(default_factory=list)
    arguments: Mapping[str, Argument] | None = None

    def __post_init__(self) -> None:
        for result in self.results:
            result.owner = self

    @property
    def in_python(self) -> bool:
        """True for an operation of a kernel in Python."""
        return self.arguments is not None

    @property
    def in_cpp(self) -> bool:
        """True for an operation of a kernel in C++."""
        return self.arguments is None and (self.location.file or "").endswith(CPP_FILES)

    def place(self, operands: Sequence[str]) -> Location:
        """Where the first of these arguments of a call in Python stands, if the source tells; else the call."""
        which = (self.arguments or {}).get(operands[0]) if operands else None
        place = None if which is None else argument_place(self.location, which)
        return self.location if place is None else place

    @property
    def values(self) -> list[Value]:
        """All operands in order, groups flattened."""
        out: list[Value] = []
        for v in self.operands.values():
            if isinstance(v, list):
                out.extend(v)
            elif v is not None:
                out.append(v)
        return out

    def __getitem__(self, name: str) -> Value:
        """The single operand with this name. Raises `KeyError` if it is absent."""
        v = self.operands.get(name)
        if not isinstance(v, Value):
            raise KeyError(name)
        return v

    def get(self, name: str) -> Value | None:
        """The single operand with this name, or None."""
        v = self.operands.get(name)
        return v if isinstance(v, Value) else None

    def group(self, name: str) -> list[Value]:
        """The variadic operand with this name; empty if absent."""
        v = self.operands.get(name)
        return v if isinstance(v, list) else ([] if v is None else [v])

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value


@dataclass(frozen=True)
class RawAttr:
    """An attribute kept as written, because no rule reads it."""

    text: str

    def __str__(self) -> str:
        return self.text


class Place(NamedTuple):
    """Where an operand is written, and its type, if it stands there."""

    value: Location
    type: Location | None = None


Places = Mapping[str, Sequence[Place]]
"""Places of the operands of one operation, by name; of a list, those of all its values."""


@dataclass(eq=False)
class Part:
    """A module inside the file's module. Its functions are those of the file; they name it as theirs."""

    name: str = ""
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Function:
    """A kernel or helper. ``body`` is None for declarations."""

    name: str
    params: list[Value]
    results: list[Type] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    body: Block | None = None
    visibility: str = ""
    param_attrs: list[dict[str, Any]] = field(default_factory=list)
    location: Location = UNKNOWN_LOCATION
    module_kind: Any = None  # pto.kernel_kind of the module it stands in
    result_attrs: list[dict[str, Any]] = field(default_factory=list)
    part: Part | None = None  # the module inside the file's module that it stands in

    @property
    def core(self) -> str:
        """Kind of core it is for: ``vector`` or ``cube``, by its own attribute or the module's; else empty."""
        kind = self.attrs.get("pto.kernel_kind", self.module_kind)
        return kind if isinstance(kind, str) else ""

    @property
    def argument_names(self) -> list[str]:
        """What findings call the arguments of a launch: by their parameters, or by position where text has no names."""
        return [p.shown if p.name else f"%arg{i}" for i, p in enumerate(self.params)]

    @property
    def is_entry(self) -> bool:
        """True if marked as a kernel entry (``pto.entry`` or its legacy name)."""
        return not self.attrs.keys().isdisjoint(("pto.entry", "hacc.entry", "pto.kernel"))

    @property
    def of_threads(self) -> bool:
        """True for a function that the threads of a launch execute."""
        return "pto.simt_entry" in self.attrs


@dataclass(eq=False)
class Module:
    """A file: functions, attributes, and where it was read from (for diagnostics).

    ``written`` says of an operation where the text has its operands.
    """

    functions: list[Function] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    file: str | None = None
    ssa: bool = False  # written with tiles as SSA values (level 1), and read as level 2
    text: bool = True  # `.pto` text, which the reference assembler's rules bind; False for a trace of Python
    written: Callable[[Op], Places] | None = None

    def place(self, op: Op, operand: str, *, type: bool = False) -> Location:
        """Where an operand of `op`, or its ``type``, is written, if the source tells; else where the operation is."""
        if op.arguments is not None:
            return op.place((operand,))
        places = self.written(op).get(operand) if self.written is not None else None
        if not places:
            return op.location
        return (places[0].type if type else None) or places[0].value

    def function(self, name: str) -> Function | None:
        """The function with this name, or None."""
        return next((f for f in self.functions if f.name == name), None)

    def entries(self) -> list[Function]:
        """The kernels: marked functions, or the only one with a body (assembly 2.2)."""
        bodies = [f for f in self.functions if f.body is not None]
        return bodies if len(bodies) == 1 else [f for f in bodies if f.is_entry]


# Room on Python's stack for whatever walks over regions inside each other.


SHALLOW = 16
"""Regions as deep as this, which is more than programs have, need no more room than Python gives."""

_FRAMES = 5000  # 200 levels of regions, the most that text has, need 1500: seven functions that call each other


def make_room() -> None:
    """Raise the interpreter's recursion limit: for who meets regions nested more than `SHALLOW` deep.

    A host of the library that reads no such program keeps its limit. It is never lowered again, because it is one
    number for all threads and what has been read may be checked or printed at any time.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


# Blocks of one region and the branches between them: order and dominance (assembly 2).


def ordered(region: Block) -> list[Block]:
    """The blocks of a region, each after all that dominate it; those that nothing leads to come last."""
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


def exclusive(region: Block, one: Block, other: Block) -> bool:
    """True if two blocks of a region are on different branches: no run comes by both."""
    blocks = region.blocks
    if one is other or one not in blocks or other not in blocks:
        return False
    number = {id(block): k for k, block in enumerate(blocks)}
    edges = [[number[id(to)] for to in block.ops[-1].successors] if block.ops else [] for block in blocks]
    pairs = ((number[id(one)], number[id(other)]), (number[id(other)], number[id(one)]))
    return not any(to in reverse_postorder(edges, start) for start, to in pairs)


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
