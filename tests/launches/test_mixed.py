"""Mixed kernels in parts: a core that fails while the other waits for it."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.launches import arrays
from ptokit.launches.launch import launch

from .conftest import Inline, compiled

ACC = "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>"
VEC = "!pto.tile_buf<vec, 16x16xf32>"
VIEW, PART = "!pto.tensor_view<?x16xf32>", "!pto.partition_tensor_view<16x16xf32>"
MIXED = f"""
func.func @k(%x: !pto.ptr<f16>, %y: !pto.ptr<f32>, %bad: !pto.ptr<i32>, %n: index) attributes {{pto.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %b64 = pto.get_block_idx
  %b = arith.index_cast %b64 : i64 to index
  %row = arith.muli %b, %c16 : index
  %off32 = pto.load_scalar %bad[%b] : !pto.ptr<i32> -> i32
  %off = arith.index_cast %off32 : i32 to index
  %from = arith.addi %row, %off : index
  %am = pto.alloc_tile : !pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>
  %a = pto.alloc_tile : !pto.tile_buf<left, 16x16xf16, blayout=col_major, slayout=row_major>
  %w = pto.alloc_tile : !pto.tile_buf<right, 16x16xf16, slayout=col_major>
  %c = pto.alloc_tile : {ACC}
  %t = pto.alloc_tile : {VEC}
  %xv = pto.make_tensor_view %x, shape = [%n, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x16xf16>
  %yv = pto.make_tensor_view %y, shape = [%n, %c16], strides = [%c16, %c1] : {VIEW}
  %yp = pto.partition_view %yv, offsets = [%row, %c0], sizes = [%c16, %c16] : {VIEW} -> {PART}
  pto.section.cube {{
    %xp = pto.partition_view %xv, offsets = [%CUBE, %c0], sizes = [%c16, %c16]
      : !pto.tensor_view<?x16xf16> -> !pto.partition_tensor_view<16x16xf16>
    pto.tload ins(%xp : !pto.partition_tensor_view<16x16xf16>)
      outs(%am : !pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>)
    pto.tmov ins(%am : !pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>)
      outs(%a : !pto.tile_buf<left, 16x16xf16, blayout=col_major, slayout=row_major>)
    pto.tmov ins(%am : !pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>)
      outs(%w : !pto.tile_buf<right, 16x16xf16, slayout=col_major>)
    pto.tmatmul ins(%a, %w : !pto.tile_buf<left, 16x16xf16, blayout=col_major, slayout=row_major>,
      !pto.tile_buf<right, 16x16xf16, slayout=col_major>) outs(%c : {ACC})
    pto.tstore ins(%c : {ACC}) outs(%yp : {PART})
    pto.sync.set <PIPE_FIX>, 3
  }}
  pto.section.vector {{
    pto.sync.wait <PIPE_MTE2>, 3
    %sub = pto.get_subblock_idx
    %zero = arith.constant 0 : i64
    %first = arith.cmpi eq, %sub, %zero : i64
    scf.if %first {{
      %yq = pto.partition_view %yv, offsets = [%VECTOR, %c0], sizes = [%c16, %c16] : {VIEW} -> {PART}
      pto.tload ins(%yp : {PART}) outs(%t : {VEC})
      pto.tadd ins(%t, %t : {VEC}, {VEC}) outs(%t : {VEC})
      pto.tstore ins(%t : {VEC}) outs(%yq : {PART})
    }}
  }}
  return
}}
"""


@pytest.mark.parametrize("size", [6, 600], ids=["small", "shared"])
@pytest.mark.parametrize("failing", ["", "cube", "vector"])
def test_a_core_that_fails_costs_other_blocks_nothing(failing: str, size: int, memories: list[str]) -> None:
    """Outputs and reports are those of one process; whoever waits for the core does not hang."""
    text = MIXED.replace("%CUBE", "%from" if failing == "cube" else "%row")
    program = compiled(text.replace("%VECTOR", "%from" if failing == "vector" else "%row"), "a2a3")
    assert program.cores.waits
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 4, (16 * size, 16)).astype(np.float16)
    bad = np.zeros(size, np.int32)
    if failing:
        bad[[1, size - 2]] = 16 * size  # these blocks leave their tensor
    told, left = [], []
    executor = Inline()
    for go in (program.launch, lambda *a: launch(*(program, *a), executor=executor, jobs=2, say=lambda _: None)):
        y = np.zeros((16 * size, 16), np.float32)
        try:
            go([x, y, bad, 16 * size], size)
            told.append([])
        except DiagnosticError as error:
            told.append([(d.rule, d.location, d.message, [n.message for n in d.notes]) for d in error.diagnostics])
        left.append(y)
    assert told[0] == told[1]
    assert left[0].tobytes() == left[1].tobytes()
    assert [rule for rule, *_ in told[0]] == (["GM-OOB"] if failing else [])
    blocks = x.astype(np.float32).reshape(size, 16, 16)
    wanted = 2 * blocks @ blocks
    fine = [b for b in range(size) if not bad[b]]
    assert (left[0].reshape(size, 16, 16)[fine] == wanted[fine]).all()
    assert not any((arrays.SHARED / name).exists() for name in memories)


@pytest.mark.parametrize("core", [0, 1])
def test_either_vector_core_may_do_the_work(core: int) -> None:
    text = MIXED.replace("%CUBE", "%row").replace("%VECTOR", "%row")
    program = compiled(text.replace("%zero = arith.constant 0", f"%zero = arith.constant {core}"), "a2a3")
    x, y = np.ones((96, 16), np.float16), np.zeros((96, 16), np.float32)
    launch(program, [x, y, np.zeros(6, np.int32), 96], 6, executor=Inline(), jobs=2)
    assert (y == 32).all()
