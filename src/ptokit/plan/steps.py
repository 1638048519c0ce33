"""A program as steps for a machine: what every backend executes.

The planner (`planner`) writes the IR down in this form once; backends turn it into something that runs, and
observers see its steps. What a step does is one of three things, told by its ``word``:

* ``compute``: arithmetic on numbers;
* ``instruction``: an instruction of the table;
* a word of `CONTROL`: what comes next. Its regions hold further steps.
* any other: a method of the machine, or an attribute where nothing is handed over (`ptokit.machine`).

A plan is data: whoever executes a step finds the function of arithmetic or of an instruction for it
(`ptokit.machine.tiles`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from ptokit.ir.core import Function, Op, Value
from ptokit.ir.launch import Launch
from ptokit.isa.check import Asked
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import Type

CONTROL = frozenset(
    ("for", "while", "if", "switch", "region", "scope", "call", "return", "yield", "condition", "branch")
)
"""
| word | operands | regions, and the rest |
|---|---|---|
| for | lower, upper, step, then what the loop carries | one: its first arguments are the loop variable, and those |
| while | what the loop carries | one that ends in a condition, one that ends in a yield |
| if | condition | then, and else if there is one |
| switch | number | the default, then one for each of ``cases`` |
| region | | one; with ``core``, only that kind of core runs it |
| scope | | one, a vector scope |
| call | arguments | ``callee`` |
| return, yield | values | |
| condition | whether the loop goes on, what it hands on | |
| branch | number or truth, if there is a choice | ``ways``: the first where none of ``cases`` is meant |
"""


@dataclass(frozen=True, slots=True)
class Data:
    """An operand that is known before the program runs: a number, a type, a text.

    ``type``: of a constant of the program.
    """

    value: Any
    type: Type | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Form:
    """A number that may differ between the blocks that run together, in the form in which it is handed over.

    ``how`` is a function of `lanes`: ``uniform`` where they have to agree, ``truth`` for a condition,
    ``spread`` and ``column`` for an array with a row for each.
    """

    how: str
    value: Value


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that threads execute: who executes the plan hands over ``call(threads, *arguments)``."""

    name: str


Operand = Any
"""A `Value`, `Data`, a `Form`, a `Callee`, or a tuple of those."""


def without_form(operand: Operand) -> Operand:
    """An operand without its form; of a tuple all of them."""
    if isinstance(operand, tuple):
        return tuple(map(without_form, operand))
    return operand.value if isinstance(operand, Form) else operand


def constant(operand: Operand) -> Any:
    """What an operand is known to be; None if only the run knows, and for one that is absent."""
    return operand.value if isinstance(operand, Data) else None


def values_of(operands: Iterable[Operand]) -> Iterator[Value]:
    """The values among operands, in their order."""
    for operand in operands:
        if isinstance(operand, Value):
            yield operand
        elif isinstance(operand, Form):
            yield operand.value
        elif isinstance(operand, tuple):
            yield from values_of(operand)


@dataclass(eq=False, slots=True)
class Step:
    """One thing that a program has its machine do, at one place.

    ``names`` are those of its operands, ``results`` the values that it gives. ``core``: the kind of core that does it
    (``cube``, ``vector``, ``first_vector``); for others the results are 0. ``rules``: those of an instruction that
    the text leaves open, which are asked before it; ``live``: they look at what tiles hold, at every call. ``varying``:
    by result, whether it is a number that may differ between blocks. ``bound``: what the machine calls, from the first
    time on that it does the step.
    """

    op: Op
    word: str
    operands: tuple[Operand, ...] = ()
    names: tuple[str, ...] = ()
    results: tuple[Value, ...] = ()
    instr: Instr | None = None
    site: Site | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)  # of the instruction, complete; of arithmetic
    regions: tuple[Region, ...] = ()
    cases: tuple[int, ...] = ()
    ways: tuple[Way, ...] = ()
    callee: str = ""
    core: str = ""
    rules: Sequence[Asked] = ()
    live: bool = False
    varying: tuple[bool, ...] = ()
    bound: Any = None

    @property
    def name(self) -> str:
        """The instruction's name in the table (``TADD``), or that of the operation without its dialect."""
        return self.instr.name if self.instr is not None else self.op.name.split(".", 1)[1]

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    @property
    def values(self) -> list[Value]:
        """The values that it takes, those that its ways hand over among them."""
        return [*values_of(self.operands), *(value for way in self.ways for value in values_of(way.operands))]

    def __getitem__(self, name: str) -> Operand:
        """The operand with this name, without its form. Raises `KeyError` if there is none."""
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name: str) -> Operand | None:
        """The single operand with this name, without its form; None if it is absent, or a list."""
        found = self._named(name)
        return found if isinstance(found, Value) or constant(found) is not None else None

    def group(self, name: str) -> tuple[Operand, ...]:
        """The operands that have this name, without their forms."""
        found = self._named(name)
        if isinstance(found, tuple):
            return found
        return () if self.get(name) is None else (found,)

    def _named(self, name: str) -> Operand:
        return without_form(self.operands[self.names.index(name)]) if name in self.names else None


