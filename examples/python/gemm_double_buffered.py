"""c = a @ b on a2a3 with two of every buffer and every flag by hand, so that loads, moves and products overlap.

Sizes are multiples of 64; k is an even number of them. A tile in L1 and its copy in L0 take turns: while the cube
unit works on one pair, the next one is loaded.
"""

import numpy as np

import ptokit as pto

SIDE = 64
NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
L1 = SIDE * SIDE * 2  # bytes of a tile
MTE1, MTE2, M, FIX = pto.PIPE_MTE1, pto.PIPE_MTE2, pto.PIPE_M, pto.PIPE_FIX


@pto.kernel(target="a2a3")
def gemm(a: pto.Ptr[pto.f16], b: pto.Ptr[pto.f16], c: pto.Ptr[pto.f32], m: int, k: int, n: int):
    pto.assume("k > 0 and k % 128 == 0")
    ga, gb, gc = pto.GlobalTensor(a, (m, k)), pto.GlobalTensor(b, (k, n)), pto.GlobalTensor(c, (m, n))
    in_l1, in_l0 = [], []
    for i in pto.static_range(2):
        pair = [pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, addr=(2 * i + j) * L1, **NZ) for j in (0, 1)]
        in_l1.append(pair)
        in_l0.append([pto.TileLeft(pto.f16, SIDE, SIDE, addr=i * L1), pto.TileRight(pto.f16, SIDE, SIDE, addr=i * L1)])
    acc = pto.TileAcc(pto.f32, SIDE, SIDE, addr=0)
    for i in pto.static_range(2):  # everything is free at first
        pto.set_flag(MTE1, MTE2, i)
        pto.set_flag(M, MTE1, i)
    pto.set_flag(FIX, M, 0)
    across = n // SIDE
    for t in range(pto.get_block_idx(), m // SIDE * across, pto.get_block_num()):
        row, col = t // across * SIDE, t % across * SIDE
        pto.wait_flag(FIX, M, 0)  # the sums of the last turn are stored
        for p in range(0, k, 2 * SIDE):
            for i in pto.static_range(2):
                (a1, b1), (left, right) = in_l1[i], in_l0[i]
                at = p + i * SIDE
                pto.wait_flag(MTE1, MTE2, i)
                pto.TLOAD(a1, ga[row : row + SIDE, at : at + SIDE])
                pto.TLOAD(b1, gb[at : at + SIDE, col : col + SIDE])
                pto.set_flag(MTE2, MTE1, i)
                pto.wait_flag(MTE2, MTE1, i)
                pto.wait_flag(M, MTE1, i)
                pto.TMOV(left, a1)
                pto.TMOV(right, b1)
                pto.set_flag(MTE1, MTE2, i)
                pto.set_flag(MTE1, M, i)
                pto.wait_flag(MTE1, M, i)
                if at == 0:
                    pto.TMATMUL(acc, left, right)
                else:
                    pto.TMATMUL_ACC(acc, acc, left, right)
                pto.set_flag(M, MTE1, i)
        pto.set_flag(M, FIX, 0)
        pto.wait_flag(M, FIX, 0)
        pto.TSTORE(gc[row : row + SIDE, col : col + SIDE], acc)
        pto.set_flag(FIX, M, 0)
    for i in pto.static_range(2):
        pto.wait_flag(MTE1, MTE2, i)
        pto.wait_flag(M, MTE1, i)
    pto.wait_flag(FIX, M, 0)


def main() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((128, 256)).astype(np.float16)
    b = rng.standard_normal((256, 192)).astype(np.float16)
    c = np.empty((128, 192), np.float32)
    gemm[4](a, b, c, 128, 256, 192)
    error = np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max()
    assert error < 1e-4
    print(f"gemm with two of every buffer: largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()
