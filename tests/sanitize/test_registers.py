"""Instructions on vector registers under observation: what they mean may depend on the types of the registers."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize
from ptokit.targets import target

from ..isa.vector.programs import minimal


@pytest.mark.parametrize("name", ["vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "vor"])
def test_two_registers(name: str) -> None:
    module = parse_module(minimal().replace("pto.vadd", f"pto.{name}"), "k.pto").module
    report = sanitize(module, "a5", [np.ones(1024, np.float32), np.zeros(1024, np.float32)])
    assert report.ran
    assert report.clean, str(report)


def test_a_scope_that_a_fault_has_left_open_is_over_for_the_next_block() -> None:
    """Block 0 fails in a vector scope; in block 1 a scalar store races with the vector load after it."""
    text = """
func.func @k(%x: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = arith.constant 0 : i64
  %one = arith.constant 1.0 : f32
  %b64 = pto.get_block_idx
  %b = arith.index_cast %b64 : i64 to index
  %off = arith.subi %c1, %b : index
  %p = pto.castptr %i0 : i64 -> !pto.ptr<f32, ub>
  pto.store_scalar %one, %p[%c0] : !pto.ptr<f32, ub>, f32
  pto.vecscope {
    %v = pto.vlds %p[%off] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
  }
  pto.store_scalar %one, %x[%b] : !pto.ptr<f32>, f32
  return
}
"""
    a5 = target("a5")
    report = sanitize(parse_module(text, "k.pto", target=a5).module, a5, [np.zeros(2, np.float32)], 2)
    found = {d.rule: d for d in report.diagnostics}
    assert "VEC-A5-03" in found
    race = found["RACE-RAW"]
    assert race.location.line == 13
    assert any("block 1" in note.message for note in race.notes)
