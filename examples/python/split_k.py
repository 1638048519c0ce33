"""y = x @ w + r on a5, with the sum over k split: the cube core pushes partial sums, two vector cores add them up.

x has 32 rows, k is a multiple of 128, n of 64. A pipe with two slots leads from the cube core to its vector cores: the
cube core may be two partial sums ahead. Each vector core has 16 rows of every partial sum.
"""

from typing import Any

import numpy as np

import ptokit as pto

ROWS, DEPTH, COLS = 32, 128, 64
HALF = ROWS // 2
NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
MTE1, MTE2, MTE3 = pto.PIPE_MTE1, pto.PIPE_MTE2, pto.PIPE_MTE3
V, M, FIX = pto.PIPE_V, pto.PIPE_M, pto.PIPE_FIX
HALVES = pto.TileSplitAxis.TILE_UP_DOWN
SLOT = HALF * COLS * 4  # bytes: what one vector core has of a partial sum


def multiply(sums: pto.TPipe, x: pto.GlobalTensor, w: pto.GlobalTensor, k: Any, n: Any) -> None:
    """The cube core: products of 128 of k at a time, into the pipe."""
    x_l1 = pto.Tile(pto.TileType.Mat, pto.f16, ROWS, DEPTH, addr=0, **NZ)
    w_l1 = pto.Tile(pto.TileType.Mat, pto.f16, DEPTH, COLS, addr=ROWS * DEPTH * 2, **NZ)
    left, right = pto.TileLeft(pto.f16, ROWS, DEPTH, addr=0), pto.TileRight(pto.f16, DEPTH, COLS, addr=0)
    acc = pto.TileAcc(pto.f32, ROWS, COLS, addr=0)
    for free in ((MTE1, MTE2), (M, MTE1), (FIX, M)):  # at first L1, L0 and the accumulator are free
        pto.set_flag(*free, 0)
    for col in range(pto.get_block_idx() * COLS, n, pto.get_block_num() * COLS):
        for at in range(0, k, DEPTH):
            pto.wait_flag(MTE1, MTE2, 0)
            pto.TLOAD(x_l1, x[:, at : at + DEPTH])
            pto.TLOAD(w_l1, w[at : at + DEPTH, col : col + COLS])
            pto.set_flag(MTE2, MTE1, 0)
            pto.wait_flag(MTE2, MTE1, 0)
            pto.wait_flag(M, MTE1, 0)
            pto.TMOV(left, x_l1)
            pto.TMOV(right, w_l1)
            pto.set_flag(MTE1, MTE2, 0)
            pto.set_flag(MTE1, M, 0)
            pto.wait_flag(MTE1, M, 0)
            pto.wait_flag(FIX, M, 0)
            pto.TMATMUL(acc, left, right)
            pto.set_flag(M, MTE1, 0)
            pto.set_flag(M, FIX, 0)
            pto.wait_flag(M, FIX, 0)
            pto.TPUSH(sums, acc, HALVES)
            pto.set_flag(FIX, M, 0)
    for free in ((MTE1, MTE2), (M, MTE1), (FIX, M)):
        pto.wait_flag(*free, 0)


def add_up(sums: pto.TPipe, r: pto.GlobalTensor, y: pto.GlobalTensor, k: Any, n: Any) -> None:
    """A vector core: its 16 rows of r and of every partial sum."""
    top = pto.get_subblock_idx() * HALF
    total = pto.Tile(pto.TileType.Vec, pto.f32, HALF, COLS, addr=0x10000)
    part = pto.Tile(pto.TileType.Vec, pto.f32, HALF, COLS)  # a slot of the pipe
    pto.set_flag(MTE3, MTE2, 0)
    for col in range(pto.get_block_idx() * COLS, n, pto.get_block_num() * COLS):
        pto.wait_flag(MTE3, MTE2, 0)
        pto.TLOAD(total, r[top : top + HALF, col : col + COLS])
        pto.set_flag(MTE2, V, 0)
        pto.wait_flag(MTE2, V, 0)
        for _ in range(0, k, DEPTH):
            pto.TPOP(sums, part, HALVES)
            pto.TADD(total, total, part)
            pto.TFREE(sums, HALVES)
        pto.set_flag(V, MTE3, 0)
        pto.wait_flag(V, MTE3, 0)
        pto.TSTORE(y[top : top + HALF, col : col + COLS], total)
        pto.set_flag(MTE3, MTE2, 0)
    pto.wait_flag(MTE3, MTE2, 0)


@pto.kernel(target="a5")
def split_k(x: pto.Ptr[pto.f16], w: pto.Ptr[pto.f16], r: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], k: int, n: int):
    pto.assume("k % 128 == 0", "n % 64 == 0")
    sums = pto.TPipe(0, pto.Direction.DIR_C2V, SLOT, 2, c2v_consumer_buf=0)
    with pto.cube_section():
        multiply(sums, pto.GlobalTensor(x, (ROWS, k)), pto.GlobalTensor(w, (k, n)), k, n)
    with pto.vector_section():
        add_up(sums, pto.GlobalTensor(r, (ROWS, n)), pto.GlobalTensor(y, (ROWS, n)), k, n)


def main() -> None:
    rng = np.random.default_rng(0)
    k, n = 640, 192
    x, w = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((ROWS, k), (k, n)))
    r, y = rng.integers(-4, 5, (ROWS, n)).astype(np.float32), np.empty((ROWS, n), np.float32)
    split_k[2](x, w, r, y, k, n)
    assert (y == x.astype(np.float32) @ w.astype(np.float32) + r).all()
    print(f"split k: {k // DEPTH} partial sums for every column, equal to NumPy")


if __name__ == "__main__":
    main()
