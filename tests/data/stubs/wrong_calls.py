"""Calls that are wrong, each in a line of its own, all of which a type checker is to find."""

from typing import Any

import numpy as np

import ptokit as pto


@pto.kernel(target="a5")
def wrong(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
    t = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64)
    u = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64)
    gx = pto.GlobalTensor(x, (n, 64))
    r = pto.vbr(1.0, dtype=pto.f32)
    # names that there are not
    pto.TADDD(t, t, u)  # wrong
    pto.tadd(t, t, u)  # wrong
    pto.TLoad(t, gx)  # wrong
    pto.TileType.Vector  # wrong
    pto.f31  # wrong
    # operands that are missing, or too many
    pto.TADD(t, t)  # wrong
    pto.TADD(t, t, u, u)  # wrong
    pto.TLOAD(t)  # wrong
    pto.TEXP(t)  # wrong
    pto.TMATMUL(t, t)  # wrong
    pto.TSTORE(gx)  # wrong
    pto.vadd(r)  # wrong
    pto.get_block_idx(0)  # wrong
    # operands of another kind
    pto.TADD(t, t, 1.0)  # wrong
    pto.TADDS(t, t, u)  # wrong
    pto.TLOAD(gx, t)  # wrong
    pto.TSTORE(t, gx)  # wrong
    pto.TLOAD(t, x)  # wrong
    pto.TEXP(t, "u")  # wrong
    pto.TADD(t, t, gx)  # wrong
    pto.vadd(r, t)  # wrong
    pto.TMULS(t, 2.0, t)  # wrong
    pto.GlobalTensor(t, (n, 64))  # wrong
    pto.Tile(pto.TileType.Vec, 8, 64, 64)  # wrong
    pto.Tile(pto.TileType.Vec, pto.f32, 64, 64, blayout=pto.SLayout.RowMajor)  # wrong
    pto.Tile(pto.TileType.Vec, pto.f32, 64, 64, layout=pto.BLayout.ColMajor)  # wrong
    x.T  # wrong
    # keywords that there are not, and their values
    pto.TCVT(t, u, rounding="RINT")  # wrong
    pto.TCVT(t, u, rmode="NEAREST")  # wrong
    pto.TCMP(t, t, u, cmp="above")  # wrong
    pto.TADD(t, t, u, saturate=True)  # wrong
    pto.set_flag("PIPE_X", pto.PIPE_V, 0)  # wrong
    pto.set_flag(pto.PIPE_MTE2)  # wrong
    # instructions whose names have a dot
    pto.sync.raise_flag(pto.PIPE_FIX, 3)  # wrong
    pto.sync.set(3)  # wrong
    # pipes between cores
    pipe = pto.TPipe(0, pto.Direction.DIR_C2V, 1024, 2, c2v_consumer_buf=0)
    pto.TPipe(0, pto.Direction.DIR_C2V, 1024)  # wrong
    pto.TPipe(0, "c2v", 1024, 2, c2v_consumer_buf=0)  # wrong
    pto.TPUSH(t, pipe)  # wrong
    pto.TPOP(pipe, t, split="up_down")  # wrong
    pto.TFREE(t)  # wrong


def launches(array: "np.ndarray[Any, Any]") -> None:
    wrong(array, array)  # wrong
    wrong[4](array, 3)  # wrong
    wrong[4](array, array, 3, 4)  # wrong
    wrong[4](array, array, m=3)  # wrong
    wrong[4](array, array, "3")  # wrong
    wrong[2, 2](array, array, 3)  # wrong
    wrong["2"](array, array, 3)  # wrong
    wrong.interpret(array, array)  # wrong
    wrong.watch("t")[2](array)  # wrong
    wrong.on("a2a3")[2](array)  # wrong
