"""Memrefs as global tensors: arguments, views, rules (assembly 3.1, 13)."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

TILE = "!pto.tile_buf<vec, 8x16xf32>"
OUT = "memref<8x16xf32, #pto.address_space<gm>>"
TARGETS = ("cpu", "a2a3", "a5")
X = np.arange(1024, dtype=np.float32)


def program(source: str, arch: str = "a5", more: str = "") -> Program:
    text = f"""func.func @k(%m: {source}, %o: {OUT}) {{
  %t = pto.alloc_tile : {TILE}
  pto.tload ins(%m : {source}) outs(%t : {TILE})
  pto.tstore ins(%t : {TILE}) outs(%o : {OUT}){more}
  return
}}
"""
    read = parse_module(text, "k.pto", target=target(arch))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target(arch))


def load(source: str, x: np.ndarray, arch: str = "a5") -> np.ndarray:
    out = np.zeros((8, 16), np.float32)
    program(source, arch).launch([x, out])
    return out


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(
    ("source", "shape", "first", "pitch"),
    [
        ("memref<8x16xf32>", (1024,), 0, 16),
        ("memref<8x16xf32, 0>", (32, 32), 0, 16),
        ("memref<1x8x16xf32>", (1024,), 0, 16),
        ("memref<8x16xf32, strided<[32, 1]>>", (1024,), 0, 32),
        ("memref<8x16xf32, strided<[40, 1], offset: 5>>", (1024,), 5, 40),
        ("memref<8x16xf32, strided<[?, 1], offset: ?>>", (8, 16), 0, 16),
        ("memref<?x16xf32>", (8, 16), 0, 16),
        ("!pto.memref<f32, 2>", (8, 16), 0, 16),
        ("!pto.memref<f32, 3>", (1, 8, 16), 0, 16),
    ],
)
def test_shape_and_strides(arch: str, source: str, shape: tuple[int, ...], first: int, pitch: int) -> None:
    x = X[: int(np.prod(shape))].reshape(shape)
    wanted = first + pitch * np.arange(8)[:, None] + np.arange(16)
    assert np.array_equal(load(source, x, arch), wanted.astype(np.float32))


def test_the_layout_is_that_of_the_strides() -> None:
    with pytest.raises(DiagnosticError) as error:
        program("memref<8x16xf32, strided<[1, 8]>>")
    assert [(d.rule, d.location.line, d.location.column) for d in error.value.diagnostics] == [("LOAD-A5-04", 3, 3)]
    assert "DN view" in str(error.value)


@pytest.mark.parametrize(
    ("source", "x", "rule", "place"),
    [
        ("memref<?x16xf32>", X, "RUN-ARG-SHAPE", (1, 14)),
        ("memref<?x16xf32>", X.reshape(32, 32), "RUN-ARG-SHAPE", (1, 14)),
        ("memref<8x16xf32>", X.astype(np.float64), "RUN-ARG-DTYPE", (1, 14)),
        ("memref<8x16xf32>", 7, "RUN-ARG-TYPE", (1, 14)),
        ("memref<8x16xf32>", X[:127], "GM-OOB", (3, 3)),
        ("memref<8x16xf32, strided<[32, 1]>>", X[:239], "GM-OOB", (3, 3)),
    ],
)
def test_wrong_arguments(source: str, x: object, rule: str, place: tuple[int, int]) -> None:
    with pytest.raises(DiagnosticError) as error:
        program(source).launch([x, np.zeros((8, 16), np.float32)])
    assert [(d.rule, d.location.line, d.location.column) for d in error.value.diagnostics] == [(rule, *place)]


def test_a_stored_memref_is_written() -> None:
    out = np.zeros((8, 16), np.float32)
    out.flags.writeable = False
    with pytest.raises(DiagnosticError) as error:
        program("memref<8x16xf32>").launch([X, out])
    assert [d.rule for d in error.value.diagnostics] == ["RUN-ARG-READONLY"]


def test_parameters_have_element_types() -> None:
    params = program("memref<8x16xf32>").params
    assert [(p.name, str(p.dtype)) for p in params] == [("m", "f32"), ("o", "f32")]


def warnings(view: str, element: str) -> list[str]:
    """Rules about a store of 8-bit elements to a view of this type."""
    from ptokit.ir.verify import verify

    tile = f"!pto.tile_buf<vec, 8x32x{element}>"
    text = f"""func.func @k(%m: {view}) {{
  %t = pto.alloc_tile : {tile}
  pto.tstore ins(%t : {tile}) outs(%m : {view})
  return
}}
"""
    return [d.rule for d in verify(parse_module(text).module, target("a5"))]


def test_the_assemblers_rules_do_not_bind_memrefs() -> None:
    assert warnings("!pto.partition_tensor_view<8x32xf64>", "f64") == ["STORE-A5-03", "ST-9"]
    assert warnings("memref<8x32xf64>", "f64") == ["STORE-A5-03"]
    assert warnings("memref<8x32xf16>", "f8E4M3FN") == ["LS-COM-04"]  # the instruction's rules do


def test_the_block_of_signals_is_no_data() -> None:
    text = """func.func @k(%f: memref<256xi64>) {
  pto.set_ffts %f : memref<256xi64>
  return
}
"""
    module = parse_module(text).module
    from ptokit.run.arguments import bind_arguments

    assert bind_arguments(module.functions[0], [None], set(), 1) == [None]


@pytest.mark.parametrize("line", ["%p = memref.alloc() : memref<4xf32>"])
def test_operations_that_cannot_be_run_are_refused(line: str) -> None:
    module = parse_module(f"func.func @k() {{\n  {line}\n  return\n}}").module
    with pytest.raises(DiagnosticError) as error:
        compile_program(module, target("a5"))
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [("TEXT-UNIMPLEMENTED", 2)]


def test_memrefs_go_through_calls_and_scalar_accesses() -> None:
    text = f"""func.func @k(%m: {OUT}, %o: {OUT}, %i: index) attributes {{pto.entry}} {{
  func.call @g(%m, %o) : ({OUT}, {OUT}) -> ()
  %x = pto.load_scalar %m[%i] : {OUT} -> f32
  %c0 = arith.constant 0 : index
  pto.store_scalar %x, %o[%c0] : {OUT}, f32
  return
}}
func.func @g(%m: {OUT}, %o: {OUT}) {{
  %t = pto.tload %m : {OUT} -> {TILE}
  pto.tstore %t, %o : ({TILE}, {OUT}) -> ()
  return
}}
"""
    module = parse_module(text).module
    out = np.zeros((8, 16), np.float32)
    compile_program(module, target("a5")).launch([X[:128].reshape(8, 16), out, 77])
    assert np.array_equal(out.reshape(-1), [77, *range(1, 128)])
