"""Conformance cases of single instructions: a manifest and a blob of bytes (format ``pto-move-vectors``).

A folder holds ``manifest.json``, whose ``cases`` list one case each, and ``data.npz`` with one uint8 array ``blob``. A
reference ``[offset, nbytes]`` stands for bytes of the blob.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, define
from ptokit.types.conv import ConvSpec, conv_tile
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, Layout, PadValue, SLayout, TileType
from ptokit.types.tensor import Dims5
from ptokit.types.tile import CUSTOM_PAD, TileSpec

from .compare import Bounds, Tolerance, tolerance

define(
    "CONF-FILE",
    "A folder of conformance cases has a manifest.json and a data.npz that belong together.",
    scope=Scope.RUN,
    accepted="the folder as it was published",
    rejected="a manifest whose blob_sha256 differs from the hash of the blob",
)


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
        return conv_tile(loc, dtype, Layout[t["layout"]], t["shape"])
    pad = t.get("pad", "Null")
    return TileSpec(
        loc,
        dtype,
        t["rows"],
        t["cols"],
        t["vr"],
        t["vc"],
        BLayout[t["bl"]],
        SLayout[t["sl"]],
        t["frac"],
        CUSTOM_PAD | int(pad, 16) if pad.startswith("0x") else PadValue[pad],
    )


def _view(g: Mapping[str, Any]) -> ViewCase:
    return ViewCase(DTYPES[g["dtype"]], tuple(g["shape"]), tuple(g["stride"]), Layout[g["layout"]], g["nelem"])


def _case(c: Mapping[str, Any], blob: np.ndarray) -> Case:
    def data(ref: list[int]) -> np.ndarray:
        start, size = ref
        if start < 0 or size < 0 or start + size > len(blob):
            raise ValueError(f"case {c['id']} refers to bytes [{start}, {start + size}) of {len(blob)}")
        return blob[start : start + size]

    def expectation(e: Mapping[str, Any]) -> Expectation:
        return Expectation(
            tuple(e["profiles"]),
            e.get("truth", ""),
            {k: None if ref is None else data(ref) for k, ref in e["out"].items()},
            {k: data(ref) for k, ref in e.get("care", {}).items()},
            {
                k: tolerance(t) if isinstance(t, dict) else Bounds(data(t).view(np.float32))
                for k, t in e.get("tol", {}).items()
            },
        )

    def rules(key: str) -> dict[str, tuple[str, ...]]:
        return {profile: tuple(ids) for profile, ids in c.get(key, {}).items()}

    return Case(
        id=c["id"],
        op=c["op"],
        tiles={k: tile_spec(t) for k, t in c["tiles"].items()},
        views={k: _view(g) for k, g in c.get("gms", {}).items()},
        args=c.get("args", {}),
        inputs={k: data(ref) for k, ref in c.get("in", {}).items()},
        expect=tuple(expectation(e) for e in c.get("expect", [])),
        legal_on=frozenset(c.get("legal_on", [])),
        illegal=c.get("illegal", {}),
        accept=rules("accept"),
        also_broken=rules("also_broken"),
        truth=c.get("truth", ""),
        alias={k: t["alias"] for k, t in c["tiles"].items() if "alias" in t},
    )


def read_suite(folder: Path | str) -> Suite:
    """Read a folder of cases. Raises `DiagnosticError` (CONF-FILE)."""
    folder = Path(folder)
    manifest = folder / "manifest.json"
    try:
        listed = json.loads(manifest.read_text(encoding="utf-8"))
        with np.load(folder / listed["data"]) as arrays:
            blob = arrays["blob"]
        digest = listed.get("blob_sha256")
        if digest is not None and hashlib.sha256(blob.tobytes()).hexdigest() != digest:
            raise ValueError(f"{listed['data']} is not the one that {manifest.name} was written for")
        cases = tuple(_case(c, blob) for c in listed["cases"])
        return Suite(listed.get("format", ""), tuple(listed.get("profiles", ())), cases)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as problem:
        text = f"no entry {problem}" if isinstance(problem, KeyError) else str(problem)
        message = f"cannot read conformance cases: {text}"
        raise DiagnosticError(Diagnostic("CONF-FILE", Severity.ERROR, message, Location(str(manifest)))) from None
