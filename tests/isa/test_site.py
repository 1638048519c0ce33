"""Operands as attributes of a site, and what is known of a tile."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ptokit.isa.site import Site, TileInfo
from ptokit.isa.table import TABLE
from ptokit.targets import target
from ptokit.types.dtypes import dtype
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec, tile


def test_no_operand_hides_what_a_site_has_itself() -> None:
    own = {f.name for f in fields(Site)} | {name for name in vars(Site) if not name.startswith("__")}
    assert {"operands", "attrs", "has", "tiles"} <= own
    for instr in TABLE.values():
        assert own.isdisjoint(o.name for o in (*instr.operands, *instr.produces)), instr.name


def test_an_operand_is_an_attribute_and_an_absent_one_is_none() -> None:
    info = TileInfo.static("t", tile(TileType.Vec, dtype("f32"), 16, 64))
    site = Site(TABLE["TROWSUM"], target("a2a3"), {"dst": info, "src": info, "tmp": None}, {"given": 3})
    assert site.dst is info
    assert site.tmp is None
    assert site.given == 3
    with pytest.raises(AttributeError, match="TROWSUM has no operand or attribute 'other'"):
        _ = site.other


def test_a_tile_is_known_by_all_that_its_type_has() -> None:
    spec = tile(TileType.Mat, dtype("f16"), 32, 64, 30, 60)
    info = TileInfo.static("t", spec)
    for field in fields(TileSpec):
        assert getattr(info, field.name) is getattr(spec, field.name)
    assert (info.layout_name, info.nbytes, info.c0) == (spec.layout_name, 32 * 64 * 2, 16)
