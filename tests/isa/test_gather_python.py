"""MGATHER and MSCATTER in Python kernels: indices in tiles and in global memory, for every target."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit import (
    BLayout,
    Coalesce,
    GatherExec,
    GatherOOB,
    GlobalTensor,
    Ptr,
    ScatterAtomicOp,
    SLayout,
    Tile,
    TileType,
    f16,
    f32,
    i32,
)


def lookup(table: Ptr[f32], ids: Ptr[i32], out: Ptr[f32], count: int):
    """Rows of a 40x16 table, eight at a time; ids beyond it take the last row."""
    tv, yv, iv = GlobalTensor(table, (40, 16)), GlobalTensor(out, (count, 16)), GlobalTensor(ids, (1, count))
    data, index = Tile(TileType.Vec, f32, 8, 16), Tile(TileType.Vec, i32, 1, 8)
    for k in pto.range(0, count, 8):
        pto.TLOAD(index, iv[0:1, k : k + 8])
        pto.MGATHER(data, tv, index, Coalesce.Row, GatherOOB.Clamp)
        pto.TSTORE(yv[k : k + 8, 0:16], data)


@pytest.mark.parametrize("target", ["cpu", "a2a3", "a5"])
def test_lookup(target: str) -> None:
    rng = np.random.default_rng(3)
    table = rng.standard_normal((40, 16), dtype=np.float32)
    ids = rng.integers(-3, 45, 32, dtype=np.int32)
    out = np.zeros((32, 16), np.float32)
    kernel = pto.kernel(target=target)(lookup)
    kernel(table, ids, out, 32)
    assert (out == table[np.where((ids < 0) | (ids > 39), 39, ids)]).all()
    assert kernel.check(table, ids, out, 32).errors == []


def histogram(weights: Ptr[f32], ids: Ptr[i32], bins: Ptr[f32], rows: int):
    wv, iv, bv = GlobalTensor(weights, (rows, 8)), GlobalTensor(ids, (rows, 8)), GlobalTensor(bins, (1, 16))
    data, index = Tile(TileType.Vec, f32, 4, 8), Tile(TileType.Vec, i32, 4, 8)
    for k in pto.range(0, rows, 4):
        pto.TLOAD(data, wv[k : k + 4, 0:8])
        pto.TLOAD(index, iv[k : k + 4, 0:8])
        pto.MSCATTER(bv, data, index, mode=Coalesce.Elem, atomic=ScatterAtomicOp.Add)


@pytest.mark.parametrize("target", ["cpu", "a2a3", "a5"])
def test_histogram(target: str) -> None:
    rng = np.random.default_rng(4)
    weights = rng.integers(-8, 8, (64, 8)).astype(np.float32) / 4
    ids = rng.integers(0, 16, (64, 8), dtype=np.int32)
    bins = np.ones((1, 16), np.float32)
    pto.kernel(target=target)(histogram)(weights, ids, bins, 64)
    assert (bins[0] == 1 + np.bincount(ids.reshape(-1), weights.reshape(-1), 16)).all()


@pytest.mark.parametrize("unit", list(GatherExec))
def test_indices_in_global_memory(unit: GatherExec) -> None:
    """The element form into L1, with scratch memory after the indices; checked through the scratch image."""

    @pto.kernel(target="a5")
    def kernel(table: Ptr[f16], ids: Ptr[i32], scratch: Ptr[f16]):
        data = Tile(TileType.Mat, f16, 16, 32, blayout=BLayout.ColMajor, slayout=SLayout.RowMajor)
        shape = (16, 32)
        tensors = [GlobalTensor(p, shape) for p in (table, ids, scratch)]
        pto.MGATHER(data, *tensors, mode=Coalesce.Elem, oob=GatherOOB.Wrap, exec=unit)

    table = np.arange(512, dtype=np.float16).reshape(16, 32)
    ids = np.random.default_rng(5).integers(0, 1024, (16, 32), dtype=np.int32)
    scratch = np.zeros((16, 32), np.float16)
    kernel(table, ids, scratch)
    image = table.reshape(-1)[ids % 512].reshape(16, 2, 16).transpose(1, 0, 2)
    assert (scratch.reshape(2, 16, 16) == image).all()


def test_a_tile_is_still_asked_for_elsewhere() -> None:
    """Only the indices of MGATHER may be a view."""

    @pto.kernel(target="a5")
    def kernel(table: Ptr[f32], ids: Ptr[i32]):
        data = Tile(TileType.Vec, f32, 8, 16)
        pto.MSCATTER(GlobalTensor(table, (8, 16)), data, GlobalTensor(ids, (8, 16)))

    with pytest.raises(pto.DiagnosticError) as caught:
        kernel(np.zeros((8, 16), np.float32), np.zeros((8, 16), np.int32))
    assert caught.value.diagnostics[0].rule == "LANG-KIND"
    assert "idx of MSCATTER" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("element", [pto.i32, pto.f32])
def test_data_and_indices_of_one_type_are_given_by_name(by_name: bool, element: object) -> None:
    """The header has (dst, src, idx), lists of instructions (dst, idx, src): both orders fit i32 data."""

    @pto.kernel(target="a5")
    def kernel(table):
        data = pto.Tile(pto.TileType.Vec, element, 4, 16)
        index = pto.Tile(pto.TileType.Vec, pto.i32, 4, 16)
        out = pto.GlobalTensor(table, (8, 16))
        if by_name:
            pto.MSCATTER(out, idx=index, src=data, mode=Coalesce.Elem)
        else:
            pto.MSCATTER(out, data, index, mode=Coalesce.Elem)

    found = {d.rule: d.severity.value for d in kernel.check(element)}
    assert ("SCATTER-COM-06" in found) is (not by_name and element is pto.i32)
    assert found.get("SCATTER-COM-06", "warning") == "warning"
