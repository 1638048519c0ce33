"""The page about GlobalTensor and data movement: strides of the layouts, the element-wise example, the DMA listing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import Layout, TileType

from .examples import TARGETS, function, numbers, rules_of, run


@pytest.mark.parametrize("target", TARGETS)
def test_elementwise_add(target: str) -> None:
    def vec_add(ga: Any, gb: Any, gc: Any) -> None:
        a, b, c = (pto.Tile(TileType.Vec, pto.f32, 16, 16) for _ in range(3))
        pto.TLOAD(a, pto.GlobalTensor(ga, (16, 16)))
        pto.TLOAD(b, pto.GlobalTensor(gb, (16, 16)))
        pto.TADD(c, a, b)
        pto.TSTORE(pto.GlobalTensor(gc, (16, 16)), c)

    x, y = numbers(pto.f32), numbers(pto.f32, first=1000)
    *_, z = run(vec_add, target, x, y, np.zeros((16, 16), np.float32))
    assert np.array_equal(z, x + y)


def test_strides_of_the_layouts() -> None:
    """ND: the last dimension is contiguous; DN: the one before it; NZ: fractals of 16 rows and 32 bytes."""
    assert pto.BaseShape2D(pto.f32, 24, 64, Layout.ND)[-2:] == (64, 1)
    assert pto.BaseShape2D(pto.f32, 24, 64, Layout.DN)[-2:] == (1, 24)
    assert pto.BaseShape2D(pto.f16, 32, 64, Layout.NZ) == (32 * 64, 32 * 16, 16 * 16, 16, 1)
    assert pto.TileShape2D(pto.f16, 32, 64, Layout.NZ) == (1, 4, 2, 16, 16)


def test_a_tensor_is_a_view_not_storage() -> None:
    x, core = numbers(pto.f32), pto.Core("cpu")
    t, whole, same = core.Tile(TileType.Vec, pto.f32, 16, 16), core.GlobalTensor(x), core.GlobalTensor(x)
    core.TADDS(t, t, 1.0)
    core.TSTORE(whole, t)
    core.TLOAD(t, same)
    assert (t.numpy() == 1).all()
    assert (x == 1).all()


UNREAD = {
    "vsld": '%vreg = pto.vsld %a[%c0], "STRIDE_S3_B16" : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>',
    "vsst": 'pto.vsst %a, %b[%c0], "STRIDE_S3_B16" : !pto.vreg<64xf32>, !pto.ptr<f32, ub>',
    "vgather2": "%vreg = pto.vgather2 %a, %b, %c1 : !pto.ptr<f32, ub>, !pto.vreg<64xi32>, index -> !pto.vreg<64xf32>",
    "vscatter": "pto.vscatter %a, %b, %c1, %c1 : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.vreg<64xi32>, index",
}


@pytest.mark.parametrize("name", UNREAD)
def test_operations_that_are_not_there_yet_are_refused_by_name(name: str) -> None:
    (rule, message), *more = rules_of(function(UNREAD[name]), "a5")
    assert (rule, message) == ("TEXT-UNIMPLEMENTED", f"instruction not implemented yet: pto.{name}")
    assert more == []


def test_the_flags_of_the_listing_are_read() -> None:
    body = """
        pto.set_flag[#pto.pipe<PIPE_MTE2>, #pto.pipe<PIPE_V>, #pto.event<EVENT_ID0>]
        pto.wait_flag[#pto.pipe<PIPE_MTE2>, #pto.pipe<PIPE_V>, #pto.event<EVENT_ID0>]"""
    assert rules_of(function(body), "a5") == []
