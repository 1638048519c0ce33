"""Many cases on an executor: a folder of conformance cases in the order of its manifest, and a campaign from beginning
to end, with every result in a file, and the summary."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from enum import StrEnum
from functools import cache, lru_cache
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ptokit import __version__
from ptokit.conformance.bench import replay
from ptokit.conformance.cases import MANIFEST, read_manifest, refused, suite_of
from ptokit.conformance.compare import Outcome
from ptokit.conformance.compare import Result as Judged
from ptokit.conformance.programs import ProgramSuite, SyncSuite
from ptokit.diagnostics import DiagnosticError
from ptokit.records import dataclass
from ptokit.targets import TARGETS
from ptokit.workers.executors import drive, open_executor
from ptokit.workers.minder import Answer, How, Task

from .case import Action, Case, Result, Status, read_result
from .sources import forget, remembered
from .spec import Spec
from .store import Row, Store

VECTOR_FORMATS = ("pto-move-vectors", "pto-compute-vectors")
VERSION = 1


@dataclass(frozen=True)
class Job:
    """One case on one target. ``op`` is what it is listed under, ``ops`` all instructions it executes."""

    index: int
    case: str
    op: str
    target: str
    ops: tuple[str, ...] = ()

    def concerns(self, op: str) -> bool:
        """True if the case is about an instruction or a kernel of this name; case and ``pto.`` do not matter."""
        return plain_name(op) in map(plain_name, (self.op, *self.ops))


@dataclass(frozen=True)
class Cases:
    """A folder of cases of one kind.

    ``kind``: what the jobs are listed by. ``jobs``: every case on every target that it says something about, in the
    order of the manifest. ``replay`` judges one of them, and never raises.
    """

    kind: str
    jobs: list[Job]
    replay: Callable[[Job], Judged]


def _of_instructions(folder: Path, manifest: dict[str, Any]) -> Cases:
    cases = suite_of(folder, manifest).cases
    jobs = [Job(i, case.id, case.op, name) for i, case in enumerate(cases) for name in TARGETS if case.claims(name)]
    return Cases("instruction", jobs, lambda job: replay(cases[job.index], TARGETS[job.target]))


def _of_programs(folder: Path, manifest: dict[str, Any], root: Path | None) -> Cases:
    suite = ProgramSuite(folder, manifest, root)
    jobs = [Job(i, case.id, case.name, case.target.name, case.ops) for i, case in enumerate(suite.cases)]
    return Cases("program", jobs, lambda job: suite.replay(suite.cases[job.index]))


def _of_synchronisation(folder: Path, manifest: dict[str, Any]) -> Cases:
    suite = SyncSuite.read(folder, manifest)
    jobs = [Job(i, case.file, case.name, name) for i, case in enumerate(suite.cases) for name in case.targets]
    return Cases("program", jobs, lambda job: suite.replay(suite.cases[job.index], job.target))


def open_cases(folder: Path, root: Path | None = None) -> Cases:
    """Read a folder of cases; their kind shows in the manifest. Raises `DiagnosticError`."""
    manifest = read_manifest(folder)
    path = folder / MANIFEST
    form = manifest.get("format")
    first: dict[str, Any] = next(iter(manifest["cases"]), {})
    version = manifest.get("version", form if isinstance(form, int) else VERSION)
    if version != VERSION:
        raise refused(path, f"the manifest has version {version!r}; ptokit knows {VERSION}", "CONF-FORMAT")
    if form in VECTOR_FORMATS or (form is None and {"op", "tiles"} <= set(first)):
        return _of_instructions(folder, manifest)
    if {"file", "args", "outputs"} <= set(first):
        return _of_programs(folder, manifest, root)
    if {"file", "targets", "expect"} <= set(first):
        return _of_synchronisation(folder, manifest)
    shown = f"format {form!r}" if form is not None else f"cases with {', '.join(sorted(first)) or 'nothing'}"
    raise refused(path, f"ptokit does not know this kind of manifest: {shown}", "CONF-FORMAT")


def plain_name(op: str) -> str:
    """An instruction's name without ``pto.`` and in upper case: TLOAD."""
    return op.upper().removeprefix("PTO.").replace(".", "_")


