"""What a launch leaves when blocks fail: the same, however many of them run together."""

from __future__ import annotations

from importlib import util

import numpy as np
import pytest

from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.plan.effects import stores_last

from .kernels import PARTS, PTRS, TILE, add, alloc, compiled, load, part, store, view

BLOCKS = 7


def launch(program, args: list, how: int | str, blocks: int = BLOCKS) -> list[Diagnostic]:
    """``how``: blocks that run together, or a backend."""
    try:
        program.launch(args, blocks, **({"chunk": how} if isinstance(how, int) else {"backend": how}))
    except DiagnosticError as error:
        return list(error.diagnostics)
    return []


NATIVE = ["native"] if util.find_spec("llvmlite") else []
STEP = {
    # y[8 b] = x[8 b] + 1, and so on through both halves of the array; the second half ends too early for some blocks
    "apart": ("%x", "%y"),
    "in place": ("%y", "%y"),
}


def kernel(source: str, target: str, atomic: bool):
    """Two rounds of target[8 r] += 1 or target = source + 1, with r = b and r = b + n; the array ends in the second."""
    kind = " {atomicType = #pto<atomic_type atomic_add>}" if atomic else ""
    body = (
        "    %one = arith.constant 1.0 : f32\n"
        + alloc("t")
        + view("xv", source)
        + view("yv", target)
        + "    scf.for %i = %c0 to %c2 step %c1 {\n"
        "    %n = pto.get_block_num\n    %k = arith.index_cast %n : i64 to index\n"
        "    %far = arith.muli %i, %k : index\n    %s = arith.addi %far, %b : index\n"
        "    %r = arith.muli %s, %c8 : index\n"
        + PARTS
        + load("%t", "%p")
        + f"    pto.tadds ins(%t, %one : {TILE}, f32) outs(%t : {TILE})\n"
        + store("%t", "%q").rstrip()
        + kind
        + "\n    }\n"
    )
    return compiled(PTRS, body, arch="a2a3")


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("how", STEP)
@pytest.mark.parametrize("whole", [8, 11, 13, 14])
def test_arrays_after_a_fault(how: str, atomic: bool, whole: int) -> None:
    """Of 14 slices `whole` are there. Every block stores what it can; those whose second slice is missing fail."""
    program = kernel(*STEP[how], atomic)
    results = []
    for chunk in (1, 2, 3, BLOCKS, *NATIVE):
        x = np.arange(whole * 128, dtype=np.float32).reshape(-1, 16)
        y = np.arange(whole * 128, dtype=np.float32).reshape(-1, 16)[::-1].copy()
        found = launch(program, [x, y, whole * 8], chunk)
        results.append((y.tobytes(), found))
    source = np.arange(whole * 128, dtype=np.float32).reshape(-1, 16)
    old = source[::-1].copy()
    new = (source if how == "apart" else old) + 1
    want = new + old if atomic else new
    assert all(got == want.tobytes() for got, _ in results)
    assert all(found == results[0][1] for _, found in results)
    if whole == 14:
        assert results[0][1] == []
        return
    (fault,) = results[0][1]
    first = whole - BLOCKS
    assert fault.rule == "GM-OOB"
    assert f"[{whole * 8}, {whole * 8 + 8}) leaves dimension 0" in fault.message  # its own range
    assert fault.notes[0].message == f"at block {first}, %i = 1"
    others = 14 - whole - 1
    told = (
        []
        if not others
        else ["likewise in block 6" if others == 1 else f"likewise in {others} more blocks: {first + 1}..6"]
    )
    assert [note.message for note in fault.notes[1:]] == told


def test_faults_of_several_kinds() -> None:
    """The lowest block's for every place, in the order of blocks."""
    body = (
        "    %three = arith.constant 3 : index\n    %five = arith.constant 5 : index\n"
        "    %is3 = arith.cmpi eq, %b, %three : index\n    %big = arith.cmpi sge, %b, %five : index\n"
        "    scf.if %big {\n    %q = arith.divsi %b, %c0 : index\n    }\n"
        "    scf.if %is3 {\n    pto.trap\n    }\n"
    )
    program = compiled(PTRS, body)
    for chunk in (1, BLOCKS, *NATIVE):
        found = launch(program, [np.zeros(8, np.float32), np.zeros(8, np.float32), 8], chunk)
        assert [(d.rule, [n.message for n in d.notes]) for d in found] == [
            ("RUN-TRAP", ["at block 3"]),
            ("RUN-DIV-ZERO", ["at block 5", "likewise in block 6"]),
        ]


@pytest.mark.parametrize("chunk", [1, BLOCKS, *NATIVE])
def test_texts_before_a_fault_are_printed_once(chunk: int | str, capsys: pytest.CaptureFixture[str]) -> None:
    body = (
        '    %w = arith.index_cast %b : index to i32\n    pto.print ins("block %d", %w : i32)\n'
        + view("yv", "%y")
        + alloc("t")
        + "    %r = arith.muli %b, %c8 : index\n"
        + part("q", "%yv", "%c0")
        + load("%t", "%q")
        + add("%t", "%t", "%t")
        + store("%t", "%q")
        + part("p", "%yv", "%r")
        + store("%t", "%p")
    )
    y = np.ones((40, 16), np.float32)
    found = launch(compiled(PTRS, body), [y, y, 40], chunk)
    assert capsys.readouterr().out == "".join(f"block {b}\n" for b in range(BLOCKS))
    assert [d.rule for d in found] == ["GM-OOB"]
    assert y[0, 0] == 2**BLOCKS
    assert y[32, 0] == 2**5


def test_arguments_that_share_memory() -> None:
    """Reading one and writing the other is changing what is read."""
    program = kernel("%x", "%y", False)
    for chunk in (1, BLOCKS, *NATIVE):
        x = np.arange(11 * 128, dtype=np.float32).reshape(-1, 16)
        want = x + 1
        launch(program, [x, x, 88], chunk)
        assert np.array_equal(x, want)


def test_a_store_at_the_end_keeps_no_copy() -> None:
    """Nothing can fail after it, so that nothing has to be undone."""
    body = view("yv", "%y") + alloc("t") + "    %r = arith.muli %b, %c8 : index\n" + part("q", "%yv", "%r")
    body += load("%t", "%q") + add("%t", "%t", "%t") + store("%t", "%q")
    assert stores_last(compiled(PTRS, body).entry)
    assert not stores_last(compiled(PTRS, body + part("p", "%yv", "%r") + store("%t", "%p")).entry)
    assert not stores_last(kernel("%x", "%y", False).entry)
