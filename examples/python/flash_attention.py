"""o = softmax(q @ k.T / 8) @ v for one head of 64 elements: cube and vector cores exchange tiles through pipes.

q has a multiple of 64 rows, k and v have n, a multiple of 64; f16 in, f32 out. A block computes 64 rows of o. The cube
core multiplies, each of its two vector cores has 32 rows. Three pipes join them: scores (cube to vector), weights
(vector to cube) and parts of the result (cube to vector). Rows are never kept whole: each group of 64 keys corrects the
maximum m, the sum l and the result so far.

On a5 a pipe leads from buffer to buffer. On a2a3 it leads through global memory: a popped tile is loaded there, so that
flags order the load (MTE2) with what uses the tile, and weights are pushed row by row instead of as fractals.
"""

from typing import Any

import numpy as np

import ptokit as pto

SIDE = 64
HALF = SIDE // 2
LOWEST = -30000.0  # below every score
NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
MTE1, MTE2, MTE3 = pto.PIPE_MTE1, pto.PIPE_MTE2, pto.PIPE_MTE3
V, M, FIX = pto.PIPE_V, pto.PIPE_M, pto.PIPE_FIX
HALVES = pto.TileSplitAxis.TILE_UP_DOWN
IN_L1, IN_L0, IN_ACC = SIDE * SIDE * 2, SIDE * SIDE * 2, SIDE * SIDE * 4  # bytes of a tile
SLOT = HALF * SIDE * 4  # bytes: what one vector core has of scores or parts
SLOTS = 4 * IN_ACC + 2 * IN_L1  # bytes of global memory for the pipes of a block on a2a3
Pipes = tuple[pto.TPipe, pto.TPipe, pto.TPipe]
FROM_CUBE = ((MTE1, MTE2), (M, MTE1), (FIX, M))


def product(left_l1: pto.Tile, right_l1: pto.Tile, number: int, out: pto.TPipe, done: Any = None) -> None:
    """Multiply two tiles of L1, and push the product. ``number``: of the product, which has places and events."""
    left = pto.TileLeft(pto.f16, SIDE, SIDE, addr=number * IN_L0)
    right = pto.TileRight(pto.f16, SIDE, SIDE, addr=number * IN_L0)
    acc = pto.TileAcc(pto.f32, SIDE, SIDE, addr=number * IN_ACC)
    pto.wait_flag(M, MTE1, number)
    pto.TMOV(left, left_l1)
    pto.TMOV(right, right_l1)
    if done is not None:
        pto.TFREE(done, HALVES)
    pto.set_flag(MTE1, MTE2, number)
    pto.set_flag(MTE1, M, number)
    pto.wait_flag(MTE1, M, number)
    pto.wait_flag(FIX, M, number)
    pto.TMATMUL(acc, left, right)
    pto.set_flag(M, MTE1, number)
    pto.set_flag(M, FIX, number)
    pto.wait_flag(M, FIX, number)
    pto.TPUSH(out, acc, HALVES)
    pto.set_flag(FIX, M, number)


def multiply(q: Any, k: Any, v: Any, pipes: Pipes, rows: Any, n: Any) -> None:
    """The cube core: scores = q @ k.T, and the parts weights @ v."""
    scores, weights, parts = pipes
    q_l1 = pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, addr=2 * IN_L1, **NZ)
    k_l1 = pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, slayout=pto.SLayout.ColMajor, addr=3 * IN_L1)
    v_l1 = pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, addr=4 * IN_L1, **NZ)
    p_l1 = pto.Tile(pto.TileType.Mat, pto.f16, SIDE, SIDE, **NZ)  # a slot of the weights
    for number in pto.static_range(2):
        for free in FROM_CUBE:
            pto.set_flag(*free, number)
    for row in range(pto.get_block_idx() * SIDE, rows, pto.get_block_num() * SIDE):
        for at in range(0, n, SIDE):
            pto.wait_flag(MTE1, MTE2, 0)
            pto.TLOAD(q_l1, q[row : row + SIDE])
            pto.TLOAD(k_l1, k[:, at : at + SIDE])
            pto.set_flag(MTE2, MTE1, 0)
            pto.wait_flag(MTE2, MTE1, 0)
            product(q_l1, k_l1, 0, scores)

            pto.wait_flag(MTE1, MTE2, 1)
            pto.TLOAD(v_l1, v[at : at + SIDE])
            pto.TPOP(weights, p_l1, HALVES)
            pto.set_flag(MTE2, MTE1, 1)
            pto.wait_flag(MTE2, MTE1, 1)
            product(p_l1, v_l1, 1, parts, done=weights)
    for number in pto.static_range(2):
        for free in FROM_CUBE:
            pto.wait_flag(*free, number)


