"""A short notation for sites of TMOV, TEXTRACT and TINSERT.

``left f16 16x16 Nz <- mat f16 32x32[30x32] Nz; row=16; relu`` is a destination, a source with its valid region (open
if left out in front of ``?``), and operands or attributes by name. The fractal follows a layout: ``Nz1024``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

import ptokit.isa.move.insert
import ptokit.isa.move.move  # noqa: F401  the instructions under test
from ptokit.isa.check import broken_rules
from ptokit.isa.site import UNKNOWN, ScalarInfo, Site, TileInfo
from ptokit.isa.table import TABLE
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import (
    AccToVecMode,
    BLayout,
    CompactMode,
    Layout,
    ReluPreMode,
    SLayout,
    STPhase,
    TileType,
    TInsertMode,
)
from ptokit.types.tensor import conv_tile
from ptokit.types.tile import DYNAMIC, TileSpec

R, C, N = SLayout.RowMajor, SLayout.ColMajor, SLayout.NoneBox
LAYOUTS = {
    "ND": (BLayout.RowMajor, N),
    "DN": (BLayout.ColMajor, N),
    "Nz": (BLayout.ColMajor, R),
    "Zn": (BLayout.RowMajor, C),
    "Zz": (BLayout.RowMajor, R),
    "Nn": (BLayout.ColMajor, C),
}
_TILE = re.compile(r"(\w+) (\w+) (\d+)x(\d+)(?:\[(\d+|\?)x(\d+|\?)\])? ([A-Z][A-Za-z])(\d*)(\+1|c)?\Z")
_ENUMS = {"mode": AccToVecMode, "split": TInsertMode, "phase": STPhase}
_LOCS = {t.name.lower(): t for t in TileType}


def tile(text: str) -> TileSpec:
    """A tile type from its notation; ``conv LAYOUT dtype AxBx..`` for a convolution tile."""
    if text.startswith("conv "):
        _, layout, dtype, dims = text.split()
        return conv_tile(TileType.Mat, DTYPES[dtype], Layout[layout], [int(d) for d in dims.split("x")])
    m = _TILE.match(text)
    assert m, text
    rows, cols = int(m[3]), int(m[4])
    valid = [DYNAMIC if v == "?" else int(v) if v else whole for v, whole in ((m[5], rows), (m[6], cols))]
    blayout, slayout = LAYOUTS[m[7]]
    loc = _LOCS[m[1]]
    fractal = int(m[8]) if m[8] else 1024 if loc is TileType.Acc else 512
    compact = {"+1": CompactMode.RowPlusOne, "c": CompactMode.Normal}.get(m[9] or "", CompactMode.Null)
    return TileSpec(loc, DTYPES[m[2]], rows, cols, *valid, blayout, slayout, fractal, compact=compact)


def parse(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Operands (tile types, numbers) and attributes of a notation."""
    head, *rest = [part.strip() for part in text.split(";")]
    into, source = head.split(" <- ")
    names = into.split(" + ")
    operands: dict[str, Any] = dict(zip(("dst",) if len(names) == 1 else ("dst0", "dst1"), map(tile, names)))
    operands["src"] = tile(source)
    attrs: dict[str, Any] = {}
    for part in rest:
        key, _, value = part.partition("=")
        if key == "relu":
            attrs["relu"] = ReluPreMode.NormalRelu
        elif key in _ENUMS:
            attrs[key] = _ENUMS[key][value]
        elif key in ("fp", "tmp"):
            operands[key] = tile(value)
        elif key in ("grp_axis",):
            attrs[key] = int(value)
        else:
            operands[key] = UNKNOWN if value == "?" else int(value, 0)
    return operands, attrs


def site(name: str, on: str, text: str, *, extended: bool = False, types: str = "", **data: Any) -> Site:
    """The site a notation stands for. ``data``: run-time tiles by operand; ``types``: type of the numbers."""
    operands, attrs = parse(text)
    infos: dict[str, Any] = {}
    for op in TABLE[name].operands:
        given = operands.pop(op.name, None)
        if isinstance(given, TileSpec):
            infos[op.name] = replace(TileInfo.static(op.name, given), data=data.get(op.name))
        else:
            infos[op.name] = None if given is None else ScalarInfo(op.name, types, given)
    assert not operands, operands
    return Site(TABLE[name], target(on), infos, attrs, extended)


def messages(s: Site) -> dict[str, str]:
    """Broken rules of a site with their messages."""
    return {b.rule.id: b.message for b in broken_rules(s)}


def run(name: str, on: str, text: str, *, extended: bool = False, **data: Any) -> dict[str, np.ndarray]:
    """Execute on tiles with the given contents (bytes or arrays, default zeros); their bytes afterwards."""
    machine = Single(target(on), extended=extended)
    operands, attrs = parse(text)
    given: dict[str, Any] = {}
    for key, value in operands.items():
        if isinstance(value, TileSpec):
            content = data.get(key)
            content = np.ascontiguousarray(content).tobytes() if isinstance(content, np.ndarray) else content
            given[key] = machine.tile(value, content, name=key)
        else:
            given[key] = value
    machine.execute(TABLE[name], given, attrs)
    return {k: v.raw()[0].copy() for k, v in given.items() if hasattr(v, "raw")}
