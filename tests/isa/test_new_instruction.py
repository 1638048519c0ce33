"""A new instruction is one definition: TCLAMP is read, checked, run, printed and explained like any other."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.asm.printing.printer import print_module
from ptokit.ir.verify import verify
from ptokit.isa.compute.vector_unit import SRC, computed
from ptokit.isa.meaning.expressions import Scalar, maximum, minimum
from ptokit.isa.operands import F, types
from ptokit.isa.reference import facts, operand_rows, type_rows
from ptokit.isa.table import BY_OPERATION, BY_TEXT, TABLE, Instr, dst, scalar, src
from ptokit.run import compile_program
from ptokit.targets import A5

from .fake import site, spec

LINES = 6


def tclamp() -> Instr:
    return computed(
        "TCLAMP",
        minimum(maximum(SRC, Scalar("low", "src")), Scalar("high", "src")),
        (dst(), src(), scalar("low"), scalar("high")),
        types(F, F),
    )


@pytest.fixture(autouse=True)
def defined() -> Iterator[Instr]:
    instr = tclamp()
    yield instr
    del TABLE["TCLAMP"], BY_TEXT["tclamp"], BY_OPERATION["pto.tclamp"]


def test_it_took_six_lines() -> None:
    source = inspect.getsource(tclamp).splitlines()
    assert len(source) - 1 == LINES
    assert f"{LINES} lines" in (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


KERNEL = """func.func @clamp(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %low: f32, %high: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %xv = pto.make_tensor_view %x, shape = [%c8, %c32], strides = [%c32, %c1] : !pto.tensor_view<8x32xf32>
  %yv = pto.make_tensor_view %y, shape = [%c8, %c32], strides = [%c32, %c1] : !pto.tensor_view<8x32xf32>
  %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c8, %c32] : !pto.tensor_view<8x32xf32> -> !pto.partition_tensor_view<8x32xf32>
  %yp = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%c8, %c32] : !pto.tensor_view<8x32xf32> -> !pto.partition_tensor_view<8x32xf32>
  %t = pto.alloc_tile : !pto.tile_buf<vec, 8x32xf32>
  %u = pto.alloc_tile : !pto.tile_buf<vec, 8x32xf32>
  pto.tload ins(%xp : !pto.partition_tensor_view<8x32xf32>) outs(%t : !pto.tile_buf<vec, 8x32xf32>)
  pto.tclamp ins(%t, %low, %high : !pto.tile_buf<vec, 8x32xf32>, f32, f32) outs(%u : !pto.tile_buf<vec, 8x32xf32>)
  pto.tstore ins(%u : !pto.tile_buf<vec, 8x32xf32>) outs(%yp : !pto.partition_tensor_view<8x32xf32>)
  return
}
"""  # noqa: E501


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_text_with_it_runs(backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    parsed = parse_module(KERNEL, target=A5)
    assert list(parsed.diagnostics) == []
    x = np.random.default_rng(0).normal(size=(8, 32)).astype(np.float32)
    x[0, :3] = np.nan, np.inf, -0.0
    y = np.zeros_like(x)
    compile_program(parsed.module, A5).launch([x, y, -0.5, 0.75], 1, backend=backend)
    assert np.array_equal(y, np.clip(x, np.float32(-0.5), np.float32(0.75)), equal_nan=True)


def test_rules_of_the_family_bind_it() -> None:
    rows, half = "!pto.tile_buf<vec, 8x32xf32>", "!pto.tile_buf<vec, 8x32xf16>"
    wrong = KERNEL.replace(f"%u = pto.alloc_tile : {rows}", f"%u = pto.alloc_tile : {half}")
    wrong = wrong.replace(f"outs(%u : {rows})", f"outs(%u : {half})")
    parsed = parse_module(wrong, target=A5)
    found = [*parsed.diagnostics, *verify(parsed.module, A5)]
    assert ("EW-04", 13) in [(d.rule, d.location.line) for d in found if d.location is not None]


def test_it_is_printed_as_it_is_read() -> None:
    text = print_module(parse_module(KERNEL, target=A5).module)
    assert "pto.tclamp ins(%t, %low, %high : " in text


def test_its_page_and_footprint_follow(defined: Instr) -> None:
    assert TABLE["TCLAMP"].summary == "dst = min(max(src, low), high)"
    assert [row[0] for row in operand_rows(TABLE["TCLAMP"])] == ["dst", "src", "low", "high"]
    assert facts(TABLE["TCLAMP"])["pipe"] == "V"
    assert ("a5", "f32 f16") in type_rows(TABLE["TCLAMP"])
    tile = spec("f32", 8, 32, 5, 17)
    o = site("TCLAMP", "a5", dst=tile, src=tile, low=0.0, high=1.0)
    assert [(a.operand, a.write, a.rows, a.cols) for a in TABLE["TCLAMP"].footprint(o)] == [
        ("src", False, 5, 17),
        ("dst", True, 5, 17),
    ]
