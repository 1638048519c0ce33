"""c = (a @ b) * scale with int8 inputs, int32 sums and f16 results: the fix-pipe converts while it stores."""

import numpy as np

import ptokit as pto

SIDE = 64
NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}


@pto.kernel(target="a2a3")
def gemm_int8(
    a: pto.Ptr[pto.i8], b: pto.Ptr[pto.i8], c: pto.Ptr[pto.f16], m: int, k: int, n: int, scale: pto.Static = 0.125
):
    pto.assume("k > 0 and k % 64 == 0")
    ga, gb, gc = pto.GlobalTensor(a, (m, k)), pto.GlobalTensor(b, (k, n)), pto.GlobalTensor(c, (m, n))
    a_l1 = pto.Tile(pto.TileType.Mat, pto.i8, SIDE, SIDE, **NZ)
    b_l1 = pto.Tile(pto.TileType.Mat, pto.i8, SIDE, SIDE, **NZ)
    left, right = pto.TileLeft(pto.i8, SIDE, SIDE), pto.TileRight(pto.i8, SIDE, SIDE)
    acc = pto.TileAcc(pto.i32, SIDE, SIDE)
    across = n // SIDE
    for t in range(pto.get_block_idx(), m // SIDE * across, pto.get_block_num()):
        i, j = t // across * SIDE, t % across * SIDE
        for p in range(0, k, SIDE):
            pto.TLOAD(a_l1, ga[i : i + SIDE, p : p + SIDE])
            pto.TLOAD(b_l1, gb[p : p + SIDE, j : j + SIDE])
            pto.TMOV(left, a_l1)
            pto.TMOV(right, b_l1)
            if p == 0:
                pto.TMATMUL(acc, left, right)
            else:
                pto.TMATMUL_ACC(acc, acc, left, right)
        pto.TSTORE(gc[i : i + SIDE, j : j + SIDE], acc, pto.quant(scale))


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-20, 20, (128, 128)).astype(np.int8), rng.integers(-20, 20, (128, 64)).astype(np.int8)
    c = np.empty((128, 64), np.float16)
    gemm_int8[2](a, b, c, 128, 128, 64)
    wanted = (a.astype(np.int32) @ b.astype(np.int32)).astype(np.float32) * np.float32(0.125)
    assert np.array_equal(c, wanted.astype(np.float16))
    print("gemm_int8: bit for bit as NumPy computes and rounds it")


if __name__ == "__main__":
    main()
