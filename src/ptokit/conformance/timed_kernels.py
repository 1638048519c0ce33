"""Kernels of published times, written for ptokit after their descriptions, each with its launch."""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import ml_dtypes
import numpy as np

from ptokit import lang
from ptokit.records import dataclass
from ptokit.timing.report import Timing

from .published import CONVOLUTION, DSL_GEMM, GEMM, MX_FP4, MX_FP8, VECTOR_ADD, Row

pto: Any = lang  # whose names type checkers know as those of the package
NZ: dict[str, Any] = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
MTE1, MTE2, MTE3 = pto.PIPE_MTE1, pto.PIPE_MTE2, pto.PIPE_MTE3
V, M, FIX = pto.PIPE_V, pto.PIPE_M, pto.PIPE_FIX
L0 = 32 * 1024
"""Bytes of one of two buffers in L0A and L0B."""


@dataclass(frozen=True)
class Tiling:
    """What a core of a product works on at a time. ``base``: rows, inner and columns of a product in L0; ``step``: how
    many of them along k are loaded at once; ``size``: bytes of an element.

    ``window``: rows of 16 elements that are loaded for the left operand, where they are not its own (a convolution
    reads an image). ``scales``: loads for which one load of scales serves, 0 without any.
    """

    target: str
    dtype: Any
    out: Any
    base: tuple[int, int, int]
    step: int
    size: float
    window: int = 0
    scales: int = 0


