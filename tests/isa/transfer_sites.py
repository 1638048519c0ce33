"""Sites of loads, stores and prefetches for rule tests, in few words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.check import broken_rules
from ptokit.isa.site import UNKNOWN, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import TABLE
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, Layout, SLayout, TileType
from ptokit.types.tensor import conv_tile
from ptokit.types.tile import TileSpec

B, S = BLayout, SLayout
LAYOUTS = {
    "ND": (B.RowMajor, S.NoneBox),
    "DN": (B.ColMajor, S.NoneBox),
    "Nz": (B.ColMajor, S.RowMajor),
    "Zn": (B.RowMajor, S.ColMajor),
    "Zz": (B.RowMajor, S.RowMajor),
    "Nn": (B.ColMajor, S.ColMajor),
}


def spec(
    loc: str,
    dtype: str,
    rows: int,
    cols: int,
    layout: str = "ND",
    valid: tuple[int, int] | None = None,
    fractal: int = 512,
    pad: int = 0,
) -> TileSpec:
    """A tile type; `layout` is its name, ``valid`` its static valid rows and columns."""
    vr, vc = valid or (rows, cols)
    return TileSpec(TileType[loc], DTYPES[dtype], rows, cols, vr, vc, *LAYOUTS[layout], fractal, pad)


def vec(dtype: str, rows: int, cols: int, layout: str = "ND", **more: Any) -> TileSpec:
    return spec("Vec", dtype, rows, cols, layout, **more)


def mat(dtype: str, rows: int, cols: int, layout: str = "ND", **more: Any) -> TileSpec:
    return spec("Mat", dtype, rows, cols, layout, **more)


def acc(dtype: str, rows: int, cols: int, **more: Any) -> TileSpec:
    return spec("Acc", dtype, rows, cols, "Nz", fractal=1024, **more)


def conv(dtype: str, layout: str, *dims: int, loc: str = "Mat") -> TileSpec:
    return conv_tile(TileType[loc], DTYPES[dtype], Layout[layout], dims)


def packed(shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Strides of a packed tensor: row-major, or column-major in the last two dimensions for DN."""
    order = [4, 3, 2, 1, 0] if layout is not Layout.DN else [3, 4, 2, 1, 0]
    strides, step = [0] * 5, 1
    for d in order:
        strides[d] = step
        step *= max(1, shape[d])
    return tuple(strides)


def view(dtype: str, *shape: int, layout: str = "ND", stride: tuple[int, ...] | None = None) -> ViewInfo:
    """A view; shapes are filled up to five dimensions with leading ones, strides packed unless given."""
    full = (1,) * (5 - len(shape)) + shape
    kind = Layout[layout]
    return ViewInfo("g", DTYPES[dtype], full, stride or packed(full, kind), kind)


def site(name: str, on: str, tile: TileSpec | TileInfo, g: ViewInfo, *, extended: bool = False, **more: Any) -> Site:
    """A site; ``fp`` is a tile type or `TileInfo`, ``quant`` a number, the rest attributes."""
    t = tile if isinstance(tile, TileInfo) else TileInfo.static("t", tile)
    operands: dict[str, Any] = dict.fromkeys(o.name for o in TABLE[name].operands)
    is_store = name.startswith("TSTORE")
    operands.update({"src": t, "dst": g} if is_store else {"src": g, "dst": t})
    if "quant" in more:
        operands["quant"] = ScalarInfo("quant", "i64", more.pop("quant"))
    if "fp" in more:
        fp = more.pop("fp")
        operands["fp"] = fp if isinstance(fp, TileInfo) else TileInfo.static("fp", fp, 0)
    return Site(TABLE[name], target(on), operands, more, extended)


def words(values: list[int], dtype: str = "u64", addr: Any = UNKNOWN) -> TileInfo:
    """A Scaling tile that holds parameter words."""
    size = -(-len(values) // 4) * 4
    kind = spec("Scaling", dtype, 1, size, valid=(1, len(values)))
    data = np.array([*values, *[0] * (size - len(values))], np.uint64)
    return TileInfo("fp", kind, 1, len(values), addr, Single(target("a5")).tile(kind, data.tobytes()))


def broken(o: Site) -> dict[str, str]:
    """Messages of the broken rules, by id."""
    return {b.rule.id: b.message for b in broken_rules(o)}
