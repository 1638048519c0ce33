"""Memory of threads: loads, stores, atomic updates, races."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError

from .programs import found, launch, load, run, store

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "exch": lambda old, new: new,
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "min": min,
    "max": max,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}


@pytest.mark.parametrize("places", [1, 3, 64])
@pytest.mark.parametrize("how", COMBINE)
def test_atomic_updates_follow_each_other(how: str, places: int) -> None:
    """Thread k updates place k % places: each finds what those before it have left."""
    rng = np.random.default_rng(places)
    x, mem = rng.integers(-99, 99, 64).astype(np.int32), rng.integers(-99, 99, places).astype(np.int32)
    body = (
        load("%v", "%x")
        + f"""
  %n = arith.constant {places} : i32
  %r = arith.remsi %tx, %n : i32
  %j = arith.index_castui %r : i32 to index
  %p = pto.addptr %mem, %j : !pto.ptr<i32, gm> -> !pto.ptr<i32, gm>
  %old = pto.atomic_{how} %p, %v signed : !pto.ptr<i32, gm>, i32 -> i32
{store("%old")}"""
    )
    now, olds = mem.tolist(), []
    for k in range(64):
        olds.append(now[k % places])
        now[k % places] = COMBINE[how](now[k % places], int(x[k]))
    out = np.zeros(64, np.int32)
    text = launch(body, (64, 1, 1), x="i32", mem="i32", out="i32")
    assert found(text, x, mem.copy(), out) == []
    run(text, x, mem, out)
    assert mem.tolist() == now
    assert out.tolist() == olds


def test_the_first_thread_that_compares_swaps() -> None:
    body = f"""
  %free = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %me = arith.addi %tx, %one : i32
  %old = pto.atomic_cas %mem, %free, %me signed : !pto.ptr<i32, gm>, i32, i32 -> i32
{store("%old")}""".replace("i32, i32 -> i32", "i32 -> i32")
    mem, out = np.zeros(1, np.int32), np.zeros(32, np.int32)
    run(launch(body, mem="i32", out="i32"), mem, out)
    assert mem.tolist() == [1]
    assert out.tolist() == [0, *[1] * 31]


def test_pairs_of_numbers_are_one_element() -> None:
    pair = "vector<2xf16>"
    body = f"""
  %v = pto.ldg %x[%i] : !pto.ptr<{pair}, gm> -> {pair}
  %w = arith.addf %v, %v : {pair}
  pto.stg %w, %out[%i] : !pto.ptr<{pair}, gm>, {pair}
"""
    x, out = np.arange(64).astype(np.float16), np.zeros(64, np.float16)
    run(launch(body, x=pair, out=pair), x.view(np.uint32), out.view(np.uint32))
    assert np.array_equal(out, 2 * x)


def test_threads_work_in_the_unified_buffer() -> None:
    before = """
  %zero = arith.constant 0 : i64
  %ub = pto.castptr %zero : i64 -> !pto.ptr<i32, ub>
"""
    after = """
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  %size = arith.constant 256 : i64
  %one = arith.constant 1 : i64
  pto.mte_ub_gm %ub, %out, %size nburst(%one, %size, %size) : !pto.ptr<i32, ub>, !pto.ptr<i32, gm>, i64, i64, i64, i64
"""
    body = """
  %c63 = arith.constant 63 : i32
  %back = arith.subi %c63, %tx : i32
  %j = arith.index_castui %back : i32 to index
  pto.store %tx, %out[%i] : !pto.ptr<i32, ub>, i32
  pto.syncthreads
  %v = pto.load %out[%j] : !pto.ptr<i32, ub> -> i32
  pto.syncthreads
  pto.store %v, %out[%i] : !pto.ptr<i32, ub>, i32
