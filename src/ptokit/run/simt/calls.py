"""What threads call for a step of a plan: the function of an operation of theirs, or of arithmetic on lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Op
from ptokit.isa.scalar.arithmetic import ARITHMETIC, CONSTANT
from ptokit.isa.simt.words import OfThreads
from ptokit.plan.steps import Step

from ..machine.arithmetic import of_lanes
from ..machine.paths import merge
from .kinds import Kind, constant, kind_of

ACCESSES = frozenset(("load_scalar", "store_scalar"))


def bound(step: Step) -> Callable[..., Any]:
    """``call(threads, *operands)`` of a step; of arithmetic ``call(active, *operands)``.

    Raises `DiagnosticError` if threads cannot execute it.
    """
    if step.bound is None:
        step.bound = _made(step)
    made: Callable[..., Any] = step.bound
    return made


def carry_out(step: Step, threads: Any, *operands: Any) -> Any:
    """Do a step, with operands as they are at that moment. Not for words of `CONTROL`."""
    if step.word == "compute":
        return bound(step)(threads.active, *operands)
    if step.word == "instruction" or step.word in ACCESSES:
        return bound(step)(threads, *operands)
    return getattr(threads, step.word)(*operands)


def _made(step: Step) -> Callable[..., Any]:
    op = step.op
    if step.word in ACCESSES:
        word = step.word
        return _told(op, lambda threads, *operands: getattr(threads, word)(*operands))
    if step.instr is not None:
        return _instruction(step)
    made = _arithmetic(op)
    if made is None:
        message = f"{op.name} cannot be run by threads yet"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location))
    return made


def _arithmetic(op: Op) -> Callable[..., Any] | None:
    row, kind = ARITHMETIC.get(op.name), kind_of(op.results[0].type)
    if kind is None:
        return None
    if row is not None:
        if row.group == "chosen":
            return lambda active, c, a, b: merge(c, a, b)
        source = kind_of(op.values[-1].type)
        name = "" if kind.dtype is None else kind.dtype.name
        return None if source is None else of_lanes(row, op.attrs, source.array, kind.array, name)
    if op.name != CONSTANT:
        return lambda active, x: _bits(x, kind)
    value = constant(op.attrs["value"], kind)
    return lambda active: value


def _bits(x: np.ndarray, kind: Kind) -> np.ndarray:
    """The same bits as another type."""
    rows = np.ascontiguousarray(x.reshape(len(x), -1)).view(kind.array)
    return rows if kind.count else rows[:, 0]


def _told(op: Op, run: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where the threads know which operation they execute."""

    def call(threads: Any, *operands: Any) -> Any:
        threads.here = op
        return run(threads, *operands)

    return call


def _instruction(step: Step) -> Callable[..., Any]:
    instr, op = step.instr, step.op
    assert instr is not None
    assert isinstance(instr.run, OfThreads)
    named = {o.name: next(iter(op.group(o.name)), None) for o in instr.operands}
    named |= dict(zip((o.name for o in instr.produces), op.results))
    meaning = instr.run.made({name: None if v is None else kind_of(v.type) for name, v in named.items()}, step.attrs)
    more = {**step.attrs, "types": [kind_of(v.type) for v in (*op.values, *op.results)]}

    def call(threads: Any, *operands: Any) -> Any:
        threads.here = op
        return meaning(threads, *operands, **more)

    return call
