"""Tiles written over their sources: what an instruction that goes row by row may do (RACE-SELF)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ptokit.sanitize.checks.placement import REPEAT, row_by_row
from ptokit.sanitize.memory.footprints import Region, Touch, footprint
from ptokit.sanitize.memory.shadow import Space
from ptokit.types.dtypes import f32
from ptokit.types.enums import TileType
from ptokit.types.tile import tile

from .mini import Mini

SPACE = Space("UB", 1 << 16)


def touch(start: int, rows: int, cols: int, pitch: int, row: int, col: int, *, write: bool) -> Touch:
    region = Region(tile(TileType.Vec, f32, row + rows, pitch), start, row, col, rows, cols)
    return Touch(SPACE, write, footprint(region), "t", region=region)


def places(t: Touch) -> np.ndarray:
    """The number of each element of a region in memory."""
    r = t.region
    assert r is not None
    rows = (r.row + np.arange(r.rows))[:, None] * r.spec.cols
    return r.start // 4 + rows + r.col + np.arange(r.cols)


SIDE = st.tuples(st.integers(0, 40), st.sampled_from([64, 72, 128, 136]), st.integers(0, 2), st.sampled_from([0, 8]))


@given(SIDE, SIDE, st.integers(1, 6), st.sampled_from([8, 56, 64]))
def test_rows_that_are_allowed_lose_nothing(dst: tuple, src: tuple, rows: int, cols: int) -> None:
    """Row by row, with all of a repetition read before it is written, gives what two tiles apart give."""
    to, of = (
        touch(32 * at, rows, cols, pitch, row, col, write=write)
        for (at, pitch, row, col), write in ((dst, True), (src, False))
    )
    if not row_by_row(to, of):
        return
    memory = np.arange(1 << 14, dtype=np.float32)
    wanted, before = memory.copy(), memory.copy()
    wanted[places(to)] = before[places(of)] * 2
    for into, out in zip(places(to), places(of)):
        memory[into] = memory[out] * 2
    assert cols * 4 <= REPEAT
    assert (memory == wanted).all()


def test_windows_of_a_tile_over_its_beginning() -> None:
    """The last 64 of 512 columns, written as a tile of their own over the first row."""
    window = touch(2048, 8, 64, 512, 0, 448, write=False)
    assert row_by_row(touch(2048, 8, 64, 64, 0, 0, write=True), window)
    assert not row_by_row(touch(2048 + 1792 + 2048, 8, 64, 64, 0, 0, write=True), window)  # over row 1, while row 0 is
    assert not row_by_row(touch(2048 + 1792 - 32, 8, 64, 512, 0, 0, write=True), window)  # 32 bytes before each row
    assert not row_by_row(touch(2048, 8, 128, 128, 0, 0, write=True), touch(2048, 8, 128, 512, 0, 384, write=False))


WHOLE = "!pto.tile_buf<vec, 16x512xf32>"
PART = "!pto.tile_buf<vec, 16x64xf32>"


def scaled(at: int, column: int) -> dict[str, list[set[int]]]:
    """Columns of a tile at byte 0, written as a tile at `at`; what is found, in lines of the body."""
    return Mini(
        f"pto.texpands ins(%one : f32) outs(%w : {WHOLE})\npto.tadds ins(%p, %one : {PART}, f32) outs(%d : {PART})",
        tiles={
            "w0": "arith.constant 0 : i64",
            "w": f"pto.alloc_tile addr = %w0 : {WHOLE}",
            "at": f"arith.constant {at} : i64",
            "col": f"arith.constant {column} : index",
            "d": f"pto.alloc_tile addr = %at : {PART}",
            "p": f"pto.subview %w[%c0, %col] sizes [16, 64] : {WHOLE} -> {PART}",
        },
    ).found()


def test_a_window_is_scaled_over_its_parent() -> None:
    """An addition of the last columns may write rows that it has read; not those that are still to be read."""
    assert "RACE-SELF" not in scaled(0, 448)
    assert "RACE-SELF" not in scaled(0, 0)
    assert scaled(1792 + 2048, 448)["RACE-SELF"] == [{2}]


def added(stored: int) -> list[str]:
    """Adds 8 columns of which a source has 4, and stores so many; the rules of what is found."""
    wide, part = "!pto.tile_buf<vec, 16x8xf32>", "!pto.tile_buf<vec, 16x8xf32, valid=?x?>"
    found = Mini(
        f"pto.texpands ins(%one : f32) outs(%w : {wide})\n"
        f"pto.texpands ins(%one : f32) outs(%p : {part})\n"
        f"pto.tadd ins(%w, %p : {wide}, {part}) outs(%d : {wide})\n"
        "barrier ALL\n"
        f"%v = pto.make_tensor_view %y, shape = [%c16, %n], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>\n"
        f"%q = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %n] : !pto.tensor_view<?x?xf32>"
        f" -> !pto.partition_tensor_view<16x{stored}xf32>\n"
        f"pto.tstore ins(%e : {part}) outs(%q : !pto.partition_tensor_view<16x{stored}xf32>)",
        tiles={
            "n": f"arith.constant {stored} : index",
            "w0": "arith.constant 0 : i64",
            "p0": "arith.constant 1024 : i64",
            "d0": "arith.constant 2048 : i64",
            "w": f"pto.alloc_tile addr = %w0 : {wide}",
            "p": f"pto.alloc_tile addr = %p0 valid_row = %c16 valid_col = %c4 : {part}",
            "d": f"pto.alloc_tile addr = %d0 : {wide}",
            "e": f"pto.alloc_tile addr = %d0 valid_row = %c16 valid_col = %n : {part}",
        },
    ).sanitize("a5")
    return [d.rule for d in found.diagnostics if d.rule in ("UNINIT-READ", "PAD-READ")]


def test_columns_beyond_a_valid_region_matter_where_they_are_stored() -> None:
    """What nobody has written is added; a warning while no result depends on it."""
    assert added(4) == ["PAD-READ"]
    assert added(8) == ["UNINIT-READ"]
