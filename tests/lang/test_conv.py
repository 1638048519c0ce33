"""Convolution tiles in Python."""

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit import Layout, TileType


@pytest.mark.parametrize("target", ["cpu", "a2a3", "a5"])
def test_nc1hwc0_keeps_the_order_of_its_dimensions(target: str) -> None:
    core = pto.Core(target)
    shape = (2, 3, 4, 5, 16)  # N, C1, H, W, C0
    x = np.arange(np.prod(shape), dtype=np.float32).astype(np.float16).reshape(shape)
    t = core.ConvTile(TileType.Mat, pto.f16, None, Layout.NC1HWC0, shape)
    core.TLOAD(t, core.GlobalTensor(x, shape, None, Layout.NC1HWC0))
    assert (t.numpy().reshape(shape) == x).all()


def test_a_window_of_a_larger_feature_map() -> None:
    core = pto.Core("a5")
    whole = np.random.default_rng(1).integers(0, 100, (1, 4, 8, 8, 32)).astype(np.int8)
    t = core.ConvTile(TileType.Mat, pto.i8, 2 * 4 * 8 * 32, Layout.NC1HWC0, (1, 2, 4, 8, 32))
    g = core.GlobalTensor(whole, whole.shape, None, Layout.NC1HWC0)
    core.TLOAD(t, g.partition((0, 1, 2, 0, 0), (1, 2, 4, 8, 32)))
    assert (t.numpy().reshape(1, 2, 4, 8, 32) == whole[:, 1:3, 2:6]).all()


def test_in_a_kernel() -> None:
    shape = (1, 2, 4, 4, 16)

    @pto.kernel(target="cpu")
    def copy(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.f16]) -> None:
        t = pto.ConvTile(TileType.Mat, pto.f16, None, Layout.NC1HWC0, shape)
        pto.TLOAD(t, pto.GlobalTensor(x, shape, None, Layout.NC1HWC0))
        pto.TSTORE(pto.GlobalTensor(y, shape, None, Layout.NC1HWC0), t)

    x = np.random.default_rng(2).standard_normal(shape).astype(np.float16)
    y = np.zeros_like(x)
    copy(x, y)
    assert (x == y).all()


@pytest.mark.parametrize(
    ("buffer", "layout", "shape"),
    [(64, Layout.NC1HWC0, (1, 1, 4, 4, 16)), (None, "NC1HWC0", (1, 1, 4, 4, 16)), (None, Layout.NC1HWC0, (1, -1, 16))],
)
def test_refused(buffer: object, layout: object, shape: tuple[int, ...]) -> None:
    with pytest.raises(pto.DiagnosticError) as caught:
        pto.Core("a5").ConvTile(TileType.Mat, pto.f16, buffer, layout, shape)
    assert caught.value.diagnostics[0].rule == "LANG-TILE"
    assert caught.value.diagnostics[0].location.file == __file__


def test_scales_in_several_blocks_and_more_than_are_valid() -> None:
    core = pto.Core("a5")
    x = np.arange(3 * 2 * 2 * 32, dtype=np.uint8)
    t = core.Tile(TileType.Mat, pto.e8m0, 96, 4, slayout=pto.SLayout.RowMajor, fractal=32, valid_row=90)
    core.TLOAD(t, core.GlobalTensor(x.view(ml_dtypes.float8_e8m0fnu), (3, 2, 2, 16, 2), None, Layout.MX_A_ZZ))
    wanted = x.reshape(3, 2, 2, 16, 2).transpose(0, 1, 3, 2, 4).reshape(96, 4)
    assert (t.numpy().view(np.uint8) == wanted[:90]).all()


@pytest.mark.parametrize("target", ["cpu", "a5"])
def test_groups_to_fractal_z_lie_as_if_n_were_filled_up(target: str) -> None:
    core, filled = pto.Core(target), (3 if target == "cpu" else 16)
    x = np.arange(2 * 16 * 2 * 8, dtype=np.int32).astype(np.float32)
    line = core.Tile(TileType.Vec, pto.f32, 1, len(x), addr=0)
    core.TLOAD(line, core.GlobalTensor(x, (1, len(x))))
    src = core.ConvTile(TileType.Vec, pto.f32, 4 * len(x), Layout.GNC1HWC0, (2, 3, 1, 1, 2, 8), addr=0)
    dst = core.ConvTile(TileType.Vec, pto.f32, None, Layout.FRACTAL_Z, (4, 1, 16, 8), addr=8192)
    core.TTRANS(dst, src, core.Tile(TileType.Vec, pto.f32, 16, 32, addr=32768))
    wanted = np.zeros((2, 2, 16, 8), np.float32)
    for g in range(2):
        wanted[g, :, :3] = x[g * filled * 16 :][:48].reshape(3, 2, 8).transpose(1, 0, 2)
    assert (dst.numpy().reshape(wanted.shape) == wanted).all()
