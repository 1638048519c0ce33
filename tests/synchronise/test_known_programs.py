"""Programs that compilers were reported to order wrongly: which flags are written, and what is wrong with theirs.

PTOAS issue 1569: two rings of three slots, loaded two iterations ahead. PTOAS issue 1519: a slot that is loaded before
the loop, and the next one in each iteration. PTOAS issue 706: a transfer to another rank, which reads on MTE2 and
writes on MTE3.
"""

from __future__ import annotations

import pytest

import ptokit
from ptokit.api.synchronise import synchronise
from tests.each import each
from tests.prove.kernels import BYTES, TILE, add, flag, kernel, load, store

pytest.importorskip("z3")


def ring(tile: str, slot: str, slots: int, first: int) -> list[str]:
    """A tile in slot ``slot`` modulo ``slots`` of those that begin at tile ``first``."""
    name = tile[1:]
    return [
        f"%n_{name} = arith.constant {slots} : index",
        f"%z_{name} = arith.constant {BYTES} : index",
        f"%f_{name} = arith.constant {first * BYTES} : index",
        f"%s_{name} = arith.remui {slot}, %n_{name} : index",
        f"%o_{name} = arith.muli %s_{name}, %z_{name} : index",
        f"%b_{name} = arith.addi %o_{name}, %f_{name} : index",
        f"%a_{name} = arith.index_cast %b_{name} : index to i64",
        f"{tile} = pto.alloc_tile addr = %a_{name} : {TILE}",
    ]


def sum_of(dst: str, one: str, other: str) -> str:
    return f"pto.tadd ins({one}, {other} : {TILE}, {TILE}) outs({dst} : {TILE})"


def row(name: str, of: str) -> str:
    return f"%{name} = arith.muli {of}, %c16 : index"


THREE_SLOTS = kernel(
    "scf.for %k = %c0 to %c2 step %c1 {",
    row("rk", "%k"),
    *ring("%kx", "%k", 3, 0),
    *ring("%kz", "%k", 3, 3),
    load("%kx", "%rk"),
    load("%kz", "%rk"),
    "}",
    "scf.for %i = %c0 to %c32 step %c1 {",
    "%ahead = arith.addi %i, %c2 : index",
    "%more = arith.cmpi slt, %ahead, %c32 : index",
    "scf.if %more {",
    row("ra", "%ahead"),
    *ring("%ax", "%ahead", 3, 0),
    *ring("%az", "%ahead", 3, 3),
    load("%ax", "%ra"),
    load("%az", "%ra"),
    "}",
    row("ri", "%i"),
    *ring("%ix", "%i", 3, 0),
    *ring("%iz", "%i", 3, 3),
    sum_of("%ix", "%ix", "%iz"),
    add("%ix", "%ix"),
    store("%ix", "%ri"),
    "}",
    tiles=0,
)


def test_three_slots_loaded_two_ahead_need_no_barrier_and_at_most_eight_ids() -> None:
    made = synchronise(THREE_SLOTS, target="a2a3")
    assert (made.proved, made.minimal, made.barriers) == (True, True, ())
    assert "barrier" not in made.text
    pairs = {(f.source, f.destination): f.first_id + f.ids for f in made.flags}
    assert pairs == {("MTE2", "V"): 1, ("V", "MTE3"): 3, ("MTE3", "MTE2"): 1}
    assert sum(pairs.values()) <= 8


def prefetched(compiled: bool) -> str:
    """The loop of issue 1519: without flags, or with those that the assembler wrote."""

    def said(does: str, *key: int | str) -> list[str]:
        return [flag(does, *key)] if compiled else []  # type: ignore[arg-type]

    return kernel(
        *said("set", "V", "MTE2", 0),
        *said("set", "V", "MTE2", 1),
        *said("set", "MTE2", "V", 1),
        *said("set", "MTE2", "V", 2),
        load("%t0", "%c0"),
        *said("set", "MTE2", "V", 0),
        *said("wait", "MTE2", "V", 0),
        "scf.for %i = %c0 to %n step %c1 {",
        row("ri", "%i"),
        "%now = arith.remui %i, %c2 : index",
        "%then = arith.addi %i, %c1 : index",
        *ring("%next", "%then", 2, 0),
        *ring("%this", "%i", 2, 0),
        "%filled = arith.addi %s_next, %c1 : index",
        "%used = arith.addi %now, %c1 : index",
        *said("wait", "V", "MTE2", "%s_next"),
        load("%next", "%ri"),
        *said("set", "MTE2", "V", "%filled"),
        *said("wait", "MTE2", "V", "%used"),
        add("%t2", "%this"),
        *said("set", "V", "MTE2", "%now"),
        "}",
        *said("wait", "V", "MTE2", 0),
        *said("wait", "V", "MTE2", 1),
        *said("wait", "MTE2", "V", 1),
        *said("wait", "MTE2", "V", 2),
        *said("set", "V", "MTE3", 0),
        *said("wait", "V", "MTE3", 0),
        store("%t2", "%c0"),
        tiles=3,
    )


