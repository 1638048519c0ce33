"""The reference backend: it walks the steps of a plan, one block after the other, and is slow and obvious.

Where a step is not control flow, the machine of the NumPy backend carries it out. Copy this file for a new backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ptokit.ir.core import Value
from ptokit.machine import lanes
from ptokit.machine.chunk import Chunk
from ptokit.machine.lanes import Fault
from ptokit.plan.steps import Callee, Data, Form, FunctionPlan, Operand, Region, Step
from ptokit.run.backends import Launched, Unable
from ptokit.run.program import Program

Values = dict[Value, Any]
ENDS = ("yield", "condition", "branch", "return")


class Walker:
    """A kernel, prepared. ``m``: the machine of a block, or the threads that execute a function."""

    def __init__(self, program: Program) -> None:
        self.program, self.plan = program, program.plan
        if program.cores.waits or program.cores.mixed:
            raise Unable("its cores run beside each other")

    def ready(self) -> None:
        """Nothing has to be done."""

    def seconds(self, work: object, blocks: int) -> float:
        """It is never the fastest one."""
        return float("inf")

    def launch(self, work: Launched) -> None:
        program = self.program
        chunk = Chunk(program.target, 1, work.blocks, work.matmul, extended=program.extended)
        chunk.place = lambda: self.now.op.location
        for block in work.span:
            chunk.start(np.array([block]))
            try:
                self.function(self.plan.functions[program.entry.name], chunk, *work.values)
            except (Fault, OverflowError) as error:
                work.faults.add(block, program.diagnosis(error, self.now.op, f"block {block}", ()))
            work.printed.add(block, chunk.printed[0])
            work.progress(block - work.span.start + 1, len(work.span))

    def function(self, function: FunctionPlan, m: Any, *arguments: Any) -> Sequence[Any]:
        """What it returns."""
        known: Values = dict(zip(function.function.params, arguments))
        self.steps(m, function.first, known)
        return self.region(m, function.body, known)

    def of_threads(self, name: str, threads: Any, *arguments: Any) -> Any:
        """The result of a function that threads execute, or its results."""
        results = self.function(self.plan.threads[name], threads, *arguments)
        return results[0] if len(results) == 1 else results

    def region(self, m: Any, region: Region, known: Values, handed: Sequence[Any] = ()) -> Sequence[Any]:
        """What the region yields or returns."""
        known.update(zip(region[0].args, handed))
        if len(region) == 1:
            last = self.steps(m, region[0].steps, known)
            return () if last is None else self.values(m, last.operands, known)
        places = m.places(len(region))
        ends: Sequence[Any] = ()
        for number in places:
            last = self.steps(m, region[number].steps, known)
            assert last is not None
            given = self.values(m, last.operands, known)
            if last.word != "branch":
                ends = kept(places, ends, given)
                continue
            passed = [self.values(m, way.operands, known) for way in last.ways]
            ways = m.ways(given[0] if given else None, last.cases)
            for k, (way, values) in enumerate(zip(last.ways, passed)):
                if ways.enter(k):
                    args = region[way.block].args
                    known.update(zip(args, kept(ways, [known.get(arg) for arg in args], values)))
                    places.go(way.block)
            ways.leave()
        return ends

    def steps(self, m: Any, steps: Sequence[Step], known: Values) -> Step | None:
        """Do them; the last one if it says what comes next."""
        for step in steps:
            self.now = step
            if step.word in ENDS:
                return step
            here = not step.core or getattr(m, step.core)
            results = self.step(m, step, known, self.values(m, step.operands, known)) if here else [0, 0]
            known.update(zip(step.results, results))
        return None

    def step(self, m: Any, step: Step, known: Values, given: list[Any]) -> Sequence[Any]:
        match step.word:
            case "for":
                path, carried = m.loop(*given[:3]), given[3:]
                for i in path:
                    carried = kept(path, carried, self.region(m, step.regions[0], known, [i, *carried]))
                return carried
            case "while":
                path, carried = m.rounds(), given
                results: Sequence[Any] = ()
                while True:
                    met, *handed = self.region(m, step.regions[0], known, carried)
                    path.part(met)
                    results = [path.ended(*pair) for pair in zip(results or [None] * len(handed), handed)]
                    if not path.goes():
                        return results
                    carried = kept(path, carried, self.region(m, step.regions[1], known, handed))
            case "if" | "switch":
                path, results = m.ways(given[0], step.cases if step.word == "switch" else (0,)), []
                for k, region in enumerate(step.regions):
                    if path.enter(k):
                        results = kept(path, results, self.region(m, region, known))
                path.leave()
                return results
            case "region":
                return self.region(m, step.regions[0], known)
            case "scope":
                m.begin_scope()
                return self.region(m, step.regions[0], known)
            case "call":
                functions = self.plan.functions if isinstance(m, Chunk) else self.plan.threads
                return self.function(functions[step.callee], m, *given)
            case _:
                result = m.carry_out(step, *given)
                return result if len(step.results) > 1 else [result]

    def values(self, m: Any, operands: Sequence[Operand], known: Values) -> list[Any]:
        return [self.value(operand, known) for operand in operands]

    def value(self, operand: Operand, known: Values) -> Any:
        match operand:
            case Data():
                return operand.value
            case Form():
                return getattr(lanes, operand.how)(known[operand.value])
            case Callee():
                return partial(self.of_threads, operand.name)
            case tuple():
                return tuple(self.value(item, known) for item in operand)
            case _:
                return known[operand]


def kept(path: Any, old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Values after a region that hands them on; `old` is empty if there were none."""
    return [path.kept(*pair) for pair in zip(old or [None] * len(new), new)]


prepare = Walker
