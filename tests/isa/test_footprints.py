"""What instructions access beyond the valid regions of their operands."""

from __future__ import annotations

import pytest

import ptokit.isa.all  # noqa: F401  the complete table
from ptokit.isa.table import TABLE
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec

from .fake import site
from .rule_cases import F, I


@pytest.mark.parametrize(("name", "sources"), [("TREM", ("src0", "src1")), ("TREMS", ("src",))])
def test_the_i32_remainder_of_a2a3_converts_its_sources_in_place(name: str, sources: tuple[str, ...]) -> None:
    """compute-elementwise 6."""

    def written(on: str, tile: object) -> set[str]:
        s = site(name, on, **dict.fromkeys(("dst", *sources), tile))
        return {access.operand for access in TABLE[name].footprint(s) if access.write}

    assert written("a2a3", I) == {"dst", *sources}
    assert written("a2a3", F) == written("a5", I) == {"dst"}


@pytest.mark.parametrize("name", ["TMATMUL", "TMATMUL_ACC", "TMATMUL_BIAS"])
def test_a_product_has_the_sizes_of_its_operands(name: str) -> None:
    """Whatever of the accumulator is valid; whole fractals are written (compute-reduce-matrix 9)."""
    left = TileSpec(TileType.Left, DTYPES["f16"], 32, 64, 16, 48, BLayout.ColMajor, SLayout.RowMajor)
    right = TileSpec(TileType.Right, DTYPES["f16"], 64, 32, 64, 4, slayout=SLayout.ColMajor)
    acc = TileSpec(TileType.Acc, DTYPES["f32"], 32, 32, 32, 32, BLayout.ColMajor, SLayout.RowMajor, 1024)
    bias = TileSpec(TileType.Bias, DTYPES["f32"], 1, 32, 1, 32)
    tiles = {"dst": acc, "acc": acc, "lhs": left, "rhs": right, "bias": bias}
    given = {o.name: tiles[o.name] for o in TABLE[name].operands}
    accesses = list(TABLE[name].footprint(site(name, "a5", **given)))
    found = {(a.operand, a.write): (a.rows, a.cols) for a in accesses}
    start = {"TMATMUL": {}, "TMATMUL_ACC": {("acc", False): (16, 4)}, "TMATMUL_BIAS": {("bias", False): (1, 4)}}[name]
    assert found == {("lhs", False): (16, 48), ("rhs", False): (48, 4), ("dst", True): (16, 16), **start}
    assert [a.results for a in accesses if a.write] == [(16, 4)]  # the rest of the fractal becomes padding
