"""Softmax over the rows of a matrix, any number of rows and blocks. The number of columns is part of the kernel."""

import numpy as np

import ptokit as pto

ROWS = 16


@pto.kernel(target="a2a3")
def softmax(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int, width: pto.Static = 512):
    gx, gy = pto.GlobalTensor(x, (n, width)), pto.GlobalTensor(y, (n, width))
    for i in range(pto.get_block_idx() * ROWS, n, pto.get_block_num() * ROWS):
        rows = pto.minimum(n - i, ROWS)
        t = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, width, valid_row=rows)
        tmp = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, width, valid_row=rows)
        # One number per row: a column, stored one after the other.
        peak = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, 1, pto.BLayout.ColMajor, valid_row=rows)
        total = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, 1, pto.BLayout.ColMajor, valid_row=rows)
        pto.TLOAD(t, gx[i : i + rows])
        pto.TROWMAX(peak, t, tmp)
        pto.TROWEXPANDSUB(t, t, peak)
        pto.TEXP(t, t)
        pto.TROWSUM(total, t, tmp)
        pto.TROWEXPANDDIV(t, t, total)
        pto.TSTORE(gy[i : i + rows], t)


def main() -> None:
    x = np.random.default_rng(0).standard_normal((1001, 512), dtype=np.float32) * 10
    y = np.empty_like(x)
    softmax[4](x, y, len(x))
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    error = np.abs(y - e / e.sum(axis=1, keepdims=True)).max()
    assert error < 1e-6
    print(f"softmax: {x.shape[0]} rows, largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()
