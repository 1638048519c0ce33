"""The overview of memory and data movement: the operations, their C++ signatures, and what it does not allow."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError, TileType
from ptokit.isa.table import BY_TEXT

from .examples import TARGETS, numbers

VEC = TileType.Vec


@pytest.mark.parametrize(
    ("text", "name", "operands"),
    [
        ("tload", "TLOAD", ["dst", "src"]),
        ("tprefetch", "TPREFETCH", ["dst", "src"]),
        ("tprefetch_async", "TPREFETCH_ASYNC", ["src"]),
        ("tstore", "TSTORE", ["dst", "src"]),
        ("tstore_fp", "TSTORE_FP", ["dst", "src", "fp"]),
        ("mgather", "MGATHER", ["dst", "src", "idx"]),
    ],
)
def test_operations_and_their_signatures(text: str, name: str, operands: list[str]) -> None:
    assert BY_TEXT[text].name == name
    assert list(inspect.signature(getattr(pto, name)).parameters)[: len(operands)] == operands


def test_mscatter_takes_the_operands_of_the_header_and_those_of_the_page_by_name() -> None:
    """The page prints (dst, indices, src), the header (dst, src, indices); by name both mean the same."""
    indices = np.array([[3, 0, 2, 5, 1, 7, 6, 4]], np.int32)
    for target in TARGETS:
        out = np.zeros(8, np.float32)
        with pto.Core(target):
            src, idx = pto.Tile(VEC, pto.f32, 1, 8), pto.Tile(VEC, pto.i32, 1, 8).set(indices)
            src.set(np.arange(8, dtype=np.float32) + 10)
            g = pto.GlobalTensor(out, (1, 1, 1, 1, 8))
            pto.MSCATTER(dst=g, idx=idx, src=src, mode=pto.Coalesce.Elem)
        assert np.array_equal(out[indices[0]], np.arange(8) + 10)


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_tile_chooses_the_elements_of_a_gather(target: str) -> None:
    table = np.arange(100, 164, dtype=np.float32)
    with pto.Core(target):
        dst = pto.Tile(VEC, pto.f32, 1, 8)
        idx = pto.Tile(VEC, pto.i32, 1, 8).set([[7, 0, 63, 5, 5, 1, 2, 3]])
        pto.MGATHER(dst, pto.GlobalTensor(table, (1, 1, 1, 1, 64)), idx, mode=pto.Coalesce.Elem)
    assert dst.numpy()[0].tolist() == [107, 100, 163, 105, 105, 101, 102, 103]


@pytest.mark.parametrize("target", TARGETS)
def test_load_and_store_move_the_valid_region(target: str) -> None:
    x, y = numbers(pto.f32, 32, 32), np.zeros((32, 32), np.float32)
    with pto.Core(target):
        t = pto.Tile(VEC, pto.f32, 16, 16, valid_row=7, valid_col=8)
        pto.TLOAD(t, pto.GlobalTensor(x, (32, 32))[2:9, 16:24])
        pto.TSTORE(pto.GlobalTensor(y, (32, 32))[20:27, 8:16], t)
    want = np.zeros_like(y)
    want[20:27, 8:16] = x[2:9, 16:24]
    assert np.array_equal(y, want)


def test_tstore_fp_is_for_accumulators_of_devices() -> None:
    out = np.zeros((16, 16), np.int8)
    for target in ("a2a3", "a5"):
        core = pto.Core(target)
        fp, vec = core.Tile(TileType.Scaling, pto.u64, 1, 16), core.Tile(VEC, pto.f32, 16, 16)
        g = core.GlobalTensor(out, (1, 1, 1, 16, 16))
        with pytest.raises(DiagnosticError) as error:
            core.TSTORE_FP(g, vec, fp)
        assert [d.rule for d in error.value.diagnostics] == ["LS-COM-07"]


def test_memory_outside_of_the_tensor_is_out_of_reach() -> None:
    x = numbers(pto.f32)
    for target in TARGETS:
        core = pto.Core(target)
        t, g = core.Tile(VEC, pto.f32, 16, 16), core.GlobalTensor(x)

        def load(core: pto.Core = core, t: Any = t, g: Any = g) -> None:
            core.TLOAD(t, g[8:24])

        with pytest.raises(DiagnosticError) as error:
            load()
        assert error.value.diagnostics[0].rule == "GM-OOB"
