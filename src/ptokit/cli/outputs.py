"""How findings are reported, and files that the command line writes, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from errno import EISDIR
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.api.findings import ByTarget, as_json, sarif_text, selection, workflow_lines
from ptokit.api.program import Settings, wrong_rules
from ptokit.arguments.grammar import portable
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Rule, Scope, Severity, UsageError, define
from ptokit.types.choices import ReportOptions

from .console import say

# How findings are reported: options of the command line over those of the project, and the forms.


def selected(reporting: ReportOptions, settings: Settings) -> dict[str, Any]:
    """The options of `check` and `sanitize` that select findings."""
    try:
        selection(settings.select, settings.ignore)
    except UsageError as error:
        raise wrong_rules(settings, f"{error.parameter}: {error}") from None
    select = settings.select if reporting.select is None else reporting.select
    return {"select": select, "ignore": settings.ignore if reporting.ignore is None else reporting.ignore}


def left_out_text(left_out: int) -> str:
    """How many errors are not shown."""
    return f", {left_out} of the errors not shown (--max-errors)" if left_out else ""


def report_forms(found: Sequence[ByTarget], left_out: int, format: str) -> None:
    """Write findings as JSON, SARIF or annotations."""
    if format == "json":
        say(json.dumps(as_json(found, left_out), indent=2))
    elif format == "sarif":
        say(sarif_text(found))
    elif format == "github":
        for line in workflow_lines(found, Path.cwd()):
            say(line)


# Rules the command line itself checks.


OUTPUT_DIRECTORY = define(
    "CLI-02",
    "the directory for results can be created and written",
    scope=Scope.RUN,
    why="Results are written together after the run; a run whose results cannot be kept is stopped before it starts.",
    source="docs/formats.md, Outputs",
    example="{--out results      where results is a directory or does not exist yet|--out kernel.pto   where "
    "kernel.pto is a file}",
    unrun="it is about files",
)
PICTURE_FILE = define(
    "CLI-03",
    "the file for a picture can be written",
    scope=Scope.RUN,
    why="A picture is written completely or not at all.",
    source="docs/cli.md, layout",
    example="{--svg nz.svg         in a directory that exists|--svg drawings/      where drawings is a directory}",
    unrun="it is about files",
)
REPORT_FILE = define(
    "CLI-04",
    "the file for a report can be written",
    scope=Scope.RUN,
    why="A run whose report cannot be kept is stopped before it starts.",
    source="docs/conformance.md",
    example="{--junit results.xml    in a directory that exists|--junit results        where results is a directory}",
    unrun="it is about files",
)
FORMATTED_FILE = define(
    "CLI-05",
    "a file that is laid out anew can be written",
    scope=Scope.RUN,
    why="The new text is completed beside the file and then takes its place, so the directory must be writable.",
    source="docs/cli.md, fmt",
    example="{ptokit fmt kernel.pto           in a directory of one's own|ptokit fmt /usr/share/k.pto     where only "
    "the administrator may write; --stdout works}",
    unrun="it is about files",
)
CONVERTED_FILE = define(
    "CLI-06",
    "the file for a converted text can be written",
    scope=Scope.RUN,
    why="The text is completed beside the file and then takes its place: it is there as a whole or not at all.",
    source="docs/cli.md, convert",
    example="{ptokit convert k.pto --to ssa -o k_ssa.pto    in a directory that exists|ptokit convert k.pto --to ssa "
    "-o forms        where forms is a directory}",
    unrun="it is about files",
)
FIXED_FILE = define(
    "CLI-08",
    "a file that is mended can be written, and is still the one that was looked at",
    scope=Scope.RUN,
    why="Fixes are lines of the text that the findings are about: in another text they would be at other places.",
    source="docs/cli.md, fix",
    example="{ptokit check kernel.pto --fix      of one's own file|ptokit check kernel.pto --fix      where "
    "kernel.pto is read-only}",
    unrun="it is about files",
)


# Results: the arrays a run leaves, as .npy files.


def check_directory(directory: Path, names: Sequence[str] = ()) -> None:
    """Raise `DiagnosticError` if arrays `names` cannot be written to `directory`, without creating anything."""
    try:
        directory.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # a name that is too long, a folder that may not be read
        raise _refused(directory, _why(error)) from None
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise _refused(directory, "it is a file")
    parent = next(p for p in (directory, *directory.absolute().parents) if os.path.exists(p))
    if not os.path.isdir(parent):
        raise _refused(directory, f"{parent} is a file")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _refused(directory, f"no permission to write in {parent}")
    for name in names:
        if os.path.isdir(directory / f"{name}.npy"):
            raise _refused(directory, f"{name}.npy in it is a folder")


def save_arrays(directory: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write each array to ``directory/NAME.npy``: all of them or, if anything fails, none. Names may have a folder.

    They are written to a new directory beside `directory` and moved when complete; what they replace is put back if
    one cannot be moved. Raises `DiagnosticError`.
    """
    made = [p for p in (directory, *directory.parents) if not os.path.exists(p)]
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        import tempfile  # takes its time

        staging = Path(tempfile.mkdtemp(prefix=f".{directory.name[:100]}-", dir=directory.parent))
        try:
            for name, array in arrays.items():
                (staging / name).parent.mkdir(exist_ok=True)
                np.save(staging / f"{name}.npy", portable(array), allow_pickle=False)
            directory.mkdir(exist_ok=True)
            for folder in dict.fromkeys((directory / name).parent for name in arrays):
                if not os.path.exists(folder):
                    folder.mkdir()
                    made.insert(0, folder)
            _move_all(staging, directory, [f"{name}.npy" for name in arrays])
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except BaseException as error:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError | ValueError):
            raise _refused(directory, _why(error)) from None
        raise


