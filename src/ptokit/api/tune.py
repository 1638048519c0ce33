"""`tune`: which values of a kernel's compiled-in parameters are best, of those that are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import field
from itertools import product
from typing import Any

import numpy as np

from ptokit.arguments.grammar import make, read_arguments
from ptokit.diagnostics import Diagnostic, DiagnosticError, UsageError
from ptokit.ir import Module
from ptokit.ir.serial import dumps, loads
from ptokit.lang.kernels import Kernel
from ptokit.lang.mistakes import as_finding
from ptokit.records import dataclass
from ptokit.run import Program as Compiled
from ptokit.run import compile_program
from ptokit.run.arguments import bind_arguments
from ptokit.run.tensors import arrays
from ptokit.sanitize import sanitize_launch
from ptokit.sanitize.findings.race import copies
from ptokit.sanitize.outcome import Uninitialised
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.targets.base import PartError, part_named
from ptokit.timing.report import timed
from ptokit.types.choices import LaunchOptions, SanitizeOptions
from ptokit.workers.executors import drive, open_executor, workers_of
from ptokit.workers.minder import How, Task

from .check import origin
from .files import PythonKernel, at_the_kernel
from .parts import Table, Words, find_target, plain
from .program import Program

SCHEMA_VERSION = 1
"""Of the JSON report."""

MOST = 4096
"""Candidates of a space."""

BLOCKS = "blocks"
"""The name of a space's numbers of blocks, where no parameter is called so."""

MEASURES = ("time", "warm")
"""By the timing model: a first launch, or one just after the same."""


@dataclass
class Candidate:
    """Values of a space, and what came of them. ``status``: one of `STATUSES`; ``why``: of one that is not ranked.

    ``us``: microseconds by the model. ``limit``: the busiest pipe, with how much of the time that it is busy.
    """

    values: dict[str, Any]
    status: str
    us: float = 0.0
    limit: str = ""
    rule: str = ""
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        found: dict[str, Any] = {"values": {k: _plain_value(v) for k, v in self.values.items()}, "status": self.status}
        more = {"us": self.us, "limit": self.limit} if self.status == "ranked" else {"rule": self.rule, "why": self.why}
        return found | more


STATUSES = ("ranked", "refused", "faulty", "lost")
"""Timed; refused by `check`; faulted by the sanitizer, or its launch fails; its worker died or took too long."""


