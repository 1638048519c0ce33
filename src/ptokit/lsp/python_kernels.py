"""Findings of the kernels in a Python file: those of ``ptokit check``, in a process of its own.

Checking a Python file executes it. What it prints, how long it takes and how it ends is thus not the server's concern.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress

from pygls.uris import to_fs_path

from ptokit.diagnostics import Diagnostic, Location, Note, Severity

_LONGEST = 60.0  # seconds that a file may take


def is_python(uri: str) -> bool:
    """True for a Python file, by its name."""
    return uri.endswith(".py")


async def check(uri: str) -> list[Diagnostic] | None:
    """The findings in the file as it is on disk; None if there is no answer, or nothing about kernels in it."""
    path = to_fs_path(uri)
    if path is None or not os.path.isfile(path):
        return None
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ptokit", "check", path, "--format", "json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=os.path.dirname(path),
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), _LONGEST)
        report = json.loads(out)
    except (TimeoutError, ValueError):
        return None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    return [_finding(entry) for entry in report["diagnostics"] if _same(entry["file"], path)]


def _same(file: str | None, path: str) -> bool:
    return file is not None and os.path.normcase(os.path.abspath(file)) == os.path.normcase(os.path.abspath(path))


def _finding(entry: dict[str, object]) -> Diagnostic:
    notes = entry["notes"]
    assert isinstance(notes, list)
    return Diagnostic(
        str(entry["rule"]),
        Severity(str(entry["severity"])),
        str(entry["message"]),
        _place(entry),
        None if entry["hint"] is None else str(entry["hint"]),
        tuple(Note(str(note["message"]), _place(note)) for note in notes if _same(note["file"], str(entry["file"]))),
    )


def _place(entry: dict[str, object]) -> Location:
    line, column, end = entry["line"] or 0, entry["column"] or 0, entry["end_column"] or 0
    assert isinstance(line, int)
    assert isinstance(column, int)
    assert isinstance(end, int)
    return Location(str(entry["file"]), line, column, max(1, end - column))


def mentions_kernels(text: str) -> bool:
    """False for files that cannot have a kernel."""
    return "ptokit" in text
