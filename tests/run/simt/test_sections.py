"""Sections of threads: what stands in them sees the values around."""

from __future__ import annotations

import numpy as np

from .programs import found, run

TEXT = """\
module attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
func.func @k(%x: !pto.ptr<i32, gm>, %y: !pto.ptr<i32, gm>, %s: i32) attributes {{pto.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %seven = arith.constant 7 : i32
  %block = pto.get_block_idx
  %b = arith.trunci %block : i64 to i32
{body}
  return
}}
}}
"""
LANES = """\
    %tx = pto.get_tid_x : i32
    %ty = pto.get_tid_y : i32
    %width = arith.constant 16 : i32
    %row = arith.muli %ty, %width : i32
    %lane = arith.addi %row, %tx : i32
"""
PTR = "!pto.ptr<i32, gm>, i32"


def text(body: str) -> str:
    return TEXT.format(body=body)


def test_a_section_sees_parameters_constants_and_the_block() -> None:
    body = f"""\
  pto.section.simt <<<16, 2, 1>>> {{
{LANES}    %of_block = arith.constant 32 : i32
    %first = arith.muli %b, %of_block : i32
    %at32 = arith.addi %first, %lane : i32
    %at = arith.index_castui %at32 : i32 to index
    %v = pto.load %x[%at] : !pto.ptr<i32, gm> -> i32
    %w = arith.muli %v, %seven : i32
    %z = arith.addi %w, %s : i32
    pto.store %z, %y[%at] : {PTR}
  }}
"""
    x, y = np.arange(96, dtype=np.int32), np.zeros(96, np.int32)
    run(text(body), x, y, 5, blocks=3)
    assert np.array_equal(y, 7 * x + 5)


def test_a_section_in_a_loop_sees_its_variable() -> None:
    body = f"""\
  scf.for %i = %c0 to %c3 step %c1 {{
    %n = arith.index_cast %i : index to i32
    pto.section.simt <<<16, 1, 1>>> {{
{LANES}      %width2 = arith.constant 16 : i32
      %first = arith.muli %n, %width2 : i32
      %at32 = arith.addi %first, %lane : i32
      %at = arith.index_castui %at32 : i32 to index
      %even = arith.constant 2 : i32
      %rest = arith.remui %tx, %even : i32
      %zero = arith.constant 0 : i32
      %odd = arith.cmpi ne, %rest, %zero : i32
      scf.if %odd {{
        pto.store %n, %y[%at] : {PTR}
      }}
    }}
  }}
"""
    y = np.full(48, -1, np.int32)
    run(text(body), np.zeros(1, np.int32), y, 0)
    lanes = np.arange(48)
    assert np.array_equal(y, np.where(lanes % 2, lanes // 16, -1))


def test_an_empty_section_does_nothing() -> None:
    y = np.zeros(1, np.int32)
    run(text("  pto.section.simt <<<32, 2, 1>>> {\n  }\n"), y, y.copy(), 0)
    assert y[0] == 0


def test_threads_of_a_section_that_store_to_one_place_are_found() -> None:
    body = f"""\
  pto.section.simt <<<16, 1, 1>>> {{
{LANES}    pto.store %lane, %y[%c0] : {PTR}
  }}
"""
    x, y = np.zeros(1, np.int32), np.zeros(4, np.int32)
    assert [rule for rule, _ in found(text(body), x, y, 0)] == ["RACE-WARP"]
    mine = body.replace("%y[%c0]", "%y[%at]").replace(
        "    pto.store", "    %at = arith.index_castui %lane : i32 to index\n    pto.store"
    )
    assert found(text(mine), x, np.zeros(16, np.int32), 0) == []
