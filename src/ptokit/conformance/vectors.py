"""Replay of cases of one instruction: on the bytes of a case, judged value by value and rule by rule.

A legal case passes on a target if no error rule fires and every buffer holds what it should; an illegal one if the rule
that it breaks, or one that states the same condition, is reported. Warnings never count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from ptokit.isa.table import Instr
from ptokit.machine.lanes import Fault
from ptokit.targets import Target

from .bench import EXECUTOR, Bench
from .binding import UnknownNameError, instruction_of
from .cases import Case
from .result import Outcome, Result


def replay(case: Case, target: Target) -> Result:
    """Judge one case on a target that it makes a claim about. Never raises."""
    start = time.perf_counter()
    instr = None if case.op.upper() in EXECUTOR else instruction_of(case.op, case.tiles, case.args)
    reported: tuple[str, ...] = ()
    if case.op.upper() not in EXECUTOR and (instr is None or instr.run is None):
        outcome, message = Outcome.SKIPPED, f"{case.op} is not implemented"
    else:
        try:
            message, reported = _judge(case, instr, target)
        except UnknownNameError as problem:
            message = str(problem)
        except Exception as bug:  # one broken case must not end the run of all others
            message = f"internal error: {type(bug).__name__}: {bug}"
        outcome = Outcome.FAILED if message else Outcome.PASSED
    return Result(case.id, case.op, target.name, outcome, message, reported, time.perf_counter() - start)


def _judge(case: Case, instr: Instr | None, target: Target) -> tuple[str, tuple[str, ...]]:
    """Why the case fails ("" if it passes), and the error rules that fired."""
    bench = Bench(case, instr, target)
    rule = case.illegal.get(target.name)
    good = set() if rule is None else {rule, *case.accept.get(target.name, ())}
    reported = tuple(sorted(bench.broken(warnings=good)))
    if rule is not None:
        if not reported:  # a rule about values may only show when the instruction looks at them
            try:
                bench.execute()
            except Fault as fault:
                reported = (fault.rule,)
        return ("" if good & set(reported) else f"expected {rule}, {_listed(reported)}"), reported
    if reported:
        return f"expected no error, {_listed(reported)}", reported
    expected = case.expected(target.name)
    if expected is None:
        return "", ()
    try:
        bench.execute()
    except Fault as fault:
        return f"[{fault.rule}] {fault.message}", (fault.rule,)
    return bench.compare(expected), ()


def _listed(reported: Iterable[str]) -> str:
    return f"reported {', '.join(reported) or 'nothing'}"