def product(t: Tiling, k: int) -> Any:
    """c = a @ b with k known, two of every buffer and all flags by hand; each core has sm x sn of c."""
    bm, bk, bn = t.base
    wide, dtype, target = bk * t.step, t.dtype, t.target
    part_a, part_b = ceil((t.window * 16 if t.window else bm * wide) * t.size), ceil(wide * bn * t.size)
    some = min(k, wide * max(1, t.scales))  # of k, for which scales are loaded at once
    scale_a = bm * some // 32
    after = 2 * (part_a + part_b)  # in L1, where scales begin

    def kernel(a: Any, b: Any, c: Any, sa: Any, sb: Any, m: Any, n: Any, sm: Any, sn: Any) -> None:
        ga, gb, gc = pto.GlobalTensor(a, (m, k)), pto.GlobalTensor(b, (k, n)), pto.GlobalTensor(c, (m, n))
        image = pto.GlobalTensor(a, (m * k // 16, 16))
        in_l1, in_l0 = [], []
        for i in pto.static_range(2):
            at = i * (part_a + part_b)
            left = pto.Tile(pto.TileType.Mat, dtype, bm, wide, addr=at, **NZ)
            seen = pto.Tile(pto.TileType.Mat, dtype, t.window, 16, addr=at, **NZ) if t.window else left
            in_l1.append((left, pto.Tile(pto.TileType.Mat, dtype, wide, bn, addr=at + part_a, **NZ), seen))
            l0 = [pto.TileLeft(dtype, bm, bk, addr=i * L0), pto.TileRight(dtype, bk, bn, addr=i * L0)]
            if t.scales:
                l0.append(pto.TileLeftScale(pto.e8m0, bm, bk // 32, addr=i * L0 // 16))
                l0.append(pto.TileRightScale(pto.e8m0, bk // 32, bn, addr=i * L0 // 16))
            in_l0.append(l0)
        of_a = of_b = None
        if t.scales:
            rows = {"blayout": pto.BLayout.RowMajor, "slayout": pto.SLayout.RowMajor, "fractal": 32}
            cols = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.ColMajor, "fractal": 32}
            of_a = pto.Tile(pto.TileType.Mat, pto.e8m0, bm, some // 32, addr=after, **rows)
            of_b = pto.Tile(pto.TileType.Mat, pto.e8m0, some // 32, bn, addr=after + scale_a, **cols)
        acc = pto.TileAcc(pto.f32, bm, bn, addr=0)
        for i in pto.static_range(2):
            pto.set_flag(MTE1, MTE2, i)
            pto.set_flag(M, MTE1, i)
        pto.set_flag(FIX, M, 0)
        grid = m // sm
        first_row = pto.get_block_idx() % grid * sm
        first_col = pto.get_block_idx() // grid * sn
        for row in range(first_row, first_row + sm, bm):
            for col in range(first_col, first_col + sn, bn):
                pto.wait_flag(FIX, M, 0)
                for p in range(0, k, 2 * wide):
                    for i in pto.static_range(2):
                        (left, right, seen), at = in_l1[i], p + i * wide
                        pto.wait_flag(MTE1, MTE2, i)
                        if t.window:
                            first = row * k // 16
                            pto.TLOAD(seen, image[first : first + t.window, 0:16])
                        else:
                            pto.TLOAD(left, ga[row : row + bm, at : at + wide])
                        if t.scales:  # noqa: SIM102  # `and` would need numbers on both sides
                            if at % (wide * t.scales) == 0:
                                begin = row * (k // 32) + at // 32 * bm
                                zz = pto.GlobalTensor(
                                    sa + begin, (1, bm // 16, some // 64, 16, 2), layout=pto.Layout.MX_A_ZZ
                                )
                                pto.TLOAD(of_a, zz)
                        pto.set_flag(MTE2, MTE1, 0)
                        if t.window:  # weights are stored as L1 has them
                            of_part = b + (at * n + col * wide)
                            nz = pto.GlobalTensor(of_part, (1, bn // 16, wide // 16, 16, 16), layout=pto.Layout.NZ)
                            pto.TLOAD(right, nz)
                        else:
                            pto.TLOAD(right, gb[at : at + wide, col : col + bn])
                        if t.scales:  # noqa: SIM102
                            if at % (wide * t.scales) == 0:
                                begin = col * (k // 32) + at // 32 * bn
                                nn = pto.GlobalTensor(
                                    sb + begin, (1, bn // 16, some // 64, 16, 2), layout=pto.Layout.MX_B_NN
                                )
                                pto.TLOAD(of_b, nn)
                        pto.set_flag(MTE2, MTE1, 1)
                        for j in pto.static_range(t.step):
                            half = (i * t.step + j) % 2
                            tiles = in_l0[half]
                            pto.wait_flag(M, MTE1, half)
                            if j == 0:
                                pto.wait_flag(MTE2, MTE1, 0)
                            pto.TEXTRACT(tiles[0], left, 0, j * bk)
                            if t.scales:
                                pto.TEXTRACT(tiles[2], of_a, 0, (i * t.step + j) * bk // 32 % (some // 32))
                            if j == 0:
                                pto.wait_flag(MTE2, MTE1, 1)
                            pto.TEXTRACT(tiles[1], right, j * bk, 0)
                            if t.scales:
                                pto.TEXTRACT(tiles[3], of_b, (i * t.step + j) * bk // 32 % (some // 32), 0)
                            if j == t.step - 1:
                                pto.set_flag(MTE1, MTE2, i)
                            pto.set_flag(MTE1, M, half)
                            pto.wait_flag(MTE1, M, half)
                            if t.scales:
                                if at + j * bk == 0:
                                    pto.TMATMUL_MX(acc, tiles[0], tiles[2], tiles[1], tiles[3])
                                else:
                                    pto.TMATMUL_MX_ACC(acc, acc, tiles[0], tiles[2], tiles[1], tiles[3])
                            elif at + j * bk == 0:
                                pto.TMATMUL(acc, tiles[0], tiles[1])
                            else:
                                pto.TMATMUL_ACC(acc, acc, tiles[0], tiles[1])
                            pto.set_flag(M, MTE1, half)
                pto.set_flag(M, FIX, 0)
                pto.wait_flag(M, FIX, 0)
                pto.TSTORE(gc[row : row + bm, col : col + bn], acc)
                pto.set_flag(FIX, M, 0)
        for i in pto.static_range(2):
            pto.wait_flag(MTE1, MTE2, i)
            pto.wait_flag(M, MTE1, i)
        pto.wait_flag(FIX, M, 0)

    kernel.__annotations__ |= dict.fromkeys("ab", pto.Ptr[dtype])
    return pto.kernel(target=target, name="product")(kernel)


def _launched(t: Tiling, part: str, m: int, k: int, n: int, grid: tuple[int, int], types: tuple[Any, Any]) -> Timing:
    operand, result = types
    packed = 2 if t.size < 1 else 1  # elements of a byte
    a, b = np.zeros(m * k // packed, operand), np.zeros(k * n // packed, operand)
    c = np.zeros(m * n, result)
    scales = ml_dtypes.float8_e8m0fnu
    sa, sb = np.zeros(max(1, m * k // 32), scales), np.zeros(max(1, k * n // 32), scales)
    across, down = grid
    arguments = a, b, c, sa, sb, m, n, m // across, n // down
    return product(t, k).time[across * down](*arguments, part=part)


def gemm(row: Row) -> Timing:
    m, k, n = row.sizes
    tiling = Tiling("a2a3", pto.f16, pto.f32, (128, 64, 256), 4, 2)
    return _launched(tiling, GEMM.part, m, k, n, (4, 6), (np.float16, np.float32))


def convolution(row: Row) -> Timing:
    """A window of the image, as many rows as 128 outputs reach and two more, for 9 * 16 of k at a time."""
    batch, channels, height, width, _, columns = row.sizes
    window = (ceil(128 / width) + 2) * width
    tiling = Tiling("a2a3", pto.f16, pto.f16, (128, 48, 256), 3, 2, window=window)
    m, k, n = batch * height * width, channels * 144, columns * 16
    return _launched(tiling, CONVOLUTION.part, m, k, n, (4, 6), (np.float16, np.float16))


def mx_fp8(row: Row) -> Timing:
    m, k, n = row.sizes
    tiling = Tiling("a5", pto.e4m3, pto.bf16, (128, 128, 256), 4, 1, scales=8)
    return _launched(tiling, MX_FP8.part, m, k, n, (4, 8), (ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16))


def mx_fp4(row: Row) -> Timing:
    m, k, n = row.sizes
    tiling = Tiling("a5", pto.e2m1, pto.bf16, (256, 256, 256), 2, 0.5, scales=4)
    return _launched(tiling, MX_FP4.part, m, k, n, (4, 8), (np.uint8, ml_dtypes.bfloat16))


def persistent() -> Any:
    """The product of pto-dsl: cores take tiles of 128 x 256, 512 of k at a time, of the right operand 256."""
    bm, bn, wide, half_k, bk = 128, 256, 512, 256, 64

    @pto.kernel(target="a2a3", name="persistent")
    def kernel(a: Any, b: Any, c: Any, m: Any, k: Any, n: Any) -> None:
        ga, gb, gc = pto.GlobalTensor(a, (m, k)), pto.GlobalTensor(b, (k, n)), pto.GlobalTensor(c, (m, n))
        lefts, rights, in_l0 = [], [], []
        for i in pto.static_range(2):
            lefts.append(pto.Tile(pto.TileType.Mat, pto.f16, bm, wide, addr=i * bm * wide * 2, **NZ))
            at = 2 * bm * wide * 2 + i * half_k * bn * 2
            rights.append(pto.Tile(pto.TileType.Mat, pto.f16, half_k, bn, addr=at, **NZ))
            left = pto.TileLeft(pto.f16, bm, bk, addr=i * L0)
            in_l0.append((left, pto.TileRight(pto.f16, bk, bn, addr=i * L0)))
        acc = pto.TileAcc(pto.f32, bm, bn, addr=0)
        for i in pto.static_range(2):
            pto.set_flag(MTE1, MTE2, i)
            pto.set_flag(MTE1, MTE2, 2 + i)
            pto.set_flag(M, MTE1, i)
        pto.set_flag(FIX, M, 0)
        across = n // bn
        for tile in range(pto.get_block_idx(), m // bm * across, pto.get_block_num()):
            row, col = tile // across * bm, tile % across * bn
            pto.wait_flag(FIX, M, 0)
            for p in range(0, k, 2 * wide):
                for i in pto.static_range(2):
                    at = p + i * wide
                    pto.wait_flag(MTE1, MTE2, i)
                    pto.TLOAD(lefts[i], ga[row : row + bm, at : at + wide])
                    pto.set_flag(MTE2, MTE1, 0)
                    for h in pto.static_range(2):
                        pto.wait_flag(MTE1, MTE2, 2 + h)
                        first = at + h * half_k
                        pto.TLOAD(rights[h], gb[first : first + half_k, col : col + bn])
                        pto.set_flag(MTE2, MTE1, 1 + h)
                    for j in pto.static_range(8):
                        (left, right), l0 = in_l0[j % 2], j % 2
                        pto.wait_flag(M, MTE1, l0)
                        if j == 0:
                            pto.wait_flag(MTE2, MTE1, 0)
                        pto.TEXTRACT(left, lefts[i], 0, j * bk)
                        if j % 4 == 0:
                            pto.wait_flag(MTE2, MTE1, 1 + j // 4)
                        pto.TEXTRACT(right, rights[j // 4], j % 4 * bk, 0)
                        if j % 4 == 3:
                            pto.set_flag(MTE1, MTE2, 2 + j // 4)
                        if j == 7:
                            pto.set_flag(MTE1, MTE2, i)
                        pto.set_flag(MTE1, M, l0)
                        pto.wait_flag(MTE1, M, l0)
                        if at + j * bk == 0:
                            pto.TMATMUL(acc, left, right)
                        else:
                            pto.TMATMUL_ACC(acc, acc, left, right)
                        pto.set_flag(M, MTE1, l0)
            pto.set_flag(M, FIX, 0)
            pto.wait_flag(M, FIX, 0)
            pto.TSTORE(gc[row : row + bm, col : col + bn], acc)
            pto.set_flag(FIX, M, 0)
        for i in pto.static_range(2):
            pto.wait_flag(MTE1, MTE2, i)
            pto.wait_flag(MTE1, MTE2, 2 + i)
            pto.wait_flag(M, MTE1, i)
        pto.wait_flag(FIX, M, 0)

    return kernel


def dsl_gemm(row: Row) -> Timing:
    m, k, n = row.sizes
    a, b, c = (np.zeros(size, np.float16) for size in (m * k, k * n, m * n))
    return persistent().time[24](a, b, c, m, k, n, part=DSL_GEMM.part)


def addition(buffers: int) -> Any:
    """z = x + y in tiles of 4096 f32, with one or two of each."""
    width = 4096

    @pto.kernel(target="a2a3", name="addition")
    def kernel(x: Any, y: Any, z: Any, n: Any) -> None:
        gx, gy, gz = pto.GlobalTensor(x, (1, n)), pto.GlobalTensor(y, (1, n)), pto.GlobalTensor(z, (1, n))
        tiles = []
        for i in pto.static_range(buffers):
            at = 2 * i * width * 4
            one = pto.Tile(pto.TileType.Vec, pto.f32, 1, width, addr=at)
            tiles.append((one, pto.Tile(pto.TileType.Vec, pto.f32, 1, width, addr=at + width * 4)))
            pto.set_flag(MTE3, MTE2, i)
        whole = width * buffers
        for p in range(pto.get_block_idx() * whole, n, pto.get_block_num() * whole):
            for i in pto.static_range(buffers):
                (one, other), at = tiles[i], p + i * width
                pto.wait_flag(MTE3, MTE2, i)
                pto.TLOAD(one, gx[:, at : at + width])
                pto.TLOAD(other, gy[:, at : at + width])
                pto.set_flag(MTE2, V, i)
                pto.wait_flag(MTE2, V, i)
                pto.TADD(one, one, other)
                pto.set_flag(V, MTE3, i)
                pto.wait_flag(V, MTE3, i)
                pto.TSTORE(gz[:, at : at + width], one)
                pto.set_flag(MTE3, MTE2, i)
        for i in pto.static_range(buffers):
            pto.wait_flag(MTE3, MTE2, i)

    return kernel


def vector_add(row: Row) -> Timing:
    n = 48 * 8192 * 100
    x, y, z = (np.zeros(n, np.float32) for _ in range(3))
    return addition(row.sizes[0]).time[48](x, y, z, n, part=VECTOR_ADD.part)


def tiled(
    base: tuple[int, int, int],
    step: int,
    *,
    buffers: int = 2,
    halves: int = 2,
    accumulators: int = 1,
    group: int = 0,
    keep: bool = False,
    split: int = 1,
) -> Any:
    """c = a @ b of f16, tiles of c handed to cores one after the other.

    ``base``, ``step``: as of a `Tiling`. ``buffers``: in L1, ``halves``: of L0. ``group``: tiles go through so many
    columns at a time, down and back; along the rows otherwise. ``keep``: the left operand is one load, which stays in
    L1. ``split``: parts of k, whose products are added in global memory.
    """
    bm, bk, bn = base
    wide = bk * step
    part_a, part_b = bm * wide * 2, wide * bn * 2

    @pto.kernel(target="a2a3", name="tiled")
    def kernel(a: Any, b: Any, c: Any, m: Any, k: Any, n: Any, tiles: Any) -> None:
        ga, gb, gc = pto.GlobalTensor(a, (m, k)), pto.GlobalTensor(b, (k, n)), pto.GlobalTensor(c, (m, n))
        in_l1, in_l0, accs = [], [], []
        for i in pto.static_range(buffers):
            of_a = pto.Tile(pto.TileType.Mat, pto.f16, bm, wide, addr=0 if keep else i * part_a, **NZ)
            after = (1 if keep else buffers) * part_a + i * part_b
            in_l1.append((of_a, pto.Tile(pto.TileType.Mat, pto.f16, wide, bn, addr=after, **NZ)))
            pto.set_flag(MTE1, MTE2, i)
        for i in pto.static_range(halves):
            in_l0.append((pto.TileLeft(pto.f16, bm, bk, addr=i * L0), pto.TileRight(pto.f16, bk, bn, addr=i * L0)))
            pto.set_flag(M, MTE1, i)
        for i in pto.static_range(accumulators):
            accs.append(pto.TileAcc(pto.f32, bm, bn, addr=i * bm * bn * 4))
            pto.set_flag(FIX, M, i)
        down, across, mine = m // bm, n // bn, k // split
        begin = pto.get_block_idx() % split * mine
        cores = pto.get_block_num() // split
        if keep:
            pto.TLOAD(in_l1[0][0], ga[0:bm, 0:wide])
        for at in range(pto.get_block_idx() // split, tiles, cores * accumulators):
            for o in pto.static_range(accumulators):
                t = at + o * cores
                if t < tiles:
                    row, col = t // across, t % across
                    if group:
                        place, inside = t // (group * down), t % (group * down)
                        some = pto.minimum(group, across - place * group)
                        row, col = inside // some, place * group + inside % some
                        row += place % 2 * (down - 1 - 2 * row)
                    row, col = row * bm, col * bn
                    pto.wait_flag(FIX, M, o)
                    for p in range(begin, begin + mine, wide * (1 if keep else buffers)):
                        for i in pto.static_range(1 if keep else buffers):
                            now = (i + o) % buffers
                            (left, right), inner = in_l1[now], p + i * wide
                            pto.wait_flag(MTE1, MTE2, now)
                            if not keep:
                                pto.TLOAD(left, ga[row : row + bm, inner : inner + wide])
                            pto.TLOAD(right, gb[inner : inner + wide, col : col + bn])
                            pto.set_flag(MTE2, MTE1, now)
                            pto.wait_flag(MTE2, MTE1, now)
                            for j in pto.static_range(step):
                                half = (i * step + j) % halves
                                pto.wait_flag(M, MTE1, half)
                                pto.TEXTRACT(in_l0[half][0], left, 0, j * bk)
                                pto.TEXTRACT(in_l0[half][1], right, j * bk, 0)
                                if j == step - 1:
                                    pto.set_flag(MTE1, MTE2, now)
                                pto.set_flag(MTE1, M, half)
                                pto.wait_flag(MTE1, M, half)
                                if inner + j * bk == begin:
                                    pto.TMATMUL(accs[o], *in_l0[half])
                                else:
                                    pto.TMATMUL_ACC(accs[o], accs[o], *in_l0[half])
                                pto.set_flag(M, MTE1, half)
                    pto.set_flag(M, FIX, o)
                    pto.wait_flag(M, FIX, o)
                    adds = pto.AtomicType.AtomicAdd if split > 1 else pto.AtomicType.AtomicNone
                    pto.TSTORE(gc[row : row + bm, col : col + bn], accs[o], atomic=adds)
                    pto.set_flag(FIX, M, o)
        for i in pto.static_range(buffers):
            pto.wait_flag(MTE1, MTE2, i)
        for i in pto.static_range(halves):
            pto.wait_flag(M, MTE1, i)
        for i in pto.static_range(accumulators):
            pto.wait_flag(FIX, M, i)

    kernel.__annotations__ |= {"a": pto.Ptr[pto.f16], "b": pto.Ptr[pto.f16]}
    return kernel


def product_of(
    part: str, cores: int, sizes: tuple[int, int, int], base: tuple[int, int, int], step: int, **more: Any
) -> Callable[[], Timing]:
    """Times `tiled` on `cores`. ``warm``: after a launch like it; ``tiles``: only so many of them."""
    m, k, n = sizes
    tiles = more.pop("tiles", m // base[0] * (n // base[2]))
    warm = more.pop("warm", True)

    def timed() -> Timing:
        a, b, c = np.zeros(m * k, np.float16), np.zeros(k * n, np.float16), np.zeros(m * n, np.float32)
        return tiled(base, step, **more).time[cores](a, b, c, m, k, n, tiles, part=part, warm=warm)

    return timed


def convolved(fused: bool) -> Any:
    """Four taps along rows of 128 columns on a5: each row is added to four sums, at once or as products before."""
    width, taps = 128, 4
    size = width * 4

    @pto.kernel(target="a5", name="convolved")
    def kernel(x: Any, y: Any, rows: Any, dim: Any) -> None:
        gx, gy = pto.GlobalTensor(x, (rows, dim)), pto.GlobalTensor(y, (rows, dim))
        col = pto.get_block_idx() * width
        loaded, sums, weights = [], [], []
        for i in pto.static_range(taps):
            loaded.append(pto.Tile(pto.TileType.Vec, pto.f16, 1, width, addr=i * size))
            sums.append(pto.Tile(pto.TileType.Vec, pto.f32, 1, width, addr=(taps + i) * size))
            weights.append(pto.Tile(pto.TileType.Vec, pto.f32, 1, width, addr=(2 * taps + i) * size))
            pto.set_flag(V, MTE2, i)
            pto.set_flag(MTE3, V, i)
        row = pto.Tile(pto.TileType.Vec, pto.f32, 1, width, addr=3 * taps * size)
        weighed = pto.Tile(pto.TileType.Vec, pto.f32, 1, width, addr=(3 * taps + 1) * size)
        for first in range(0, rows, taps):
            for i in pto.static_range(taps):
                pto.wait_flag(V, MTE2, i)
                pto.TLOAD(loaded[i], gx[first + i : first + i + 1, col : col + width])
                pto.set_flag(MTE2, V, i)
                pto.wait_flag(MTE2, V, i)
                pto.TCVT(row, loaded[i], pto.RoundMode.CAST_RINT)
                pto.set_flag(V, MTE2, i)
                pto.wait_flag(MTE3, V, i)
                pto.TMUL(sums[i], row, weights[0])
                for tap in pto.static_range(1, taps):
                    into = sums[(i + tap) % taps]
                    if fused:
                        pto.TMULADDDST(into, row, weights[tap])
                    else:
                        pto.TMUL(weighed, row, weights[tap])
                        pto.pipe_barrier(V)
                        pto.TADD(into, into, weighed)
                pto.set_flag(V, MTE3, i)
                pto.wait_flag(V, MTE3, i)
                pto.TSTORE(gy[first + i : first + i + 1, col : col + width], sums[i])
                pto.set_flag(MTE3, V, i)
        for i in pto.static_range(taps):
            pto.wait_flag(V, MTE2, i)
            pto.wait_flag(MTE3, V, i)

    kernel.__annotations__ |= {"x": pto.Ptr[pto.f16]}
    return kernel


def convolution_of_rows(fused: bool) -> Callable[[], Timing]:
    """Times `convolved` on 128 rows of 3072 columns."""

    def timed() -> Timing:
        x, y = np.zeros((128, 3072), np.float16), np.zeros((128, 3072), np.float32)
        return convolved(fused).time[24](x, y, 128, 3072, part="950DT_958x")

    return timed
