"""The native backend: what `ptokit.run.backends` asks for."""

from __future__ import annotations

from typing import Any

from ptokit.ir.core import Op
from ptokit.run.backends import Launched, Unable
from ptokit.run.fault import Fault
from ptokit.run.planning.estimate import ELEMENT, Work, elements
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
        made = NativeProgram(program.module, program.entry, program.target, program.effects, extended=program.extended)
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
            here = self._function(failure.op)
            loops = {op: value for op, value in failure.loops.items() if self._function(op) is here}
            where = [f"%{op.regions[0].args[0].name} = {value}" for op, value in loops.items()]
            work.faults.add(
                failure.block, self.program.diagnosis(failure.error, failure.op, f"block {failure.block}", where)
            )

    def seconds(self, work: Work, blocks: int) -> float:
        """How long a launch on one thread will take, roughly: calls back into Python are what counts."""
        called = self.made.module.called
        total = 0.0
        for op, times in work.counts.items():
            each = CALL_BACK + elements(op) * ELEMENT if op in called else elements(op) * ELEMENT / 5
            total += times * blocks * each
        return total

    def _function(self, op: Op) -> Any:
        """The function that an operation stands in."""
        for function in self.program.module.functions:
            if function.body is not None and any(inner is op for inner in function.body.walk()):
                return function
        return None
