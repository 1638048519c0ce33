"""Machine code of kernels whose tiles are slots of a multi-buffer."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.diagnostics import DiagnosticError

from ..run.kernels import TILE, compiled, load, part, store, view
from ..run.test_aggregates import F32, SLOTS, take

BACKENDS: list[dict] = [{"backend": "numpy"}, {"backend": "native"}, {"backend": "native", "threads": 2}]
OPEN = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
ADD = f"    pto.tadd ins({{}}, {{}} : {TILE}, {TILE}) outs({{}} : {TILE})\n"


def buffer(addr: int | None) -> str:
    if addr is None:
        return f"    %m = pto.alloc_multi_tile : {SLOTS}\n"
    return f"    %at = arith.constant {addr} : i64\n    %m = pto.alloc_multi_tile addr = %at : {SLOTS}\n"


@pytest.mark.parametrize("addr", [None, 0, 1024])
@pytest.mark.parametrize("turns", [3, 5])
def test_a_loop_takes_slots_in_turn(addr: int | None, turns: int) -> None:
    """Each slot holds what was loaded into it last."""
    body = (
        "    %c3 = arith.constant 3 : index\n    %c24 = arith.constant 24 : index\n"
        + buffer(addr)
        + view("xv", "%x")
        + view("yv", "%y")
        + "    scf.for %i = %c0 to %n step %c1 {\n    %k = arith.remui %i, %c3 : index\n"
        + take("t", "%k")
        + "    %s = arith.addi %i, %b : index\n    %r = arith.muli %s, %c8 : index\n"
        + part("p", "%xv", "%r")
        + load("%t", "%p")
        + "    }\n    %from = arith.muli %b, %c24 : index\n    scf.for %i = %c0 to %c3 step %c1 {\n"
        + take("t", "%i")
        + "    %s = arith.muli %i, %c8 : index\n    %r = arith.addi %from, %s : index\n"
        + part("p", "%yv", "%r")
        + store("%t", "%p")
        + "    }\n"
    )
    program, blocks = compiled(F32, body), 4
    x = np.random.default_rng(turns).random((blocks * 3 + turns, 8, 16), np.float32)
    last = [max(i for i in range(turns) if i % 3 == k) for k in range(3)]
    want = np.concatenate([x[[b + i for i in last]] for b in range(blocks)])
    for how in BACKENDS:
        y = np.zeros_like(want)
        program.launch([x.reshape(-1, 16), y.reshape(-1, 16), len(x) * 8, turns], blocks, **how)
        assert (y == want).all(), how


@pytest.mark.parametrize("addr", [None, 512])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_slot_by_number_is_the_slot(addr: int | None, n: int) -> None:
    """What is computed in slot %n is seen through a constant number, and the other way round, in one loop or in two."""
    body = (
        buffer(addr)
        + take("one", "%c1")
        + take("k", "%n")
        + take("zero", "%c0")
        + view("xv", "%x")
        + view("yv", "%y")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%zero", "%p")
        + ADD.format("%zero", "%zero", "%one")  # 2 x
        + load("%k", "%p")
        + ADD.format("%zero", "%one", "%k")
        + ADD.format("%one", "%k", "%one")
        + ADD.format("%k", "%one", "%zero")
        + store("%zero", "%q")
    )
    x = np.random.default_rng(n).integers(0, 100, (8, 16)).astype(np.float32)
    slots = [x, x + x, np.zeros_like(x)]
    slots[n] = x
    slots[n] = slots[0] + slots[1]
    slots[1] = slots[1] + slots[n]
    want = slots[n] + slots[1]
    program = compiled(F32, body)
    for how in BACKENDS:
        y = np.zeros_like(x)
        program.launch([x, y, 8, n], 1, **how)
        assert (y == want).all(), how


@pytest.mark.parametrize("n", [-1, 3])
def test_no_such_slot(n: int) -> None:
    program = compiled(
        F32, buffer(0) + take("t", "%n") + view("yv", "%y") + part("q", "%yv", "%c0") + store("%t", "%q")
    )
    for how in BACKENDS:
        y = np.zeros((8, 16), np.float32)
        with pytest.raises(DiagnosticError) as caught:
            program.launch([y, y, 8, n], 1, **how)
        (found,) = caught.value.diagnostics
        assert (found.rule, found.message) == ("RUN-INDEX", f"index {n} of the tiles, which has 3"), how


@pytest.mark.parametrize("rows", [5, 9])
def test_valid_region_that_only_the_run_knows(rows: int) -> None:
    slots = f"!pto.multi_tile_buf<{OPEN}, count=2>"
    body = (
        f"    %m = pto.alloc_multi_tile valid_row = %n valid_col = %c2 : {slots}\n"
        f"    %k = arith.remui %n, %c2 : index\n    %t = pto.multi_tile_get %m[%k] : {slots} -> {OPEN}\n"
        f"    %row, %col = pto.get_validshape %t : {OPEN}\n"
        "    %r = arith.muli %row, %c16 : index\n    %s = arith.addi %r, %col : index\n"
        "    %v = arith.index_cast %s : index to i32\n    pto.store_scalar %v, %y[%c0] : !pto.ptr<i32>, i32\n"
    )
    program = compiled("%x: !pto.ptr<i32>, %y: !pto.ptr<i32>, %n: index", body)
    messages = []
    for how in BACKENDS:
        y = np.zeros(1, np.int32)
        if rows <= 8:
            program.launch([y, y, rows], 1, **how)
            assert y[0] == rows * 16 + 2, how
            continue
        with pytest.raises(DiagnosticError) as caught:
            program.launch([y, y, rows], 1, **how)
        messages.append([(d.rule, d.message, d.location) for d in caught.value.diagnostics])
    assert all(found == messages[0] for found in messages)


@pytest.mark.parametrize("n", [0, 1])
def test_a_branch_gives_one_of_two_multi_buffers(n: int) -> None:
    """The slots of one are no slots of the other."""
    body = (
        buffer(None)
        + f"    %other = pto.alloc_multi_tile : {SLOTS}\n    %first = arith.cmpi eq, %n, %c0 : index\n"
        + f"    %e = scf.if %first -> ({SLOTS}) {{\n    scf.yield %m : {SLOTS}\n    }} else {{\n"
        + f"    scf.yield %other : {SLOTS}\n    }}\n"
        + take("t", "%n")
        + f"    %k = pto.multi_tile_get %e[%n] : {SLOTS} -> {TILE}\n"
        + view("xv", "%x")
        + view("yv", "%y")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%t", "%p")
        + store("%k", "%q")
    )
    x, program = np.ones((8, 16), np.float32), compiled(F32, body)
    for how in BACKENDS:
        y = np.full_like(x, 7)
        program.launch([x, y, 8, n], 1, **how)
        assert (y == (x if n == 0 else 0)).all(), how


@pytest.mark.parametrize("addr", [None, 512])
@pytest.mark.parametrize("n", [0, 1])
def test_one_slot_by_two_numbers_is_one_tile_for_rules(addr: int | None, n: int) -> None:
    index = "!pto.tile_buf<vec, 8x16xi32>"
    place = "" if addr is None else " addr = %far"
    body = (
        buffer(addr)
        + take("one", "%c0")
        + take("k", "%n")
        + f"    %far = arith.constant 8192 : i64\n    %i = pto.alloc_tile{place} : {index}\n"
        + f"    pto.tscatter ins(%k, %i : {TILE}, {index}) outs(%one : {TILE})\n"
    )
    program = compiled(F32, body)
    for how in BACKENDS:
        arrays = [np.zeros((8, 16), np.float32) for _ in "xy"]
        if n:
            program.launch([*arrays, 8, n], **how)
            continue
        with pytest.raises(DiagnosticError) as caught:
            program.launch([*arrays, 8, n], **how)
        assert [d.rule for d in caught.value.diagnostics] == ["TSCAT-COM-07"], how
