"""What decides which global memory a kernel touches: accesses, control flow around them, and what both depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptokit.ir.core import Value
from ptokit.plan.effects import loaded, stored
from ptokit.plan.steps import CONTROL, FunctionPlan, Operand, Plan, Relations, Step, values_of
from ptokit.types.values import Scalar

from .flows import Flows, ends


class Relevant:
    """Steps and values of a plan that decide about global memory. All others have no effect on it.

    A loop is one of them if an access is inside it, or if one depends on what it hands on; of the values that it
    carries only those count on which something depends.
    """

    def __init__(self, plan: Plan, relations: Callable[[FunctionPlan], Relations]) -> None:
        self.plan = plan
        self.steps: set[Step] = set()
        self.values: set[Value] = set()
        self._relations: dict[Step, Relations] = {}  # of the function that a step stands in
        self._functions: dict[Step, str] = {}
        self._needed: dict[Value, Step] = {}  # the step that gives a value, or has it as argument of a region
        self._sources = Flows(plan).sources
        self._calls: dict[str, list[Step]] = {}
        self._waiting: list[Step | Value] = []
        for name, function in plan.functions.items():
            found = relations(function)
            self._needed |= found.giver
            self._needed |= {v: found.owners[block] for v, block in found.takes.items() if block in found.owners}
            for step in function.walk():
                self._relations[step], self._functions[step] = found, name
                if step.word == "call":
                    self._calls.setdefault(step.callee, []).append(step)
        for step in self._relations:
            if step.word == "return" or _touched(step):
                self._need(step)
        self._close()

    # --- what is needed ------------------------------------------------------------------------------------------

    def _need(self, found: Step | Value) -> None:
        known: set[Step] | set[Value] = self.steps if isinstance(found, Step) else self.values
        if found not in known:
            known.add(found)  # type: ignore[arg-type]
            self._waiting.append(found)

    def _close(self) -> None:
        while self._waiting:
            found = self._waiting.pop()
            if isinstance(found, Step):
                self._needed_by(found)
                continue
            owner = self._needed.get(found)
            if owner is not None:
                self._need(owner)
            for source in self._sources.get(found, ()):
                self._need(source)

    def _needed_by(self, step: Step) -> None:
        for value in values_of(_decides(step)):
            self._need(value)
        relations, function = self._relations[step], self._functions[step]
        block, _ = relations.places.get(step, (None, 0))
        owner = relations.owners.get(block) if block is not None else None
        for around in self._calls.get(function, ()) if owner is None else (owner,):
            self._need(around)
        for branch in ends(relations.regions[block], "branch") if block is not None else ():
            self._need(branch)


def _decides(step: Step) -> Sequence[Operand]:
    """The operands on which it depends what a step does to control flow and to global memory."""
    match step.word:
        case "for":
            return step.operands[:3]
        case "while":
            return [end.operands[0] for end in ends(step.regions[0], "condition")]
        case "if" | "switch" | "branch":
            return step.operands[:1]
        case "load_scalar" | "store_scalar":
            return [step["ptr"], step["index"]]
    if step.word in CONTROL:
        return ()
    memory = _touched(step)
    if not memory or step.instr is None:
        return step.operands
    return [*memory, *(v for v in step.values if isinstance(v.type, Scalar) and step.instr.typed)]


def _touched(step: Step) -> list[Value]:
    """The views and pointers through which a step reads or writes global memory."""
    return [*stored(step), *loaded(step)]
