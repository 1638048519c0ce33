"""Sorting and merging of records in the unified buffer, against Python's stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from tests.each import each

from .programs import checked, found, run

HEAD = """\
func.func @sort(%x: !pto.ptr<TYPE, gm>, %i: !pto.ptr<ui32, gm>, %y: !pto.ptr<ui32, gm>, %n: !pto.ptr<i16, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 1024 : i64
  %at_i = arith.constant 4096 : i64
  %at_y = arith.constant 8192 : i64
  %px = pto.castptr %z : i64 -> !pto.ptr<TYPE, ub>
  %pi = pto.castptr %at_i : i64 -> !pto.ptr<ui32, ub>
  %py = pto.castptr %at_y : i64 -> !pto.ptr<ui32, ub>
  pto.mte_gm_ub %x, %px, %z, %size nburst(%one, %size, %size)
    : !pto.ptr<TYPE, gm>, !pto.ptr<TYPE, ub>, i64, i64, i64, i64, i64
  pto.mte_gm_ub %i, %pi, %z, %size nburst(%one, %size, %size)
    : !pto.ptr<ui32, gm>, !pto.ptr<ui32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
"""

TAIL = """\
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %py, %y, %size nburst(%one, %size, %size)
    : !pto.ptr<ui32, ub>, !pto.ptr<ui32, gm>, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}
"""

SORT = """\
  %r = arith.constant REPEAT : index
  pto.vbitsort %py, %px, %pi, %r : !pto.ptr<ui32, ub>, !pto.ptr<TYPE, ub>, !pto.ptr<ui32, ub>, index
"""


def program(body: str, dtype: str = "f32") -> str:
    return (HEAD + body + TAIL).replace("TYPE", dtype)


def arguments(dtype: str) -> list[Any]:
    rng = np.random.default_rng(5)
    scores = rng.integers(-20, 20, 1024).astype(dtype)  # many equal ones
    return [scores, np.arange(1000, 2024, dtype=np.uint32), np.zeros(256, np.uint32), np.zeros(8, np.int16)]


@each("dtype", ["f16", "f32"])
def test_groups_of_32_are_sorted_with_their_indices(dtype: str) -> None:
    scores, indices, out, counts = arguments("float16" if dtype == "f16" else "float32")
    run(program(SORT.replace("REPEAT", "3"), dtype), scores, indices, out, counts)
    want = np.zeros((128, 2), np.uint32)
    for start in (0, 32, 64):
        order = sorted(range(start, start + 32), key=lambda k: -float(scores[k]))
        want[start : start + 32, 0] = scores.view(f"u{scores.itemsize}")[order]
        want[start : start + 32, 1] = indices[order]
    assert np.array_equal(out, want.reshape(-1))


LISTS = """\
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %p1 = pto.addptr %px, %c16 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
  %p2 = pto.addptr %px, %c32 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
  %p3 = pto.addptr %px, %c48 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
  %count = arith.constant COUNT : i64
  %config = arith.constant CONFIG : i64
  %d = pto.castptr %at_y : i64 -> !pto.ptr<f32, ub>
  pto.vmrgsort4 %d, %px, %p1, %p2, %p3, %count, %config
    : !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64
  pto.set_flag["PIPE_V", "PIPE_S", "EVENT_ID1"]
  pto.wait_flag["PIPE_V", "PIPE_S", "EVENT_ID1"]
  %l0, %l1, %l2, %l3 = pto.get_vms4_sr : i16, i16, i16, i16
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  pto.store_scalar %l0, %n[%c0] : !pto.ptr<i16, gm>, i16
  pto.store_scalar %l1, %n[%c1] : !pto.ptr<i16, gm>, i16
  pto.store_scalar %l2, %n[%c2] : !pto.ptr<i16, gm>, i16
  pto.store_scalar %l3, %n[%c3] : !pto.ptr<i16, gm>, i16
"""


@each("exhausted", [False, True])
@each("lengths, valid", [((8, 8, 8, 8), 15), ((3, 8, 1, 5), 15), ((4, 7, 8, 2), 0b0101)])
def test_four_lists_become_one(lengths: tuple[int, ...], valid: int, exhausted: bool) -> None:
    rng = np.random.default_rng(sum(lengths))
    x = np.zeros((512, 2), np.float32)
    lists = []
    for k in range(4):
        records = sorted(rng.integers(-6, 6, lengths[k]).tolist(), reverse=True)
        for i, score in enumerate(records):
            x[8 * k + i, 0] = score
            x.view(np.uint32)[8 * k + i, 1] = 100 * k + i
        lists.append([(score, 100 * k + i, k) for i, score in enumerate(records)] if valid >> k & 1 else [])
    merged, taken = [], [0, 0, 0, 0]
    while any(lists):
        k = max((k for k in range(4) if lists[k]), key=lambda k: (lists[k][0][0], -k))
        merged.append(lists[k].pop(0))
        taken[k] += 1
        if exhausted and not lists[k]:
            break
    count = sum(n << 16 * k for k, n in enumerate(lengths))
    text = LISTS.replace("COUNT", str(count)).replace("CONFIG", str(int(exhausted) << 12 | valid << 8 | 1))
    out, counts = np.zeros(256, np.uint32), np.full(8, -1, np.int16)
    run(program(text), x.reshape(-1), np.zeros(1024, np.uint32), out, counts)
    assert out.view(np.float32)[: 2 * len(merged) : 2].tolist() == [score for score, _, _ in merged]
    assert out[1 : 2 * len(merged) : 2].tolist() == [index for _, index, _ in merged]
    assert not out[2 * len(merged) :].any()
    assert counts[:4].tolist() == taken


def test_scores_are_floats() -> None:
    found = [(d.rule, d.location.line) for d in checked(program(SORT.replace("REPEAT", "1"), "i32"))]
    place = next(i for i, line in enumerate(program(SORT).splitlines(), 1) if "vbitsort" in line)
    assert found == [("VEC-A5-07", place)]


def test_sorting_is_ordered_with_the_copies() -> None:
    args = arguments("float32")
    text = program(SORT.replace("REPEAT", "4"))
    assert found(text, *args) == []
    racy = "".join(line for line in text.splitlines(True) if 'wait_flag["PIPE_MTE2"' not in line)
    assert ("RACE-RAW", "pto.vbitsort") in found(racy, *args)


def test_records_that_leave_the_buffer_are_refused() -> None:
    with pytest.raises(DiagnosticError) as error:
        run(program(SORT.replace("REPEAT", "1100")), *arguments("float32"))
    (d,) = error.value.diagnostics
    assert d.rule == "PTR-A5-02"
