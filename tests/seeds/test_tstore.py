"""The page of TSTORE: its C++ examples and its text of level 2.

Its sync form (``tstore %t1, %sv_out[...]``) and level 1 (``… : (…) -> ()``) are in `test_text_forms`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import AtomicType, DiagnosticError, Layout, TileType

from .examples import TARGETS, TYPES, function, numbers, run, run_text

ADDED = (pto.f32, pto.f16, pto.bf16, pto.i32, pto.i16)
"""Types that memory can add to among `TYPES` (load-store, STORE-A3-22 and STORE-A5-16)."""


def gout(T: Any, out: Any) -> pto.GlobalTensor:
    gshape = pto.Shape(1, 1, 1, 16, 16)
    gstride = pto.BaseShape2D(T, 16, 16, Layout.ND)
    return pto.GlobalTensor(out, gshape, gstride, Layout.ND)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_auto_example(target: str, T: Any) -> None:
    def example_auto(out: Any) -> None:
        g = gout(T, out)
        t = pto.Tile(TileType.Vec, T, 16, 16)
        pto.TSTORE(g, t)

    (out,) = run(example_auto, target, numbers(T, first=1))
    assert not out.any()  # the tile was never written; it begins as zeros


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_auto_example_with_contents(target: str, T: Any) -> None:
    def example_auto(source: Any, out: Any) -> None:
        t = pto.Tile(TileType.Vec, T, 16, 16)
        pto.TSTORE(gout(T, out), t, pto.TLOAD(t, gout(T, source)))

    x, out = run(example_auto, target, numbers(T, first=1), np.zeros((16, 16), T.value))
    assert np.array_equal(out, x)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_manual_example(target: str, T: Any) -> None:
    def example_manual(source: Any, out: Any) -> None:
        g = gout(T, out)
        t = pto.Tile(TileType.Vec, T, 16, 16)
        pto.TASSIGN(t, 0x1000)
        pto.TLOAD(t, gout(T, source))
        pto.TSTORE(g, t, atomic=AtomicType.AtomicAdd)

    x, old = numbers(T) % T.value.type(9), numbers(T) % T.value.type(7)
    if T in ADDED:
        _, out = run(example_manual, target, x, old)
        assert np.array_equal(out, x + old)
    else:
        with pytest.raises(DiagnosticError, match="atomic"):
            run(example_manual, target, x, old)


def test_atomic_stores_do_not_exist_on_the_cpu() -> None:
    """ "Cases that are not allowed" of the overview."""

    def example(out: Any) -> None:
        pto.TSTORE(gout(pto.f32, out), pto.Tile(TileType.Vec, pto.f32, 16, 16), AtomicType.AtomicAdd)

    with pytest.raises(DiagnosticError) as error:
        run(example, "cpu", numbers(pto.f32))
    assert error.value.diagnostics[0].rule == "STORE-CPU-04"


@pytest.mark.parametrize("target", TARGETS)
def test_level_2(target: str) -> None:
    body = """
        %src = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        pto.tload ins(%mem : !pto.partition_tensor_view<16x16xf32>) outs(%src : !pto.tile_buf<vec, 16x16xf32>)
        pto.tstore ins(%src : !pto.tile_buf<vec, 16x16xf32>) outs(%out : !pto.partition_tensor_view<16x16xf32>)"""
    x, y = numbers(pto.f32), np.zeros((16, 16), np.float32)
    run_text(function(body), target, x, y)
    assert np.array_equal(y, x)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_manual_level_2(target: str) -> None:
    """The manual mode binds the tile to its address first: ``pto.tassign %arg, @tile(0x1000)``."""
    tile, view = "!pto.tile_buf<vec, 16x16xf32>", "!pto.partition_tensor_view<16x16xf32>"
    body = f"""
        %at = arith.constant 4096 : i64
        %t = pto.alloc_tile : {tile}
        %src = pto.tassign %t, %at : {tile} -> {tile}
        pto.tload ins(%mem : {view}) outs(%src : {tile})
        pto.tstore ins(%src : {tile}) outs(%out : {view}) {{atomicType = #pto<atomic_type atomic_add>}}"""
    x, y = numbers(pto.f32), np.ones((16, 16), np.float32)
    run_text(function(body), target, x, y)
    assert np.array_equal(y, x + 1)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("dtype", [pto.f32, pto.f16, pto.bf16], ids=str)
def test_accumulators_are_converted_on_the_way(target: str, dtype: Any) -> None:
    """Without quantisation an f32 accumulator is stored as f32, f16 or bf16."""
    core = pto.Core(target)
    acc = core.TileAcc(pto.f32, 16, 16).set(numbers(pto.f32) / 3)
    out = np.zeros((16, 16), dtype.value)
    core.TSTORE(core.GlobalTensor(out, (1, 1, 1, 16, 16)), acc)
    assert np.array_equal(out, (numbers(pto.f32) / np.float32(3)).astype(dtype.value))
