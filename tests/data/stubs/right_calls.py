"""Calls that are right, for the type stub: no type checker may say anything about this file."""

# mypy: disallow-untyped-defs, disallow-untyped-decorators, disallow-any-generics, disallow-subclassing-any

from typing import Any

import numpy as np

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


NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
ACC = {**NZ, "fractal": 1024}


@pto.kernel(target="a5")
def launched(
    x: pto.Ptr[pto.f32], y: pto.Ptr, n: int, scale: float = 1.0, more: pto.i32 = 3, *, width: pto.Static[int] = 64
) -> None:
    boxed = pto.Tile(pto.TileType.Mat, pto.f16, width, width, **NZ)
    pto.Tile(pto.TileType.Acc, pto.f32, 64, 64, **ACC, valid_row=n)
    pto.TLOAD(boxed, pto.GlobalTensor(x + 4 * more, (n, width))[more : more + 64, 0 : more << 2])
    pto.TADDS(boxed, boxed, more)
    left = n
    with pto.vecscope():
        for at in range(0, more, 64):
            mask, left = pto.plt_b32(left)
            low, high = pto.vintlv(pto.vlds(x, at), pto.vlds(y, at))
            low, high = pto.vdintlv(low, high)
            total, carry = pto.vaddc(low, high, mask)
            pto.vsts(total, x, at, carry)


def launches(array: "np.ndarray[Any, Any]", many: list[int]) -> None:
    launched(array, array, 3)
    launched[2](array, array, 3, 2.0, 5, width=32)
    launched[np.int64(2)](array, y=array, n=array.shape[0], scale=3, more=np.int32(4))
    launched[2](pto.uninit((3,), pto.f32), memoryview(b""), 3, executor="processes")
    launched.interpret[2](array, array, 3)
    launched.on("a2a3")[2].interpret(array, array, 3)
    launched.ranks(2)[2](array, array, many)
    launched.watch("boxed")[2](array, array, 3)
    launched.sanitize(array, array, 3, blocks=2)
    launched.to_pto(pto.f32, pto.f32, 3)
    kernels: list[pto.Kernel] = [launched, right]
    kernels[0](array)
