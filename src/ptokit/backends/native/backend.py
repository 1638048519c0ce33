"""The native backend: what `ptokit.run.backends` asks for."""

from __future__ import annotations

from typing import Any

from ptokit.machine.lanes import Fault
from ptokit.plan.effects import ELEMENT, Work, elements
from ptokit.plan.steps import FunctionPlan, Step
from ptokit.run.backends import Launched, Unable
from ptokit.run.program import Program

from .values import NotNativeError

CALL_BACK = 15e-6


def prepare(program: Program) -> Native:
    """Machine code of a kernel. Raises `Unable`."""
    try:
        import llvmlite.binding  # noqa: F401
    except ImportError as error:
        raise Unable(f"native code needs llvmlite, which cannot be imported: {error}") from None
    if program.cores.waits or program.cores.mixed:
        raise Unable("its cores run beside each other and wait for each other")
    if program.launches_threads:
        raise Unable("it has operations of threads")
    from .program import NativeProgram

    try:
        made = NativeProgram(program)
    except NotNativeError as error:
        raise Unable(str(error)) from None
    return Native(program, made)


class Native:
    """A kernel as machine code."""

    def __init__(self, program: Program, made: Any) -> None:
        self.program, self.made = program, made

    def ready(self) -> None:
        """Compile what has not been compiled. Raises `Unable` if LLVM refuses it."""
        try:
            _ = self.made.loaded
        except (RuntimeError, OSError) as error:
            raise Unable(f"LLVM does not compile it: {error}") from None

    def launch(self, work: Launched) -> None:
        """Run the blocks of a launch."""
        threads = max(1, min(work.threads, len(work.span)))
        for failure in self.made.launch(work.values, work.blocks, work.matmul, threads, work.printed, work.span):
            if not isinstance(failure.error, Fault | OverflowError):
                raise failure.error
            here, place = self._function(failure.step), f"block {failure.block}"
            loops = {loop: value for loop, value in failure.loops.items() if self._function(loop) is here}
            where = [f"{loop.regions[0][0].args[0].shown} = {value}" for loop, value in loops.items()]
            work.faults.add(failure.block, self.program.diagnosis(failure.error, failure.step.op, place, where))
        work.progress(len(work.span), len(work.span))

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch on one thread will take, roughly: calls back into Python are what counts."""
        called = {step.op for step in self.made.module.called}
        total = 0.0
        for op, times in work.counts.items():
            each = CALL_BACK + elements(op) * ELEMENT if op in called else elements(op) * ELEMENT / 5
            total += times * blocks * each
        return total

    def _function(self, step: Step) -> FunctionPlan:
        """The function that a step stands in."""
        return next(f for f in self.program.plan.functions.values() if any(step is inner for inner in f.walk()))
