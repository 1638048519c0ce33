"""Reading a folder of cases: whatever is wrong with its files becomes a diagnostic."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, define

T = TypeVar("T")

MANIFEST = "manifest.json"
MAX_BYTES = 1 << 30  # of one buffer: larger ones are mistakes in the manifest

define(
    "CONF-FILE",
    "A folder of conformance cases has a manifest.json and data files that belong together.",
    scope=Scope.RUN,
    why="A case is only worth something with exactly the data it was made with.",
    source="docs/conformance.md",
    example="{the folder as it was published|a manifest whose blob_sha256 differs from the hash of the blob}",
    unrun="it is about files",
)
define(
    "CONF-FORMAT",
    "The manifest of a folder of cases has a form that ptokit can replay.",
    scope=Scope.RUN,
    why="What a case means, and how results are judged, is different in each form.",
    source="docs/conformance.md",
    example='{{"format": "pto-move-vectors", "cases": […]}|{"tests": […]}}',
    unrun="it is about files",
)

_BROKEN = (OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What NumPy raises for files that are not archives of arrays, in part or wholly."""


def refused(path: Path, message: str, rule: str = "CONF-FILE") -> DiagnosticError:
    """The error about a file of a folder of cases."""
    return DiagnosticError(Diagnostic(rule, Severity.ERROR, message, Location(str(path))))


def read_manifest(folder: Path) -> dict[str, Any]:
    """The object in ``manifest.json``, with a list ``cases``. Raises `DiagnosticError`."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if isinstance(error, FileNotFoundError) and not folder.is_dir():
            raise refused(folder, "cannot read conformance cases: there is no such folder") from None
        raise refused(path, f"cannot read conformance cases: {why}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("cases"), list):
        raise refused(path, "this is not a manifest of cases: it has no list 'cases'", "CONF-FORMAT")
    if not all(isinstance(case, dict) for case in manifest["cases"]):
        raise refused(path, "cannot read conformance cases: some of the cases are not objects")
    return manifest


def cases_of(path: Path, manifest: Mapping[str, Any], read: Callable[[Any], T], *, key: str = "id") -> list[T]:
    """The cases of the manifest at `path`, each made by `read`, which raises `KeyError`, `TypeError`, `ValueError` ….

    ``key``: what an entry is called by; ids occur once. Raises `DiagnosticError` (CONF-FILE).
    """
    cases, known = [], set()
    for number, entry in enumerate(manifest["cases"]):
        name = entry.get(key, f"number {number}")
        try:
            cases.append(read(entry))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            what = f"no or unknown {problem}" if isinstance(problem, KeyError) else str(problem)
            raise refused(path, f"case {name}: {what}") from None
        if key == "id" and str(name) in known:
            raise refused(path, f"case {name} occurs twice")
        known.add(str(name))
    return cases


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an ``.npz`` file. Raises `DiagnosticError`."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("it is not an archive of arrays")
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except _BROKEN as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise refused(path, f"cannot read arrays: {why}") from None
