"""Sites of MGATHER and MSCATTER for rule tests: a legal call with some operands replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptokit.isa.check import broken_rules
from ptokit.isa.site import Info, Site, TileInfo, ViewInfo, product
from ptokit.isa.transfer.gather import MGATHER
from ptokit.isa.transfer.scatter import MSCATTER
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Coalesce, Layout, TileType
from ptokit.types.tile import TileSpec

from .fake import spec

Case = tuple[str, str, dict[str, Any], dict[str, Any], str]
"""Rule, target, changes that keep the call legal, changes that break the rule, a part of the message."""


def table(
    dtype: str, *shape: int, stride: tuple[int, ...] | None = None, layout: Layout | None = Layout.ND
) -> ViewInfo:
    """A tensor in global memory, packed unless strides are given; right-aligned to five dimensions."""
    five = (1,) * (5 - len(shape)) + shape
    if stride is None:
        stride = tuple(product(five[i + 1 :]) for i in range(5))
    else:
        stride = (stride[0] * shape[0],) * (5 - len(stride)) + stride
    return ViewInfo("table", DTYPES[dtype], five, stride, layout)  # type: ignore[arg-type]


def at(tile: TileSpec, address: int) -> TileInfo:
    """The tile at a byte address."""
    return replace(TileInfo.static("t", tile), addr=address)


def l1(dtype: str, rows: int, cols: int, vr: int | None = None, vc: int | None = None, **more: Any) -> TileSpec:
    """A mat tile in NZ layout."""
    return spec(dtype, rows, cols, vr, vc, **{"loc": TileType.Mat, "boxed": True, **more})


def gather_site(on: str, **changes: Any) -> Site:
    """Elements of a 40x16 f32 table into an 8x16 tile; with mode=Row, rows; without scratch memory."""
    row = changes.get("mode") is Coalesce.Row
    operands = {
        "dst": spec("f32", 8, 16),
        "src": table("f32", 40, 16),
        "idx": spec("i32", 1, 8) if row else spec("i32", 8, 16),
        "scratch": None,
    }
    return _site(MGATHER, on, operands, changes)


def scatter_site(on: str, **changes: Any) -> Site:
    """Elements of an 8x16 tile into a 40x16 f32 table; with mode=Row, rows."""
    row = changes.get("mode") is Coalesce.Row
    operands = {
        "dst": table("f32", 40, 16),
        "src": spec("f32", 8, 16),
        "idx": spec("i32", 1, 8) if row else spec("i32", 8, 16),
    }
    return _site(MSCATTER, on, operands, changes)


def _site(instr: Any, on: str, operands: dict[str, Any], changes: dict[str, Any]) -> Site:
    changes = {"mode": Coalesce.Elem, **changes}
    extended = changes.pop("extended", False)
    infos: dict[str, Info | None] = {}
    for name, default in operands.items():
        given = changes.pop(name, default)
        infos[name] = TileInfo.static(name, given) if isinstance(given, TileSpec) else given
    return Site(instr, target(on), infos, changes, extended)


def broken(site: Site) -> dict[str, str]:
    """Messages of the broken rules by id."""
    return {b.rule.id: b.message for b in broken_rules(site)}