def _move_all(source: Path, target: Path, names: Sequence[str]) -> None:
    """Move files; if one cannot be moved, all of `target` is as before."""
    for name in names:
        if os.path.isdir(target / name):
            raise IsADirectoryError(EISDIR, f"{name} in it is a folder")
    moved: list[str] = []
    kept: list[str] = []
    try:
        for name in names:
            if os.path.lexists(target / name):
                os.replace(target / name, source / _old(name))
                kept.append(name)
            os.replace(source / name, target / name)
            moved.append(name)
    except BaseException:
        for name in moved:
            os.unlink(target / name)
        for name in kept:
            os.replace(source / _old(name), target / name)
        raise


def _old(name: str) -> str:
    """What a file is called that another one replaces, for the time being."""
    return f"old {name.replace('/', ' ')}"


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _refused(directory: Path, why: str) -> DiagnosticError:
    message = f"cannot write results to {directory}: {why}"
    return DiagnosticError(Diagnostic(OUTPUT_DIRECTORY.id, Severity.ERROR, message, Location(str(directory))))


# Files that the command line writes: whole or not at all.


def check_writable(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` cannot be written, without creating it. ``what``: "the report"."""
    if os.path.isdir(path):
        raise _unwritable(path, what, rule, "it is a directory")
    if not os.path.isdir(path.parent):
        raise _unwritable(path, what, rule, f"there is no directory {path.parent}")
    if not _special(path) and not os.access(path.resolve().parent, os.W_OK | os.X_OK):
        raise _unwritable(path, what, rule, f"no permission to write in {path.resolve().parent}")


def refuse_special(path: Path, what: str, rule: Rule) -> None:
    """Raise `DiagnosticError` if `path` is a pipe or device: writing there would not change what was read."""
    if _special(path):
        raise _unwritable(path, what, rule, "it is a pipe or a device")


def write_whole(path: Path, content: bytes, what: str, rule: Rule) -> None:
    """Write a file beside `path` and move it there when complete. Raises `DiagnosticError` about `rule`.

    A link stays one, a file that is replaced keeps its permissions, and a pipe or device is written to as it is.
    """
    try:
        if _special(path):
            path.write_bytes(content)
            return
        path = path.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            mode = path.stat().st_mode & 0o777 if os.path.exists(path) else 0o666 & ~mask
            os.chmod(name, mode)  # a temporary file's is another
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        raise _unwritable(path, what, rule, getattr(error, "strerror", None) or str(error)) from None


def _special(path: Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _unwritable(path: Path, what: str, rule: Rule, why: str) -> DiagnosticError:
    message = f"cannot write {what} to {path}: {why}"
    return DiagnosticError(Diagnostic(rule.id, Severity.ERROR, message, Location(str(path))))
