"""Calls that are right, for the type stub: no type checker may say anything about this file."""

import ptokit as pto


@pto.kernel(target="a5")
def right(n: int) -> None:
    pto.sync.set(pto.PIPE_FIX, 3)
    pto.sync.set("PIPE_FIX", event_id=n, ffts_mode=1)
    pto.set_intra_block(pto.PIPE_FIX, 3)
    for i in pto.range(0, 2):
        pto.sync.wait(pto.PIPE_V, i)
    pto.fence.barrier_all("gm")
    pto.cmo.cacheinvalid("all")
    pipe = pto.TPipe(2, pto.Direction.DIR_BOTH, 1024, 2, c2v_consumer_buf=0, v2c_consumer_buf=0)
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 8, 16)
    pto.TPOP(pipe, tile, pto.TileSplitAxis.TILE_UP_DOWN)
    pto.TFREE(pipe, split=pto.TileSplitAxis.TILE_UP_DOWN)
    pto.TPUSH(pipe, tile, pto.TADDS(tile, tile, 1.0))
