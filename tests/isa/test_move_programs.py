"""Moves in whole programs: from Python calls, with windows that depend on the block, and through the cube."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit import AccToVecMode, BLayout, DiagnosticError, GlobalTensor, ReluPreMode, SLayout, Tile, TileType

NZ = {"blayout": BLayout.ColMajor, "slayout": SLayout.RowMajor}
ZN = {"blayout": BLayout.RowMajor, "slayout": SLayout.ColMajor}


@pto.kernel(target="a5")
def pick_rows(x, y):
    """Block b takes row b of x, by a window of a tile that holds all of x, and puts it into row b of a copy."""
    b = pto.get_block_idx()
    whole = Tile(TileType.Vec, pto.f16, 16, 32)
    row = Tile(TileType.Vec, pto.f16, 1, 32)
    turned = Tile(TileType.Vec, pto.f16, 16, 32)
    pto.TLOAD(whole, GlobalTensor(x, (16, 32)))
    pto.TEXTRACT(row, whole, b, 0)
    pto.TADD(row, row, row)
    pto.TMOV(turned, whole)
    pto.TINSERT(turned, row, b, 0)
    pto.TSTORE(GlobalTensor(y, (16 * 8, 32))[b * 16 : b * 16 + 16, 0:32], turned)


def test_windows_may_depend_on_the_block():
    x = np.arange(16 * 32, dtype=np.float16).reshape(16, 32)
    y = np.zeros((8, 16, 32), np.float16)
    pick_rows[8](x, y)
    for b in range(8):
        expected = x.copy()
        expected[b] *= 2
        assert (y[b] == expected).all()


@pto.kernel(target="a5")
def gemm_words(a, b, q, c):
    """relu(a @ b) times a scale by column, as f16, in a vector tile."""
    n = 64
    am, bm = Tile(TileType.Mat, pto.f16, n, n, **NZ), Tile(TileType.Mat, pto.f16, n, n, **NZ)
    left, right = Tile(TileType.Left, pto.f16, n, n, **NZ), Tile(TileType.Right, pto.f16, n, n, **ZN)
    acc = Tile(TileType.Acc, pto.f32, n, n, fractal=1024, **NZ)
    qm, words = Tile(TileType.Mat, pto.u64, 1, n), Tile(TileType.Scaling, pto.u64, 1, n)
    out = Tile(TileType.Vec, pto.f16, n, n)
    pto.TLOAD(am, GlobalTensor(a, (n, n)))
    pto.TLOAD(bm, GlobalTensor(b, (n, n)))
    pto.TLOAD(qm, GlobalTensor(q, (1, n)))
    pto.TMOV(left, am)
    pto.TMOV(right, bm)
    pto.TMOV(words, qm)
    pto.TMATMUL(acc, left, right)
    pto.TMOV_FP(out, acc, words, relu=ReluPreMode.NormalRelu)
    pto.TSTORE(GlobalTensor(c, (n, n)), out)


def test_words_reach_the_fix_pipe_through_the_matrix_buffer():
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    scales = np.float32(2.0) ** rng.integers(-3, 4, 64)
    words = scales.astype(np.float32).view(np.uint32).astype(np.uint64)
    c = np.zeros((64, 64), np.float16)
    gemm_words(a, b, words, c)
    product = a.astype(np.float32) @ b.astype(np.float32)
    assert (c == np.maximum(product * scales, 0).astype(np.float16)).all()


def test_wrong_moves_are_reported_where_they_stand():
    @pto.kernel(target="a2a3")
    def wrong(x):
        t = Tile(TileType.Vec, pto.f16, 16, 32)
        u = Tile(TileType.Vec, pto.f16, 32, 32)
        pto.TLOAD(t, GlobalTensor(x, (16, 32)))
        pto.TMOV(u, t)
        pto.TMOV(t, t, relu=ReluPreMode.NormalRelu)

    with pytest.raises(DiagnosticError) as error:
        wrong(np.zeros((16, 32), np.float16))
    found = {d.rule: d.location.line for d in error.value.diagnostics}
    assert set(found) >= {"TMOV-A23-01", "TMOV-COM-02"}
    assert found["TMOV-COM-02"] == found["TMOV-A23-01"] + 1


def test_a_mode_is_an_argument_of_its_type():
    @pto.kernel(target="a5")
    def halves(x, y):
        acc = Tile(TileType.Acc, pto.f32, 32, 32, fractal=1024, **NZ)
        vec = Tile(TileType.Vec, pto.f32, 32, 32)
        l, r = Tile(TileType.Left, pto.f16, 32, 32, **NZ), Tile(TileType.Right, pto.f16, 32, 32, **ZN)
        m = Tile(TileType.Mat, pto.f16, 32, 32, **NZ)
        pto.TLOAD(m, GlobalTensor(x, (32, 32)))
        pto.TMOV(l, m)
        pto.TMOV(r, m)
        pto.TMATMUL(acc, l, r)
        pto.TMOV(vec, acc, AccToVecMode.DualModeSplitM)
        pto.TSTORE(GlobalTensor(y, (32, 32)), vec)

    x, y = np.eye(32, dtype=np.float16), np.full((32, 32), -1, np.float32)
    halves(x, y)
    assert (y[:16] == np.eye(32)[:16]).all()
    assert not (y[16:] == np.eye(32)[16:]).all()


@pto.kernel(target="a5")
def pick(x, y, first: int):
    whole, row = Tile(TileType.Vec, pto.f16, 16, 32), Tile(TileType.Vec, pto.f16, 1, 32)
    pto.TLOAD(whole, GlobalTensor(x, (16, 32)))
    pto.TEXTRACT(row, whole, first + pto.get_block_idx(), 0)
    pto.TSTORE(GlobalTensor(y, (4, 32))[pto.get_block_idx() : pto.get_block_idx() + 1, 0:32], row)


def test_a_window_that_leaves_its_tile_is_found_when_it_does():
    x, y = np.arange(512, dtype=np.float16).reshape(16, 32), np.zeros((4, 32), np.float16)
    pick[4](x, y, 12)
    assert (y == x[12:]).all()
    with pytest.raises(DiagnosticError) as error:
        pick[4](x, y, 13)
    (found,) = error.value.diagnostics
    assert found.rule == "EXTR-COM-02"
    assert "rows [16, 17) leave the 16 rows there are" in found.message