"""
    text = launch(body, (64, 1, 1), before, after, out="i32")
    text = text.replace(">>>(%out) : (!pto.ptr<i32, gm>)", ">>>(%ub) : (!pto.ptr<i32, ub>)")
    text = text.replace("@body(%out: !pto.ptr<i32, gm>)", "@body(%out: !pto.ptr<i32, ub>)")
    out = np.zeros(64, np.int32)
    assert found(text, out) == []
    run(text, out)
    assert out.tolist() == list(range(63, -1, -1))
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if "pto.syncthreads" in line)
    del lines[at]
    assert {rule for rule, _ in found("\n".join(lines), out)} == {"RACE-THREADS"}
    unordered = text.replace('  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]\n', "")
    assert "RACE-RAW" in {rule for rule, _ in found(unordered, out)}


RACY = {
    "all store their number to one place": store("%tx", at="%zero"),
    "all store one number to one place": store("%five", at="%zero"),
    "each stores to its own place": store("%tx"),
    "all add atomically": "  %old = pto.atomic_add %out, %tx signed : !pto.ptr<i32, gm>, i32 -> i32\n",
    "one reads what all add to": (
        "  %old = pto.atomic_add %out, %tx signed : !pto.ptr<i32, gm>, i32 -> i32\n" + load("%v", "%out", at="%zero")
    ),
    "a neighbour's value is read": store("%tx") + load("%v", "%out", at="%next"),
    "a neighbour's value is read after a barrier": store("%tx")
    + "  pto.syncthreads\n"
    + load("%v", "%out", at="%next"),
    "a neighbour's value is overwritten": load("%v", "%out", at="%next") + store("%tx"),
}


@pytest.mark.parametrize(
    ("case", "rules"),
    [
        ("all store their number to one place", {"RACE-THREADS", "RACE-WARP"}),
        ("all store one number to one place", set()),
        ("each stores to its own place", set()),
        ("all add atomically", set()),
        ("one reads what all add to", {"RACE-THREADS", "RACE-WARP"}),
        ("a neighbour's value is read", {"RACE-THREADS", "RACE-WARP"}),
        ("a neighbour's value is read after a barrier", set()),
        ("a neighbour's value is overwritten", {"RACE-THREADS", "RACE-WARP"}),
    ],
)
def test_races_between_threads(case: str, rules: set[str]) -> None:
    head = """  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %next = arith.addi %i, %one : index
"""
    text = launch(head + RACY[case], (64, 1, 1), out="i32")
    results = found(text, np.zeros(80, np.int32))
    assert {rule for rule, _ in results} == rules
    lines = text.splitlines()
    for _, line in results:
        assert "pto.store" in lines[line - 1] or "pto.load" in lines[line - 1]


def test_a_barrier_that_some_do_not_reach_is_a_warning() -> None:
    body = """  %c5 = arith.constant 5 : i32
  %some = arith.cmpi slt, %tx, %c5 : i32
  scf.if %some {
    pto.syncthreads
  }
"""
    assert [rule for rule, _ in found(launch(body, out="i32"), np.zeros(4, np.int32))] == ["SIMT-SYNC"]


def test_memory_that_nothing_has_written_is_found() -> None:
    before = "  %a = arith.constant 0 : i64\n  %ub = pto.castptr %a : i64 -> !pto.ptr<i32, ub>\n"
    body = "  %v = pto.load %out[%i] : !pto.ptr<i32, ub> -> i32\n"
    text = launch(body, (32, 1, 1), before, out="i32")
    text = text.replace(">>>(%out) : (!pto.ptr<i32, gm>)", ">>>(%ub) : (!pto.ptr<i32, ub>)")
    text = text.replace("@body(%out: !pto.ptr<i32, gm>)", "@body(%out: !pto.ptr<i32, ub>)")
    assert [rule for rule, _ in found(text, np.zeros(4, np.int32))] == ["UNINIT-READ"]


@pytest.mark.parametrize("shift", [62, 61, 63])
def test_offsets_whose_bytes_pass_64_bits_do_not_come_round(shift: int) -> None:
    body = f"""
  %one = arith.constant 1 : i64
  %by = arith.constant {shift} : i64
  %far = arith.shli %one, %by : i64
  %j = arith.index_cast %far : i64 to index
{store("%tx", at="%j")}"""
    out = np.zeros(64, np.int32)
    with pytest.raises(DiagnosticError) as caught:
        run(launch(body, out="i32"), out)
    assert [d.rule for d in caught.value.diagnostics] == ["PTR-A5-02"]
    assert not out.any()