def column(address: int) -> tuple[pto.Tile, pto.Tile]:
    """A number for every row: as one row, for arithmetic, and as a column, for what rows are compared with."""
    flat = pto.Tile(pto.TileType.Vec, pto.f32, 1, HALF, addr=address)
    return flat, flat.reshape(HALF, 1, pto.BLayout.ColMajor)


def pop(pipe: pto.TPipe, tile: pto.Tile, event: int, through_memory: bool) -> None:
    """The next entry; from global memory once the vector unit is done with the tile before, and then wait for it."""
    if through_memory:
        pto.wait_flag(V, MTE2, event)
    pto.TPOP(pipe, tile, HALVES)
    if through_memory:
        pto.set_flag(MTE2, V, event)
        pto.wait_flag(MTE2, V, event)


def done(pipe: pto.TPipe, event: int, through_memory: bool) -> None:
    """Behind the last use of a popped tile."""
    pto.TFREE(pipe, HALVES)
    if through_memory:
        pto.set_flag(V, MTE2, event)


def softmax(o: Any, pipes: Pipes, rows: Any, n: Any, through_memory: bool) -> None:
    """A vector core: weights from scores, and the result from parts, for its half of the rows."""
    scores, weights, parts = pipes
    out, x, tmp, ready = (pto.Tile(pto.TileType.Vec, pto.f32, HALF, SIDE, addr=0x10000 + i * SLOT) for i in range(4))
    w16 = pto.Tile(pto.TileType.Vec, pto.f16, HALF, SIDE, addr=0x18000)
    w_nz = pto.Tile(pto.TileType.Vec, pto.f16, HALF, SIDE, addr=0x19000, **NZ)
    (m, m_rows), (l, l_rows), (new, new_rows), (alpha, alpha_rows) = (column(0x1A000 + 128 * i) for i in range(4))
    s = pto.Tile(pto.TileType.Vec, pto.f32, HALF, SIDE)  # slots
    part = pto.Tile(pto.TileType.Vec, pto.f32, HALF, SIDE)
    for event in (0, 1):  # at first the weights to be pushed and the result to be stored are free
        pto.set_flag(MTE3, V, event)
        if through_memory:
            pto.set_flag(V, MTE2, event)
    for row in range(pto.get_block_idx() * SIDE, rows, pto.get_block_num() * SIDE):
        pto.TEXPANDS(out, 0.0)
        pto.TEXPANDS(m, LOWEST)
        pto.TEXPANDS(l, 0.0)
        for _ in range(0, n, SIDE):
            pop(scores, s, 0, through_memory)
            pto.TMULS(x, s, 0.125)
            done(scores, 0, through_memory)
            pto.TROWMAX(new_rows, x, tmp)
            pto.TMAX(new, m, new)
            pto.TSUB(alpha, m, new)
            pto.TEXP(alpha, alpha)  # what the new maximum makes of the sums so far
            pto.TMULS(m, new, 1.0)

            pto.TROWEXPANDSUB(x, x, m_rows)
            pto.TEXP(x, x)
            pto.wait_flag(MTE3, V, 0)
            pto.TCVT(w16, x)
            if not through_memory:
                pto.TMOV(w_nz, w16)
            pto.set_flag(V, MTE3, 0)
            pto.wait_flag(V, MTE3, 0)
            pto.TPUSH(weights, w16 if through_memory else w_nz, HALVES)
            pto.set_flag(MTE3, V, 0)

            pto.TROWSUM(new_rows, x, tmp)
            pto.TMUL(l, l, alpha)
            pto.TADD(l, l, new)
            pto.TROWEXPANDMUL(out, out, alpha_rows)
            pop(parts, part, 1, through_memory)
            pto.TADD(out, out, part)
            done(parts, 1, through_memory)
        pto.wait_flag(MTE3, V, 1)
        pto.TROWEXPANDDIV(ready, out, l_rows)
        pto.set_flag(V, MTE3, 1)
        pto.wait_flag(V, MTE3, 1)
        top = row + pto.get_subblock_idx() * HALF
        pto.TSTORE(o[top : top + HALF], ready)
        pto.set_flag(MTE3, V, 1)
    for event in (0, 1):
        pto.wait_flag(MTE3, V, event)
        if through_memory:
            pto.wait_flag(V, MTE2, event)


