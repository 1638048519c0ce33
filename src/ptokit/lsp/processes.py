"""Findings that a process of its own makes: those of ``ptokit check`` in a Python file, those of ``ptokit sanitize``.

Checking a Python file executes it, and the sanitizer runs a kernel. What that prints, how long it takes and how it ends
is thus not the server's concern.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pygls.uris import to_fs_path

from ptokit.diagnostics import Diagnostic, Location, Note, Severity
from ptokit.diagnostics.finding import Edit, Fix
from ptokit.records import dataclass

_LONGEST = 60.0  # seconds that a file may take

Mended = tuple[Diagnostic, Fix | None]
"""A finding, and the change that mends it."""


@dataclass(frozen=True)
class Answer:
    """The findings in a text; ``said``: what was run to have them, or why nothing was."""

    found: tuple[Mended, ...] = ()
    said: str = ""
    failed: bool = False


async def check(uri: str) -> Answer | None:
    """The findings in a Python file as it is on disk; None if there is no answer, or no such file."""
    path = to_fs_path(uri)
    if path is None or not os.path.isfile(path):
        return None
    _, out, _ = await _asked(("check", path), os.path.dirname(path), b"")
    report = _report(out)
    return None if report is None else Answer(_findings(report, path))


async def sanitize(uri: str, text: str | None, kernel: str, target: str) -> Answer:
    """The findings of a run of a kernel under observation, with arguments made from its text.

    ``text``: of `.pto`, as the editor has it; None for a kernel in a Python file, which is read from disk. ``target``:
    for a text that states none; "" leaves it open.
    """
    path = to_fs_path(uri) or ""
    folder = os.path.dirname(path) if os.path.isdir(os.path.dirname(path)) else None
    if text is None:
        command = ["sanitize", f"{path}:{kernel}"]
    else:
        command = ["sanitize", "-", *(("--entry", kernel) if kernel else ()), *(("--target", target) if target else ())]
    status, out, err = await _asked(command, folder, (text or "").encode(errors="replace"))
    report = _report(out)
    if report is None:
        said = err.decode(errors="replace").strip().splitlines() or [
            "it took too long" if status is None else "no answer"
        ]
        return Answer(said=said[-1], failed=True)
    launch = report["launch"]
    given = " ".join(f"-a {each}" for each in launch.get("arguments", ()))
    ran = f"{launch['kernel']} on {launch['target']}, {launch['blocks']} block{'s' * (launch['blocks'] > 1)}, {given}"
    gaps = "".join(f"; {gap['what']} not checked: {gap['why']}" for gap in report["coverage"]["unchecked"])
    return Answer(_findings(report, path if text is None else "<stdin>"), ran + gaps)


async def _asked(command: Iterable[str], folder: str | None, text: bytes) -> tuple[int | None, bytes, bytes]:
    """Status, output and errors of a command of ptokit; None is the status of one that takes too long."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ptokit", *command, "--format", "json"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(text), _LONGEST)
        return process.returncode, out, err
    except TimeoutError:
        return None, b"", b""
    finally:
        with suppress(ProcessLookupError):
            process.kill()


def _report(out: bytes) -> dict[str, Any] | None:
    try:
        report = json.loads(out)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def _same(file: str | None, path: str) -> bool:
    return file is not None and os.path.normcase(os.path.abspath(file)) == os.path.normcase(os.path.abspath(path))


def _findings(report: dict[str, Any], path: str) -> tuple[Mended, ...]:
    return tuple((_finding(entry), _fix(entry)) for entry in report["diagnostics"] if _same(entry["file"], path))


def _finding(entry: dict[str, Any]) -> Diagnostic:
    notes = tuple(Note(note["message"], _place(note)) for note in entry["notes"] if note["file"] == entry["file"])
    severity = Severity(entry["severity"])
    return Diagnostic(entry["rule"], severity, entry["message"], _place(entry), entry["hint"], notes)


def _fix(entry: dict[str, Any]) -> Fix | None:
    """The change of this file that mends a finding; None where there is none, or it changes other files, too."""
    fix = entry.get("fix") or {"text": "", "insert": ()}
    edits = tuple(Edit(each["file"], each["before"], each["text"], each["removed"]) for each in fix["insert"])
    return Fix(fix["text"], edits) if edits and {edit.file for edit in edits} == {entry["file"]} else None


def _place(entry: dict[str, Any]) -> Location:
    line, column, end = entry["line"], entry["column"], entry["end_column"]
    return Location(entry["file"], line, column, max(1, end - column))
