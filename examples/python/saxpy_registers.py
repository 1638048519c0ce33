"""y = a * x + y on vector registers, any number of elements: the last register is cut short by a mask.

Two buffers take turns, so that the next copy into the unified buffer runs while the last one is computed.
"""

import numpy as np

import ptokit as pto

LANES = 64
PART = 1024  # elements of one copy
BYTES = 4 * PART


@pto.kernel(target="a5")
def saxpy(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int, a: float):
    for turn in pto.static_range(2):
        pto.set_flag(pto.PIPE_V, pto.PIPE_MTE2, turn)
        pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, turn)
    half = 0
    for first in range(pto.get_block_idx() * PART, n, pto.get_block_num() * PART):
        count = pto.minimum(n - first, PART)
        place = half * 2 * BYTES
        xs, ys = pto.castptr(place, pto.f32), pto.castptr(place + BYTES, pto.f32)
        pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE2, half)
        pto.wait_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, half)
        pto.mte_gm_ub(x + first, xs, 0, count * 4, 1, BYTES, BYTES)
        pto.mte_gm_ub(y + first, ys, 0, count * 4, 1, BYTES, BYTES)
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, half)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, half)
        with pto.vecscope():
            left = pto.cast(count, pto.i32)
            for at in range(0, count, LANES):
                mask, left = pto.plt_b32(left)
                product = pto.vmuls(pto.vlds(xs, at), a, mask)
                pto.vsts(pto.vadd(product, pto.vlds(ys, at), mask), ys, at, mask)
        pto.set_flag(pto.PIPE_V, pto.PIPE_MTE2, half)
        pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, half)
        pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, half)
        pto.mte_ub_gm(ys, y + first, count * 4, 1, BYTES, BYTES)
        pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, half)
        half = 1 - half
    for turn in pto.static_range(2):
        pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE2, turn)
        pto.wait_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, turn)


def main() -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 100_003), dtype=np.float32)
    wanted = np.float32(0.3) * x + y
    saxpy[8](x, y, x.size, 0.3)
    assert np.array_equal(y, wanted)
    print(f"saxpy on registers: {x.size} elements, bit for bit as NumPy computes them")


if __name__ == "__main__":
    main()