def test_a_slot_that_is_loaded_before_the_loop_is_ordered() -> None:
    made = synchronise(prefetched(compiled=False), target="a2a3")
    assert (made.proved, made.minimal, made.barriers) == (True, True, ())
    assert [(f.source, f.destination, f.carried > 0) for f in made.flags] == [
        ("V", "MTE2", True),
        ("MTE2", "V", False),
        ("V", "MTE3", False),
    ]


@each("trips, found", [(8, {"FLAG-REUSE"}), (7, {"FLAG-REUSE", "DEADLOCK"})])
def test_both_slots_primed_is_a_race_for_even_trips_and_a_deadlock_for_odd_ones(trips: int, found: set[str]) -> None:
    rows = 512 * (trips + 1)
    report = ptokit.sanitize(prefetched(compiled=True), [f"random:f32:{rows}"] * 2 + [str(trips)], target="a2a3")
    assert {d.rule for d in report.errors} == found
    (reuse, *_) = (d for d in report.errors if d.rule == "FLAG-REUSE")
    assert "<PIPE_MTE2>, <PIPE_V>, <EVENT_ID2>] again, before the flag was waited for" in reuse.message
    said = [note.message for error in report.errors for note in error.notes]
    assert any("mends RACE-RAW" in text for text in said)


def test_the_prover_refutes_both_slots_primed() -> None:
    proof = ptokit.prove(prefetched(compiled=True), target="a2a3")
    assert [proof[claim].verdict for claim in ("flags", "event ids", "pipes")] == ["refuted"] * 3


def test_a_transfer_to_a_rank_is_ordered_on_both_of_its_pipes() -> None:
    """It reads what was stored before; when it is over both pipes know, so that one flag is enough for its tile."""
    made = synchronise(sent("%t1"), target="a2a3")
    assert (made.proved, made.minimal) == (True, True)
    assert [(f.source, f.destination) for f in made.flags] == [("V", "MTE3"), ("MTE3", "MTE2"), ("MTE2", "V")]


@each("tiles, number", [("%t1", 1), ("%t1, %t2", 2)])
def test_ids_that_a_transfer_takes_are_left_to_it(tiles: str, number: int) -> None:
    """One for each tile that it goes through, between MTE2 and MTE3 (PTOAS issue 706)."""
    made = synchronise(sent(tiles), target="a2a3")
    assert {(f.source, f.destination): f.first_id for f in made.flags} == {
        ("V", "MTE3"): 0,
        ("MTE3", "MTE2"): number,
        ("MTE2", "V"): 0,
    }


def sent(tiles: str) -> str:
    """A tile is stored and sent to another rank, through these."""
    part = "!pto.partition_tensor_view<16x32xf32>"
    slice_of = "offsets = [%c0, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32>"
    kinds = ", ".join([part, part, *[TILE] * len(tiles.split())])
    return kernel(
        f"%sent = pto.partition_view %xv, {slice_of} -> {part}",
        f"%there = pto.partition_view %yv, {slice_of} -> {part}",
        add("%t0", "%t0"),
        f"pto.tstore ins(%t0 : {TILE}) outs(%sent : {part})",
        f"pto.comm.tput(%there, %sent, buf({tiles}) : {kinds})",
        add("%t1", "%t0"),
        tiles=3,
    )


def test_what_other_ranks_send_is_granted() -> None:
    """No flag makes it come; what this core loads after it has been told is ordered with the pipes that use it."""
    cell = "%cell = pto.partition_view %sv, offsets = [%c0], sizes = [%c1] : !pto.tensor_view<?xi32>"
    made = synchronise(
        kernel(
            "%told = arith.constant 1 : i32",
            "%sv = pto.make_tensor_view %s, shape = [%c1], strides = [%c1] : !pto.tensor_view<?xi32>",
            f"{cell} -> !pto.partition_tensor_view<1xi32>",
            "pto.comm.twait(%cell, %told : !pto.partition_tensor_view<1xi32>, i32) {cmp = #pto<wait_cmp ge>}",
            load("%t0", "%c0"),
            add("%t1", "%t0"),
            params="%s: !pto.ptr<i32>, %n: index",
        ),
        target="a5",
    )
    assert made.proved
    assert "what this rank waits for comes from other ranks" in made.assumptions
    assert [(f.source, f.destination) for f in made.flags] == [("MTE2", "V")]
