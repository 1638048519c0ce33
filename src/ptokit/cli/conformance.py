"""``ptokit conformance``: known answers, replayed and judged."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from ptokit.api.parts import find_target, unknown
from ptokit.conformance.report import Outcome, Report, junit_xml, report
from ptokit.conformance.runner import Cases, Job, open_cases, replay_all

from .console import bold, say, table
from .outputs import check_writable, write_whole
from .progress import Progress
from .reporting import REPORT_FILE


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
    _show(report(results), cases.kind)
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


def _show(found: Report, kind: str) -> None:
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
