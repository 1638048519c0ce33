"""A backend that walks the steps of a plan, one block after the other, on the machine of the NumPy backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptokit.ir.core import Value
from ptokit.plan.steps import Data, Form, Operand, Region, Step
from ptokit.run.backends import Launched, Unable
from ptokit.run.fault import Fault
from ptokit.run.machine import lanes
from ptokit.run.machine.calls import carry_out
from ptokit.run.machine.chunk import Chunk
from ptokit.run.program import Program

Values = dict[Value, Any]


class Returned(Exception):
    """A function returns."""


class Walker:
    """A kernel, prepared."""

    def __init__(self, program: Program) -> None:
        self.program = program
        if program.cores.waits or program.cores.mixed:
            raise Unable("its cores run beside each other")

    def ready(self) -> None:
        """Nothing has to be done."""

    def seconds(self, work: object, blocks: int) -> float:
        """It is never the fastest one."""
        return float("inf")

    def launch(self, work: Launched) -> None:
        program = self.program
        self.m = Chunk(program.target, 1, work.blocks, work.matmul, extended=program.extended)
        self.m.place = lambda: self.now.op.location
        for block in work.span:
            self.m.start(np.array([block]))
            try:
                self.function(program.entry.name, work.values)
            except (Fault, OverflowError) as error:
                work.faults.add(block, program.diagnosis(error, self.now.op, f"block {block}", ()))
            work.printed.add(block, self.m.printed[0])

    def function(self, name: str, arguments: Sequence[Any]) -> Sequence[Any]:
        plan = self.program.plan.functions[name]
        known: Values = dict(zip(plan.function.params, arguments))
        try:
            self.steps(plan.first, known)
            return self.region(plan.body, known)
        except Returned as returned:
            return returned.args

    def region(self, region: Region, known: Values, handed: Sequence[Any] = ()) -> Sequence[Any]:
        """What the region yields."""
        block = region[0]
        while True:
            known.update(zip(block.args, handed))
            last = self.steps(block.steps, known)
            if last is None or last.word != "branch":
                return () if last is None else [self.value(operand, known) for operand in last.operands]
            flag = self.value(last.operands[0], known) if last.cases else None
            way = last.ways[last.cases.index(flag) + 1 if flag in last.cases else 0]
            block, handed = region[way.block], [self.value(operand, known) for operand in way.operands]

    def steps(self, steps: Sequence[Step], known: Values) -> Step | None:
        """Do them; the last one if it says what comes next."""
        for step in steps:
            self.now = step
            if step.word in ("yield", "condition", "branch"):
                return step
            here = not step.core or getattr(self.m, step.core)
            results = self.step(step, known, [self.value(o, known) for o in step.operands]) if here else [0, 0]
            known.update(zip(step.results, results))
        return None

    def step(self, step: Step, known: Values, given: list[Any]) -> Sequence[Any]:
        match step.word:
            case "for":
                carried: Sequence[Any] = given[3:]
                for i in self.m.loop(*given[:3]):
                    carried = self.region(step.regions[0], known, [i, *carried])
                return carried
            case "while":
                while True:
                    go_on, *handed = self.region(step.regions[0], known, given)
                    if not go_on:
                        return handed
                    given = list(self.region(step.regions[1], known, handed))
            case "if":
                chosen = step.regions[:1] if given[0] else step.regions[1:]
                return self.region(chosen[0], known) if chosen else ()
            case "switch":
                number = step.cases.index(given[0]) + 1 if given[0] in step.cases else 0
                return self.region(step.regions[number], known)
            case "region":
                return self.region(step.regions[0], known)
            case "scope":
                self.m.begin_scope()
                return self.region(step.regions[0], known)
            case "call":
                return self.function(step.callee, given)
            case "return":
                raise Returned(*given)
            case _:
                result = carry_out(step, self.m, *given)
                return result if len(step.results) > 1 else [result]

    def value(self, operand: Operand, known: Values) -> Any:
        match operand:
            case Data():
                return operand.value
            case Form():
                return getattr(lanes, operand.how)(known[operand.value])
            case tuple():
                return tuple(self.value(item, known) for item in operand)
            case _:
                return known[operand]


prepare = Walker