@dataclass(eq=False, slots=True)
class Block:
    """Steps that follow each other, and the values that whoever comes here hands over."""

    args: tuple[Value, ...]
    steps: list[Step] = field(default_factory=list)


Region = tuple[Block, ...]
"""Its blocks: it begins with the first, and only branches back lead to earlier ones."""


@dataclass(frozen=True, slots=True)
class Way:
    """Where a branch leads: a block of its region by number, and what is handed over."""

    block: int
    operands: tuple[Operand, ...]


@dataclass(eq=False, slots=True)
class FunctionPlan:
    """The steps of a function. ``first``: what is done once, before its body: tiles whose place is fixed.

    ``alone``: one vector core of a cluster runs it. ``settled``: tiles whose types leave the valid region open while it
    is always that of their allocation, and the types with it.
    """

    function: Function
    first: list[Step]
    body: Region
    alone: bool = False
    settled: Mapping[Value, TileSpec] = field(default_factory=dict)

    def walk(self) -> Iterator[Step]:
        """Every step, those that are done first at the beginning."""
        yield from self.first
        yield from walk(self.body)


@dataclass(eq=False, slots=True)
class Plan:
    """A module for one target.

    ``footprint``: bytes that one block works on. ``varying``: values that may differ between blocks. ``threads``: the
    functions that threads execute, whose values are arrays of lanes: their steps say what all active lanes do.
    """

    functions: dict[str, FunctionPlan]
    launch: Launch
    varying: set[Value]
    footprint: int
    threads: dict[str, FunctionPlan] = field(default_factory=dict)

    @property
    def on_one_core(self) -> bool:
        """True if vector core 0 of a cluster alone runs whatever is for vector cores."""
        every = (f.body for f in self.functions.values() if not f.alone and f.function.core != "cube")
        return bool(self.launch.whole) and not any(map(_for_all_vectors, every))


def _for_all_vectors(region: Region) -> bool:
    """True if a region has an instruction that each vector core executes."""
    steps = (step for block in region for step in block.steps)
    every = (step for step in steps if step.core != "cube" and not step.core.startswith("first_"))
    return any(step.word == "instruction" or any(map(_for_all_vectors, step.regions)) for step in every)


def walk(region: Region) -> Iterator[Step]:
    """Every step of a region, those inside a step after it."""
    for block in region:
        for step in block.steps:
            yield step
            for inner in step.regions:
                yield from walk(inner)


# How the steps of a function stand to each other: who gives a value, who takes it, what stands around a step.


class Relations:
    """Of one function.

    ``maker``: the step that a value is a result of; ``users``: the steps that take it, in their order. ``takes``: the
    block that a value is an argument of. ``places``: the block that a step stands in, and its position there; those
    that are done first stand in none. ``owners``: the step that a block belongs to; the function's belong to none.
    ``regions``: the region that a block is part of.
    """

    def __init__(self, function: FunctionPlan) -> None:
        self.maker: dict[Value, Step] = {}
        self.users: dict[Value, list[Step]] = {}
        self.takes: dict[Value, Block] = {}
        self.places: dict[Step, tuple[Block, int]] = {}
        self.owners: dict[Block, Step] = {}
        self.regions: dict[Block, Region] = {}
        for step in function.walk():
            self.maker.update(dict.fromkeys(step.results, step))
            for value in dict.fromkeys(step.values):
                self.users.setdefault(value, []).append(step)
            for region in step.regions:
                self.owners.update(dict.fromkeys(region, step))
                self._region(region)
        self._region(function.body)

    def _region(self, region: Region) -> None:
        self.regions.update(dict.fromkeys(region, region))
        for block in region:
            self.takes.update(dict.fromkeys(block.args, block))
            self.places.update((step, (block, k)) for k, step in enumerate(block.steps))

    def around(self, value: Value) -> Step | None:
        """The step in whose region a value is an argument."""
        block = self.takes.get(value)
        return None if block is None else self.owners.get(block)

    def place_in(self, step: Step, block: Block) -> int | None:
        """Where in a block a step stands, by itself or inside another one."""
        while step in self.places:
            here, at = self.places[step]
            if here is block:
                return at
            owner = self.owners.get(here)
            if owner is None:
                return None
            step = owner
        return None
