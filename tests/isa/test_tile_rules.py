"""Rules of tile types: one that keeps the rule, one that breaks it, what the message names."""

from __future__ import annotations

import pytest

from ptokit.isa.checks.tile_types import PLACEMENT_RULES, TILE_09, TILE_RULES, broken_placement, check_tile
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC, TileSpec

from .transfer_sites import acc, conv, mat, site, spec, vec, view

CASES: list[tuple[str, str, TileSpec, TileSpec, str]] = [
    ("TILE-01", "cpu", vec("f32", 16, 16, valid=(16, 9)), vec("f32", 16, 16, valid=(17, 16)), "17 valid rows"),
    ("TILE-01", "a5", vec("f32", 16, 16, valid=(DYNAMIC, 16)), vec("f32", 0, 16, valid=(DYNAMIC, 16)), "0x16"),
    ("TILE-03", "a2a3", mat("i8", 48, 64, "Nz"), mat("i8", 35, 64, "Nz"), "35 rows"),
    ("TILE-03", "a5", vec("i8", 35, 64, "Nz"), mat("i8", 48, 48, "Zn"), "48 rows"),
    ("TILE-03", "a5", mat("f16", 1, 64, "Nz"), mat("f16", 2, 64, "Nz"), "2 rows"),
    ("TILE-04", "cpu", mat("i8", 16, 64, "Nz"), mat("i8", 16, 61, "Nz"), "61 columns"),
    ("TILE-04", "cpu", vec("f16", 16, 48, "Nz"), vec("f16", 16, 40, "Nz"), "40 columns"),
    ("TILE-05", "a2a3", vec("f32", 6, 16), vec("f32", 6, 18), "72 bytes"),
    ("TILE-06", "a2a3", vec("f16", 64, 3, "DN"), vec("f16", 58, 3, "DN"), "116 bytes"),
    ("TILE-07", "a5", acc("f32", 16, 16), vec("f16", 3, 16, fractal=2048), "2048"),
    ("TILE-08", "a2a3", vec("i16", 4, 16, valid=(1, 16)), vec("i16", 4, 16, valid=(0, 16)), "0 valid rows"),
    ("TILE-D1", "cpu", vec("f32", 16, 16), vec("f32", 16, 16, fractal=1024), "1024"),
    ("TILE-D1", "a5", vec("f32", 9, 16, fractal=1024), vec("f32", 16, 8, fractal=1024), "1024"),
    ("TILE-D2", "a5", vec("e1m2", 4, 256), vec("e1m2", 4, 224), "224 cols"),
    ("TILE-D2", "a5", vec("e1m2", 64, 3, "DN"), vec("e1m2", 32, 3, "DN"), "32 rows"),
    ("TILE-D3", "a5", vec("f16", 32, 32, "Zn"), vec("f16", 33, 32, "Zn"), "33 rows"),
    ("SA-0351", "a2a3", acc("f32", 16, 16), spec("ScaleLeft", "e8m0", 16, 2, "Zz", fractal=32), "scale_left"),
    ("SA-0352", "a2a3", vec("f32", 768, 64), vec("f32", 769, 64), "196864 bytes"),
]


def broken(tile: TileSpec, on: str, **more: object) -> dict[str, str]:
    return {b.rule.id: b.message for b in check_tile(tile, target(on), **more)}  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule(case: tuple[str, str, TileSpec, TileSpec, str]) -> None:
    rule, on, good, bad, text = case
    assert broken(good, on) == {}
    found = broken(bad, on)
    assert rule in found, found
    assert text in found[rule]


def test_every_rule_has_a_case() -> None:
    assert {r.id for r in (*TILE_RULES, *PLACEMENT_RULES)} == {c[0] for c in CASES}


def test_wide_elements_of_a_packed_tile_are_for_a5() -> None:
    assert broken(vec("e1m2", 4, 224), "cpu") == {}


@pytest.mark.parametrize(
    ("tile", "on", "addr", "rules"),
    [
        (vec("f32", 128, 128), "a2a3", 0x20001, {"UB-CAPACITY", "ADDR-ALIGN"}),
        (vec("f32", 256, 256), "a5", 0, set()),
        (vec("f32", 256, 256), "a2a3", 0, {"UB-CAPACITY"}),
        (vec("f32", 16, 16), "a5", 32, set()),
        (vec("f32", 16, 16), "a5", 48, {"ADDR-ALIGN"}),
        (spec("ScaleLeft", "e8m0", 16, 2, "Zz", fractal=32), "a2a3", 0, {"SPACE-ABSENT"}),
    ],
)
def test_placed_tiles_are_reported_under_the_ids_of_the_memory_model(
    tile: TileSpec, on: str, addr: int, rules: set[str]
) -> None:
    assert set(broken(tile, on, addr=addr)) == rules
    assert broken(tile, on, addr=addr, placement=False) == {}


def test_convolution_tiles_have_no_rows() -> None:
    assert broken(conv("f16", "NC1HWC0", 1, 1, 1, 3, 5), "a5") == {}
    assert set(broken(conv("f16", "NC1HWC0", 1, 600, 32, 32, 16), "a5")) == {"SA-0352"}


def test_single_elements_are_for_vec_tiles() -> None:
    assert TILE_09.check is not None
    assert not TILE_09.check(site("TLOAD", "cpu", vec("f32", 16, 16), view("f32", 16, 16)))
    assert "mat" in str(TILE_09.check(site("TLOAD", "cpu", mat("f32", 16, 16), view("f32", 16, 16))))


KIB = 1024
CAPACITIES = {
    "a2a3": {"vec": 192, "mat": 512, "left": 64, "right": 64, "acc": 128, "bias": 1, "scaling": 2},
    "a5": {"vec": 256, "mat": 512, "left": 64, "right": 64, "acc": 256, "bias": 4, "scaling": 4},
}


@pytest.mark.parametrize(("on", "buffer"), [(on, b) for on, sizes in CAPACITIES.items() for b in sizes])
def test_the_last_byte_of_every_buffer(on: str, buffer: str) -> None:
    """A tile that ends with the buffer is placed, one 32 bytes further is not (memory-model-and-sync 4)."""
    size = CAPACITIES[on][buffer] * KIB
    loc = next(loc for loc in TileType if loc.text == buffer)
    assert target(on).capacity[loc] == size
    line = TileSpec(loc, DTYPES["u8"], 1, 32, 1, 32)
    last = [rule for rule, _ in broken_placement(line, size - 32, target(on))]
    after = [rule for rule, _ in broken_placement(line, size, target(on))]
    assert last == []
    assert after == ["UB-CAPACITY" if buffer == "vec" else after[0]]
    assert len(after) == 1
