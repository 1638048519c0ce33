"""Conformance cases of single instructions: a manifest and a blob of bytes (format ``pto-move-vectors``).

A folder holds ``manifest.json``, whose ``cases`` list one case each, and ``data.npz`` with one uint8 array ``blob``. A
reference ``[offset, nbytes]`` stands for bytes of the blob.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.codecs import encode
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, Layout, PadValue, SLayout, TileType
from ptokit.types.tensor import ConvSpec, ConvState, Dims5, conv_tile
from ptokit.types.tile import CUSTOM_PAD, TileSpec

from .compare import Bounds, Tolerance, tolerance
from .files import MANIFEST, MAX_BYTES, cases_of, read_arrays, refused


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
