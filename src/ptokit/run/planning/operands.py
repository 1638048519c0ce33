"""Operands of steps: what is known of the values of one function while it is planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptokit.ir.core import Function, Op, Value
from ptokit.ir.facts import Facts
from ptokit.targets import Target
from ptokit.types.tile import TileSpec
from ptokit.types.values import Scalar

from ..machine.scalars import FLOAT_TYPES, constant
from .carried_tiles import carried_tiles
from .plan import Data, Form, Operand, Plan, Step


class Operands:
    """The values of one function as operands of steps."""

    def __init__(
        self, function: Function, target: Target, plan: Plan, sites: Iterator[int | None], *, extended: bool, text: bool
    ) -> None:
        self.function, self.target, self.made, self.sites = function, target, plan, sites
        self.extended, self.text = extended, text
        self.facts = Facts(function)
        self.varying = plan.varying
        self.carried_tiles = carried_tiles(function)
        self.fixed: set[Value] = set()
        self.settled: dict[Value, TileSpec] = {}
        self.numbers: dict[int, int] = {}  # of the blocks of the region, by id
        self.other_names: dict[Value, Operand] = {}  # of what a vector scope captures, of casts

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
