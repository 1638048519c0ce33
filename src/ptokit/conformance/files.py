"""Reading a folder of cases, and data of program arguments made from the few numbers of a manifest.

The generators are NumPy's, so the same numbers come out everywhere: ``numpy.random.default_rng(seed)``. Conversion to
f16 and bf16 rounds to nearest even.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, define
from ptokit.records import dataclass
from ptokit.types.dtypes import DType

# Reading a folder of cases: whatever is wrong with its files becomes a diagnostic.


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


# Data of program arguments, generated from the few numbers that a manifest gives.


QUANT_MASK = 0xFFFFE000  # bits of the scale that a quantisation word keeps (move-gather-scatter 6)
QUANT_SIGNED = 1 << 46  # the bit that selects the signed range

_NUMBERS: dict[str, tuple[str, ...]] = {
    "const": ("value",),
    "arange": (),
    "lattice": ("lo", "hi", "seed"),
    "uniform": ("lo", "hi", "seed"),
    "ints": ("lo", "hi", "seed"),
    "quant_fp": ("lo", "hi", "seed"),
}
_OPTIONAL = {"arange": {"start": 0}, "lattice": {"scale": 1}}


@dataclass(frozen=True)
class Init:
    """How an argument is filled: a kind, its numbers, and after how many elements it repeats (None: never)."""

    kind: str
    numbers: Mapping[str, Any]
    period: int | None = None

    def make(self, dtype: DType, n: int) -> np.ndarray:
        """`n` elements of a type that NumPy or ml_dtypes has."""
        assert dtype.value is not None
        if self.period is not None:
            data = _GENERATORS[self.kind](self, dtype, self.period)
            return np.resize(data, n)
        return _GENERATORS[self.kind](self, dtype, n)

    def random(self) -> np.random.Generator:
        """The generator of its seed."""
        return np.random.default_rng(int(self.numbers["seed"]))


def parse_init(entry: Any) -> Init:
    """The object ``init`` of an argument. Raises `ValueError`."""
    if not isinstance(entry, dict) or entry.get("kind") not in _NUMBERS:
        raise ValueError(f"init has one of the kinds {', '.join(_NUMBERS)}, not {entry!r}")
    kind = entry["kind"]
    given = {**_OPTIONAL.get(kind, {}), **entry}
    names = [*_NUMBERS[kind], *_OPTIONAL.get(kind, {})]
    for name in names:
        if not _is_number(given.get(name)):
            raise ValueError(f"init of kind {kind} needs a number {name!r}, not {given.get(name)!r}")
    numbers = {name: given[name] for name in names}
    if kind in ("lattice", "uniform", "ints", "quant_fp"):
        whole = ("seed",) if kind in ("uniform", "quant_fp") else ("seed", "lo", "hi")
        limit = 2**15 if kind == "lattice" else 2**63
        for name in whole:
            if not isinstance(numbers[name], int) or numbers["seed"] < 0:
                raise ValueError(f"init of kind {kind} needs a whole number {name!r}, not {numbers[name]!r}")
        if numbers["lo"] > numbers["hi"] or not -limit <= numbers["lo"] <= numbers["hi"] < limit:
            raise ValueError(f"init of kind {kind} has no range from {numbers['lo']} to {numbers['hi']}")
    period = entry.get("period")
    if period is not None and (not isinstance(period, int) or isinstance(period, bool) or period < 1):
        raise ValueError(f"the period of an init is a number of elements, not {period!r}")
    return Init(kind, numbers, period)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _const(init: Init, dtype: DType, n: int) -> np.ndarray:
    return np.full(n, init.numbers["value"]).astype(dtype.value)


def _arange(init: Init, dtype: DType, n: int) -> np.ndarray:
    return (np.arange(n) + init.numbers["start"]).astype(dtype.value)


def _lattice(init: Init, dtype: DType, n: int) -> np.ndarray:
    values = init.random().integers(init.numbers["lo"], init.numbers["hi"] + 1, size=n, dtype=np.int16)
    if init.numbers["scale"] != 1:
        return (values.astype(np.float32) * np.float32(init.numbers["scale"])).astype(dtype.value)
    return values.astype(dtype.value)


def _uniform(init: Init, dtype: DType, n: int) -> np.ndarray:
    return _scaled(init, n).astype(dtype.value)


def _ints(init: Init, dtype: DType, n: int) -> np.ndarray:
    return (
        init.random().integers(init.numbers["lo"], init.numbers["hi"] + 1, size=n, dtype=np.int64).astype(dtype.value)
    )


def _quant_fp(init: Init, dtype: DType, n: int) -> np.ndarray:
    bits = _scaled(init, n).view(np.uint32) & np.uint32(QUANT_MASK)
    return (bits.astype(np.uint64) | np.uint64(QUANT_SIGNED)).astype(dtype.value)


def _scaled(init: Init, n: int) -> np.ndarray:
    lo, hi = init.numbers["lo"], init.numbers["hi"]
    return init.random().random(n, dtype=np.float32) * np.float32(hi - lo) + np.float32(lo)


_GENERATORS = {
    "const": _const,
    "arange": _arange,
    "lattice": _lattice,
    "uniform": _uniform,
    "ints": _ints,
    "quant_fp": _quant_fp,
}
