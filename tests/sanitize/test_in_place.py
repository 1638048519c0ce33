"""Tiles written over their sources: what an instruction that goes row by row may do (RACE-SELF)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptokit as pto
from ptokit.sanitize.checks.placement import REPEAT, row_by_row, row_of_bits
from ptokit.sanitize.memory.shadow import Space
from ptokit.sanitize.simulation.clocks import Region, Touch, footprint
from ptokit.types.dtypes import f32, u8
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


def bits(start: int, rows: int, pitch: int, cols: int, *, write: bool) -> Touch:
    dtype = u8 if write else f32
    region = Region(tile(TileType.Vec, dtype, rows, pitch), start, 0, 0, rows, cols)
    return Touch(SPACE, write, footprint(region), "t", region=region)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 6), st.sampled_from([32, 64]), st.sampled_from([64, 72]))
def test_bits_of_rows_lose_nothing(to: int, of: int, rows: int, into: int, cols: int) -> None:
    """A comparison that reads each row before it writes its bits gives what two tiles apart give."""
    write, read = bits(32 * to, rows, into, 8, write=True), bits(32 * of, rows, cols, 64, write=False)
    if not row_of_bits(write, read):
        return
    memory = np.random.default_rng(0).integers(0, 256, 1 << 13, dtype=np.uint8)
    before = memory.copy()
    for i in range(rows):
        row = memory[32 * of + i * cols * 4 :][:256]
        assert (row == before[32 * of + i * cols * 4 :][:256]).all()
        memory[32 * to + i * into :][:8] = 0


def compared(target: str, dst: int, src: int) -> list[str]:
    """What a comparison finds whose mask lies at one byte and whose source at another."""

    @pto.kernel(target=target)
    def compare(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.u8]) -> None:
        wide = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=src)
        mask = pto.Tile(pto.TileType.Vec, pto.u8, 16, 32, valid_row=16, valid_col=8, addr=dst)
        pto.TSYNC(pto.TLOAD(wide, pto.GlobalTensor(x, (16, 64))))
        done = pto.TCMPS(mask, wide, 0.0, pto.CmpMode.GT)
        pto.TSTORE(pto.GlobalTensor(y, (16, 8)), mask, done)

    x = np.random.default_rng(1).standard_normal((16, 64)).astype(np.float32)
    found = compare.sanitize(x, pto.uninit((16, 8), pto.u8))
    if not found.diagnostics:
        y = np.zeros((16, 8), np.uint8)
        compare(x, y)
        assert (y == np.packbits(x > 0, axis=1, bitorder="little")).all()
    return [d.rule for d in found.diagnostics]


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_a_mask_over_the_source_of_a_comparison(target: str) -> None:
    """It may begin where the source does, or before it: row after row it lies in bytes that have been read."""
    assert compared(target, 0, 0) == []
    assert compared(target, 128, 256) == []
    assert compared(target, 256, 0) == ["RACE-SELF"]
    assert compared(target, 32, 0) == ["RACE-SELF"]


def extreme(row: int, name: str = "TCOLMAX") -> list[str]:
    @pto.kernel(target="a5")
    def fold(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
        whole = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=0)
        first = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64, addr=row * 256)
        pto.TSYNC(pto.TLOAD(whole, pto.GlobalTensor(x, (16, 64))))
        done = getattr(pto, name)(first, whole)
        pto.TSTORE(pto.GlobalTensor(y, (1, 64)), first, done)

    x = np.random.default_rng(1).standard_normal((16, 64)).astype(np.float32)
    found = fold.sanitize(x, pto.uninit((1, 64), pto.f32))
    if not found.diagnostics:
        y = np.zeros((1, 64), np.float32)
        fold(x, y)
        assert (y == (x.max(0) if name == "TCOLMAX" else x.min(0))).all()
    return [d.rule for d in found.diagnostics]


def test_columns_folded_onto_the_first_row() -> None:
    """The library copies row 0 to dst first, and folds the others into it."""
    assert extreme(0) == extreme(0, "TCOLMIN") == []
    assert extreme(1) == ["CMP-INP-01"]


@pytest.mark.parametrize("loaded", [False, True])
def test_filling_a_mat_tile_where_it_lies_reads_and_writes_nothing_that_is_valid(loaded: bool) -> None:
    """A device only sets what is not valid: no finding for the fill, and one for who reads what nobody loaded."""

    @pto.kernel(target="a2a3")
    def fill(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.f16], loaded: pto.i32) -> None:
        tile = pto.Tile(
            pto.TileType.Mat, pto.f16, 16, 32, pto.BLayout.ColMajor, 12, 20, pto.SLayout.RowMajor, pad=pto.PadValue.Zero
        )
        left = pto.TileLeft(pto.f16, 16, 32)
        pto.TASSIGN(tile, 0)
        pto.TASSIGN(left, 0)
        pto.TFILLPAD(tile, tile)
        if loaded:
            pto.TLOAD(tile, pto.GlobalTensor(x, (12, 20)))
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TMOV(left, tile)
        pto.pipe_barrier(pto.PIPE_ALL)

    x = np.ones((12, 20), np.float16)
    found = fill[1].sanitize(x, x.copy(), int(loaded)).diagnostics.errors
    assert [(each.rule, "TMOV" in each.message) for each in found] == ([] if loaded else [("UNINIT-READ", True)])


@pytest.mark.parametrize(("to", "through", "rules"), [(0, 4096, []), (256, 4096, []), (2048, 256, ["MRG-COM-03"])])
def test_lists_are_merged_before_their_places_are_written(to: int, through: int, rules: list[str]) -> None:
    """They are merged into the scratch tile, and moved from there: that one must not lie over a list."""

    @pto.kernel(target="a2a3")
    def merge(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], to: pto.Static[int], through: pto.Static[int]) -> None:
        lists = pto.Tile(pto.TileType.Vec, pto.f32, 1, 256)
        first = pto.Tile(pto.TileType.Vec, pto.f32, 1, 128)
        second = pto.Tile(pto.TileType.Vec, pto.f32, 1, 128)
        merged = pto.Tile(pto.TileType.Vec, pto.f32, 1, 256)
        tmp = pto.Tile(pto.TileType.Vec, pto.f32, 1, 256)
        for each, place in ((lists, 0), (first, 0), (second, 512), (merged, to), (tmp, through)):
            pto.TASSIGN(each, place)
        pto.TLOAD(lists, pto.GlobalTensor(x, (1, 256)))
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TMRGSORT(merged, None, tmp, first, second)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(pto.GlobalTensor(y, (1, 256)), merged)
        pto.pipe_barrier(pto.PIPE_ALL)

    x = np.zeros((1, 256), np.float32)
    found = merge[1].sanitize(x, x.copy(), to, through).diagnostics.errors
    assert [each.rule for each in found] == rules


@pytest.mark.parametrize("on", ["a5", "a2a3"])
def test_scratch_that_a5_leaves_alone_may_lie_over_a_source(on: str) -> None:
    @pto.kernel(target=on)
    def transpose(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
        source = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32, addr=0)
        turned = pto.Tile(pto.TileType.Vec, pto.f32, 32, 16, addr=4096)
        tmp = pto.Tile(pto.TileType.Vec, pto.f32, 32, 16, addr=0)
        pto.TLOAD(source, pto.GlobalTensor(x, (16, 32)))
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TTRANS(turned, source, tmp)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(pto.GlobalTensor(y, (32, 16)), turned)
        pto.pipe_barrier(pto.PIPE_ALL)

    x = np.zeros((16, 32), np.float32)
    found = transpose.sanitize(x, np.zeros((32, 16), np.float32)).diagnostics.errors
    assert [each.rule for each in found] == ([] if on == "a5" else ["RACE-SELF"])