Progress = Callable[[int, int], None]


def replay_all(
    folder: Path,
    cases: Cases,
    jobs: Sequence[Job],
    *,
    executor: Executor | str = "processes",
    processes: int = 1,
    root: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Iterator[Judged]:
    """Results in the order of `jobs`, which are some of ``cases.jobs``.

    ``executor``: as for `ptokit.workers.executors.open_executor`; with ``processes`` and one process, the work is done
    in this one. Others read the folder themselves, and it has to be there. ``progress(done, total)`` is called as
    results come in. Raises `DiagnosticError` for an executor that cannot be had.
    """
    if executor == "processes" and (processes == 1 or len(jobs) < 2):
        results: Iterator[Judged] = map(cases.replay, jobs)
        yield from _counted(results, len(jobs), progress)
        return
    yield from _counted(_on_processes(folder, root, jobs, executor, processes), len(jobs), progress)


def _on_processes(
    folder: Path, root: Path | None, jobs: Sequence[Job], executor: Executor | str, processes: int
) -> Iterator[Judged]:
    where = {"folder": str(folder.resolve()), "root": None if root is None else str(root.resolve())}
    tasks = [
        Task(str(n), "ptokit.campaign.run:replay_job", {**where, "job": asdict(job)}) for n, job in enumerate(jobs)
    ]
    early: dict[int, Judged] = {}  # that came before those in front of them
    following = 0
    with open_executor(executor, processes) as (opened, workers):
        for answers in drive(tasks, opened, workers):
            for answer in answers:
                early[int(answer.id)] = _result(jobs[int(answer.id)], answer)
            while following in early:
                yield early.pop(following)
                following += 1


def _result(job: Job, answer: Answer) -> Judged:
    if answer.how is not How.DONE:
        return Judged(job.case, job.op, job.target, Outcome.FAILED, answer.message)
    value = answer.value
    return Judged(**{**value, "outcome": Outcome(value["outcome"]), "reported": tuple(value["reported"])})


@lru_cache(maxsize=4)
def _cases(folder: str, root: str | None) -> Cases | None:
    try:
        return open_cases(Path(folder), None if root is None else Path(root))
    except DiagnosticError:
        return None


def replay_job(given: dict[str, Any], _: Sequence[bytes]) -> dict[str, Any]:
    """The task of a worker: one job, and its result as JSON."""
    job = Job(**{**given["job"], "ops": tuple(given["job"]["ops"])})
    cases = _cases(given["folder"], given["root"])
    if cases is None:
        message = "the folder changed while it was replayed, or it is not there for the worker"
        return asdict(Judged(job.case, job.op, job.target, Outcome.FAILED, message))
    return asdict(cases.replay(job))


def _counted(results: Iterator[Judged], total: int, progress: Progress) -> Iterator[Judged]:
    for done, result in enumerate(results, 1):
        progress(done, total)
        yield result


# What to tell about a run of a campaign: counts, what changed since the run before, the slowest cases.


class Change(StrEnum):
    """How a case went compared with the run before."""

    WORSE = "worse"  # passed before, does not now
    BETTER = "better"
    OTHER = "other"  # does not pass in another way
    ANSWER = "another answer"  # passes, but leaves other bytes in the arguments
    SLOWER = "slower"  # the launch takes longer on its part
    FASTER = "faster"
    NEW = "new"
    SAME = ""


SAME_TIME = 0.005
"""Share of the time by which launches differ that count as equally fast: as much as leaving out iterations may."""


@dataclass(frozen=True)
class Summary:
    """A run. ``changes`` has an entry for each case that went otherwise than in the run before, if there is one."""

    name: str
    run: int
    finished: bool
    about: dict[str, str]
    rows: tuple[Row, ...]
    changes: dict[str, Change]
    before: int | None
    ratios: dict[str, float]  # of launches that got slower or faster: seconds now, for one before

    @property
    def counts(self) -> Counter[str]:
        """How many cases went which way; ``missing`` are those without a result yet."""
        return Counter(row.result.status.value if row.result else "missing" for row in self.rows)

    @property
    def table(self) -> dict[tuple[str, str], Counter[str]]:
        """The same by action and target."""
        out: dict[tuple[str, str], Counter[str]] = {}
        for row in self.rows:
            counts = out.setdefault((row.action, row.target), Counter())
            counts[row.result.status.value if row.result else "missing"] += 1
        return out

    @property
    def failed(self) -> list[Row]:
        """Cases that have a result and did not pass, in order."""
        return [row for row in self.rows if row.result is not None and row.result.status is not Status.PASSED]

    @property
    def last_line(self) -> str:
        """``N passed, N refused, …``: what there is, passed first."""
        counts = self.counts
        words = [*(s.value for s in Status), "missing"]
        return ", ".join(f"{counts[w]} {w}" for w in words if counts[w] or w == Status.PASSED)


def summarise(store: Store, run: int | None = None) -> Summary | None:
    """The last run of a file, or the one with that number; None if there is none. Raises `DiagnosticError`."""
    runs = {number: (name, about, finished) for number, name, about, finished in store.runs()}
    chosen = max(runs, default=None) if run is None else run
    if chosen is None or chosen not in runs:
        return None
    name, about, finished = runs[chosen]
    rows = tuple(store.rows(chosen))
    before = max((n for n in runs if n < chosen), default=None)
    changes: dict[str, Change] = {}
    ratios: dict[str, float] = {}
    if before is not None:
        old = {row.id: row for row in store.rows(before)}
        for row in rows:
            change = _change(old.get(row.id), row)
            if change is not Change.SAME:
                changes[row.id] = change
            was = old[row.id].result if change in (Change.SLOWER, Change.FASTER) else None
            if was is not None and row.result is not None:
                ratios[row.id] = row.result.seconds / was.seconds
    return Summary(name, chosen, finished, about, rows, changes, before, ratios)


def _change(old: Row | None, new: Row) -> Change:
    if new.result is None:
        return Change.SAME
    if old is None or old.result is None:
        return Change.NEW
    was, now = old.result.status is Status.PASSED, new.result.status is Status.PASSED
    if was != now:
        return Change.BETTER if now else Change.WORSE
    if not now:
        same = (old.result.status, old.result.rules) == (new.result.status, new.result.rules)
        return Change.SAME if same else Change.OTHER
    if new.action == Action.TIME:
        ratio = new.result.seconds / max(old.result.seconds, 1e-12)
        return Change.SAME if abs(ratio - 1) <= SAME_TIME else Change.SLOWER if ratio > 1 else Change.FASTER
    return Change.SAME if old.result.digest == new.result.digest else Change.ANSWER


# The report of a run as one HTML page that needs nothing else: counts, filters, every case, what was found.


_HERE = Path(__file__).parent
_STYLE = (_HERE / "page.css").read_text(encoding="utf-8")
_SCRIPT = (_HERE / "page.js").read_text(encoding="utf-8")


def page(summary: Summary) -> str:
    """The page. Cases travel in it as data; the script in it shows those that the filters leave."""
    title = f"{summary.name}: {summary.last_line}"
    data = {"cases": [_case(summary, i) for i in range(len(summary.rows))], "before": summary.before is not None}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    counts = summary.counts
    tiles = "".join(
        f"<button data-status='{escape(status)}'><b>{counts[status]:,}</b> {escape(status)}</button>"
        for status in (*(s.value for s in Status), "missing")
        if counts[status]
    )
    facts = {"run": str(summary.run), "cases": f"{len(summary.rows):,}", **summary.about}
    listed = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items() if k != "spec")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f"<header><p class='kicker'>ptokit campaign</p><h1>{escape(summary.name)}</h1>"
        f"<div id='counts'>{tiles}</div><dl>{listed}</dl></header>"
        "<div id='rules' aria-label='rules that cases break most often'></div>"
        "<form id='filters'></form><p id='shown'></p>"
        "<table><thead><tr></tr></thead><tbody></tbody></table><p id='more'></p>"
        f"<h2>Slowest</h2><ol id='slowest'></ol></main>"
        f"<script type='application/json' id='data'>{text}</script><script>{_SCRIPT}</script></body></html>\n"
    )


