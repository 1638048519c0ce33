"""Flash attention as it was measured on a2a3: blocks of 128 queries and heads of 128, written after its description.

Keys come 256 at a time, and scores of four such groups are computed ahead of the weights.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.timing.report import Timing

from .published import FLASH_ATTENTION, Row
from .timed_kernels import FIX, MTE1, MTE2, MTE3, NZ, M, V, pto

HEAD, ROWS, KEYS, AHEAD, SLOTS = 128, 128, 256, 4, 8
HALVES = KEYS // HEAD
"""Products of a group of keys; the vector cores work on as many parts of their rows."""
SCORES, WEIGHTS, PARTS = ROWS * KEYS, ROWS * KEYS, ROWS * HEAD
"""Elements of a slot: f32 of the cube core's scores, f16 of the vector cores' weights, f32 of a part of the result."""
SQUARE = HEAD * HEAD * 2
"""Bytes of 128 x 128 f16."""
MINE, FEW = ROWS // 2, ROWS // 2 // HALVES
"""Rows of a vector core, and those that it works on at a time."""
UP_DOWN = pto.TileSplitAxis.TILE_UP_DOWN
Buffers = dict[str, Any]


def multiply(t: Buffers, a: Any, b: Any, into: Any, half: int, first: bool) -> None:
    """A product in one half of L0."""
    left, right = t["left"][half], t["right"][half]
    pto.wait_flag(M, MTE1, half)
    pto.TEXTRACT(left, a, 0, 0)
    pto.TEXTRACT(right, b, 0, 0)
    pto.set_flag(MTE1, M, half)
    pto.wait_flag(MTE1, M, half)
    if first:
        pto.TMATMUL(into, left, right)
    else:
        pto.TMATMUL_ACC(into, into, left, right)
    pto.set_flag(M, MTE1, half)


def score(t: Buffers, group: Any, j: int, begins: bool) -> None:
    """Scores of one half of a group of keys, into its slot."""
    if j == 0:
        pto.TALLOC(t["scores"], t["full"], UP_DOWN)
    pto.wait_flag(MTE1, MTE2, j % 2)
    if begins and j == 0:
        pto.TLOAD(t["q1"], t["queries"])
    at = group * KEYS + j * HEAD
    pto.TLOAD(t["k1"][j % 2], t["keys"][:, at : at + HEAD])
    pto.set_flag(MTE2, MTE1, 0)
    pto.wait_flag(MTE2, MTE1, 0)
    pto.wait_flag(FIX, M, 0)
    multiply(t, t["q1"], t["k1"][j % 2], t["acc"][0], j % 2, True)
    pto.set_flag(MTE1, MTE2, j % 2)
    pto.set_flag(M, FIX, 0)
    pto.wait_flag(M, FIX, 0)
    slot = t["of_scores"] + (group % SLOTS * SCORES + j * ROWS * HEAD)
    pto.TSTORE(pto.GlobalTensor(slot, (ROWS, HEAD)), t["acc"][0])
    pto.set_flag(FIX, M, 0)
    if j == HALVES - 1:
        pto.TPUSH(t["scores"], t["full"], UP_DOWN)


def weigh(t: Buffers, group: Any, j: int, wide: Any) -> None:
    """Weights of one half of a group of keys times their values; of both halves, into a slot."""
    if j == 0:
        pto.TPOP(t["weights"], wide, UP_DOWN)
    pto.wait_flag(MTE1, MTE2, 2 + j % 2)
    at = group * KEYS + j * HEAD
    pto.TLOAD(t["v1"][j % 2], t["values"][at : at + HEAD])
    slot = t["of_weights"] + (group % SLOTS * WEIGHTS + j * ROWS * HEAD)
    pto.TLOAD(t["p1"][j % 2], pto.GlobalTensor(slot, (ROWS, HEAD)))
    if j == HALVES - 1:
        pto.TFREE(t["weights"], wide, UP_DOWN)
    pto.set_flag(MTE2, MTE1, 1)
    pto.wait_flag(MTE2, MTE1, 1)
    if j == 0:
        pto.wait_flag(FIX, M, 1)
    multiply(t, t["p1"][j % 2], t["v1"][j % 2], t["acc"][1], j % 2, j == 0)
    pto.set_flag(MTE1, MTE2, 2 + j % 2)
    if j == HALVES - 1:
        pto.set_flag(M, FIX, 1)
        pto.wait_flag(M, FIX, 1)
        pto.TALLOC(t["parts"], t["part"], UP_DOWN)
        pto.TSTORE(t["part"], t["acc"][1])
        pto.TPUSH(t["parts"], t["part"], UP_DOWN)
        pto.set_flag(FIX, M, 1)


@pto.function
def on_cube(t: Buffers, groups: Any) -> None:
    """Products of a block, those of scores ahead."""
    for i in pto.static_range(2):
        pto.set_flag(MTE1, MTE2, i)
        pto.set_flag(MTE1, MTE2, 2 + i)
        pto.set_flag(M, MTE1, i)
        pto.set_flag(FIX, M, i)
    for j in pto.static_range(HALVES):
        score(t, 0, j, True)
    for group in pto.static_range(1, AHEAD):
        for j in pto.static_range(HALVES):
            score(t, group, j, False)
    for group in range(groups):
        wide = pto.GlobalTensor(pto.f16, (ROWS, KEYS))
        for j in pto.static_range(HALVES):
            if group + AHEAD < groups:
                score(t, group + AHEAD, j, False)
            weigh(t, group, j, wide)
    for i in pto.static_range(2):
        pto.wait_flag(MTE1, MTE2, i)
        pto.wait_flag(MTE1, MTE2, 2 + i)
        pto.wait_flag(M, MTE1, i)
        pto.wait_flag(FIX, M, i)


def column(tile: Any) -> Any:
    """A number for each row, as a column."""
    return tile.reshape(tile.cols, 1, pto.BLayout.ColMajor)


def soften(t: Buffers, group: Any, buffer: int, begins: bool = False) -> None:
    """Weights of a group of keys: exp of scores less the maximum of their row so far, and what that makes of sums.

    ``buffer``: which of two is used first.
    """
    loaded = pto.GlobalTensor(pto.f32, (ROWS, KEYS))
    for j in pto.static_range(HALVES):
        now = (buffer + j) % 2
        x, tmp, w16 = t["x"][now], t["tmp"], t["w16"][now]
        most, total, new, extra = t["numbers"][j]
        factor = pto.Tile(pto.TileType.Vec, pto.f32, 1, FEW, addr=t["factors"] + (group % SLOTS * MINE + j * FEW) * 4)
        rows = t["down"] + j * FEW
        pto.wait_flag(V, MTE2, now)
        if j == 0:
            pto.TPOP(t["scores"], loaded, UP_DOWN)
        for h in pto.static_range(HALVES):
            slot = t["of_scores"] + (group % SLOTS * SCORES + h * ROWS * HEAD)
            pto.TLOAD(x.subview(0, h * HEAD, FEW, HEAD), pto.GlobalTensor(slot, (ROWS, HEAD))[rows : rows + FEW])
        if j == HALVES - 1:
            pto.TFREE(t["scores"], loaded, UP_DOWN)
        pto.set_flag(MTE2, V, 0)
        pto.wait_flag(MTE2, V, 0)
        pto.wait_flag(MTE3, V, now)
        flat, flat16 = x.reshape(1, FEW * KEYS), w16.reshape(1, FEW * KEYS)
        if begins:
            pto.TROWMAX(column(most), x, tmp)
            pto.pipe_barrier(V)
            pto.TROWEXPANDSUB(x, x, column(most))
            pto.TMULS(x, x, HEAD**-0.5)
            pto.TEXP(x, x)
            pto.pipe_barrier(V)
            pto.TROWSUM(column(total), x, tmp)
            pto.TCVT(flat16, flat, pto.RoundMode.CAST_RINT)
        else:
            pto.TROWMAX(column(new), x, tmp)
            pto.pipe_barrier(V)
            pto.TMAX(new, new, most)
            pto.pipe_barrier(V)
            pto.TSUB(factor, most, new)
            pto.pipe_barrier(V)
            pto.TMULS(most, new, 1.0)
            pto.pipe_barrier(V)
            pto.TROWEXPANDSUB(x, x, column(new))
            pto.TMULS(factor, factor, HEAD**-0.5)
            pto.TMULS(x, x, HEAD**-0.5)
            pto.TEXP(factor, factor)
            pto.TEXP(x, x)
            pto.TCVT(flat16, flat, pto.RoundMode.CAST_RINT)
            pto.pipe_barrier(V)
            pto.TMUL(total, factor, total)
            pto.TROWSUM(column(extra), x, tmp)
            pto.pipe_barrier(V)
            pto.TADD(total, total, extra)
        pto.set_flag(V, MTE2, now)
        pto.set_flag(V, MTE3, 0)
        pto.wait_flag(V, MTE3, 0)
        if j == 0:
            pto.TALLOC(t["weights"], t["stored"], UP_DOWN)
        for h in pto.static_range(HALVES):
            slot = t["of_weights"] + (group % SLOTS * WEIGHTS + h * ROWS * HEAD)
            pto.TSTORE(pto.GlobalTensor(slot, (ROWS, HEAD))[rows : rows + FEW], w16.subview(0, h * HEAD, FEW, HEAD))
        if j == HALVES - 1:
            pto.TPUSH(t["weights"], t["stored"], UP_DOWN)
        pto.set_flag(MTE3, V, now)


def correct(t: Buffers, group: Any, buffer: int, begins: bool = False) -> None:
    """The result so far, corrected by what the maximum has become, and a part added."""
    pto.wait_flag(V, MTE2, buffer)
    popped = pto.GlobalTensor(pto.f32, (ROWS, HEAD))
    pto.TPOP(t["parts"], popped, UP_DOWN)
    slot = pto.GlobalTensor(t["of_parts"] + group % SLOTS * PARTS, (ROWS, HEAD))
    pto.TLOAD(t["result"] if begins else t["added"][buffer], slot[t["down"] : t["down"] + MINE])
    pto.TFREE(t["parts"], popped, UP_DOWN)
    pto.set_flag(MTE2, V, 0)
    pto.wait_flag(MTE2, V, 0)
    if not begins:
        factor = pto.Tile(pto.TileType.Vec, pto.f32, 1, MINE, addr=t["factors"] + group % SLOTS * MINE * 4)
        pto.TROWEXPANDMUL(t["result"], t["result"], column(factor))
        pto.TADD(t["result"], t["result"], t["added"][buffer])
    pto.set_flag(V, MTE2, buffer)


@pto.function
def on_vector(t: Buffers, groups: Any) -> None:
    """Weights of a block for half of its rows, ahead of the parts of the result."""
    for i in pto.static_range(2):
        pto.set_flag(V, MTE2, i)
        pto.set_flag(MTE3, V, i)
    soften(t, 0, 0, begins=True)
    for group in pto.static_range(1, AHEAD):
        soften(t, group, 0)
    if groups > AHEAD:
        soften(t, AHEAD, 0)
    correct(t, 0, 0, begins=True)
    if groups > AHEAD:
        soften(t, AHEAD + 1, 1)
    correct(t, 1, 1)
    for group in range(2, groups, 2):
        for i in pto.static_range(2):
            if group + AHEAD < groups:
                soften(t, group + AHEAD + i, i)
            correct(t, group + i, i)
    pto.pipe_barrier(V)
    pto.TROWEXPANDDIV(t["result"], t["result"], column(t["total"]))
    pto.set_flag(V, MTE3, 0)
    pto.wait_flag(V, MTE3, 0)
    pto.TSTORE(t["out"], t["result"])
    for i in pto.static_range(2):
        pto.wait_flag(V, MTE2, i)
        pto.wait_flag(MTE3, V, i)


@pto.kernel(target="a2a3", name="attention")
def attention(
    q: pto.Ptr[pto.f16],
    k: pto.Ptr[pto.f16],
    v: pto.Ptr[pto.f16],
    o: pto.Ptr[pto.f32],
    slots: pto.Ptr[pto.f32],
    weighed: pto.Ptr[pto.f16],
    s0: Any,
    s1: Any,
    clusters: Any,
) -> None:
    """o = softmax(q @ k.T / sqrt(128)) @ v for a multiple of 1024 keys. Scores, weights and parts of the result go
    through slots in memory, which each of `clusters` has, and blocks that follow each other on it share."""
    top = pto.get_block_idx() * ROWS
    cluster = pto.get_block_idx() % clusters
    of_scores = slots + cluster * (SLOTS * (SCORES + PARTS))
    of_parts = of_scores + SLOTS * SCORES
    of_weights = weighed + cluster * (SLOTS * WEIGHTS)
    to_vector, to_cube = pto.Direction.DIR_C2V, pto.Direction.DIR_V2C
    t = {
        "of_scores": of_scores,
        "of_parts": of_parts,
        "of_weights": of_weights,
        "scores": pto.TPipe(0, to_vector, SCORES * 4, SLOTS, gm_slot_buffer=pto.GlobalTensor(of_scores, (ROWS, KEYS))),
        "weights": pto.TPipe(2, to_cube, WEIGHTS * 2, SLOTS, gm_slot_buffer=pto.GlobalTensor(of_weights, (ROWS, KEYS))),
        "parts": pto.TPipe(4, to_vector, PARTS * 4, SLOTS, gm_slot_buffer=pto.GlobalTensor(of_parts, (ROWS, HEAD))),
    }
    with pto.cube_section():
        turned = {"blayout": pto.BLayout.RowMajor, "slayout": pto.SLayout.ColMajor}
        for name, first, layout in (("k1", 1, turned), ("p1", 3, NZ), ("v1", 5, NZ)):
            t[name] = []
            for i in pto.static_range(2):
                t[name].append(pto.Tile(pto.TileType.Mat, pto.f16, HEAD, HEAD, addr=(first + i) * SQUARE, **layout))
        t["left"] = [pto.TileLeft(pto.f16, ROWS, HEAD, addr=i * SQUARE) for i in range(2)]
        t["right"] = [pto.TileRight(pto.f16, HEAD, HEAD, addr=i * SQUARE) for i in range(2)]
        t["acc"] = [pto.TileAcc(pto.f32, ROWS, HEAD, addr=i * 2 * SQUARE) for i in range(2)]
        t["q1"] = pto.Tile(pto.TileType.Mat, pto.f16, ROWS, HEAD, addr=0, **NZ)
        t["queries"] = pto.GlobalTensor(q, (s0, HEAD))[top : top + ROWS]
        t["keys"] = pto.GlobalTensor(k, (HEAD, s1), (1, HEAD), pto.Layout.DN)
        t["values"] = pto.GlobalTensor(v, (s1, HEAD))
        t["full"] = pto.GlobalTensor(pto.f32, (ROWS, KEYS))
        t["part"] = pto.GlobalTensor(pto.f32, (ROWS, HEAD))
        on_cube(t, s1 // KEYS)
    with pto.vector_section():
        t["down"] = pto.get_subblock_idx() * MINE
        big, of_rows = FEW * KEYS * 4, MINE * 4
        after = 3 * MINE * HEAD * 4  # result, and two of what is loaded
        t["result"] = pto.Tile(pto.TileType.Vec, pto.f32, MINE, HEAD, addr=0)
        t["added"] = [pto.Tile(pto.TileType.Vec, pto.f32, MINE, HEAD, addr=(1 + i) * big) for i in range(2)]
        t["x"] = [pto.Tile(pto.TileType.Vec, pto.f32, FEW, KEYS, addr=(1 + i) * big) for i in range(2)]
        t["tmp"] = pto.Tile(pto.TileType.Vec, pto.f32, FEW, KEYS, addr=after)
        t["w16"] = [pto.Tile(pto.TileType.Vec, pto.f16, FEW, KEYS, addr=after + big + i * big // 2) for i in range(2)]
        after += 2 * big
        t["numbers"] = []
        for j in pto.static_range(HALVES):
            of_slice = []
            for i in pto.static_range(4):
                of_slice.append(pto.Tile(pto.TileType.Vec, pto.f32, 1, FEW, addr=after + i * of_rows + j * FEW * 4))
            t["numbers"].append(of_slice)
        t["total"] = pto.Tile(pto.TileType.Vec, pto.f32, 1, MINE, addr=after + of_rows)
        t["factors"] = after + 4 * of_rows
        t["stored"] = pto.GlobalTensor(pto.f16, (ROWS, KEYS))
        first = top + t["down"]
        t["out"] = pto.GlobalTensor(o, (s0, HEAD))[first : first + MINE]
        on_vector(t, s1 // KEYS)


def attention_arguments(s0: int, s1: int, clusters: int) -> list[Any]:
    """Arguments of `attention`, zeros."""
    q, k, v = (np.zeros((n, HEAD), np.float16) for n in (s0, s1, s1))
    slots = np.zeros(clusters * SLOTS * (SCORES + PARTS), np.float32)
    weighed = np.zeros(clusters * SLOTS * WEIGHTS, np.float16)
    return [q, k, v, np.zeros((s0, HEAD), np.float32), slots, weighed, s0, s1, clusters]


def flash_attention(row: Row) -> Timing:
    """The launch follows one of an empty kernel on all cores, and what fetches its arguments into L2."""
    cores, s0, s1 = row.sizes
    blocks = s0 // ROWS
    return attention.time[blocks](*attention_arguments(s0, s1, cores), part=FLASH_ATTENTION.part, warm=True)
