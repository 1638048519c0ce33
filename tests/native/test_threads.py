"""Blocks on several threads leave what blocks in order leave."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptokit.backends.native.program import KINDS, NOTHING, READS, SCALARS, WRITES, apart

from ..run.kernels import PTRS, add, alloc, compiled, load, part, store, view

pytest.importorskip("llvmlite")

OWN = "    %r = arith.muli %b, %c8 : index\n"
SAME = "    %r = arith.remsi %b, %c2 : index\n"
BACKWARDS = """    %n = pto.get_block_num
    %m = arith.index_cast %n : i64 to index
    %k = arith.subi %m, %b : index
    %l = arith.subi %k, %c1 : index
    %r = arith.muli %l, %c8 : index
"""
TILES = alloc("t") + alloc("u")


def body(row: str, source: str = "%xv") -> str:
    views = view("xv", "%x") + view("yv", "%y")
    ends = part("p", source, "%r") + part("q", "%yv", "%r")
    return row + views + ends + TILES + load("%t", "%p") + add("%t", "%t", "%u") + store("%u", "%q")


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize(("row", "source"), list(itertools.product([OWN, SAME, BACKWARDS], ["%xv", "%yv"])))
def test_blocks(row: str, source: str, threads: int) -> None:
    program = compiled(PTRS, body(row, source))
    x = np.random.default_rng(1).random((112, 16), np.float32)
    wanted, got = x[::-1].copy(), x[::-1].copy()
    program.launch([x, got, 112], 14, backend="native", threads=threads)
    program.launch([x, wanted, 112], 14, chunk=1)
    assert got.tobytes() == wanted.tobytes()


def test_a_fault_is_that_of_the_lowest_block() -> None:
    from ptokit.diagnostics import DiagnosticError

    program = compiled(PTRS, body(OWN))
    x, y = np.zeros((40, 16), np.float32), np.zeros((112, 16), np.float32)
    found = []
    for threads, backend in ((1, "numpy"), (1, "native"), (2, "native"), (5, "native")):
        with pytest.raises(DiagnosticError) as error:
            program.launch([x, y, 112], 14, backend=backend, threads=threads, chunk=1 if backend == "numpy" else None)
        (diagnostic,) = error.value.diagnostics
        found.append((diagnostic.rule, diagnostic.message, diagnostic.location, diagnostic.notes))
    assert found == [found[0]] * 4


def seen(*blocks: list[tuple[int, int, int, int]]) -> np.ndarray:
    """Extents of blocks: (argument, kind, first, last)."""
    out = np.empty((len(blocks), 2, KINDS, 2), np.int64)
    out[..., 0], out[..., 1] = NOTHING
    for k, extents in enumerate(blocks):
        for argument, kind, first, last in extents:
            out[k, argument, kind] = first, last
    return out


def test_cuts() -> None:
    rows = [[(0, READS, 0, 99), (1, WRITES, 10 * k, 10 * k + 9)] for k in range(8)]
    assert apart(seen(*rows), 2) == [(0, 4), (4, 8)]
    assert apart(seen(*rows[::-1]), 3) == [(0, 3), (3, 5), (5, 8)]
    touching = [[(1, WRITES, 10 * k, 10 * k + 10)] for k in range(4)]
    assert apart(seen(*touching), 2) == [(0, 4)]
    pairs = [[(1, WRITES, 10 * (k // 3), 10 * (k // 3) + 9)] for k in range(6)]
    assert apart(seen(*pairs), 2) == [(0, 3), (3, 6)]
    handed_on = [[(1, WRITES, k, k), (1, READS, k - 1, k - 1)] for k in range(4)]
    assert apart(seen(*handed_on), 2) == [(0, 4)]
    steered = [[(1, WRITES, k, k), (1, SCALARS, 50, 50)] for k in range(4)]
    assert apart(seen(*steered), 2) == [(0, 4)]