@pto.kernel(target="a5")
def flash_attention(
    q: pto.Ptr[pto.f16], k: pto.Ptr[pto.f16], v: pto.Ptr[pto.f16], o: pto.Ptr[pto.f32], rows: int, n: int
):
    pto.assume("rows % 64 == 0", "n % 64 == 0")
    to_vector, to_cube = pto.Direction.DIR_C2V, pto.Direction.DIR_V2C
    scores = pto.TPipe(0, to_vector, SLOT, 2, c2v_consumer_buf=0)
    weights = pto.TPipe(2, to_cube, IN_L1, 2, v2c_consumer_buf=0)
    parts = pto.TPipe(4, to_vector, SLOT, 2, c2v_consumer_buf=2 * SLOT)
    with pto.cube_section():
        turned = pto.GlobalTensor(k, (SIDE, n), (1, SIDE), pto.Layout.DN)
        queries, values = pto.GlobalTensor(q, (rows, SIDE)), pto.GlobalTensor(v, (n, SIDE))
        multiply(queries, turned, values, (scores, weights, parts), rows, n)
    with pto.vector_section():
        softmax(pto.GlobalTensor(o, (rows, SIDE)), (scores, weights, parts), rows, n, False)


@pto.kernel(target="a2a3")
def flash_attention_a2a3(
    q: pto.Ptr[pto.f16],
    k: pto.Ptr[pto.f16],
    v: pto.Ptr[pto.f16],
    o: pto.Ptr[pto.f32],
    slots: pto.Ptr[pto.f32],
    rows: int,
    n: int,
):
    pto.assume("rows % 64 == 0", "n % 64 == 0")
    to_vector, to_cube = pto.Direction.DIR_C2V, pto.Direction.DIR_V2C
    mine = slots + pto.get_block_idx() * (SLOTS // 4)
    scores = pto.TPipe(0, to_vector, IN_ACC, 2, gm_slot_buffer=mine, c2v_consumer_buf=0)
    weights = pto.TPipe(2, to_cube, IN_L1, 2, gm_slot_buffer=mine + IN_ACC // 2, v2c_consumer_buf=0)
    parts = pto.TPipe(4, to_vector, IN_ACC, 2, gm_slot_buffer=mine + IN_ACC // 2 + IN_L1 // 2, c2v_consumer_buf=0x8000)
    with pto.cube_section():
        turned = pto.GlobalTensor(k, (SIDE, n), (1, SIDE), pto.Layout.DN)
        queries, values = pto.GlobalTensor(q, (rows, SIDE)), pto.GlobalTensor(v, (n, SIDE))
        multiply(queries, turned, values, (scores, weights, parts), rows, n)
    with pto.vector_section():
        softmax(pto.GlobalTensor(o, (rows, SIDE)), (scores, weights, parts), rows, n, True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The same in NumPy."""
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    answer: np.ndarray = weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    return answer


def main() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((count, SIDE)).astype(np.float16) for count in (128, 320, 320))
    o = np.empty((128, SIDE), np.float32)
    flash_attention[2](q, k, v, o, 128, 320)
    error = np.abs(o - attention(q, k, v)).max()
    assert error < 1e-3
    print(f"flash attention: largest difference from NumPy {error:.1e}")
    again, slots = np.empty_like(o), np.empty(2 * SLOTS // 4, np.float32)
    flash_attention_a2a3[2](q, k, v, again, slots, 128, 320)
    assert np.abs(again - attention(q, k, v)).max() < 1e-3


if __name__ == "__main__":
    main()
