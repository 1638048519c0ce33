"""Texts that the assembler refuses, but that say plainly what to do: they warn, and run as they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import Severity

T = "!pto.tile_buf<vec, 4x32xf32>"
W = "!pto.tensor_view<4x32xf32>"
V = "!pto.partition_tensor_view<4x32xf32>"
HEAD = f"""\
func.func @copy(%x: !pto.ptr<f32>, %z: !pto.ptr<f32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %at = arith.constant 512 : i64
  %far = arith.constant 4096 : i64
  %xv = pto.make_tensor_view %x, shape = [%c4, %c32], strides = [%c32, %c1] : {W}
  %zv = pto.make_tensor_view %z, shape = [%c4, %c32], strides = [%c32, %c1] : {W}
  %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c4, %c32] : {W} -> {V}
  %zp = pto.partition_view %zv, offsets = [%c0, %c0], sizes = [%c4, %c32] : {W} -> {V}
"""
LOAD, STORE = f"  pto.tload ins(%xp : {V}) outs(%t : {T})\n", f"  pto.tstore ins(%t : {T}) outs(%zp : {V})\n"
PLACED = f"  %t = pto.alloc_tile addr = %at : {T}\n"

CASES: dict[str, tuple[str, Mapping[str, Any], list[tuple[str, int]]]] = {
    "the whole of a view": (
        f"  %t = pto.alloc_tile : {T}\n  pto.tload ins(%xv : {W}) outs(%t : {T})\n"
        f"  pto.tstore ins(%t : {T}) outs(%zv : {W})\n",
        {},
        [("LD-1", 13), ("ST-1", 14)],
    ),
    "an address at level 2": (PLACED + LOAD + STORE, {"level": 2}, [("LV-1", 12)]),
    "another address at level 2": (
        f"{PLACED}  %m = pto.tassign %t, %far : {T} -> {T}\n" + (LOAD + STORE).replace("%t ", "%m "),
        {"level": 2},
        [("LV-1", 12), ("LV-2", 13)],
    ),
    "the same elements": (
        f"  %s = pto.alloc_tile : {T}\n  %t = pto.bitcast %s : {T} -> {T}\n" + LOAD + STORE,
        {},
        [("BC-1", 13)],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_it_warns_and_runs(case: str, backend: str) -> None:
    body, options, warnings = CASES[case]
    text = f"{HEAD}{body}  return\n}}\n"
    found = pto.check(text, target="a5", **options).diagnostics
    assert [(d.rule, d.location.line) for d in found if d.severity is Severity.WARNING] == warnings
    assert len(found) == len(warnings)
    refused = pto.check(text, target="a5", rules="assembler", **options).errors
    assert [(d.rule, d.location.line) for d in refused] == warnings
    x, z = np.random.default_rng(1).random((4, 32), np.float32), np.zeros((4, 32), np.float32)
    pto.run(text, args=[x, z], target="a5", backend=backend)
    assert (z == x).all()


def severities(text: str, rule: str, **options: Any) -> set[tuple[int, str]]:
    found = [d for rules in ("all", "assembler") for d in pto.check(text, rules=rules, **options).diagnostics]
    return {(d.location.line, d.severity.value) for d in found if d.rule == rule}


@pytest.mark.parametrize(
    ("rule", "target", "text", "line"),
    [
        (
            "CM-4",
            "a2a3",
            "func.func @k(%s: !pto.partition_tensor_view<?xi32>, %v: i32) {\n"
            "  pto.comm.tnotify(%s, %v : !pto.partition_tensor_view<?xi32>, i32) "
            "{notifyOp = #pto<notify_op set>}\n  return\n}\n",
            2,
        ),
        (
            "THR-05",
            "a5",
            "func.func private @h(%p: !pto.ptr<i32, gm>) {\n  %c = arith.constant 0 : index\n"
            "  %v = pto.ld_dev %p[%c] : !pto.ptr<i32, gm> -> i32\n  return\n}\n",
            3,
        ),
        (
            "AM-1",
            "a5",
            "func.func @k() {\n"
            "  %m = pto.alloc_multi_tile : !pto.multi_tile_buf<!pto.tile_buf<vec, 16x32xf8E4M3FN>, count=2>\n"
            "  return\n}\n",
            2,
        ),
    ],
)
def test_only_the_assembler_refuses(rule: str, target: str, text: str, line: int) -> None:
    assert severities(text, rule, target=target) == {(line, "warning"), (line, "error")}


def test_a_constant_0_leaves_nothing_valid() -> None:
    """TILE-08, which is an error where the type says so: the device compiles it, and moves nothing."""
    tile = "!pto.tile_buf<vec, 4x32xf32, valid=?x?>"
    body = (
        f"  %t = pto.alloc_tile valid_row = %c0 valid_col = %c32 : {tile}\n"
        f"  pto.tadd ins(%t, %t : {tile}, {tile}) outs(%t : {tile})\n"
    )
    text = f"{HEAD}{body}  return\n}}\n"
    assert severities(text, "TILE-08", target="a5") == {(12, "warning")}
    assert severities(text.replace("valid_row = %c0", "valid_row = %c4"), "TILE-08", target="a5") == set()
    x = np.ones((4, 32), np.float32)
    pto.run(text, args=[x, x.copy()], target="a5")


def test_what_says_nothing_plain_stays_an_error() -> None:
    text = f"{HEAD}  %t = pto.alloc_tile : {T}\n{LOAD}{STORE}  return\n}}\n"
    assert severities(text, "LV-1", target="a5", level=3) == {(12, "error")}, "nobody says where the tile lies"
