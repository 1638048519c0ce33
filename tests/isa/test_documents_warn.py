"""What only a document says, or what leaves nothing to do, warns; what runs is what devices do."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import Severity

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "native"])


def warned(kernel: pto.Kernel) -> set[str]:
    """Rules that warn; there are no errors."""
    found = kernel.check()
    assert not found.errors, found.errors
    return {d.rule for d in found if d.severity is Severity.WARNING}


@pto.kernel(target="a5")
def bits(x: pto.Ptr[pto.u32], z: pto.Ptr[pto.f32]) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.u32, 4, 16)
    b = pto.Tile(pto.TileType.Vec, pto.f32, 4, 16)
    pto.TLOAD(a, pto.GlobalTensor(x, (4, 16)))
    pto.TMOV(b, a)
    pto.TSTORE(pto.GlobalTensor(z, (4, 16)), b)


@BACKENDS
@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_moves_between_vec_tiles_of_other_types_copy_bits(on: str, backend: str) -> None:
    assert warned(bits.on(on)) == {"TMOV-COM-10"}
    x, z = np.random.default_rng(1).integers(0, 2**32, (4, 16), dtype=np.uint32), np.zeros((4, 16), np.float32)
    pto.run(bits.on(on), args=[x, z], backend=backend)
    assert (z.view(np.uint32) == x).all()


def test_the_simulator_converts_numbers() -> None:
    assert [d.rule for d in bits.on("cpu").check().errors] == ["TMOV-COM-10"]


@pto.kernel(target="a5")
def wide(x: pto.Ptr[pto.u64], z: pto.Ptr[pto.u64]) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.u64, 16, 8, pto.BLayout.ColMajor, slayout=pto.SLayout.RowMajor)
    pto.TLOAD(a, pto.GlobalTensor(x, (1, 2, 1, 16, 4), layout=pto.Layout.NZ))
    pto.TSTORE(pto.GlobalTensor(z, (1, 2, 1, 16, 4), layout=pto.Layout.NZ), a)


@BACKENDS
def test_boxes_of_64_bits_are_moved_as_others(backend: str) -> None:
    assert warned(wide) == {"LOAD-A5-23", "STORE-A5-19"}
    x, z = np.arange(128, dtype=np.uint64), np.zeros(128, np.uint64)
    pto.run(wide, args=[x, z], backend=backend)
    assert (z == x).all()


@pto.kernel(target="a2a3")
def product(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.f16], z: pto.Ptr[pto.f32]) -> None:
    """16x16 of a left tile of 16x32, times 16x16, into the first rows of an accumulator of 32x16."""
    nz = {"slayout": pto.SLayout.RowMajor}
    col = pto.BLayout.ColMajor
    a = pto.Tile(pto.TileType.Mat, pto.f16, 16, 32, col, valid_col=16, **nz)
    b = pto.Tile(pto.TileType.Mat, pto.f16, 16, 16, col, **nz)
    left = pto.TileLeft(pto.f16, 16, 32, valid_col=16)
    right = pto.TileRight(pto.f16, 16, 16)
    acc = pto.TileAcc(pto.f32, 32, 16, valid_row=16)
    pto.TLOAD(a, pto.GlobalTensor(x, (16, 16)))
    pto.TLOAD(b, pto.GlobalTensor(y, (16, 16)))
    pto.TMOV(left, a)
    pto.TMOV(right, b)
    pto.TMATMUL(acc, left, right)
    pto.TSTORE(pto.GlobalTensor(z, (16, 16)), acc)


@BACKENDS
def test_products_go_by_valid_regions(backend: str) -> None:
    assert "MAT-COM-03" in warned(product)
    x, y = (np.random.default_rng(s).integers(-4, 5, (16, 16)).astype(np.float16) for s in (1, 2))
    z = np.zeros((16, 16), np.float32)
    pto.run(product, args=[x, y, z], backend=backend)
    assert (z == x.astype(np.float32) @ y.astype(np.float32)).all()


@pto.kernel(target="a5")
def ahead(x: pto.Ptr[pto.f16]) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.f32, 4, 16)
    pto.TPREFETCH(a, pto.GlobalTensor(x, (4, 16)))


def test_prefetches_into_tiles_of_other_elements_do_nothing_wrong() -> None:
    assert "PREF-03" in warned(ahead)
    ahead(np.zeros((4, 16), np.float16))