@dataclass
class Tuned:
    """What `tune` found: all candidates, the fastest first, then those that are out."""

    name: str
    target: str
    part: str
    measure: str
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def ranked(self) -> list[Candidate]:
        """Those that are right, the fastest first."""
        return [c for c in self.candidates if c.status == "ranked"]

    @property
    def best(self) -> Candidate | None:
        """The fastest that is right, or None."""
        return next(iter(self.ranked), None)

    def __bool__(self) -> bool:
        return self.best is not None

    def parts(self) -> list[Any]:
        """What the terminal shows."""
        right = len(self.ranked)
        title = f" on {self.target}, {self.part}: {len(self.candidates)} candidates, {right} of them right"
        names = list(self.candidates[0].values) if self.candidates else []
        rows = [[*map(str, c.values.values()), *_row(c, self.best)] for c in self.candidates]
        headers = [*names, "µs", "", "limit"]
        out: list[Any] = [Words(title, strong=self.name), Table(headers, rows, (*names, "µs"))]
        reasons: dict[str, list[Candidate]] = {}
        for candidate in self.candidates:
            reasons.setdefault(candidate.why, []).append(candidate)
        for why, those in reasons.items():
            more = f" and {len(those) - 1} more" if len(those) > 1 else ""
            out += [Words(f"{_text(those[0].values)}{more}: {why}")] if why else []
        return out

    def __str__(self) -> str:
        return plain(self.parts())

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object (docs/formats.md)."""
        return {
            "version": SCHEMA_VERSION,
            "kernel": self.name,
            "target": self.target,
            "part": self.part,
            "measure": self.measure,
            "best": None if self.best is None else self.best.as_json()["values"],
            "candidates": [candidate.as_json() for candidate in self.candidates],
        }


def _row(candidate: Candidate, best: Candidate | None) -> list[str]:
    if candidate.status != "ranked" or best is None:
        return ["", candidate.status, candidate.rule]
    return [f"{candidate.us:.1f}", f"{candidate.us / best.us:.2f}x", candidate.limit]


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _plain_value(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | type(None)) else str(value)


def tune(
    program: Program,
    args: Sequence[Any] = (),
    *,
    space: Mapping[str, Iterable[Any]],
    measure: str = "time",
    target: str | Target | None = None,
    blocks: int = 1,
    part: str | None = None,
    sanitize: bool = True,
    executor: Executor | str | None = None,
    jobs: int | None = None,
    seconds: float = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Tuned:
    """Try all values of a kernel's `pto.Static` parameters, and rank those that are right by the timing model.

    ``program``: a kernel in Python, or the path of one, ``kernels.py:name``. ``space``: a list of values for each
    parameter; ``blocks`` in it are numbers of blocks. ``args``: one for each parameter that is not in the space, in
    order; as for `ptokit.run`. Arrays are not written. ``measure``: ``time``, or ``warm`` for a launch just after the
    same one. ``target``, ``part``: as for `ptokit.time`. ``sanitize``: leave out what the sanitizer faults.
    ``executor``: whose workers try the candidates, ``processes``, ``dask://HOST:PORT``, ``ray`` or an executor;
    ``jobs``: how many. ``seconds``: the longest that a candidate may take there, 0 for no limit.
    Raises `DiagnosticError` for arguments that cannot be used, `UsageError` for a space that the kernel does not have.
    """
    found = origin(program)
    if not isinstance(found, PythonKernel):
        raise UsageError("only kernels in Python have parameters to tune: name one, kernels.py:name.", "file")
    wanted = find_target(target)
    kernel = found.kernel if wanted is None else found.kernel.on(wanted)
    by_call = isinstance(program, Kernel)
    if measure not in MEASURES:
        raise UsageError(f"{measure!r} is not one of {', '.join(MEASURES)}.", "measure")
    try:
        chosen = part_named(part, kernel.target)
    except PartError as error:
        raise UsageError(str(error), "part") from None
    values = make(read_arguments(args))
    candidates = list(_candidates(kernel, space))
    tried = _Tried(kernel, values, set(space), blocks)
    tasks: list[tuple[int, dict[str, Any], tuple[bytes, ...]]] = []
    results: dict[int, Candidate] = {}
    for number, candidate in enumerate(candidates):
        try:
            given, data = tried.task(candidate)
        except Exception as error:  # of a raise in the kernel, which refuses values that it is not made for
            refused = error if isinstance(error, DiagnosticError) else as_finding(error, f"compiling {kernel.name}")
            if refused is None:
                raise
            if refused.diagnostics[0].rule.startswith(("RUN-ARG", "LANG-ARG")):
                if by_call:
                    raise
                raise DiagnosticError(at_the_kernel(kernel, d) for d in refused.diagnostics) from None
            results[number] = Candidate(candidate, **_said("refused", refused.diagnostics[0]))
            continue
        given |= {"part": chosen.name, "measure": measure, "sanitize": sanitize}
        tasks.append((number, given, data))
    done = len(results)
    for number, value in _worked(tasks, executor, jobs, seconds):
        results[number] = Candidate(candidates[number], **value)
        done += 1
        progress(done, len(candidates))
    inner = [results[number] for number in range(len(candidates))]
    inner.sort(key=lambda c: (STATUSES.index(c.status), c.us))
    return Tuned(kernel.name, kernel.target.name, chosen.name, measure, inner)


def _candidates(kernel: Kernel, space: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination, the last parameter fastest. Raises `UsageError`."""
    parameters = kernel.parameters
    lists = {name: list(values) for name, values in space.items()}
    if not lists:
        raise UsageError("a space names parameters and their values.", "space")
    for name, values in lists.items():
        if name not in parameters.kinds and name != BLOCKS:
            known = ", ".join(n for n in parameters.kinds if parameters.is_static(n)) or "none"
            raise UsageError(f"{kernel.name} has no parameter {name}; of pto.Static it has {known}.", "space")
        if name in parameters.kinds and not parameters.is_static(name):
            raise UsageError(f"{name} of {kernel.name} is no pto.Static parameter: it is an argument.", "space")
        if not values:
            raise UsageError(f"{name} has no values.", "space")
        if name == BLOCKS and name not in parameters.kinds and not all(type(v) is int and v > 0 for v in values):
            raise UsageError("blocks are numbers from 1.", "space")
    if (total := int(np.prod([len(values) for values in lists.values()]))) > MOST:
        raise UsageError(f"{total} candidates are more than {MOST}.", "space")
    for chosen in product(*lists.values()):
        yield dict(zip(lists, chosen))


