"""The page of TMOV: its C++ examples and its text of level 2.

The family of the sync form (``tmov.m2l`` …) and level 1 (``pto.tmov.s2d``) are in `test_text_forms`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import BLayout, DiagnosticError, SLayout, TileType

from .examples import TARGETS, function, numbers, run, run_text

VEC, MAT = TileType.Vec, TileType.Mat


@pytest.mark.parametrize("target", TARGETS)
def test_auto_example(target: str) -> None:
    def example_auto(memory: Any, out: Any) -> None:
        src, dst = pto.Tile(VEC, pto.f32, 16, 16), pto.Tile(VEC, pto.f32, 16, 16)
        pto.TLOAD(src, pto.GlobalTensor(memory, (16, 16)))
        pto.TMOV(dst, src)
        pto.TSTORE(pto.GlobalTensor(out, (16, 16)), dst)

    x, out = run(example_auto, target, numbers(pto.f32), np.zeros((16, 16), np.float32))
    assert np.array_equal(out, x)


@pytest.mark.parametrize("target", TARGETS)
def test_auto_example_as_printed(target: str) -> None:
    def example_auto() -> None:
        src = pto.Tile(VEC, pto.f32, 16, 16)
        dst = pto.Tile(VEC, pto.f32, 16, 16)
        pto.TMOV(dst, src)

    run(example_auto, target)


@pytest.mark.parametrize("target", TARGETS)
def test_manual_example(target: str) -> None:
    def example_manual() -> None:
        mat = pto.Tile(MAT, pto.f32, 16, 16, BLayout.RowMajor, 16, 16, SLayout.ColMajor)
        left = pto.TileLeft(pto.f32, 16, 16)
        pto.TASSIGN(mat, 0x1000)
        pto.TASSIGN(left, 0x2000)
        pto.TMOV(left, mat)

    run(example_manual, target)


@pytest.mark.parametrize("target", TARGETS)
def test_manual_example_with_contents(target: str) -> None:
    with pto.Core(target):
        mat = pto.Tile(MAT, pto.f32, 16, 16, BLayout.RowMajor, 16, 16, SLayout.ColMajor)
        left = pto.TileLeft(pto.f32, 16, 16)
        pto.TASSIGN(mat, 0x1000)
        pto.TASSIGN(left, 0x2000)
        mat.set(numbers(pto.f32))
        pto.TMOV(left, mat)
    assert np.array_equal(left.numpy(), numbers(pto.f32))
    assert (mat.address, left.address) == (0x1000, 0x2000)
    boxes = numbers(pto.f32).reshape(16, 2, 8).transpose(1, 0, 2)  # one row of boxes: Zz (a2a3) and Nz agree
    assert left.bytes() == boxes.tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_level_2(target: str) -> None:
    body = """
        %src = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        %dst = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        pto.tload ins(%mem : !pto.partition_tensor_view<16x16xf32>) outs(%src : !pto.tile_buf<vec, 16x16xf32>)
        pto.tmov ins(%src : !pto.tile_buf<vec, 16x16xf32>) outs(%dst : !pto.tile_buf<vec, 16x16xf32>)
        pto.tstore ins(%dst : !pto.tile_buf<vec, 16x16xf32>) outs(%out : !pto.partition_tensor_view<16x16xf32>)"""
    x, y = numbers(pto.f32), np.zeros((16, 16), np.float32)
    run_text(function(body), target, x, y)
    assert np.array_equal(y, x)


NZ = "blayout=col_major, slayout=row_major"
LEFT = {"cpu": NZ, "a2a3": "slayout=row_major", "a5": NZ}


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_the_family_in_level_2(target: str) -> None:
    """m2l and m2r for the operands of a matrix product, and m2b."""
    mat, f32 = f"!pto.tile_buf<mat, 16x16xf32, {NZ}>", "!pto.partition_tensor_view<16x16xf32>"
    left = f"!pto.tile_buf<left, 16x16xf32, {LEFT[target]}>"
    right = "!pto.tile_buf<right, 16x16xf32, slayout=col_major>"
    acc = f"!pto.tile_buf<acc, 16x16xf32, {NZ}, fractal=1024>"
    row, bias, line = "!pto.tile_buf<mat, 1x16xf32>", "!pto.tile_buf<bias, 1x16xf32>", "partition_tensor_view<1x16xf32>"
    slice_of = "offsets = [%c0, %c0], sizes = [%c1, %cols] : !pto.tensor_view<16x16xf32>"
    body = f"""
        %first = pto.partition_view %mem_t, {slice_of} -> !pto.{line}
        %m = pto.alloc_tile : {mat}
        %b1 = pto.alloc_tile : {row}
        %left = pto.alloc_tile : {left}
        %right = pto.alloc_tile : {right}
        %bias = pto.alloc_tile : {bias}
        %acc = pto.alloc_tile : {acc}
        pto.tload ins(%mem : {f32}) outs(%m : {mat})
        pto.tload ins(%first : !pto.{line}) outs(%b1 : {row})
        pto.tmov ins(%m : {mat}) outs(%left : {left})
        pto.tmov ins(%m : {mat}) outs(%right : {right})
        pto.tmov ins(%b1 : {row}) outs(%bias : {bias})
        pto.tmatmul ins(%left, %right : {left}, {right}) outs(%acc : {acc})
        pto.tstore ins(%acc : {acc}) outs(%out : {f32})"""
    x, y = numbers(pto.f32), np.zeros((16, 16), np.float32)
    run_text(function(body), target, x, y)
    assert np.array_equal(y, x @ x)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("dtype", [pto.f32, pto.i32, pto.f16], ids=str)
def test_mat_to_bias(target: str, dtype: Any) -> None:
    core = pto.Core(target)
    mat = core.Tile(MAT, dtype, 1, 32).set(numbers(dtype, 1, 32))
    bias = core.Tile(TileType.Bias, pto.f32 if dtype is pto.f16 else dtype, 1, 32)
    core.TMOV(bias, mat)
    assert np.array_equal(bias.numpy(), numbers(dtype, 1, 32))


def test_accumulator_to_vector_on_a5() -> None:
    core = pto.Core("a5")
    acc = core.TileAcc(pto.f32, 16, 16).set(numbers(pto.f32) - 100)
    vec = core.Tile(VEC, pto.f32, 16, 16)
    core.TMOV(vec, acc, pto.AccToVecMode.SingleModeVec0)
    assert np.array_equal(vec.numpy(), numbers(pto.f32) - 100)
    core.TMOV(vec, acc, pto.ReluPreMode.NormalRelu)
    assert np.array_equal(vec.numpy(), np.maximum(numbers(pto.f32) - 100, 0))


def test_accumulator_to_vector_is_not_on_a2a3() -> None:
    core = pto.Core("a2a3")
    acc, vec = core.TileAcc(pto.f32, 16, 16), core.Tile(VEC, pto.f32, 16, 16)
    with pytest.raises(DiagnosticError) as error:
        core.TMOV(vec, acc)
    assert all(d.rule.startswith("TMOV-A23") for d in error.value.diagnostics)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_mat_to_scaling(target: str) -> None:
    core = pto.Core(target)
    words = np.arange(16, dtype=np.uint64).reshape(1, 16)
    mat = core.Tile(MAT, pto.u64, 1, 16).set(words)
    scaling = core.Tile(TileType.Scaling, pto.u64, 1, 16)
    core.TMOV(scaling, mat)
    assert np.array_equal(scaling.numpy(), words)
