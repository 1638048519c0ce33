"""How long a launch will take, roughly: what decides whether compiling it pays."""

from __future__ import annotations

from collections.abc import Mapping

from ptokit.ir.control import callee, control_of, is_loop
from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import Facts, folded, instr_of
from ptokit.types.tile import TileSpec
from ptokit.types.values import VReg

CALL = 5e-6  # seconds for one NumPy call and what is around it
ELEMENT = 1e-9  # seconds for one element
_ITERATIONS = 8  # of a loop whose bounds are not known
_DEPTH = 8  # of calls


class Work:
    """How often a block executes each instruction, given the numbers among its arguments."""

    def __init__(self, module: Module, entry: Function, numbers: Mapping[Value, int]) -> None:
        self.module = module
        self.counts: dict[Op, float] = {}
        self._numbers = dict(numbers)
        self._function(entry, 1.0, 0)

    def seconds(self, blocks: int, together: int) -> float:
        """On NumPy, with so many blocks in one call."""
        return sum(n * blocks * (CALL / max(1, together) + elements(op) * ELEMENT) for op, n in self.counts.items())

    def _function(self, function: Function, times: float, depth: int) -> None:
        if function.body is None or depth > _DEPTH:
            return
        for value, number in Facts(function).constants.items():
            if isinstance(number, int):
                self._numbers[value] = number
        self._region(function.body, times, depth)

    def _region(self, region: Block, times: float, depth: int) -> None:
        for block in region.blocks:
            for op in block.ops:
                self._op(op, times, depth)

    def _op(self, op: Op, times: float, depth: int) -> None:
        instr = instr_of(op)
        if instr is not None and not instr.order.only:
            self.counts[op] = self.counts.get(op, 0.0) + times
        elif (number := folded(op, self._numbers.get)) is not None:
            self._numbers[op.result] = number
        elif (function := callee(op, self.module)) is not None:
            for param, value in zip(function.params, op.group("args")):
                if value in self._numbers:
                    self._numbers[param] = self._numbers[value]
            self._function(function, times, depth + 1)
        inside = times * (self._iterations(op) if is_loop(op) else 1)
        for region in op.regions:
            self._region(region, inside, depth)

    def _iterations(self, op: Op) -> float:
        counted = control_of(op).inductions(op)
        product = 1 if counted else _ITERATIONS
        for _, *bounds in counted:
            lower, upper, step = map(self._numbers.get, bounds)
            if lower is None or upper is None or step is None or step <= 0:
                product *= _ITERATIONS
            else:
                product *= max(0, -((lower - upper) // step))
        return product


def elements(op: Op) -> int:
    """Elements of the largest tile or register that an instruction works on."""
    sizes = [0]
    for value in (*op.values, *op.results):
        if isinstance(value.type, TileSpec):
            sizes.append(value.type.numel)
        elif isinstance(value.type, VReg):
            sizes.append(value.type.lanes)
    return max(sizes)