class _Tried:
    """A kernel with the arguments that all candidates share."""

    def __init__(self, kernel: Kernel, values: Sequence[Any], tuned: set[str], blocks: int) -> None:
        self.kernel, self.blocks = kernel, blocks
        names = [name for name in kernel.parameters.kinds if name not in tuned]
        if len(values) > len(names):
            message = f"{kernel.name} has {len(names)} parameters that are not in the space, {len(values)} are given."
            raise UsageError(message, "arg")
        self.named = dict(zip(names, values))

    def task(self, candidate: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[bytes, ...]]:
        """What a worker is given. Raises `DiagnosticError` for a kernel that is refused."""
        kernel, chosen = self.kernel, dict(candidate)
        blocks = self.blocks if BLOCKS in kernel.parameters.kinds else chosen.pop(BLOCKS, self.blocks)
        bound = kernel.parameters.bind((), {**self.named, **chosen})
        program = kernel.compile(**bound)
        values = [value for name, value in bound.items() if not kernel.parameters.is_static(name)]
        values = arrays(program.entry, values)
        bind_arguments(program.entry, values, set(), blocks)
        args, data = _sent(values)
        return {
            "program": dumps(program.module),
            "entry": program.entry.name,
            "target": program.target.name,
            "extended": program.extended,
            "blocks": blocks,
            "args": args,
        }, data


def _sent(values: Sequence[Any]) -> tuple[list[dict[str, Any]], tuple[bytes, ...]]:
    """Arguments as values of JSON, and the bytes of arrays."""
    out: list[dict[str, Any]] = []
    data: list[bytes] = []
    for value in values:
        if isinstance(value, np.ndarray):
            own = {
                "element": value.dtype.itemsize,
                "shape": list(value.shape),
                "fresh": isinstance(value, Uninitialised),
            }
            out.append(own)
            data.append(np.ascontiguousarray(value).tobytes())
        else:
            out.append({"number": value.item() if isinstance(value, np.generic) else value})
    return out, tuple(data)


def _received(args: Sequence[Mapping[str, Any]], data: Sequence[bytes]) -> list[Any]:
    values: list[Any] = []
    rest = iter(data)
    for arg in args:
        if "number" in arg:
            values.append(arg["number"])
            continue
        array = np.frombuffer(bytearray(next(rest)), f"u{arg['element']}").reshape(arg["shape"])
        values.append(array.view(Uninitialised) if arg["fresh"] else array)
    return values


MEASURED = "ptokit.api.tune:measured"


def measured(given: dict[str, Any], data: Sequence[bytes]) -> dict[str, Any]:
    """The task: sanitize and time a candidate. Its value has the fields of `Candidate` but the values."""
    module, on = loads(given["program"]), target_named(given["target"])
    values, blocks = _received(given["args"], data), given["blocks"]
    try:
        if given["sanitize"] and (fault := _fault(module, on, values, given)) is not None:
            return _said("faulty", fault)
        program: Compiled = compile_program(module, on, entry=given["entry"], extended=given["extended"])
        part = part_named(given["part"], on)
        timing = timed(program, values, blocks, part, warm=given["measure"] == "warm")
    except DiagnosticError as error:
        return _said("faulty", error.diagnostics[0])
    if timing.run.stuck:
        return {"status": "faulty", "rule": "DEADLOCK", "why": timing.findings[0]}
    limit = timing.limit
    return {"status": "ranked", "us": timing.us, "limit": f"{limit.name} {limit.busy:.0%}" if limit is not None else ""}


def _fault(module: Module, on: Target, values: Sequence[Any], given: Mapping[str, Any]) -> Diagnostic | None:
    """The first error that the sanitizer finds."""
    launch = LaunchOptions(given["entry"], given["blocks"], extended=given["extended"])
    report = sanitize_launch(module, on, copies(values), launch, SanitizeOptions(), causes=False)
    return next(iter(report.errors), None)


def _said(status: str, finding: Diagnostic) -> dict[str, Any]:
    where = f"{finding.location}: " if finding.location.line else ""
    return {"status": status, "rule": finding.rule, "why": f"{where}{finding.message} [{finding.rule}]"}


def _worked(
    tasks: Sequence[tuple[int, dict[str, Any], tuple[bytes, ...]]],
    executor: Executor | str | None,
    jobs: int | None,
    seconds: float,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What came of each task, by its number, as they end."""
    executor = "processes" if executor is None and jobs is not None else executor
    if executor is None:
        for number, given, data in tasks:
            yield number, measured(given, data)
        return
    all_tasks = (Task(str(number), MEASURED, given, data, seconds) for number, given, data in tasks)
    with open_executor(executor, jobs or workers_of(executor)) as (opened, workers):
        for answers in drive(all_tasks, opened, workers, together=1):
            for answer in answers:
                lost = {"status": "lost", "rule": "RUN-LOST", "why": f"{answer.how}: {answer.message}"}
                yield int(answer.id), answer.value if answer.how is How.DONE else lost
