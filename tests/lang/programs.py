"""Kernels in Python, each a program a user would write, with what NumPy says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import ptokit as pto
from ptokit import BLayout, GlobalTensor, Ptr, SLayout, Tile, TileType, f16, f32, i8, i32

bf16 = np.dtype(ml_dtypes.bfloat16)
NZ: dict[str, Any] = {"blayout": BLayout.ColMajor, "slayout": SLayout.RowMajor}


def vec_add(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], tiles: int):
    rows = tiles * 64
    av, bv, cv = (GlobalTensor(p, (rows, 64)) for p in (a, b, c))
    x = Tile(TileType.Vec, f32, 64, 64)
    y = Tile(TileType.Vec, f32, 64, 64)
    z = Tile(TileType.Vec, f32, 64, 64)
    for i in pto.range(tiles):
        r = i * 64
        pto.TLOAD(x, av[r : r + 64, 0:64])
        pto.TLOAD(y, bv[r : r + 64, 0:64])
        pto.TADD(z, x, y)
        pto.TSTORE(cv[r : r + 64, 0:64], z)


def vec_add_tail(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], rows: int, cols: int):
    av, bv, cv = (GlobalTensor(p, (rows, cols)) for p in (a, b, c))
    for i in pto.range(0, rows, 32):
        vr = pto.minimum(rows - i, 32)
        for j in pto.range(0, cols, 128):
            vc = pto.minimum(cols - j, 128)
            x = Tile(TileType.Vec, f32, 32, 128, valid_row=vr, valid_col=vc)
            y = Tile(TileType.Vec, f32, 32, 128, valid_row=vr, valid_col=vc)
            pto.TLOAD(x, av[i : i + vr, j : j + vc])
            pto.TLOAD(y, bv.partition((i, j), (vr, vc)))
            pto.TADD(x, x, y)
            pto.TSTORE(cv[i : i + vr, j : j + vc], x)


def row_softmax(x: Ptr[f32], y: Ptr[f32], rows: int):
    xv, yv = GlobalTensor(x, (rows, 256)), GlobalTensor(y, (rows, 256))
    t = Tile(TileType.Vec, f32, 16, 256)
    tmp = Tile(TileType.Vec, f32, 16, 256)
    m = Tile(TileType.Vec, f32, 16, 1, BLayout.ColMajor)
    s = Tile(TileType.Vec, f32, 16, 1, BLayout.ColMajor)
    for i in pto.range(0, rows, 16):
        pto.TLOAD(t, xv[i : i + 16])
        pto.TROWMAX(m, t, tmp)
        pto.TROWEXPANDSUB(t, t, m)
        pto.TEXP(t, t)
        pto.TROWSUM(s, t, tmp)
        pto.TROWEXPANDDIV(t, t, s)
        pto.TSTORE(yv[i : i + 16], t)


def gemm_tiled(a: Ptr[f16], b: Ptr[f16], o: Ptr[f32], m: int, k: int, n: int):
    av, bv, ov = GlobalTensor(a, (m, k)), GlobalTensor(b, (k, n)), GlobalTensor(o, (m, n))
    am, bm = Tile(TileType.Mat, f16, 64, 64, **NZ), Tile(TileType.Mat, f16, 64, 64, **NZ)
    left, right = pto.TileLeft(f16, 64, 64), pto.TileRight(f16, 64, 64)
    acc = pto.TileAcc(f32, 64, 64)
    for i in pto.range(0, m, 64):
        for j in pto.range(0, n, 64):
            for p in pto.range(0, k, 64):
                pto.TLOAD(am, av[i : i + 64, p : p + 64])
                pto.TLOAD(bm, bv[p : p + 64, j : j + 64])
                pto.TMOV(left, am)
                pto.TMOV(right, bm)
                with pto.if_(p == 0):
                    pto.TMATMUL(acc, left, right)
                with pto.else_():
                    pto.TMATMUL_ACC(acc, acc, left, right)
            pto.TSTORE(ov[i : i + 64, j : j + 64], acc)


def gemm_quant(a: Ptr[f16], b: Ptr[f16], o: Ptr[i8]):
    """One tile, stored as int8 through the fix-pipe: bit 46 of the word means signed, its low half is the f32 scale."""
    word = 1 << 46 | int(np.float32(0.03125).view(np.uint32))
    left, right, acc = pto.TileLeft(f16, 64, 64), pto.TileRight(f16, 64, 64), pto.TileAcc(f32, 64, 64)
    for source, operand in ((a, left), (b, right)):
        staging = Tile(TileType.Mat, f16, 64, 64, **NZ)
        pto.TLOAD(staging, GlobalTensor(source, (64, 64)))
        pto.TMOV(operand, staging)
    pto.TMATMUL(acc, left, right)
    pto.TSTORE(GlobalTensor(o, (64, 64)), acc, word)


def block_parallel_axpy(x: Ptr[f32], y: Ptr[f32], blocks: int, tiles: int):
    xv, yv = GlobalTensor(x, (tiles * 16, 256)), GlobalTensor(y, (tiles * 16, 256))
    a, s = Tile(TileType.Vec, f32, 16, 256), Tile(TileType.Vec, f32, 16, 256)
    for t in pto.range(pto.get_block_idx(), tiles, blocks):
        r = t * 16
        pto.TLOAD(a, xv[r : r + 16])
        pto.TLOAD(s, yv[r : r + 16])
        pto.TMULS(a, a, 2.5)
        pto.TADD(s, a, s)
        pto.TSTORE(yv[r : r + 16], s)


def rmsnorm(x: Ptr[f32], g: Ptr[f32], y: Ptr[f32], rows: int):
    xv, yv = GlobalTensor(x, (rows, 512)), GlobalTensor(y, (rows, 512))
    t, u, tmp = (Tile(TileType.Vec, f32, 16, 512) for _ in range(3))
    s = Tile(TileType.Vec, f32, 16, 1, BLayout.ColMajor)
    gt = Tile(TileType.Vec, f32, 1, 512)
    pto.TLOAD(gt, GlobalTensor(g, (1, 512)))
    for i in pto.range(0, rows, 16):
        pto.TLOAD(t, xv[i : i + 16])
        pto.TMUL(u, t, t)
        pto.TROWSUM(s, u, tmp)
        row = s.reshape(1, 16)
        pto.TMULS(row, row, 1 / 512)
        pto.TADDS(row, row, 1e-6)
        pto.TSQRT(row, row)
        back = Tile(TileType.Vec, f32, 16, 1, BLayout.ColMajor)
        pto.TRESHAPE(back, row)
        pto.TROWEXPANDDIV(t, t, back)
        pto.TCOLEXPANDMUL(t, t, gt)
        pto.TSTORE(yv[i : i + 16], t)


def col_stats(x: Ptr[f32], total: Ptr[f32], peak: Ptr[f32], rows: int):
    xv = GlobalTensor(x, (rows, 128))
    t = Tile(TileType.Vec, f32, 64, 128)
    p, s, m = (Tile(TileType.Vec, f32, 1, 128) for _ in range(3))
    pto.TEXPANDS(s, 0.0)
    pto.TEXPANDS(m, -1e30)
    for i in pto.range(0, rows, 64):
        pto.TLOAD(t, xv[i : i + 64])
        pto.TCOLSUM(p, t)
        pto.TADD(s, s, p)
        pto.TCOLMAX(p, t)
        pto.TMAX(m, m, p)
    pto.TSTORE(GlobalTensor(total, (1, 128)), s)
    pto.TSTORE(GlobalTensor(peak, (1, 128)), m)


def double_buffer_copy(src: Ptr[f32], dst: Ptr[f32], pairs: int):
    rows = pairs * 64
    sv, dv = GlobalTensor(src, (rows, 256)), GlobalTensor(dst, (rows, 256))
    for event in (pto.EVENT_ID0, pto.EVENT_ID1):
        pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, event)
    for i in pto.range(0, pairs * 2, 2):
        for half, event in enumerate((pto.EVENT_ID0, pto.EVENT_ID1)):
            t = Tile(TileType.Vec, f32, 32, 256, addr=half * 32768)
            r = (i + half) * 32
            pto.wait_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, event)
            pto.TLOAD(t, sv[r : r + 32])
            pto.set_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, event)
            pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, event)
            pto.TSTORE(dv[r : r + 32], t)
            pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, event)
    for event in (pto.EVENT_ID0, pto.EVENT_ID1):
        pto.wait_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, event)
    pto.pipe_barrier(pto.PIPE_ALL)


def ping_pong(src: Ptr[f32], dst: Ptr[f32], tiles: int):
    """One tile object bound to two addresses in turn, with event numbers from a register."""
    sv, dv = GlobalTensor(src, (tiles * 8, 64)), GlobalTensor(dst, (tiles * 8, 64))
    t = Tile(TileType.Vec, f32, 8, 64)
    for event in range(2):
        pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, event)
    for i in pto.range(tiles):
        side = i % 2
        pto.TASSIGN(t, side * 2048)
        pto.wait_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, side)
        pto.TLOAD(t, sv[i * 8 : i * 8 + 8])
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, side)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, side)
        pto.TSTORE(dv[i * 8 : i * 8 + 8], t)
        pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, side)
    for event in range(2):
        pto.wait_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, event)


def copy5d(src: Ptr[f16], dst: Ptr[f16], nb: int, nh: int, nw: int, nr: int):
    """Rows of 32 elements; the pitch is 48 in the source and 40 in the destination."""
    shape = pto.Shape(nb, nh, nw, nr, 32)
    sv = GlobalTensor(src, shape, pto.Stride(nh * nw * nr * 48, nw * nr * 48, nr * 48, 48, 1))
    dv = GlobalTensor(dst, shape, pto.Stride(nh * nw * nr * 40, nw * nr * 40, nr * 40, 40, 1))
    t = Tile(TileType.Vec, f16, 64, 32)
    for b in pto.range(nb):
        for h in pto.range(nh):
            for w in pto.range(0, nw, 4):
                for r in pto.range(0, nr, 16):
                    pto.TLOAD(t, sv[b, h, w : w + 4, r : r + 16])
                    pto.TSTORE(dv[b, h, w : w + 4, r : r + 16], t)


def bf16_gelu_like(x: Ptr[pto.bf16], y: Ptr[pto.bf16], rows: int):
    xv, yv = GlobalTensor(x, (rows, 128)), GlobalTensor(y, (rows, 128))
    h = Tile(TileType.Vec, pto.bf16, 32, 128)
    f, g = Tile(TileType.Vec, f32, 32, 128), Tile(TileType.Vec, f32, 32, 128)
    for i in pto.range(0, rows, 32):
        pto.TLOAD(h, xv[i : i + 32])
        pto.TCVT(f, h, pto.RoundMode.RINT)
        pto.TMULS(g, f, -1.702)
        pto.TEXP(g, g)
        pto.TADDS(g, g, 1.0)
        pto.TDIV(g, f, g)
        pto.TCVT(h, g, pto.RoundMode.RINT)
        pto.TSTORE(yv[i : i + 32], h)


def int_hash(x: Ptr[i32], y: Ptr[i32], tiles: int):
    xv, yv = GlobalTensor(x, (tiles * 32, 64)), GlobalTensor(y, (tiles * 32, 64))
    a, b, c, tmp = (Tile(TileType.Vec, i32, 32, 64) for _ in range(4))
    for i in pto.range(tiles):
        r = i * 32
        pto.TLOAD(a, xv[r : r + 32])
        pto.TSHLS(b, a, 5)
        pto.TSHRS(c, a, 3)
        pto.TXOR(b, b, c, tmp)
        pto.TANDS(c, b, 0xFFFFFF)
        pto.TADD(b, c, a)
        pto.TSTORE(yv[r : r + 32], b)


def scaled(x: Ptr[f32], y: Ptr[f32], n: int, scale: float):
    """Scalars of every kind: arithmetic, conditions, memory reads and a float parameter."""
    xv, yv = GlobalTensor(x, (n, 64)), GlobalTensor(y, (n, 64))
    t = Tile(TileType.Vec, f32, 1, 64)
    for i in pto.range(n):
        offset = pto.cast(i, f32) / 4.0 + x[i * 64]
        pto.TLOAD(t, xv[i])
        pto.TMULS(t, t, pto.select((i % 2 == 0) & (i < 4), scale, -scale))
        pto.TADDS(t, t, pto.maximum(offset, -1.0))
        pto.TSTORE(yv[i], t)
        with pto.if_(~(i > 0)):
            y[n * 64] = scale * 3.0


# --- inputs and references ---------------------------------------------------------------------------------------


def _rng(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-2, 2, shape).astype(np.float32)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _quantised(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.clip(np.rint((a.astype(np.float32) @ b.astype(np.float32)) * 0.03125), -128, 127).astype(np.int8)


def _hash(x: np.ndarray) -> np.ndarray:
    return (((x << 5) ^ (x >> 3)) & 0xFFFFFF) + x


def _gelu(x: np.ndarray) -> np.ndarray:
    v = x.astype(np.float32)
    return v / (1 + np.exp(np.float32(-1.702) * v))


def _scaled(x: np.ndarray) -> np.ndarray:
    scale = np.array([0.5 if i % 2 == 0 and i < 4 else -0.5 for i in range(len(x))], np.float32)
    offset = np.maximum(np.arange(len(x), dtype=np.float32) / 4 + x[:, 0], -1)
    return np.append((x * scale[:, None] + offset[:, None]).ravel(), np.float32(1.5))


@dataclass
class Case:
    """A launch: the arguments as made anew by ``args``, and the expected contents of some of them."""

    kernel: Callable[..., None]
    target: str
    args: Callable[[], list[Any]]
    expected: Callable[[list[Any]], dict[int, np.ndarray]]
    blocks: int = 1
    rtol: float = 0.0
    atol: float = 0.0

    def __str__(self) -> str:
        return f"{self.kernel.__name__}-{self.target}"


def _grid() -> np.ndarray:
    return np.random.default_rng(5).integers(-8, 9, (128, 192)).astype(np.float16)


CASES = [
    Case(
        vec_add,
        "a2a3",
        lambda: [_rng(192, 64), _rng(192, 64) * 3, np.zeros((192, 64), np.float32), 3],
        lambda a: {2: a[0] + a[1]},
    ),
    Case(
        vec_add_tail,
        "a5",
        lambda: [_rng(45, 200), _rng(45, 200) * 3, np.zeros((45, 200), np.float32), 45, 200],
        lambda a: {2: a[0] + a[1]},
    ),
    Case(
        row_softmax,
        "a2a3",
        lambda: [_rng(48, 256), np.zeros((48, 256), np.float32), 48],
        lambda a: {1: _softmax(a[0])},
        rtol=1e-5,
    ),
    *(
        Case(
            gemm_tiled,
            target,
            lambda: [_grid(), _grid().reshape(192, 128), np.zeros((128, 128), np.float32), 128, 192, 128],
            lambda a: {2: a[0].astype(np.float32) @ a[1].astype(np.float32)},
        )
        for target in ("a2a3", "a5")
    ),
    Case(
        gemm_quant,
        "a2a3",
        lambda: [_grid()[:64, :64].copy(), _grid()[64:, 64:128].copy(), np.zeros((64, 64), np.int8)],
        lambda a: {2: _quantised(a[0], a[1])},
    ),
    Case(
        block_parallel_axpy,
        "cpu",
        lambda: [_rng(160, 256), _rng(160, 256) * 2, 3, 10],
        lambda a: {1: np.float32(2.5) * a[0] + a[1]},
        blocks=3,
    ),
    Case(
        rmsnorm,
        "a5",
        lambda: [_rng(32, 512), _rng(512), np.zeros((32, 512), np.float32), 32],
        lambda a: {2: a[0] / np.sqrt((a[0] ** 2).mean(axis=1, keepdims=True) + 1e-6) * a[1]},
        rtol=1e-5,
        atol=1e-6,
    ),
    Case(
        col_stats,
        "a2a3",
        lambda: [_rng(128, 128), np.zeros(128, np.float32), np.zeros(128, np.float32), 128],
        lambda a: {1: a[0].sum(axis=0), 2: a[0].max(axis=0)},
        rtol=1e-5,
        atol=1e-4,
    ),
    Case(
        double_buffer_copy,
        "a2a3",
        lambda: [_rng(192, 256), np.zeros((192, 256), np.float32), 3],
        lambda a: {1: a[0]},
    ),
    Case(
        ping_pong,
        "a5",
        lambda: [_rng(40, 64), np.zeros((40, 64), np.float32), 5],
        lambda a: {1: a[0]},
    ),
    Case(
        copy5d,
        "a2a3",
        lambda: [_rng(2, 3, 8, 32, 48).astype(np.float16), np.full((2, 3, 8, 32, 40), 9, np.float16), 2, 3, 8, 32],
        lambda a: {1: np.concatenate([a[0][..., :32], a[1][..., 32:]], axis=-1)},
    ),
    Case(
        bf16_gelu_like,
        "a5",
        lambda: [_rng(64, 128).astype(bf16), np.zeros((64, 128), bf16), 64],
        lambda a: {1: _gelu(a[0])},
        rtol=2**-8,
        atol=1e-6,
    ),
    Case(
        int_hash,
        "a5",
        lambda: [
            np.random.default_rng(2).integers(-(2**31), 2**31, (64, 64)).astype(np.int32),
            np.zeros((64, 64), np.int32),
            2,
        ],
        lambda a: {1: _hash(a[0])},
    ),
    Case(
        scaled,
        "a5",
        lambda: [_rng(6, 64), np.zeros(6 * 64 + 1, np.float32), 6, 0.5],
        lambda a: {1: _scaled(a[0])},
        rtol=1e-6,
    ),
]
