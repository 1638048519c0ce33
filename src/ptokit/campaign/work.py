"""The work on one case: a program and arguments in, a result out. Never raises."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ptokit.api.launch import as_parameters
from ptokit.api.program import Origin, Source
from ptokit.arguments.derive import LEAVES, derive, resting, settled
from ptokit.arguments.grammar import (
    ArgumentSyntaxError,
    as_parameter,
    copied,
    load_array,
    of_ranks,
    parse_argument,
    portable,
)
from ptokit.asm import ParseResult, parse_module
from ptokit.conformance.compare import Want, show_element, tolerance
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity, UsageError
from ptokit.ir.core import Module
from ptokit.ir.functions import stated_target
from ptokit.ir.verify import verify
from ptokit.records import dataclass
from ptokit.run.arguments import divided
from ptokit.run.program import Program, choose_entry, compile_program
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.targets.base import PartError, part_named

from .case import TARGET, UNKNOWN, Action, Case, Result, Status, compiled, read_case
from .sources import digests, files_read, load, remember

T = TypeVar("T")

KEPT = 20
"""Findings that a result holds; more of one case are seldom read."""


class _Refused(Exception):
    """The program or its arguments cannot be used."""

    def __init__(self, findings: Iterable[Diagnostic]) -> None:
        self.findings = list(findings)
        super().__init__()


def work(case: Case) -> Result:
    """Do what the case says."""
    start = time.perf_counter()
    try:
        result = _DO[case.action](case)
    except _Refused as refusal:
        result = _reported(case, Status.REFUSED, refusal.findings)
    except DiagnosticError as error:
        unusable = all(d.rule.startswith("RUN-ARG") for d in error.diagnostics)
        result = _reported(case, Status.REFUSED if unusable else Status.FINDING, error.diagnostics)
    except MemoryError:
        result = Result(case.id, Status.MEMORY, "there is not enough memory for it")
    except Exception as bug:  # one broken case must not end all others
        result = Result(case.id, Status.CRASHED, " ".join(f"{type(bug).__name__}: {bug}".split())[:500])
    return replace(_judged(case, result), seconds=result.seconds or time.perf_counter() - start)


def _judged(case: Case, result: Result) -> Result:
    """The result against what is recorded for the program, on a device for example."""
    if not case.recorded or result.status in (Status.CRASHED, Status.MEMORY):
        return result
    wanted, rule, source = (case.recorded.get(key, "") for key in ("outcome", "rule", "source"))
    by = f" ({source})" if source else ""
    told = f". {result.message}" if result.message else ""
    if result.status == wanted and rule in ("", *result.rules):
        return replace(result, status=Status.PASSED, message=f"{wanted}, as is recorded{by}{told}")
    of = f" [{rule}]" if rule else ""
    return replace(result, status=Status.WRONG, message=f"{result.status}, recorded is {wanted}{of}{by}{told}")


def work_case(entry: dict[str, Any], _: Sequence[bytes]) -> dict[str, Any]:
    """`work`, of JSON and in JSON: ``case`` and ``known`` (`contents.remember`); ``result`` and the key that it has."""
    case = read_case(entry["case"])
    remember(entry["known"])
    before = case.inputs()
    _reads.clear()
    result = work(case)
    key = case.key_of({**before, "reads": _reads}) if case.inputs() == before else UNKNOWN
    return {"result": result.as_json(), "key": key}


_reads: dict[str, str] = {}
"""The files that the function of the case read, with their digests."""


def _reported(case: Case, bad: Status, findings: Iterable[Diagnostic]) -> Result:
    """Passed without errors, else `bad`."""
    found = list(findings)
    errors = [d for d in found if d.severity is Severity.ERROR]
    message = ""
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        at = f"line {errors[0].location.line}: " if errors[0].location.line else ""
        rests = ", with arguments made from the text" if case.args is None and errors[0].rule in LEAVES else ""
        message = f"{at}{errors[0].message}{rests} [{errors[0].rule}]{more}"
    status = bad if errors else Status.PASSED
    rules = tuple(sorted({d.rule for d in found}))
    return Result(case.id, status, message, rules, tuple(d.as_json() for d in found[:KEPT]))


# --- programs and arguments ------------------------------------------------------------------------------------------


def _read(case: Case) -> tuple[ParseResult, Target]:
    """The module of a case and the target meant. Raises `_Refused`."""
    if case.compiled:
        return _loaded(case.text)
    return _parsed(case.text, case.program, case.target, case.default_target)


@lru_cache(maxsize=4)
def _loaded(text: str) -> tuple[ParseResult, Target]:
    found = compiled(text)
    if found.findings:
        raise _Refused(found.findings)
    if not found.target:
        raise _unknown_target("the file of C++ states no target", found.module.file)
    return ParseResult(found.module, Diagnostics()), target_named(found.target)


@lru_cache(maxsize=4)
def _parsed(text: str, file: str, target_name: str, default: str) -> tuple[ParseResult, Target]:
    wanted = target_named(target_name) if target_name else None
    read = parse_module(text, file, target=wanted)
    target = wanted or stated_target(read.module)
    if target is None and default:
        target = target_named(default)
        read = parse_module(text, file, target=target)
    if read.diagnostics.errors:
        raise _Refused(read.diagnostics)
    if target is None:
        raise _unknown_target("the text states no pto.target_arch", file)
    return read, target


def _unknown_target(why: str, file: str | None) -> _Refused:
    message = f"{why}; --default-target a5 says what is meant"
    hint = "in the description of a campaign: default_target, or targets, which is for all texts"
    return _Refused([Diagnostic(TARGET.id, Severity.ERROR, message, Location(file), hint)])


def _program(case: Case, text: str = "") -> Program:
    """The program of a case, or of another text, compiled. Raises `_Refused`."""
    which = (text or case.text, case.compiled and not text, case.program, case.target, case.default_target)
    return _prepared(*which, case.entry, case.mode.get("vector_cores", 2))


@lru_cache(maxsize=4)
def _prepared(text: str, whole: bool, file: str, target: str, default: str, entry: str, vector_cores: int) -> Program:
    read, chosen = _loaded(text) if whole else _parsed(text, file, target, default)
    try:
        return compile_program(read.module, chosen, entry=entry or None, vector_cores=vector_cores)
    except DiagnosticError as error:
        raise _Refused(error.diagnostics) from None


def _texts(case: Case) -> Sequence[str]:
    """The arguments as text. Raises `_Refused`."""
    if case.args is not None:
        return case.args
    read, _ = _read(case)
    if case.ranks:
        raise _Refused([Diagnostic("RUN-RANKS", Severity.ERROR, "a launch on ranks needs arguments of its own: args")])
    try:
        return derive(read.module, choose_entry(read.module, case.entry or None), case.blocks, case.seed)
    except DiagnosticError as error:
        raise _Refused(error.diagnostics) from None


def _arguments(case: Case, program: Program, texts: Sequence[str] | None = None) -> list[Any]:
    """New arrays and numbers, of these texts or those of the case. Raises `_Refused`."""
    try:
        given = _texts(case) if texts is None else texts
        values = [parse_argument(text, case.seed + i).make() for i, text in enumerate(given)]
        return as_parameters(of_ranks(values, case.ranks or None), program.params)
    except (ArgumentSyntaxError, UsageError) as error:
        raise _Refused([Diagnostic("RUN-ARG-TYPE", Severity.ERROR, str(error))]) from None
    except DiagnosticError as error:
        raise _Refused(error.diagnostics) from None


def _launch(case: Case, program: Program, values: Sequence[Any]) -> None:
    backend = case.mode.get("backend")
    if case.ranks:
        devices = divided(program.entry, values, case.ranks)
        program.launch_ranks(devices, case.blocks, matmul=case.mode.get("matmul", "exact"), backend=backend)
        return
    program.launch(values, case.blocks, matmul=case.mode.get("matmul", "exact"), backend=backend, threads=1)


def _digest(values: Sequence[Any]) -> str:
    """What the arrays hold, in 64 hexadecimal digits."""
    state = hashlib.sha256()
    for value in values:
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, np.ndarray):
                state.update(portable(np.ascontiguousarray(each)).tobytes())
    return state.hexdigest()


# --- actions ---------------------------------------------------------------------------------------------------------


def _check(case: Case) -> Result:
    read, target = _read(case)
    found = verify(read.module, target, assembler=case.mode.get("rules") == "assembler")
    return _reported(case, Status.REFUSED, [*read.diagnostics, *found])


def _run(case: Case) -> Result:
    program = _program(case)

    def once(texts: Sequence[str] | None) -> tuple[str, list[Diagnostic]]:
        values = _arguments(case, program, texts)
        try:
            _launch(case, program, values)
        except DiagnosticError as error:
            return "", list(error.diagnostics)
        return _digest(values), []

    digest, found = _settled(case, once)
    if found:
        raise DiagnosticError(found)
    return Result(case.id, Status.PASSED, digest=digest)


def _settled(
    case: Case, once: Callable[[Sequence[str] | None], tuple[T, list[Diagnostic]]]
) -> tuple[T, list[Diagnostic]]:
    """What a launch gives and what is found; with arguments of the case, or derived ones that keep it inside."""
    if case.args is not None or case.ranks:
        return once(None)
    read, _ = _read(case)
    try:
        entry = choose_entry(read.module, case.entry or None)
    except DiagnosticError as error:
        raise _Refused(error.diagnostics) from None

    def look(texts: list[str]) -> tuple[tuple[T, list[Diagnostic]], list[Diagnostic]]:
        result, found = once(texts)
        return (result, found), found

    (result, found), texts = settled(read.module, entry, look, case.blocks, case.seed)
    return result, resting(found, entry, texts)


def _time(case: Case) -> Result:
    """How long the launch takes on a part; ``seconds`` are those of the part."""
    from ptokit.timing.report import timed

    program = _program(case)
    named = case.mode.get("part")
    try:
        part = part_named(named, program.target)
    except PartError as error:
        return Result(case.id, Status.REFUSED, str(error))
    timing = timed(program, _arguments(case, program), case.blocks, part, named=bool(named), ranks=case.ranks)
    status = Status.FINDING if timing.run.stuck else Status.PASSED
    message = "; ".join([f"{timing.us:.2f} µs on {part.name}", *timing.findings[:1]])
    return Result(case.id, status, message, seconds=timing.us / 1e6)


def _sanitize(case: Case) -> Result:
    from ptokit.sanitize import sanitize

    read, target = _read(case)
    program = _program(case)
    order = case.mode.get("order", "strict")
    cores = case.mode.get("vector_cores", 2)
    how = {"order": order, "entry": case.entry or None, "vector_cores": cores, "mode": case.mode.get("sync")}

    def once(texts: Sequence[str] | None) -> tuple[None, list[Diagnostic]]:
        values = _arguments(case, program, texts)
        report = sanitize(read.module, target, values, case.blocks, ranks=case.ranks, **how)
        return None, list(report.diagnostics)

    return _reported(case, Status.FINDING, _settled(case, once)[1])


def _prove(case: Case) -> Result:
    """For all arguments: refuted is a finding; what is open passes, and the message says so."""
    from ptokit.api.prove import prove_module
    from ptokit.prove.report import Verdict

    read, target = _read(case)
    proof = prove_module(read.module, target, case.entry or None)
    left = [d for d in proof.claims if d.verdict in (Verdict.REFUTED, Verdict.OPEN)]
    said = [f"{d.claim} {d.verdict}" for d in left]
    shown = [d.counterexample for d in left if d.counterexample is not None]
    said += [f"[{each.rule}] line {each.line} with {' '.join(each.arguments)}" for each in shown[:1]]
    status = Status.FINDING if proof.verdict is Verdict.REFUTED else Status.PASSED
    return Result(case.id, status, "; ".join(said), tuple(each.rule for each in shown))


@dataclass(frozen=True)
class _Module(Origin):
    """A program that has been read."""

    file: str
    module: Module

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        return Source(self.file, "", self.module, origin=self)


def _compare_order(case: Case) -> Result:
    """With the other version as A: what this one does not order is a finding; what was not compared passes."""
    from ptokit.api.sanitize import compare_order

    read, target = _read(case)
    other, _ = _parsed(case.other, case.program, target.name, "")
    sides = _Module(case.program, other.module), _Module(case.program, read.module)
    made = compare_order(*sides, target=target, entry=case.entry or None)
    said = [*map(str, made.lost), *made.broken] or [f"not compared: {why}" for why in made.open]
    said += [f"predicted {made.change:+.1%}"] if made.change is not None else []
    return Result(case.id, Status.FINDING if made.less else Status.PASSED, "; ".join(said))


def _compare(case: Case) -> Result:
    program = _program(case)
    values = _arguments(case, program)
    wanted = _wanted(case, program, copied(values))
    _launch(case, program, values)
    bound = tolerance(case.tolerance) if case.tolerance else None
    for param, got, want in zip(program.params, values, wanted):
        if want is None or param.dtype is None or not isinstance(got, np.ndarray):
            continue
        dtype = param.dtype
        have = np.ascontiguousarray(got).reshape(-1).view(np.uint8)
        expected = np.ascontiguousarray(as_parameter(want, dtype)).reshape(-1).view(np.uint8)
        if have.size != expected.size:
            message = f"%{param.name}: {have.size} bytes, but {expected.size} are expected"
            return Result(case.id, Status.WRONG, message, digest=_digest(values))
        at = Want(expected, tol=bound).first_wrong(have, dtype)
        if at is not None:
            shown = f"{show_element(dtype, have, at)} instead of {show_element(dtype, expected, at)}"
            where = [at] if dtype.packed else [int(n) for n in np.unravel_index(at, np.shape(got))]
            return Result(case.id, Status.WRONG, f"%{param.name}{where}: {shown}", digest=_digest(values))
    return Result(case.id, Status.PASSED, digest=_digest(values))


def _wanted(case: Case, program: Program, given: Sequence[Any]) -> list[Any]:
    """What each argument must hold afterwards; None where nothing is expected. May raise what the function raises."""
    if case.function:
        function, at_import = load(case.function)
        with files_read() as seen:
            answer = function(*given)
        _reads.update({**digests(seen), **at_import})
        if not isinstance(answer, np.ndarray):
            return list(answer)
        last = max(i for i, param in enumerate(program.params) if param.dtype is not None)
        return [answer if i == last else None for i in range(len(given))]
    if case.other or case.against:
        mode = {**case.mode, **({"backend": case.against} if case.against else {})}
        _launch(replace(case, mode=mode), _program(case, case.other), given)
        return [v if isinstance(v, np.ndarray) else None for v in given]
    try:
        return [load_array(path) if path else None for path in case.expected]
    except DiagnosticError as error:
        raise _Refused(error.diagnostics) from None


_DO: dict[Action, Callable[[Case], Result]] = {
    Action.CHECK: _check,
    Action.RUN: _run,
    Action.SANITIZE: _sanitize,
    Action.COMPARE: _compare,
    Action.COMPARE_ORDER: _compare_order,
    Action.TIME: _time,
    Action.PROVE: _prove,
}
