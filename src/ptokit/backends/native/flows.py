"""Which values of a program may be which others: what loops, branches and calls hand on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptokit.ir.core import Value
from ptokit.plan.steps import FunctionPlan, Operand, Plan, Region, Step, values_of


class Flows:
    """Of a whole plan. ``sources``: the values that a value may be; of one that a step computes there are none."""

    def __init__(self, plan: Plan) -> None:
        self.sources: dict[Value, list[Value]] = {}
        for function in plan.functions.values():
            self._branches(function.body)
            for step in function.walk():
                self._step(plan.functions, step)

    def _flow(self, targets: Sequence[Value], sources: Sequence[Operand]) -> None:
        for target, source in zip(targets, sources):
            self.sources.setdefault(target, []).extend(values_of((source,)))

    def _step(self, functions: dict[str, FunctionPlan], step: Step) -> None:
        """Which values a step hands on to which."""
        yielded = [end.operands for region in step.regions for end in ends(region, "yield")]
        match step.word:
            case "for":
                (_, *carried) = step.regions[0][0].args
                for values in (step.operands[3:], *yielded):
                    self._flow(carried, values)
                self._flow(step.results, carried)
            case "while":
                before, after = (region[0].args for region in step.regions)
                for values in (step.operands, *yielded):
                    self._flow(before, values)
                for end in ends(step.regions[0], "condition"):
                    self._flow(step.results, end.operands[1:])
                self._flow(after, step.results)  # native code carries them where it carries the results
            case "call":
                callee = functions.get(step.callee)
                if callee is not None:
                    self._flow(callee.function.params, step.operands)
                    for end in ends(callee.body, "return"):
                        self._flow(step.results, end.operands)
            case _:
                for values in yielded:
                    self._flow(step.results, values)
        for region in step.regions:
            self._branches(region)

    def _branches(self, region: Region) -> None:
        for branch in ends(region, "branch"):
            for way in branch.ways:
                self._flow(region[way.block].args, way.operands)


def ends(region: Region, word: str) -> Iterator[Step]:
    """The steps of that word at the ends of a region's blocks."""
    return (block.steps[-1] for block in region if block.steps and block.steps[-1].word == word)