def _case(summary: Summary, index: int) -> dict[str, object]:
    row = summary.rows[index]
    out: dict[str, object] = {"id": row.id, "program": row.program, "target": row.target, "action": row.action}
    if row.id in summary.changes:
        out["change"] = summary.changes[row.id].value
    if row.result is None:
        return {**out, "status": "missing"}
    out |= {"status": row.result.status.value, "seconds": round(row.result.seconds, 4)}
    if row.result.message:
        out["message"] = row.result.message
    if row.result.rules:
        out["rules"] = row.result.rules
    if row.result.findings:
        out["findings"] = [
            {
                "rule": f["rule"],
                "severity": f["severity"],
                "line": f["line"],
                "message": f["message"],
                "hint": f["hint"],
            }
            for f in row.result.findings
        ]
    return out


# A campaign from beginning to end: every case of a spec on an executor, every result in a file.


def run_campaign(
    spec: Spec,
    out: Path,
    *,
    executor: Executor | str = "processes",
    jobs: int = 1,
    progress: Progress = lambda done, total: None,
) -> int:
    """Work on every case of `spec` that the file `out` has no result of yet; the number of the run.

    ``executor``: any executor of `concurrent.futures`, or as for `open_executor`; ``jobs``: how many processes, or how
    many workers an executor that is given has. ``progress(done, total)`` is called as results come. Interrupted, the
    file keeps what came, and the next call goes on from there. Raises `DiagnosticError`.
    """
    forget()
    cases = list(spec.cases())
    with Store(out) as store:
        run, done = store.begin(spec.name, _about(spec), cases)
        left = {case.id: case for case in cases if case.id not in done}
        progress(len(done), len(cases))
        if left:
            count, keys = len(done), {id: case.key for id, case in left.items()}
            with open_executor(executor, jobs) as (opened, workers):
                for answers in drive(map(_task, left.values()), opened, workers):
                    found = [_read(answer, keys[answer.id]) for answer in answers]
                    keys.update((result.id, key) for result, key in found)
                    store.add(run, keys, [result for result, _ in found])
                    count += len(answers)
                    progress(count, len(cases))
        store.finish(run, cases)
    return run


