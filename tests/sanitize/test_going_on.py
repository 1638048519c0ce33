"""What a finding does not end: the run goes on, and what comes later is checked as well."""

from __future__ import annotations

import pytest

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
