"""Reader of the conformance vectors in tests/data (format: their README)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.types.codecs import decode
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec

FOLDER = Path(__file__).parents[1] / "data" / "vectors-compute-elementwise"


@cache
def _blob() -> np.ndarray:
    return np.load(FOLDER / "data.npz")["blob"]


@cache
def cases() -> list[dict[str, Any]]:
    """All cases of the manifest."""
    return json.loads((FOLDER / "manifest.json").read_text())["cases"]


def data(ref: list[int]) -> np.ndarray:
    """The bytes a reference stands for."""
    return _blob()[ref[0] : ref[0] + ref[1]]


def tile_spec(t: dict[str, Any]) -> TileSpec:
    """The tile type of a case's operand, with static valid sizes."""
    return TileSpec(
        TileType[t["loc"]],
        DTYPES[t["dtype"]],
        t["rows"],
        t["cols"],
        t["vr"],
        t["vc"],
        BLayout[t["bl"]],
        SLayout[t["sl"]],
        t["frac"],
    )


def scalar(bits: str, dtype: DType) -> Any:
    """The Python number with these bits."""
    code = np.array([int(bits, 16)], np.uint64).view(np.uint8)[: dtype.size].view(dtype.storage)
    return decode(dtype, code)[0].item() if dtype.is_float else code.view(dtype.value)[0].item()


@dataclass
class Expected:
    """What the destination must hold after the instruction."""

    out: np.ndarray
    care: np.ndarray
    tol: dict[str, float] | None

    def mismatches(self, got: np.ndarray, spec: TileSpec, whole: bool) -> np.ndarray:
        """Boolean (rows, cols) in storage order: elements that break the comparison rules."""
        d = spec.dtype
        a, b, care = (x.view(d.storage) for x in (got, self.out, self.care))
        bad = ((a ^ b) & care) != 0
        if self.tol is not None:
            bad &= ~((care != 0) & self._near(decode(d, a), decode(d, b), d))
        shape = (spec.rows, spec.cols) if spec.row_major else (spec.cols, spec.rows)
        bad = bad.reshape(shape) if spec.row_major else bad.reshape(shape).T
        if not whole:
            bad = bad[: spec.valid_row, : spec.valid_col]
        return bad

    def _near(self, a: np.ndarray, b: np.ndarray, d: DType) -> np.ndarray:
        both_nan = np.isnan(a) & np.isnan(b)
        if "ulp" in self.tol:
            numbers = ~np.isnan(a) & ~np.isnan(b)
            return both_nan | (np.abs(_rank(a, d) - _rank(b, d)) <= self.tol["ulp"]) & numbers
        x, y = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return both_nan | (np.abs(x - y) <= self.tol.get("atol", 0.0) + self.tol.get("rtol", 0.0) * np.abs(y))


def _rank(values: np.ndarray, d: DType) -> np.ndarray:
    """Position of a float in the order of its type's values; both zeros are 0."""
    codes = values.astype(d.value).view(d.storage).astype(np.int64)
    sign = 1 << (d.bits - 1)
    return np.where(codes >= sign, sign - codes, codes)


def expectation(case: dict[str, Any], profile: str) -> dict[str, Expected | None] | None:
    """The expected buffers on `profile`, or None if the case claims nothing there."""
    for entry in case["expect"]:
        if profile in entry["profiles"]:
            found: dict[str, Expected | None] = {}
            for name, ref in entry["out"].items():
                if ref is None:
                    found[name] = None
                    continue
                out = data(ref)
                care = entry.get("care", {}).get(name)
                mask = np.full_like(out, 0xFF) if care is None else data(care)
                found[name] = Expected(out, mask, entry.get("tol", {}).get(name))
            return found
    return None
