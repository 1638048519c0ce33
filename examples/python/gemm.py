"""c = a @ b with f16 inputs and f32 sums, tile by tile through L1, L0A/L0B and L0C. Sizes are multiples of 64.

The layout of the left operand differs between targets; `pto.TileLeft` chooses it, so one kernel serves both:
`gemm.on("a2a3")`.
"""

import numpy as np

import ptokit as pto

SIDE = 64
NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}


@pto.kernel(target="a5")
def gemm(a: pto.Ptr[pto.f16], b: pto.Ptr[pto.f16], c: pto.Ptr[pto.f32], m: int, k: int, n: int):
    pto.assume("k > 0 and k % 64 == 0")
    ga, gb, gc = pto.GlobalTensor(a, (m, k)), pto.GlobalTensor(b, (k, n)), pto.GlobalTensor(c, (m, n))
    a_l1 = pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, **NZ)
    b_l1 = pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, **NZ)
    left, right = pto.TileLeft(pto.f16, SIDE, SIDE), pto.TileRight(pto.f16, SIDE, SIDE)
    acc = pto.TileAcc(pto.f32, SIDE, SIDE)
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
        pto.TSTORE(gc[i : i + SIDE, j : j + SIDE], acc)


def main() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((256, 512)).astype(np.float16)
    b = rng.standard_normal((512, 192)).astype(np.float16)
    for target in ("a2a3", "a5"):
        c = np.empty((256, 192), np.float32)
        gemm.on(target)[4](a, b, c, 256, 512, 192)
        error = np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max()
        assert error < 1e-4
        print(f"gemm on {target}: largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()
