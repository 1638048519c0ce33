"""RMSNorm of f16 rows with f32 sums: y = x / sqrt(mean(x * x) + eps) * gamma.

The number of rows is a multiple of 8, the number of columns is part of the kernel.
"""

import numpy as np

import ptokit as pto

ROWS = 8


@pto.kernel(target="a5")
def rms_norm(
    x: pto.Ptr[pto.f16], gamma: pto.Ptr[pto.f16], y: pto.Ptr[pto.f16], n: int, eps: float, width: pto.Static = 256
):
    pto.assume("n % 8 == 0")
    gx, gy = pto.GlobalTensor(x, (n, width)), pto.GlobalTensor(y, (n, width))
    narrow, wide = ((pto.TileType.Vec, dtype, ROWS, width) for dtype in (pto.f16, pto.f32))
    row = pto.Tile(pto.TileType.Vec, pto.f16, 1, width)
    scale = pto.Tile(pto.TileType.Vec, pto.f32, 1, width)
    pto.TLOAD(row, pto.GlobalTensor(gamma, (1, width)))
    pto.TCVT(scale, row)
    t = pto.Tile(*narrow)
    v, squares, scratch = (pto.Tile(*wide) for _ in pto.static_range(3))
    rms = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, 1, pto.BLayout.ColMajor)
    for top in range(pto.get_block_idx() * ROWS, n, pto.get_block_num() * ROWS):
        pto.TLOAD(t, gx[top : top + ROWS])
        pto.TCVT(v, t)
        pto.TMUL(squares, v, v)
        pto.TROWSUM(rms, squares, scratch)
        line = rms.reshape(1, ROWS)  # arithmetic works on rows: the same numbers as one
        pto.TMULS(line, line, 1.0 / width)
        pto.TADDS(line, line, eps)
        pto.TSQRT(line, line)
        pto.TROWEXPANDDIV(v, v, rms)
        pto.TCOLEXPANDMUL(v, v, scale)
        pto.TCVT(t, v)
        pto.TSTORE(gy[top : top + ROWS], t)


def expected(x: np.ndarray, gamma: np.ndarray, eps: float) -> np.ndarray:
    """The same in float64."""
    v = x.astype(np.float64)
    return v / np.sqrt((v * v).mean(axis=1, keepdims=True) + eps) * gamma.astype(np.float64)


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((104, 256)).astype(np.float16)
    gamma = rng.random(256).astype(np.float16)
    y = np.empty_like(x)
    rms_norm[4](x, gamma, y, len(x), 1e-6)
    error = np.abs(y - expected(x, gamma, 1e-6)).max()
    assert error < 2e-3
    print(f"rms_norm: {x.shape[0]} rows, largest difference from NumPy in float64 {error:.1e}")


if __name__ == "__main__":
    main()
