"""Every rank gets the rows of all ranks: each sends on to the next rank what it has last got, ranks - 1 times.

A signal in global memory tells that a row has arrived. The barrier before it is needed: a notification waits for no
store that is still under way.
"""

import numpy as np

import ptokit as pto

COLUMNS = 256


@pto.kernel(target="a2a3")
def ring_all_gather(
    rows: pto.Ptr[pto.f32],
    next_rows: pto.Ptr[pto.f32],
    arrived: pto.Ptr[pto.i32],
    next_arrived: pto.Ptr[pto.i32],
    rank: int,
    ranks: int,
):
    pto.assume("next_rows is rows[rank + 1]", "next_arrived is arrived[rank + 1]", "arrived == 0")
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, COLUMNS)
    pto.TASSIGN(tile, 0)
    mine = pto.GlobalTensor(rows, (ranks, COLUMNS))
    theirs = pto.GlobalTensor(next_rows, (ranks, COLUMNS))
    for step in range(1, ranks):
        row = (rank - step + 1 + ranks) % ranks  # own row first, then those of the ranks before
        pto.TLOAD(tile, mine[row : row + 1])
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, 0)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, 0)
        pto.TSTORE(theirs[row : row + 1], tile)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TNOTIFY(pto.GlobalTensor(next_arrived, (ranks, 1))[step : step + 1], 1)
        pto.TWAIT(pto.GlobalTensor(arrived, (ranks, 1))[step : step + 1], 1, cmp=pto.CmpMode.GE)


def main() -> None:
    count = 4
    wanted = np.random.default_rng(0).standard_normal((count, COLUMNS), dtype=np.float32)
    rows = np.zeros((count, count, COLUMNS), np.float32)
    for rank in range(count):
        rows[rank, rank] = wanted[rank]
    arrived = np.zeros((count, count), np.int32)
    args = rows, pto.Peer("rows", 1), arrived, pto.Peer("arrived", 1), pto.RANK, pto.RANKS
    ring_all_gather.ranks(count)[1](*args)
    assert all(np.array_equal(each, wanted) for each in rows)
    print(f"all-gather: {count} ranks have all {count} rows, bit for bit as NumPy has them")


if __name__ == "__main__":
    main()
