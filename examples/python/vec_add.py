"""z = x + y for any number of elements and blocks, in the Python front end.

Block b takes tiles b, b + blocks, b + 2*blocks, ... The last tile is shortened through its valid region.
"""

import numpy as np

import ptokit as pto

WIDTH = 4096


@pto.kernel(target="a5")
def vec_add(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], n: int):
    gx, gy, gz = (pto.GlobalTensor(p, (1, n)) for p in (x, y, z))
    for t in range(pto.get_block_idx(), pto.cdiv(n, WIDTH), pto.get_block_num()):
        at = t * WIDTH
        length = pto.minimum(n - at, WIDTH)
        a = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH, valid_col=length)
        b = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH, valid_col=length)
        pto.TLOAD(a, gx[:, at : at + length])
        pto.TLOAD(b, gy[:, at : at + length])
        pto.TADD(a, a, b)
        pto.TSTORE(gz[:, at : at + length], a)


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1_000_003), dtype=np.float32)
    z = np.empty_like(x)
    vec_add[8](x, y, z, x.size)  # results arrive in z itself
    assert np.array_equal(z, x + y)
    print(f"vec_add: {z.size} elements, bit for bit as NumPy adds them")
    print(vec_add.to_pto())


if __name__ == "__main__":
    main()
