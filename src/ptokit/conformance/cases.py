"""Folders of cases: a manifest, a blob of bytes, and data made from the few numbers of a manifest.

The generators are NumPy's, so the same numbers come out everywhere: ``numpy.random.default_rng(seed)``. Conversion to
f16 and bf16 rounds to nearest even.

A folder holds ``manifest.json``, whose ``cases`` list one case each, and ``data.npz`` with one uint8 array ``blob``. A
reference ``[offset, nbytes]`` means bytes of the blob.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, define
from ptokit.records import dataclass
from ptokit.types.codecs import encode
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, Layout, PadValue, SLayout, TileType
from ptokit.types.tensor import ConvSpec, ConvState, Dims5, conv_tile
from ptokit.types.tile import CUSTOM_PAD, TileSpec

from .compare import Bounds, Tolerance, tolerance

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


# Conformance cases of single instructions: a manifest and a blob of bytes (format ``pto-move-vectors``).


@dataclass(frozen=True)
class ViewCase:
    """A GlobalTensor of a case; ``elements`` is the size of its buffer, whose first element the view starts at."""

    dtype: DType
    shape: Dims5
    stride: Dims5
    layout: Layout
    elements: int

    @property
    def nbytes(self) -> int:
        """Size of the buffer in bytes."""
        return self.dtype.nbytes(self.elements)


@dataclass(frozen=True)
class Expectation:
    """Buffers after the instruction, on some profiles. ``out`` None: unspecified; ``care``: bits that count.

    ``tol``: how near the elements of a buffer must be instead.
    """

    profiles: tuple[str, ...]
    truth: str
    out: Mapping[str, np.ndarray | None]
    care: Mapping[str, np.ndarray]
    tol: Mapping[str, Tolerance] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One instruction on buffers of known contents. ``alias``: tile -> the tile whose storage it shares."""

    id: str
    op: str
    tiles: Mapping[str, TileSpec]
    views: Mapping[str, ViewCase]
    args: Mapping[str, Any]
    inputs: Mapping[str, np.ndarray]
    expect: tuple[Expectation, ...]
    legal_on: frozenset[str]
    illegal: Mapping[str, str]  # profile -> rule that must be reported
    accept: Mapping[str, tuple[str, ...]]  # profile -> rules that are as good
    also_broken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    truth: str = ""
    alias: Mapping[str, str] = field(default_factory=dict)

    def expected(self, profile: str) -> Expectation | None:
        """What the case claims about results on a profile."""
        return next((e for e in self.expect if profile in e.profiles), None)

    def claims(self, profile: str) -> bool:
        """True if the case says anything about a profile."""
        return profile in self.legal_on or profile in self.illegal


@dataclass(frozen=True)
class Suite:
    """All cases of a folder."""

    format: str
    profiles: tuple[str, ...]
    cases: tuple[Case, ...]

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __len__(self) -> int:
        return len(self.cases)


def tile_spec(t: Mapping[str, Any]) -> TileSpec | ConvSpec:
    """The type of a case's tile, with static valid sizes; illegal types are possible."""
    loc, dtype = TileType[t["loc"]], DTYPES[t["dtype"]]
    if "layout" in t:
        return conv_tile(loc, dtype, Layout[t["layout"]], _sizes(t["shape"]))
    pad = t.get("pad", "Null")
    rows, cols, valid_row, valid_col, fractal = _sizes([t[key] for key in ("rows", "cols", "vr", "vc", "frac")])
    return TileSpec(
        loc,
        dtype,
        rows,
        cols,
        valid_row,
        valid_col,
        BLayout[t["bl"]],
        SLayout[t["sl"]],
        fractal,
        CUSTOM_PAD | int(pad, 16) if pad.startswith("0x") else PadValue[pad],
    )


def _with_state(spec: TileSpec | ConvSpec, args: Mapping[str, Any]) -> TileSpec | ConvSpec:
    """The type with the parameters of image to column that the arguments of its case name."""
    if not isinstance(spec, ConvSpec) or "filter" not in args:
        return spec
    left, right, top, bottom = _sizes(args["pad"])
    state = ConvState(
        padding=(left, right, top, bottom),
        fmap=_pair(args["fmap"]),
        filter=_pair(args["filter"]),
        dilation=_pair(args["dilation"]),
        stride=_pair(args["stride"]),
        pad_value=int(encode(spec.dtype, np.array(args["pad_value"]))),
    )
    return replace(spec, state=state)


def _pair(values: Any) -> tuple[int, int]:
    height, width = _sizes(values)
    return height, width


def _sizes(values: Any) -> list[int]:
    for v in values:
        if not isinstance(v, int) or isinstance(v, bool) or not 0 <= v <= MAX_BYTES:
            raise ValueError(f"{v!r} is not a size")
    return list(values)


