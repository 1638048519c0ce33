"""Kernels of published times, written for ptokit after their descriptions, each with its launch."""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

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
