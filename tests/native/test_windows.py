"""Windows of tiles, taken out and put in, give the same bytes and findings as machine code and with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

from ..run.kernels import compiled as kernel

pytest.importorskip("llvmlite")

NZ = "blayout=col_major, slayout=row_major"
MAT, VEC = f"!pto.tile_buf<mat, 64x64xf16, {NZ}>", "!pto.tile_buf<vec, 64x64xf16>"
LEFT, RIGHT = f"!pto.tile_buf<left, 32x16xf16, {NZ}>", "!pto.tile_buf<right, 16x32xf16, slayout=col_major>"
ACC = f"!pto.tile_buf<acc, 32x32xf32, {NZ}, fractal=1024>"
SMALL = "!pto.tile_buf<vec, 32x16xf16>"
HALVES, SUMS = "!pto.tensor_view<64x64xf16>", "!pto.tensor_view<32x32xf32>"


def view(name: str, pointer: str, n: str, type: str) -> str:
    return f"%{name} = pto.make_tensor_view {pointer}, shape = [%{n}, %{n}], strides = [%{n}, %c1] : {type}\n"


def part(name: str, source: str, type: str, rows: int, cols: int) -> str:
    cut = type.replace("tensor_view<64x64", f"partition_tensor_view<{rows}x{cols}").replace(
        "tensor_view<32x32", f"partition_tensor_view<{rows}x{cols}"
    )
    return (
        f"%{name} = pto.partition_view {source}, offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}] : {type} -> {cut}\n"
    )


NUMBERS = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 16, 32, 64))
HALF, WHOLE = "!pto.partition_tensor_view<64x64xf16>", "!pto.partition_tensor_view<32x32xf32>"
MULTIPLIED = (
    view("xv", "%x", "c64", HALVES)
    + view("yv", "%y", "c32", SUMS)
    + part("xp", "%xv", HALVES, 64, 64)
    + part("yp", "%yv", SUMS, 32, 32)
    + f"%m = pto.alloc_tile : {MAT}\n%l = pto.alloc_tile : {LEFT}\n%r = pto.alloc_tile : {RIGHT}\n"
    + f"%a = pto.alloc_tile : {ACC}\npto.tload ins(%xp : {HALF}) outs(%m : {MAT})\n"
    + f"pto.textract ins(%m, %i, %j : {MAT}, index, index) outs(%l : {LEFT})\n"
    + f"pto.textract ins(%m, %j, %i : {MAT}, index, index) outs(%r : {RIGHT})\n"
    + f"pto.tmatmul ins(%l, %r : {LEFT}, {RIGHT}) outs(%a : {ACC})\n"
    + f"pto.tstore ins(%a : {ACC}) outs(%yp : {WHOLE})\n"
)
COPIED = (
    view("xv", "%x", "c64", HALVES)
    + view("yv", "%y", "c64", HALVES)
    + part("xp", "%xv", HALVES, 64, 64)
    + part("yp", "%yv", HALVES, 64, 64)
    + f"%m = pto.alloc_tile : {VEC}\n%n = pto.alloc_tile : {VEC}\n%s = pto.alloc_tile : {SMALL}\n"
    + f"pto.tload ins(%xp : {HALF}) outs(%m : {VEC})\npto.tload ins(%xp : {HALF}) outs(%n : {VEC})\n"
    + f"pto.textract ins(%m, %i, %j : {VEC}, index, index) outs(%s : {SMALL})\n"
    + f"pto.tinsert ins(%s, %j, %i : {SMALL}, index, index) outs(%n : {VEC})\n"
    + f"pto.tstore ins(%n : {VEC}) outs(%yp : {HALF})\n"
)
ENDS = "return\n}\n}\n"


def compiled(body: str, place: tuple[int, int] | None) -> Program:
    """With corners from the run, or as constants."""
    result = "f32" if body is MULTIPLIED else "f16"
    params = f"%x: !pto.ptr<f16>, %y: !pto.ptr<{result}>"
    if place is None:
        params += ", %i: index, %j: index"
    else:
        body = "".join(f"%{n} = arith.constant {at} : index\n" for n, at in zip("ij", place)) + body
    text = f"module {{\nfunc.func @k({params}) attributes {{pto.entry}} {{\n{NUMBERS}{body}{ENDS}"
    parsed = parse_module(text, "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    return compile_program(parsed.module, target("a5"))


def found(program: Program, body: str, place: tuple[int, int], given: bool) -> list[Any]:
    x = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float16)
    out: list[Any] = []
    for backend in ("numpy", "native"):
        y = np.zeros((32, 32), np.float32) if body is MULTIPLIED else np.zeros((64, 64), np.float16)
        try:
            program.launch([x, y, *(place if given else ())], 1, backend=backend)
            out.append(y.tobytes())
        except DiagnosticError as error:
            out.append([(d.rule, d.message, d.location) for d in error.diagnostics])
    return out


PLACES = [(0, 0), (16, 0), (0, 16), (32, 48), (16, 32), (32, 32)]
BAD = [(33, 0), (48, 0), (-16, 0), (0, 64), (1 << 40, 0)]


@pytest.mark.parametrize("body", [MULTIPLIED, COPIED], ids=["multiplied", "copied"])
def test_corners_of_the_run(body: str) -> None:
    program = compiled(body, None)
    assert prepare(program).made.module.called == set()
    good = 0
    for place in (*PLACES, *BAD, (8, 8)):
        plain, native = found(program, body, place, given=True)
        assert plain == native, place
        good += isinstance(plain, bytes)
    assert good >= 5


CONSTANT = [(body, place) for body in (MULTIPLIED, COPIED) for place in PLACES if body is MULTIPLIED or place[1] <= 32]


@pytest.mark.parametrize(("body", "place"), CONSTANT, ids=range(len(CONSTANT)))
def test_constant_corners(body: str, place: tuple[int, int]) -> None:
    plain, native = found(compiled(body, place), body, place, given=False)
    assert plain == native
    assert isinstance(plain, bytes)


TILE, OPEN = "!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 4x16xf32, valid=?x?>"
RAISED = f"""
    %one = arith.constant 1.0 : f32
    %i = arith.index_cast %n : i64 to index
    %r = arith.index_cast %rows : i64 to index
    %q = arith.index_cast %cols : i64 to index
    %v = pto.make_tensor_view %y, shape = [%c8, %c16], strides = [%c16, %c1] : !pto.tensor_view<8x16xf32>
    %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c8, %c16] : !pto.tensor_view<8x16xf32> -> {{part}}
    %t = pto.alloc_tile : {TILE}
    pto.tload ins(%p : {{part}}) outs(%t : {TILE})
    %w = pto.subview %t[%i, %c0] sizes [4, 16] valid [%r, %q] : {TILE} -> {OPEN}
    pto.tadds ins(%w, %one : {OPEN}, f32) outs(%w : {OPEN})
    pto.tstore ins(%t : {TILE}) outs(%p : {{part}})
"""


@pytest.mark.parametrize("place", [(0, 3, 5), (4, 4, 16), (2, 1, 0), (3, 7, 90), (5, 1, 1), (5, 4, 1)])
def test_valid_regions_of_windows(place: tuple[int, int, int]) -> None:
    body = RAISED.format(part="!pto.partition_tensor_view<8x16xf32>")
    program = kernel("%y: !pto.ptr<f32>, %n: i64, %rows: i64, %cols: i64", body)
    results: list[Any] = []
    for backend in ("numpy", "native"):
        y = np.zeros((8, 16), np.float32)
        try:
            program.launch([y, *place], 1, backend=backend)
        except DiagnosticError as error:
            results.append([d.rule for d in error.diagnostics])
        results.append(y.tolist())
    assert results[: len(results) // 2] == results[len(results) // 2 :]
    assert np.any(results[-1]) == (place[0] + min(place[1], 4) <= 8 and place[2] > 0)
