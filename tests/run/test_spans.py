"""Some blocks of a launch, run by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.run.backends import redirected
from ptokit.targets import target

TEXT = """
func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %rows: index) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = arith.constant 16 : index
  %b64 = pto.get_block_idx
  %n64 = pto.get_block_num
  %b = arith.index_cast %b64 : i64 to index
  %n = arith.index_cast %n64 : i64 to index
  %f = arith.index_cast %n : index to i32
  %s = arith.sitofp %f : i32 to f32
  %xv = pto.make_tensor_view %x, shape = [%rows, %w], strides = [%w, %c1] : !pto.tensor_view<?x16xf32>
  %yv = pto.make_tensor_view %y, shape = [%rows, %w], strides = [%w, %c1] : !pto.tensor_view<?x16xf32>
  %p = pto.partition_view %xv, offsets = [%b, %c0], sizes = [%c1, %w]
    : !pto.tensor_view<?x16xf32> -> !pto.partition_tensor_view<1x16xf32>
  %q = pto.partition_view %yv, offsets = [%b, %c0], sizes = [%c1, %w]
    : !pto.tensor_view<?x16xf32> -> !pto.partition_tensor_view<1x16xf32>
  %t = pto.alloc_tile : !pto.tile_buf<vec, 1x16xf32>
  pto.tload ins(%p : !pto.partition_tensor_view<1x16xf32>) outs(%t : !pto.tile_buf<vec, 1x16xf32>)
  pto.tmuls ins(%t, %s : !pto.tile_buf<vec, 1x16xf32>, f32) outs(%t : !pto.tile_buf<vec, 1x16xf32>)
  pto.tstore ins(%t : !pto.tile_buf<vec, 1x16xf32>) outs(%q : !pto.partition_tensor_view<1x16xf32>)
  pto.print ins("block %d\\n", %b : index)
  return
}
"""


def program() -> Program:
    read = parse_module(TEXT, "k.pto", target=target("a5"))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target("a5"))


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_the_blocks_of_a_span_run_as_those_of_the_whole_launch(backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    x = np.arange(9 * 16, dtype=np.float32).reshape(9, 16)
    whole, parts = np.zeros_like(x), np.zeros_like(x)
    kernel = program()
    told: list[str] = []
    seen: list[tuple[int, int]] = []
    kernel.launch([x, whole, 9], 9, backend=backend)
    with redirected(told.append):
        kernel.launch([x, parts, 9], 9, backend=backend, span=range(3, 7), progress=lambda *n: seen.append(n))
    assert (parts[3:7] == whole[3:7]).all()
    assert (parts[3:7] == 9 * x[3:7]).all()
    assert not parts[:3].any()
    assert not parts[7:].any()
    assert "".join(told) == "block 3\nblock 4\nblock 5\nblock 6\n"
    assert seen[-1] == (4, 4)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_faults_of_a_span_name_the_blocks_of_the_launch(backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    x = np.ones((8, 16), np.float32)
    y = np.zeros((6, 16), np.float32)
    with pytest.raises(DiagnosticError) as caught:
        program().launch([x, y, 8], 8, backend=backend, span=range(4, 8))
    (found,) = caught.value.diagnostics
    assert [note.message for note in found.notes] == ["at block 6", "likewise in block 7"]
    assert y[4:].all()
    assert not y[:4].any()
