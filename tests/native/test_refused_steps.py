"""What goes wrong in a step that is no instruction is the same finding as machine code and with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program

from ..run.kernels import TILE, alloc, compiled, part, view

PARAMS = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index, %m: i64"
OPEN = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
WINDOW = "!pto.tile_buf<vec, 4x16xf32>"
OPEN_WINDOW = "!pto.tile_buf<vec, 4x16xf32, valid=?x?>"
ROWS = "    %rows = arith.constant 8 : index\n"
KEPT = "    pto.store_scalar %f, %y[%c0] : !pto.ptr<f32>, f32\n"
ELEMENT = "    %f = pto.load_scalar %x[%c0] : !pto.ptr<f32> -> f32\n" + KEPT
INTO = "    pto.store_scalar %r, %out[%c0] : !pto.ptr<i64>, i64\n"
OUT = "    %out = pto.castptr %y : !pto.ptr<f32> -> !pto.ptr<i64>\n"

CASES: dict[str, tuple[str, tuple[int, int], tuple[int, int], str]] = {
    "step of a loop": (
        ELEMENT + "    scf.for %i = %c0 to %c8 step %n {\n" + KEPT + "    }\n",
        (3, 0),
        (0, 0),
        "RUN-STEP",
    ),
    "assertion": (
        '    %h = arith.cmpi slt, %n, %c8 : index\n    cf.assert %h, "n is small"\n' + ELEMENT,
        (3, 0),
        (8, 0),
        "RUN-ASSERT",
    ),
    "quotient": (OUT + "    %r = arith.divsi %m, %m : i64\n" + INTO, (0, 5), (0, 0), "RUN-DIV-ZERO"),
    "slice": (
        ROWS + view("xv", "%x") + part("p", "%xv", "%n") + ELEMENT,
        (0, 0),
        (1, 0),
        "GM-OOB",
    ),
    "element": (
        "    %f = pto.load_scalar %x[%n] : !pto.ptr<f32> -> f32\n" + KEPT,
        (127, 0),
        (128, 0),
        "GM-OOB",
    ),
    "element stored": (
        "    %f = pto.load_scalar %x[%c0] : !pto.ptr<f32> -> f32\n"
        "    pto.store_scalar %f, %y[%n] : !pto.ptr<f32>, f32\n",
        (127, 0),
        (-1, 0),
        "GM-OOB",
    ),
    "valid region of a tile": (
        f"    %t = pto.alloc_tile valid_row = %n valid_col = %c16 : {OPEN}\n" + ELEMENT,
        (8, 0),
        (9, 0),
        "TILE-01",
    ),
    "valid columns of a tile": (
        f"    %t = pto.alloc_tile valid_row = %c8 valid_col = %n : {OPEN}\n" + ELEMENT,
        (8, 0),
        (-1, 0),
        "TILE-01",
    ),
    "valid region set": (
        f"    %t = pto.alloc_tile valid_row = %c8 valid_col = %c8 : {OPEN}\n"
        f"    pto.set_validshape %t, %n, %c8 : {OPEN}\n" + ELEMENT,
        (8, 0),
        (9, 0),
        "VS-3",
    ),
    "address of a tile": (
        f"    %t = pto.alloc_tile addr = %m : {TILE}\n" + ELEMENT,
        (0, 4096),
        (0, 1 << 20),
        "UB-CAPACITY",
    ),
    "window": (
        alloc("t")
        + f"    %w = pto.subview %t[%n, %c0] sizes [4, 16] : {TILE} -> {WINDOW}\n"
        + ROWS
        + view("xv", "%x")
        + ELEMENT,
        (4, 0),
        (5, 0),
        "SS-1",
    ),
    "window with a valid region": (
        "    %v = arith.index_cast %m : i64 to index\n"
        + alloc("t")
        + f"    %w = pto.subview %t[%n, %c0] sizes [4, 16] valid [%v, %v] : {TILE} -> {OPEN_WINDOW}\n"
        + ELEMENT,
        (4, 3),
        (-1, 3),
        "SS-1",
    ),
    "cast of a pointer": (
        "    %p = pto.castptr %x : !pto.ptr<f32> -> !pto.ptr<i8>\n"
        "    %q = pto.addptr %p, %n : !pto.ptr<i8> -> !pto.ptr<i8>\n"
        "    %r = pto.castptr %q : !pto.ptr<i8> -> !pto.ptr<f32>\n"
        "    %f = pto.load_scalar %r[%c0] : !pto.ptr<f32> -> f32\n" + KEPT,
        (8, 0),
        (6, 0),
        "PTR-A5-02",
    ),
    "address of a pointer": (
        "    %a = pto.ptrtoint %x : !pto.ptr<f32> -> i64\n    %s = arith.addi %a, %m : i64\n"
        "    %r = pto.inttoptr %s : i64 -> !pto.ptr<f32>\n"
        "    %f = pto.load_scalar %r[%c0] : !pto.ptr<f32> -> f32\n" + KEPT,
        (0, 8),
        (0, 6),
        "PTR-A5-02",
    ),
}


def after(program: Program, backend: str, n: int, m: int) -> tuple[bytes, list[Any]]:
    x, y = np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), np.float32)
    found: list[Any] = []
    try:
        program.launch([x, y, n, m], 2, backend=backend)
    except DiagnosticError as error:
        found = [(d.rule, d.message, d.location, d.hint, d.notes) for d in error.diagnostics]
    return y.tobytes(), found


@pytest.mark.parametrize("case", CASES)
def test_findings(case: str) -> None:
    body, right, wrong, rule = CASES[case]
    program = compiled(PARAMS, body)
    for numbers, rules in ((right, []), (wrong, [rule])):
        plain, native = (after(program, backend, *numbers) for backend in ("numpy", "native"))
        assert plain == native
        assert [found[0] for found in native[1]] == rules


def test_loops_and_callers_of_a_fault_are_told() -> None:
    more = (
        "  func.func @at(%p: !pto.ptr<f32>, %q: !pto.ptr<f32>, %i: index) {\n    %c0 = arith.constant 0 : index\n"
        "    %c1 = arith.constant 1 : index\n    %c2 = arith.constant 2 : index\n"
        "    scf.for %j = %c0 to %c2 step %c1 {\n      %s = arith.addi %i, %j : index\n"
        "      %f = pto.load_scalar %p[%s] : !pto.ptr<f32> -> f32\n"
        "      pto.store_scalar %f, %q[%c0] : !pto.ptr<f32>, f32\n    }\n    return\n  }\n"
    )
    body = (
        "    scf.for %i = %c0 to %n step %c1 {\n"
        "      func.call @at(%x, %y, %i) : (!pto.ptr<f32>, !pto.ptr<f32>, index) -> ()\n    }\n"
    )
    program = compiled(PARAMS, body, more=more)
    plain, native = (after(program, backend, 200, 0) for backend in ("numpy", "native"))
    assert plain == native
    assert native[1][0][-1][0].message == "at block 0, %j = 1"
