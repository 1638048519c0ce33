"""Small folders of cases, made to measure."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.conformance.cases import Suite, read_manifest, suite_of

DATA = Path(__file__).parents[1] / "data"
VECTORS = DATA / "vectors"
PROGRAMS = DATA / "programs"
SYNC_CASES = DATA / "sync-cases"


class Blob:
    """The data file of a manifest under construction."""

    def __init__(self) -> None:
        self.data = b""

    def add(self, content: Any) -> list[int]:
        """A reference to the bytes of an array or of a bytes object."""
        raw = content if isinstance(content, bytes) else np.ascontiguousarray(content).tobytes()
        self.data += raw
        return [len(self.data) - len(raw), len(raw)]


def vec(dtype: str, rows: int, cols: int, **more: Any) -> dict[str, Any]:
    """A row-major Vec tile, wholly valid."""
    plain = {"loc": "Vec", "dtype": dtype, "rows": rows, "cols": cols, "vr": rows, "vc": cols}
    return {**plain, "bl": "RowMajor", "sl": "NoneBox", "frac": 512, "pad": "Null", **more}


def add_case(blob: Blob, want: np.ndarray, *, a: np.ndarray | None = None, **entry: Any) -> dict[str, Any]:
    """TADD of 1x8 f32 tiles: `a` (default 0 .. 7) plus itself; ``entry`` goes into ``expect``."""
    a = np.arange(8, dtype=np.float32) if a is None else a.astype(np.float32)
    old = blob.add(np.full(8, 9, np.float32))
    return {
        "id": "P1",
        "op": "TADD",
        "tiles": {name: vec("f32", 1, 8) for name in ("dst", "src0", "src1")},
        "gms": {},
        "args": {},
        "legal_on": ["a5"],
        "in": {"dst": old, "src0": blob.add(a), "src1": blob.add(a)},
        "expect": [{"profiles": ["a5"], "truth": "spec", "out": {"dst": blob.add(want)}, **entry}],
        "truth": "spec",
    }


def write_vectors(folder: Path, cases: list[dict[str, Any]], blob: Blob, **manifest: Any) -> Path:
    """A folder of cases of single instructions."""
    data = np.frombuffer(blob.data, np.uint8)
    np.savez(folder / "data.npz", blob=data)
    top = {"format": "pto-compute-vectors", "version": 1, "profiles": ["cpu", "a2a3", "a5"], "data": "data.npz"}
    top["blob_sha256"] = hashlib.sha256(blob.data).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({**top, **manifest, "cases": cases}))
    return folder


def program_case(id: str) -> dict[str, Any]:
    """A copy of a case of the example programs."""
    cases = json.loads((PROGRAMS / "manifest.json").read_text())["cases"]
    return copy.deepcopy(next(c for c in cases if c["id"] == id))


def stored(case: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The expected values of a case of the example programs."""
    with np.load(PROGRAMS / case["expected"]) as arrays:
        return {k: arrays[k] for k in arrays.files if k.startswith(case["id"] + "/")}


def write_programs(folder: Path, case: dict[str, Any], values: Mapping[str, np.ndarray], text: str = "") -> Path:
    """A folder with one program case; its text is that of the example unless given."""
    (folder / "kernels").mkdir()
    (folder / case["file"]).write_text(text or (PROGRAMS / case["file"]).read_text())
    case["expected"] = "expected.npz"
    np.savez(folder / "expected.npz", **values)
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "cases": [case]}))
    return folder


def read_suite(folder: Path) -> Suite:
    """The cases of a folder."""
    return suite_of(folder, read_manifest(folder))
