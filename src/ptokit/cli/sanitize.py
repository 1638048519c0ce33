"""``ptokit sanitize``, and what ``ptokit run --sanitize`` does first."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.arguments.npy import as_parameter
from ptokit.diagnostics import DiagnosticError, Diagnostics
from ptokit.diagnostics.render import summary, visible_name
from ptokit.diagnostics.sarif import Details
from ptokit.ir import Module
from ptokit.run.printed import redirected
from ptokit.sanitize import Report, sanitize
from ptokit.targets import Target

from .args import make, read_arguments
from .check import report as findings
from .check import sarif_text
from .console import remark, say, show_diagnostics
from .exits import EXIT_ERRORS, EXIT_UNCHECKED
from .files import check_writable, write_whole
from .load import load, parse_target
from .rules import REPORT_FILE


def sanitize_file(
    file: str,
    target_name: str | None,
    entry: str | None,
    arg_texts: Sequence[str],
    blocks: int,
    order: str,
    *,
    format: str,
    extended: bool,
    witness: bool = False,
    seed: int | None = None,
    html: str | None = None,
    explain_sync: bool = False,
    mode: str | None = None,
    also: Sequence[str] = (),
    vector_cores: int = 2,
) -> int:
    """Run a kernel of `file` under observation and report as ``text``, ``json`` or ``sarif``; the exit status.

    ``html``: a file to write the report to as a page, too.
    """
    wanted = parse_target(target_name)
    arguments = read_arguments(arg_texts)
    if html is not None:
        check_writable(Path(html), "the page", REPORT_FILE)
    module, target, found = load(file, wanted, extended=extended, check=False)
    file = module.file or file
    if found.errors:
        report = Report(file, target.name, blocks, order, found)
        _write_page(report, html)
        return _show(file, report, 0.0, format)
    start = time.perf_counter()
    more: dict[str, Any] = {"order": order, "entry": entry, "extended": extended, "witness": witness, "seed": seed}
    more |= {"explain_sync": explain_sync, "mode": mode, "also": also, "vector_cores": vector_cores}
    with redirected(sys.stdout.write if format == "text" else sys.stderr.write):
        report = observe(module, target, make(arguments), blocks, **more)
    for diagnostic in found:
        report.diagnostics.add(diagnostic)
    seconds = time.perf_counter() - start
    _write_page(report, html)
    return _show(file, report, seconds, format)


def _write_page(report: Report, html: str | None) -> None:
    if html is not None:
        write_whole(Path(html), report.html().encode(errors="replace"), "the page", REPORT_FILE)
        remark(f"page written to {html}")


def observe(
    module: Module,
    target: Target,
    values: list[Any],
    blocks: int,
    *,
    entry: str | None = None,
    **more: Any,
) -> Report:
    """`sanitize` with values from the command line: raw bits become elements of the parameters' types."""
    from ptokit.run.program import Param, choose_entry

    function = choose_entry(module, entry)
    for i, (value, param) in enumerate(zip(values, function.params)):
        dtype = Param(param.name, param.type).dtype
        if dtype is not None:
            values[i] = as_parameter(value, dtype)
    return sanitize(module, target, values, blocks, entry=entry, **more)


def refuse_races(
    module: Module, target: Target, values: list[Any], blocks: int, entry: str | None, extended: bool, vector_cores: int
) -> Diagnostics:
    """Sanitize on copies of the arguments, before the run itself. Raises `DiagnosticError` if there are errors."""
    copies = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    with redirected(lambda text: None):  # the run will print it
        found = observe(
            module, target, copies, blocks, entry=entry, extended=extended, vector_cores=vector_cores
        ).diagnostics
    if found.errors:
        raise DiagnosticError(found.sorted())
    return found


def as_json(report: Report) -> dict[str, Any]:
    """The JSON object of docs/formats.md."""
    out = findings(report.diagnostics)
    for entry, diagnostic in zip(out["diagnostics"], report.diagnostics):
        if diagnostic in report.races:
            entry["race"] = report.races[diagnostic].as_json()
    return {**out, **_facts(report)}


def _facts(report: Report) -> dict[str, Any]:
    launch = {"kernel": report.name, "target": report.target, "blocks": report.blocks, "order": report.order}
    shuffled = {} if report.shuffled is None else {"shuffled": report.shuffled.as_json()}
    needed = {} if report.synchronisation is None else {"synchronisation": report.synchronisation.as_json()}
    coverage = report.coverage.as_json()
    return {"launch": launch, "instructions": report.instructions, "coverage": coverage, **shuffled, **needed}


def _sarif(report: Report) -> str:
    details = {}
    for diagnostic, race in report.races.items():
        edits = () if race.fix is None else tuple((e.file, e.line, e.text) for e in race.fix.edits)
        words = "" if race.fix is None else race.fix.text
        details[diagnostic] = Details({"race": race.as_json()}, words, edits)
    return sarif_text(report.diagnostics, _facts(report), details)


def _show(file: str, report: Report, seconds: float, format: str) -> int:
    found = report.diagnostics
    status = EXIT_ERRORS if found.errors else 0 if report.coverage.complete else EXIT_UNCHECKED
    if format != "text":
        say(_sarif(report) if format == "sarif" else json.dumps(as_json(report), indent=2))
        return status
    show_diagnostics(found)
    if len(found):
        remark(f"{visible_name(file)}: {summary(found) or 'notes only'}")
    if report.ran:
        blocks = f"{report.blocks} block{'s' if report.blocks > 1 else ''}"
        what = f"{report.name} on {report.target}, {blocks}, {report.order} order: {report.instructions} instructions"
        say(f"{what} in {seconds:.2f} s, {report.verdict}")
    if report.shuffled is not None:
        say(str(report.shuffled))
    if report.synchronisation is not None:
        say(str(report.synchronisation))
    if status == EXIT_UNCHECKED:
        remark(_UNCHECKED)
    return status


_UNCHECKED = (
    "--mode auto accepts that the compiler orders pipes, --mode manual checks the program as it stands, "
    "--explain-sync lists the flags that it needs"
)
