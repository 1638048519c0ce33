"""Operands of steps: what is known of the values of one function while it is planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.control import TERMINATORS, edges, ends, givers, is_call, is_loop
from ptokit.ir.core import Block, Function, Op, Value
from ptokit.ir.facts import Facts
from ptokit.targets import Target
from ptokit.types.codecs import width
from ptokit.types.rounding import FLOAT_TYPES, constant
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, PartitionView, Scalar, TensorView, Type

from .steps import Data, Form, Operand, Plan, Step

# Casts: of pointers, and those that a compiler leaves between its stages, which change types only.


def check_cast(op: Op) -> None:
    """Every result has to be the value it is made from. Raises `DiagnosticError` (TEXT-UNIMPLEMENTED)."""
    sources = op.group("in")
    if len(sources) != len(op.results) or not all(_alike(a.type, b.type) for a, b in zip(sources, op.results)):
        made = f"{', '.join(str(v.type) for v in sources)} to {', '.join(str(v.type) for v in op.results)}"
        message = f"{op.name} of {made} cannot be run yet"
        hint = "ptokit runs casts between integers of one width, views of one element type, and tiles of one type"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location, hint))


def _alike(a: Type, b: Type) -> bool:
    """True if the same bits, or the same memory, stand for both."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.is_integer and b.is_integer and width(a.name) == width(b.name)
    if isinstance(a, TileSpec) and isinstance(b, TileSpec):
        return a == b
    views = (MemRef, TensorView, PartitionView)
    return isinstance(a, views) and isinstance(b, views) and a.dtype is b.dtype and len(a.dims) == len(b.dims)


# Tiles that outlive the iteration of a loop that allocates them: the loop carries them (assembly 11).


def carried_tiles(function: Function) -> set[Value]:
    """Tiles allocated in a loop that its next iteration may still see, through what it hands on.

    They need memory of their own for every iteration: the next one writes its tile while it reads this one's.
    """
    assert function.body is not None
    given = givers(function.body.walk())
    found: set[Value] = set()
    for inside, handed in _loops(function.body):
        tiles = {op.result for region in inside for op in region.walk() if op.name == "pto.alloc_tile"}
        if tiles:
            found |= tiles & _origins(handed, given)
    return found


def _loops(region: Block) -> Iterator[tuple[Sequence[Block], list[Value]]]:
    """The regions of each loop, and what it hands on; several blocks of a region may be a loop, too."""
    if region.more:
        branches = [block.ops[-1] for block in region.blocks if block.ops]
        yield [region], [value for op in branches if op.successors for edge in edges(op) for value in edge.given]
    for op in (op for block in region.blocks for op in block.ops):
        if is_loop(op):
            yield op.regions, [value for inner in op.regions for end in ends(inner) for value in end.values]
        for inner in op.regions:
            yield from _loops(inner)


def _origins(values: list[Value], given: dict[Value, list[Value]]) -> set[Value]:
    """What values may be, or be other names of."""
    found: set[Value] = set()
    while values:
        value = values.pop()
        if value not in found:
            found.add(value)
            values += given.get(value, ())
            if isinstance(value.owner, Op) and value.owner.name != "pto.alloc_tile" and not value.owner.regions:
                values += value.owner.values
    return found


# Operands of steps: what is known of the values of one function while it is planned.


class Operands:
    """The values of one function as operands of steps."""

    def __init__(
        self,
        function: Function,
        target: Target,
        plan: Plan,
        sites: Iterator[int | None],
        known: Mapping[str, Function],
        *,
        extended: bool = False,
        text: bool = False,
    ) -> None:
        """``known``: the functions of the module that have a body, by name."""
        self.function, self.target, self.made, self.sites, self.known = function, target, plan, sites, known
        self.extended, self.text = extended, text
        self.varying = plan.varying
        self.fixed: set[Value] = set()
        self.settled: dict[Value, TileSpec] = {}
        self.numbers: dict[int, int] = {}  # of the blocks of the region, by id
        self.other_names: dict[Value, Operand] = {}  # of what a vector scope captures, of casts

    @cached_property
    def facts(self) -> Facts:
        """What the text says about values."""
        return Facts(self.function)

    @cached_property
    def carried_tiles(self) -> set[Value]:
        """Tiles that loops carry."""
        return carried_tiles(self.function)

    def ref(self, value: Value | None) -> Operand:
        """An operand; constants are known."""
        if value is None:
            return Data(None)
        number = self.facts.constants.get(value)
        if isinstance(number, (bool, int)):
            return Data(number, value.type)
        if isinstance(number, float):
            if isinstance(value.type, Scalar) and value.type.name in FLOAT_TYPES and number == number:
                number = constant(number, value.type.name)
            return Data(number, value.type)  # a NaN with its bit pattern
        return self.other_names.get(value, value)

    def refs(self, values: Sequence[Value]) -> tuple[Operand, ...]:
        return tuple(map(self.ref, values))

    def form(self, how: str, value: Value) -> Operand:
        found = self.ref(value)
        return Form(how, found) if isinstance(found, Value) and value in self.varying else found

    def uniform(self, value: Value | None) -> Operand:
        """An operand all blocks must agree on."""
        return self.ref(value) if value is None else self.form("uniform", value)

    def uniforms(self, values: Sequence[Value]) -> tuple[Operand, ...]:
        return tuple(map(self.uniform, values))

    def step(self, op: Op, words: str) -> Step:
        """A step of some operands as they are; ``words``: its own, and the names of those."""
        word, *names = words.split()
        return Step(op, word, tuple(self.ref(op[name]) for name in names), tuple(names), tuple(op.results))


# Tiles whose types leave the valid region open, while their allocation settles it: compilers write most of them so.


_CHANGING = frozenset(("pto.set_validshape", "builtin.unrealized_conversion_cast", *TERMINATORS))
"""What changes a valid region, or gives a tile another name by which that may happen, as calls and regions do."""


def settled_regions(function: Function, facts: Facts) -> dict[Value, TileSpec]:
    """The types with their valid regions, of the tiles that have the same one whenever something uses them."""
    assert function.body is not None
    found: dict[Value, TileSpec] = {}
    for op in function.body.walk():
        if op.name == "pto.alloc_tile" and isinstance(spec := op.result.type, TileSpec) and spec.dynamic:
            rows, cols = (
                stated if stated != DYNAMIC else facts.size(op.get(name))
                for stated, name in ((spec.valid_row, "valid_row"), (spec.valid_col, "valid_col"))
            )
            if isinstance(rows, int) and isinstance(cols, int) and 0 <= rows <= spec.rows and 0 <= cols <= spec.cols:
                found[op.result] = replace(spec, valid_row=rows, valid_col=cols)
    if found:
        for op in function.body.walk():
            if op.name in _CHANGING or op.regions or is_call(op):
                for value in op.values:
                    found.pop(value, None)
    return found