def _view(g: Mapping[str, Any]) -> ViewCase:
    shape, stride = _sizes(g["shape"]), _sizes(g["stride"])
    if not 1 <= len(shape) <= 5 or len(shape) != len(stride):
        raise ValueError(f"a view has up to 5 sizes and as many strides, not {len(shape)} and {len(stride)}")
    dims = (1,) * (5 - len(shape)) + tuple(shape)
    strides = (stride[0],) * (5 - len(shape)) + tuple(stride)
    return ViewCase(DTYPES[g["dtype"]], dims, strides, Layout[g["layout"]], *_sizes([g["nelem"]]))  # type: ignore[arg-type]


class _Reader:
    """Reads one case of a manifest. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError`."""

    def __init__(self, case: Mapping[str, Any], blob: np.ndarray) -> None:
        self.blob = blob
        self.tiles = {k: _with_state(tile_spec(t), case.get("args", {})) for k, t in case["tiles"].items()}
        self.views = {k: _view(g) for k, g in case.get("gms", {}).items()}
        self.alias = {k: t["alias"] for k, t in case["tiles"].items() if "alias" in t}
        for name in (*self.tiles, *self.views):
            if self.buffer(name).nbytes > MAX_BYTES:
                raise ValueError(f"{name} has {self.buffer(name).nbytes} bytes, more than {MAX_BYTES}")
        if unknown := set(self.alias.values()) - set(self.tiles):
            raise ValueError(f"there is no tile {unknown.pop()!r} to share storage with")

    def data(self, name: str, ref: Any, size: int | None = None) -> np.ndarray:
        """The bytes of buffer `name`, or `size` bytes that belong to it."""
        start, length = _sizes(ref)
        if start + length > len(self.blob):
            raise ValueError(f"bytes [{start}, {start + length}) of the {len(self.blob)} in the data file")
        needed = self.buffer(name).nbytes if size is None else size
        if length != needed:
            raise ValueError(f"{length} bytes for {name!r}, which needs {needed}")
        return self.blob[start : start + length]

    def buffer(self, name: str) -> TileSpec | ViewCase:
        """Tile or view of this name."""
        return self.tiles[name] if name in self.tiles else self.views[name]

    def tolerance(self, name: str, entry: Any) -> Tolerance:
        """How near the elements of buffer `name` must be."""
        if isinstance(entry, dict):
            return tolerance(entry)
        buffer = self.buffer(name)
        count = buffer.numel if isinstance(buffer, TileSpec) else buffer.elements
        return Bounds(self.data(name, entry, 4 * count).view("<f4"))

    def expectation(self, e: Mapping[str, Any]) -> Expectation:
        """An entry of ``expect``."""
        return Expectation(
            tuple(e["profiles"]),
            e.get("truth", ""),
            {k: None if ref is None else self.data(k, ref) for k, ref in e["out"].items()},
            {k: self.data(k, ref) for k, ref in e.get("care", {}).items()},
            {k: self.tolerance(k, t) for k, t in e.get("tol", {}).items()},
        )


def _case(c: Mapping[str, Any], blob: np.ndarray) -> Case:
    def rules(key: str) -> dict[str, tuple[str, ...]]:
        return {profile: tuple(ids) for profile, ids in c.get(key, {}).items()}

    reader = _Reader(c, blob)
    return Case(
        id=str(c["id"]),
        op=str(c["op"]),
        tiles=reader.tiles,
        views=reader.views,
        args=dict(c.get("args", {})),
        inputs={k: reader.data(k, ref) for k, ref in c.get("in", {}).items()},
        expect=tuple(reader.expectation(e) for e in c.get("expect", [])),
        legal_on=frozenset(c.get("legal_on", [])),
        illegal=dict(c.get("illegal", {})),
        accept=rules("accept"),
        also_broken=rules("also_broken"),
        truth=c.get("truth", ""),
        alias=reader.alias,
    )


def suite_of(folder: Path, manifest: Mapping[str, Any]) -> Suite:
    """The cases of a manifest whose data file is in `folder`. Raises `DiagnosticError` (CONF-FILE)."""
    path = folder / MANIFEST
    data = manifest.get("data", "data.npz")
    if not isinstance(data, str):
        raise refused(path, f"the name of the data file is {data!r}")
    profiles = manifest.get("profiles", [])
    if not isinstance(profiles, list) or not all(isinstance(profile, str) for profile in profiles):
        raise refused(path, f"the profiles are {profiles!r}, not a list of names")
    blob = read_arrays(folder / data).get("blob")
    if blob is None or blob.dtype != np.uint8 or blob.ndim != 1:
        raise refused(folder / data, "there is no array 'blob' of bytes")
    digest = manifest.get("blob_sha256")
    if digest is not None and hashlib.sha256(blob.tobytes()).hexdigest() != digest:
        raise refused(path, f"{data} is not the one that {MANIFEST} was written for: the hash differs")
    cases = cases_of(path, manifest, lambda entry: _case(entry, blob))
    return Suite(str(manifest.get("format", "")), tuple(profiles), tuple(cases))