def _about(spec: Spec) -> dict[str, str]:
    """What decides the results of all cases alike, and where the run began."""
    return {
        "ptokit": __version__,
        "code": code_version(),
        "numpy": np.__version__,
        **{name: version for name in ("ml_dtypes", "llvmlite") if (version := _version(name))},
        "python": platform.python_version(),
        **({"backend": os.environ["PTOKIT_BACKEND"]} if os.environ.get("PTOKIT_BACKEND") else {}),
        "seeds": ", ".join(map(str, spec.seeds)),
        "host": socket.gethostname(),
        "spec": spec.name,
    }


@cache
def code_version() -> str:
    """A digest of the code of ptokit."""
    state = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        state.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return state.hexdigest()[:12]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _task(case: Case) -> Task:
    given = {"case": case.as_json(), "known": remembered(case.files)}
    return Task(case.id, "ptokit.campaign.work:work_case", given, (), case.seconds, case.memory)


_WITHOUT_RESULT = {How.FAILED: Status.CRASHED, How.TIMEOUT: Status.TIMEOUT, How.LOST: Status.LOST}


def _read(answer: Answer, key: str) -> tuple[Result, str]:
    """What came of a case, and the key of it; `key` where the answer has none."""
    status, message, a = _WITHOUT_RESULT.get(answer.how), answer.message, answer
    if status is None:
        try:
            found = replace(read_result(a.value["result"]), host=a.host, attempt=a.attempt)
            if found.id == a.id and isinstance(a.value["key"], str):
                return found, a.value["key"]
        except (ValueError, KeyError, TypeError):
            pass
        status, message = Status.CRASHED, "what its worker says is no result; is it the same version of ptokit?"
    return Result(a.id, status, message, seconds=a.seconds, host=a.host, attempt=a.attempt), key
