"""Arithmetic of whole numbers with two results, negation, and regions that are chosen by a number (assembly 11)."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5

HEAD = (
    "func.func @f(%p: !pto.ptr<i64>, %q: !pto.ptr<f32>, %a: {T}, %b: {T}, %x: f32) {{\n"
    "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
)


def run(body: str, a: int, b: int, x: float = 0.0, type: str = "i32", blocks: int = 1) -> tuple[list[int], list[float]]:
    """What a body stores through %p (eight i64) and %q (eight f32)."""
    text = HEAD.format(T=type) + body + "\n  return\n}\n"
    parsed = parse_module(text)
    assert list(parsed.diagnostics) == []
    p, q = np.zeros(8, np.int64), np.zeros(8, np.float32)
    compile_program(parsed.module, A5).launch([p, q, a, b, x], blocks)
    return p.tolist(), q.tolist()


EXTENDED = """
  %low, %high = arith.{op} %a, %b : {type}{more}
  %l = arith.{widen} %low : {type} to i64
  %h = arith.extui %high : {high} to i64
  pto.store_scalar %l, %p[%c0] : !pto.ptr<i64>, i64
  pto.store_scalar %h, %p[%c1] : !pto.ptr<i64>, i64
"""


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("op", ["addui_extended", "mulsi_extended", "mului_extended"])
def test_extended(op: str, bits: int) -> None:
    edge = [0, 1, -1, 2, -2, (1 << (bits - 1)) - 1, -(1 << (bits - 1)), 77, -100]
    mask = (1 << bits) - 1
    carries = op == "addui_extended"
    body = EXTENDED.format(
        op=op, type=f"i{bits}", more=", i1" if carries else "", widen="extui", high="i1" if carries else f"i{bits}"
    )
    for a in edge:
        for b in edge[::2]:
            exact = a * b if op == "mulsi_extended" else (a & mask) * (b & mask)
            exact = (a & mask) + (b & mask) if carries else exact
            stored, _ = run(body, a, b, type=f"i{bits}")
            assert stored[:2] == [exact & mask, (exact >> bits) & (1 if carries else mask)], (a, b)


def test_negation() -> None:
    body = "  %n = arith.negf %x : f32\n  pto.store_scalar %n, %q[%c0] : !pto.ptr<f32>, f32"
    for x in (1.5, -0.0, float("inf")):
        assert np.array_equal(np.float32(run(body, 0, 0, x)[1][0]).tobytes(), np.float32(-x).tobytes())


SWITCH = """
  %i = arith.index_cast %a : i32 to index
  %r = scf.index_switch %i -> i64
  case 2 {
    %v = arith.constant 20 : i64
    scf.yield %v : i64
  }
  case -1 {
    %v = arith.constant 10 : i64
    scf.yield %v : i64
  }
  default {
    %v = arith.constant 99 : i64
    scf.yield %v : i64
  }
  pto.store_scalar %r, %p[%c0] : !pto.ptr<i64>, i64
"""


@pytest.mark.parametrize(("value", "result"), [(2, 20), (-1, 10), (0, 99), (3, 99)])
def test_index_switch(value: int, result: int) -> None:
    assert run(SWITCH, value, 0)[0][0] == result


def test_blocks_choose_different_cases() -> None:
    body = """
  %k = pto.get_block_idx
  %i = arith.index_cast %k : i64 to index
  scf.index_switch %i
  case 1 {
    %v = arith.constant 5 : i64
    pto.store_scalar %v, %p[%i] : !pto.ptr<i64>, i64
    scf.yield
  }
  default {
    %w = scf.execute_region -> i64 {
      %v = arith.addi %k, %k : i64
      scf.yield %v : i64
    }
    pto.store_scalar %w, %p[%i] : !pto.ptr<i64>, i64
    scf.yield
  }
"""
    assert run(body, 0, 0, blocks=4)[0] == [0, 5, 4, 6, 0, 0, 0, 0]


def test_a_switch_without_cases_and_an_empty_region() -> None:
    switch = "  %i = arith.index_cast %a : i32 to index\n  scf.index_switch %i\n  default {\n  }\n"
    body = switch + "  scf.execute_region {\n  }"
    assert run(body, 1, 1)[0] == [0] * 8
