"""What a finding does not end: the run goes on, and what comes later is checked as well."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ptokit as pto

from .mini import TILE, Mini, output

VIEWS = "!pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<{}xf32>"
SLOTS = f"!pto.multi_tile_buf<{TILE}, count=2>"


def test_tiles_that_overlap_only_in_this_run() -> None:
    """EW-10 is found by what memory shows, and the instructions after it are still looked at."""
    tiles = {"a": 0, "b": f"pto.alloc_tile addr = %at : {TILE}"}
    program = Mini(
        """
        load a x
        set MTE2 V 0
        wait MTE2 V 0
        adds a b
        set V MTE3 0
        wait V MTE3 0
        store b y
        """,
        tiles=tiles,
        params="%at: i64",
    )
    apart = program.sanitize(args={"y": output(), "at": 4096})
    assert apart.clean
    report = program.sanitize(args={"y": output(), "at": 64})
    assert {d.rule for d in report.errors} == {"RACE-SELF"}
    assert report.instructions == apart.instructions == 3


def test_slots_of_several_tiles_lose_their_bytes_by_name() -> None:
    tiles = {"at": "arith.constant 0 : i64", "m": f"pto.alloc_multi_tile addr = %at : {SLOTS}", "b": 0}
    program = Mini(
        f"""
        %s = pto.multi_tile_get %m[%c0] : {SLOTS} -> {TILE}
        load s x
        load b x
        set MTE2 MTE3 0
        wait MTE2 MTE3 0
        store s y
        """,
        tiles=tiles,
    )
    found = [d for d in program.sanitize(args={"y": output()}).diagnostics if d.rule == "UB-OVERLAP"]
    assert len(found) == 1
    assert "%m" in found[0].message
    assert "%b" in found[0].message


@pytest.mark.parametrize(
    ("rows", "found"),
    [(16, {"GM-OOB": [{4, 5}]}), (15, {"GM-SLICE": [{4, 5}]}), (8, {"GM-SLICE": [{4, 5}], "UNINIT-READ": [{9}]})],
)
def test_a_slice_past_a_dimension_touches_the_next_rows(rows: int, found: dict[str, list[set[int]]]) -> None:
    """A slice that leaves its tensor to the right has elements in the next rows; they may leave the array."""
    small = TILE.replace("16x32", "8x16")
    part, open_ = "!pto.partition_tensor_view<{}xf32>", TILE.replace("f32", "f32, valid=?x32")
    program = Mini(
        f"""
        load a x
        set MTE2 MTE3 0
        wait MTE2 MTE3 0
        %far_p = pto.partition_view %y_v, offsets = [%c0, %c16], sizes = [%rows, %c32] : {VIEWS.format("?x32")}
        pto.tstore ins(%a_rows : {open_}) outs(%far_p : {part.format("?x32")})
        set MTE3 MTE2 0
        wait MTE3 MTE2 0
        %left_p = pto.partition_view %y_v, offsets = [%c8, %c0], sizes = [%c8, %c16] : {VIEWS.format("8x16")}
        pto.tload ins(%left_p : {part.format("8x16")}) outs(%s : {small})
        """,
        tiles={
            "rows": f"arith.constant {rows} : index",
            "a": 0,
            "at": "arith.constant 8192 : i64",
            "s": f"pto.alloc_tile addr = %at : {small}",
            "null": "arith.constant 0 : i64",
            "a_rows": f"pto.alloc_tile addr = %null valid_row = %rows : {open_}",
        },
    )
    assert program.found(args={"y": output()}) == found


@pytest.mark.parametrize(
    ("size", "lines", "length", "blocks", "found"),
    [
        (64, 1, 16, 4, {"a2a3": set(), "a5": set()}),
        (64, 1, 16, 5, {"a2a3": {"GM-OOB"}, "a5": {"GM-OOB"}}),
        (128, 2, 32, 2, {"a2a3": {"RACE-XCORE-WAW"}, "a5": set()}),
        (95, 2, 16, 2, {"a2a3": {"RACE-XCORE-WAW"}, "a5": {"GM-OOB"}}),
    ],
)
@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_a_transfer_reaches_as_far_as_the_valid_region_of_its_tile(
    target: str, size: int, lines: int, length: int, blocks: int, found: dict[str, set[str]]
) -> None:
    """All lines of a view are moved, each as long as the valid region. On a2a3 gaps keep their length between them."""

    @pto.kernel(target=target)
    def rows(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], lines: int, length: int) -> None:
        first = pto.get_block_idx() * length
        t = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64, valid_row=lines, valid_col=length, addr=0)
        pto.TLOAD(t, pto.GlobalTensor(x + first, (lines, 64), (64, 1)))
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, pto.EVENT_ID0)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, pto.EVENT_ID0)
        pto.TSTORE(pto.GlobalTensor(y + first, (lines, 64), (64, 1)), t)

    x, y = np.ones(size, np.float32), np.zeros(size, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pto.KernelWarning)
        assert {d.rule for d in rows[blocks].sanitize(x, y, lines, length).errors} == found[target]
        if found[target]:
            return
        rows[blocks](x, y, lines, length)
        assert np.count_nonzero(y) == blocks * lines * length


def test_a_load_of_nothing_reaches_nothing() -> None:
    @pto.kernel(target="a5")
    def nothing(x: pto.Ptr[pto.f32], length: int) -> None:
        t = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64, valid_row=4, valid_col=length, addr=0)
        pto.TLOAD(t, pto.GlobalTensor(x, (4, 64), (64, 1)))

    x = np.zeros(8, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pto.KernelWarning)
        assert not nothing.sanitize(x, 0).errors
        assert {d.rule for d in nothing.sanitize(x, 1).errors} == {"GM-OOB"}
