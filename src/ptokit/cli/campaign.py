"""``ptokit campaign`` and ``ptokit conformance``: many programs, and known answers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from ptokit.api.parts import find_target, one_of, unknown
from ptokit.campaign.case import Action, Status
from ptokit.campaign.run import Cases, Change, Job, Summary, open_cases, page, replay_all, run_campaign, summarise
from ptokit.campaign.spec import DEFAULT_DO, Spec, of_paths, read_bytes, read_spec
from ptokit.campaign.store import AGAIN, MOVED, Store
from ptokit.conformance.compare import Outcome, Report, junit_xml, report
from ptokit.conformance.compare import Result as JUnitCase
from ptokit.diagnostics.render import visible_name
from ptokit.workers.executors import cores

from .check import say_left_out
from .console import Progress, bold, remark, said_when_interrupted, say, table
from .outputs import REPORT_FILE, check_writable, write_whole

# ``ptokit conformance``: known answers, replayed and judged.


def replay_folder(
    directory: str,
    target: str | None,
    op: str | None,
    processes: int,
    executor: str,
    junit: str | None,
    root: str | None,
) -> bool:
    """Replay the cases in `directory` and print what came out; True if none failed.

    Raises `DiagnosticError` for a folder that cannot be read or a report that cannot be written.
    """
    folder = Path(directory)
    if root is not None and not os.path.isdir(root):
        raise typer.BadParameter(f"there is no folder {root!r}.", param_hint="--root")
    wanted = find_target(target)
    top = None if root is None else Path(root)
    if junit is not None:
        check_writable(Path(junit), "the report", REPORT_FILE)
    cases = open_cases(folder, top)
    jobs = _of_instruction(cases, op, directory)
    if wanted is not None:
        jobs = [job for job in jobs if job.target == wanted.name]
    with Progress(f"replaying {directory}", "cases") as progress:
        results = list(
            replay_all(folder, cases, jobs, executor=executor, processes=processes, root=top, progress=progress)
        )
    if junit is not None:
        write_whole(Path(junit), junit_xml(directory, results), "the report", REPORT_FILE)
    _show_outcomes(report(results), cases.kind)
    return not any(result.outcome is Outcome.FAILED for result in results)


def _of_instruction(cases: Cases, op: str | None, directory: str) -> list[Job]:
    """The jobs that concern `op`. A name that none of them has is a usage error."""
    if op is None:
        return cases.jobs
    jobs = [job for job in cases.jobs if job.concerns(op)]
    if not jobs:
        known = sorted({job.op.upper() for job in cases.jobs})
        raise unknown(cases.kind, op, known, f"ptokit conformance {directory}", "op")
    return jobs


def _show_outcomes(found: Report, kind: str) -> None:
    if found.rows:
        headers = (kind, "target", *map(str, Outcome))
        rows = [(op, target, *(str(counts[o] or "-") for o in Outcome)) for op, target, counts in found.rows]
        table(headers, rows, right=headers[2:])
    if found.skipped:
        say(f"\n{bold('Skipped')}")
        table(("cases", "why"), [(str(n), why) for why, n in found.skipped], right=("cases",))
    if found.failures:
        say(f"\n{bold('Failed')}")
        rows = [(r.case, r.target, r.message) for r in found.failures]
        table(("case", "target", "first difference"), rows)
    if found.rows:
        say()
    say(found.last_line)


# ``ptokit campaign``: many programs on many arguments, and the report of what came out.


SHOWN = 20
"""Failures and changes listed on the terminal; the page has all of them."""


def run(
    paths: Sequence[str],
    out: str | None,
    jobs: int | None,
    executor: str,
    html: str | None,
    junit: str | None,
    format: str,
    **chosen: Any,
) -> bool:
    """Work on a campaign and report; True if every case passed. Raises `DiagnosticError`.

    ``chosen``: what the options say of a campaign over folders: targets, default, do, timeout, memory, mode.
    """
    spec = _spec(paths, **chosen)
    file = Path(out) if out is not None else Path(f"{spec.name}.sqlite")
    _check_files(html, junit)
    start = time.perf_counter()
    counted = [0, 0]

    def count(done: int, total: int) -> None:
        counted[:] = done, total
        progress(done, total)

    def kept() -> str:
        have = (
            f"{visible_name(str(file))} keeps the results of {counted[0]} of {counted[1]} cases; " if counted[1] else ""
        )
        return f"{have}the same command goes on where it stopped"

    with (
        said_when_interrupted(kept),
        Progress(f"campaign {spec.name}", "cases", speed=True) as progress,
    ):
        run_campaign(spec, file, executor=executor, jobs=jobs or cores(), progress=count)
    if format == "text":
        say_left_out(paths)
        remark(f"{time.perf_counter() - start:.1f} s; results in {visible_name(str(file))}")
    return last_run(str(file), html, junit, format)


def last_run(file: str, html: str | None, junit: str | None, format: str) -> bool:
    """Show the last run in a file of results; True if every case passed. Raises `DiagnosticError`."""
    _check_files(html, junit)
    with Store(Path(file), create=False) as store:
        summary = summarise(store)
    if summary is None:
        raise typer.BadParameter(f"{visible_name(file)} has no results yet.", param_hint="FILE")
    if html is not None:
        write_whole(Path(html), page(summary).encode(), "the report", REPORT_FILE)
    if junit is not None:
        write_whole(Path(junit), _junit(summary), "the report", REPORT_FILE)
    if format == "json":
        say(json.dumps(_json(summary), indent=2))
    else:
        _show_summary(summary)
    return not summary.failed and summary.finished


def _spec(
    paths: Sequence[str],
    *,
    targets: Sequence[str],
    default: str | None,
    do: Sequence[str],
    timeout: float | None,
    memory: str | None,
    mode: str | None,
) -> Spec:
    known = [action.value for action in Action]
    actions = [Action(one_of(word, known, "do")) for listed in do for word in listed.split(",")]
    names = tuple(target.name for target in map(find_target, targets) if target is not None)
    described = [path for path in paths if path.endswith(".toml")]
    if described and (len(paths) > 1 or actions or names or default or timeout is not None or memory or mode):
        message = "a TOML file stands alone: it says all of a campaign, its targets, actions and limits among it."
        raise typer.BadParameter(message, param_hint="PATH")
    if described:
        return read_spec(Path(described[0]))
    spec = of_paths(paths, actions or DEFAULT_DO, names)
    fallback = find_target(default)
    try:
        limit = read_bytes(memory or 0)
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--memory") from None
    return replace(
        spec,
        default_target=fallback.name if fallback is not None else "",
        seconds=spec.seconds if timeout is None else timeout,
        memory=limit,
        modes=({"sync": mode},) if mode else spec.modes,
    )


def _check_files(*names: str | None) -> None:
    for name in names:
        if name is not None:
            check_writable(Path(name), "the report", REPORT_FILE)


def _show_summary(summary: Summary) -> None:
    statuses = [s.value for s in Status if summary.counts[s.value]] + ["missing"] * bool(summary.counts["missing"])
    headers = ("action", "target", *statuses)
    rows = [
        (action, target or "as stated", *(str(counts[s] or "-") for s in statuses))
        for (action, target), counts in summary.table.items()
    ]
    table(headers, rows, right=statuses)
    worse = [row for row in summary.rows if summary.changes.get(row.id) in (Change.WORSE, Change.ANSWER)]
    _list(f"Worse than in run {summary.before}", [(r.id, summary.changes[r.id].value) for r in worse])
    for change in (Change.SLOWER, Change.FASTER):
        timed = [r for r in summary.rows if summary.changes.get(r.id) is change and r.result]
        timed.sort(key=lambda r: -abs(summary.ratios[r.id] - 1))
        of = [(r.id, f"{summary.ratios[r.id] - 1:+.1%}: {r.result.message}") for r in timed if r.result]
        _list(f"{change.value.capitalize()} than in run {summary.before}", of)
    _list("Not passed", [(r.id, r.result.message or r.result.status.value) for r in summary.failed if r.result])
    say()
    if AGAIN in summary.about:
        say(f"Worked on again, since they changed: {visible_name(summary.about[AGAIN])}")
    if MOVED in summary.about:
        moved = visible_name(summary.about[MOVED])
        say(f"Changed while the campaign ran: {moved}; the same command works on them again")
    say(f"{bold(visible_name(summary.name))}, run {summary.run}: {summary.last_line}")


def _list(title: str, entries: list[tuple[str, str]]) -> None:
    if not entries:
        return
    say(f"\n{bold(title)}")
    table(("case", "what"), entries[:SHOWN])
    if len(entries) > SHOWN:
        say(f"… and {len(entries) - SHOWN} more; --html FILE shows all")


def _json(summary: Summary) -> dict[str, object]:
    return {
        "version": 1,
        "name": summary.name,
        "run": summary.run,
        "finished": summary.finished,
        "about": summary.about,
        "counts": dict(summary.counts),
        "cases": [
            {
                "id": row.id,
                "program": row.program,
                "target": row.target,
                "action": row.action,
                "change": summary.changes.get(row.id, Change.SAME).value,
                **({k: v for k, v in row.result.as_json().items() if k != "id"} if row.result else {}),
            }
            for row in summary.rows
        ],
    }


def _junit(summary: Summary) -> bytes:
    results = []
    for row in summary.rows:
        if row.result is None:
            outcome, message, seconds = Outcome.SKIPPED, "not worked on yet", 0.0
        else:
            passed = row.result.status is Status.PASSED
            outcome = Outcome.PASSED if passed else Outcome.FAILED
            message, seconds = row.result.message or row.result.status.value, row.result.seconds
        results.append(JUnitCase(row.id, row.action, row.target or "stated", outcome, message, (), seconds))
    return junit_xml(summary.name, results)
