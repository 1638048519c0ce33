"""Products and drains of one accumulator that unit flags order."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize
from ptokit.targets import target

TEXT = """
module attributes {{pto.target_arch = "a5"}} {{
func.func @k(%y: !pto.ptr<f32, gm>) attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>}} {{
  %i0 = arith.constant 0 : i64
  %i16 = arith.constant 16 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = pto.castptr %i0 : i64 -> !pto.ptr<f16, l0a>
  %b = pto.castptr %i0 : i64 -> !pto.ptr<f16, l0b>
  %c = pto.castptr %i0 : i64 -> !pto.ptr<f32, l0c>
  scf.for %t = %c0 to %c3 step %c1 {{
    pto.mad %a, %b, %c, %i16, %i16, %i16 {made}
      : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64
    pto.mte_l0c_gm %c, %y, %i16, %i16, %i16, %i16, %i0, %i0, {drained}nz2nd
      : !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  }}
  return
}}
}}
"""


@pytest.mark.parametrize(
    ("made", "drained", "races"),
    [
        ("unit_flag(check_and_set)", "unit_flag(check_and_clear), ", set()),
        ("", "", {"RACE-RAW", "RACE-WAR"}),
        ("unit_flag(check_and_set)", "", {"RACE-RAW", "RACE-WAR"}),
        ("", "unit_flag(check_and_clear), ", {"RACE-RAW", "RACE-WAR"}),
    ],
)
def test_unit_flags_order_products_and_drains(made: str, drained: str, races: set[str]) -> None:
    a5 = target("a5")
    read = parse_module(TEXT.format(made=made, drained=drained), "k.pto", target=a5)
    read.diagnostics.raise_if_errors()
    report = sanitize(read.module, a5, [np.zeros((16, 16), np.float32)], 1, mode="manual")
    found = {(d.rule, d.location.line) for d in report.diagnostics if d.rule in ("RACE-RAW", "RACE-WAR")}
    assert {rule for rule, _ in found} == races
