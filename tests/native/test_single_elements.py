"""Sequences, triangles and single elements of tiles have the same bytes as machine code and with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target
from ptokit.types.dtypes import dtype

KERNEL = """\
func.func @k(%x: !pto.ptr<E>, %y: !pto.ptr<E>, %s: E, %n: index, %d: i32, %at: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = arith.constant ROWS : index
  %c = arith.constant 32 : index
  %vc = arith.addi %n, %c0 : index
  %xv = pto.make_tensor_view %x, shape = [%r, %c], strides = [%c, %c1] : !pto.tensor_view<?x?xE>
  %yv = pto.make_tensor_view %y, shape = [%r, %c], strides = [%c, %c1] : !pto.tensor_view<?x?xE>
  %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%r, %vc] : !pto.tensor_view<?x?xE> -> PART
  %yp = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%r, %vc] : !pto.tensor_view<?x?xE> -> PART
  %t = pto.alloc_tile valid_col = %n : TILE
  pto.tload ins(%xp : PART) outs(%t : TILE)
BODY
  pto.tstore ins(%t : TILE) outs(%yp : PART)
  return
}
"""
TILE, PART = "!pto.tile_buf<vec, ROWSx32xE, valid=ROWSx?>", "!pto.partition_tensor_view<ROWSx?xE>"
ELEMENTS = """\
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c3 {
    %v = pto.tgetval ins(%t, %i : TILE, index) outs : E
    %j = arith.addi %i, %at : index
    pto.tsetval ins(%j, %v : index, E) outs(%t : TILE)
  }
  pto.tsetval ins(%c1, %s : index, E) outs(%t : TILE)"""
BODIES = {
    "sequence": "  pto.tci ins(%s {descending = false} : E) outs(%t : TILE)",
    "sequence down": "  pto.tci ins(%s {descending = true} : E) outs(%t : TILE)",
    "lower triangle": "  pto.ttri ins(%d {upper_or_lower = 0} : i32) outs(%t : TILE)",
    "upper triangle": "  pto.ttri ins(%d {upper_or_lower = 1} : i32) outs(%t : TILE)",
    "elements": ELEMENTS,
}


def compiled(body: str, type: str) -> Program:
    rows = "1" if "sequence" in body else "5"
    text = KERNEL.replace("BODY", BODIES[body]).replace("TILE", TILE).replace("PART", PART).replace("ROWS", rows)
    read = parse_module(text.replace("xE", f"x{type}").replace("<E>", f"<{type}>").replace(" E", f" {type}"))
    assert [str(d) for d in read.diagnostics] == []
    return compile_program(read.module, target("a5"))


def data(type: str) -> np.ndarray:
    of = dtype(type)
    x = np.random.default_rng(1).integers(0, 1 << of.bits, 5 * 32, np.uint64).astype(of.storage)
    if of.is_float:
        x[:12] = [(1 << of.bits) - 1, 0, 1 << (of.bits - 1), 1, *[0x7F800001 if of.bits == 32 else 0x7FFF] * 8]
    return x.view(of.value)


INTS = ["i32", "ui16", "i16"]  # sums of floats that are rounded once have no native form


@pytest.mark.parametrize(
    ("body", "type"), [(b, t) for b in BODIES for t in (*INTS, *(("f32", "f16") if b == "elements" else ()))]
)
def test_same_bytes(body: str, type: str) -> None:
    program, x = compiled(body, type), data(type)
    assert not {step.op.name for step in prepare(program).made.module.called} & {
        "pto.tci",
        "pto.tsetval",
        "pto.tgetval",
    }
    for columns, diagonal, at in ((32, 0, 31), (29, 3, 64), (1, -2, 5)):
        found = []
        for backend in ("numpy", "native"):
            y = np.zeros_like(x)
            program.launch([x, y, 5, columns, diagonal, at], backend=backend)
            found.append(y.tobytes())
        assert found[0] == found[1], (columns, diagonal, at)


def test_an_offset_outside_is_refused_alike() -> None:
    program, x, said = compiled("elements", "i32"), data("i32"), []
    for backend in ("numpy", "native"):
        with pytest.raises(DiagnosticError) as found:
            program.launch([x, np.zeros_like(x), 5, 32, 0, 140], backend=backend)
        said.append([(d.rule, d.message, d.location) for d in found.value.diagnostics])
    assert said[0] == said[1]
    assert said[0][0][0] == "ELEM-01"
