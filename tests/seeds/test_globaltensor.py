"""The page about GlobalTensor and data movement: strides of the layouts, the element-wise example, the DMA listing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import Layout, TileType
from ptokit.asm import parse_module
from ptokit.sanitize import sanitize
from ptokit.targets import target as find_target

from .examples import TARGETS, function, numbers, rules_of, run, run_text


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


LISTING = """
    copy_gm_to_ubuf(%ub_ptr, %gm_ptr, %sid, %n_burst, %len_burst, %stride_dst, %stride_src);
    {set}
    {wait}
    pto.vecscope {{
{vector}
    }}
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    copy_ubuf_to_gm(%ub_out, %gm_out, %sid, %n_burst, %len_burst, %reserved, %stride_dst, %stride_src);
"""
COMPUTE = """
    %vreg = pto.vlds %ub[%offset] {dist = "NORM"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>;
    %result = pto.vadd %vreg, %vreg : !pto.vreg<64xf32> -> !pto.vreg<64xf32>;
    pto.vsts %result, %ub_out[%offset] : !pto.vreg<64xf32>, !pto.ptr<f32, ub> -> ();
"""
SET, WAIT = "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);", "wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);"


def listing(vector: str, set: str = SET, wait: str = WAIT) -> str:
    """The listing as a kernel that moves one burst of 512 elements each way."""
    return f"""module {{
  func.func @listing(%gm_ptr: !pto.ptr<f32, gm>, %gm_out: !pto.ptr<f32, gm>) {{
    %sid = arith.constant 0 : i64
    %reserved = arith.constant 0 : i64
    %n_burst = arith.constant 1 : i64
    %len_burst = arith.constant 2048 : i64
    %stride_dst = arith.constant 2048 : i64
    %stride_src = arith.constant 2048 : i64
    %at = arith.constant 2048 : i64
    %offset = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %two = arith.constant 2 : i32
    %ub_ptr = pto.castptr %sid : i64 -> !pto.ptr<f32, ub>
    %ub = pto.castptr %sid : i64 -> !pto.ptr<f32, ub>
    %ub_out = pto.castptr %at : i64 -> !pto.ptr<f32, ub>
{LISTING.format(vector=vector, set=set, wait=wait)}
    return
  }}
}}
"""


V, P, EVEN = "!pto.vreg<64xf32>", "!pto.ptr<f32, ub>", '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>'
INDICES = f"""{EVEN}
    %i = pto.vci %zero {{order = "ASC"}} : i32 -> !pto.vreg<64xi32>
    %o = pto.vmuls %i, %two, %m : !pto.vreg<64xi32>, i32, !pto.mask<b32> -> !pto.vreg<64xi32>"""
LOAD = f"%v = pto.vlds %ub[%offset] : {P} -> {V}"
STORE = f"pto.vsts %v, %ub_out[%offset] : {V}, {P}"
PATHS = {
    "vlds, vadd, vsts": (COMPUTE, lambda x, y: y.__setitem__(slice(64), 2 * x[:64])),
    "vsld": (
        f'%v = pto.vsld %ub[%offset], "STRIDE_S8_B32" : {P} -> {V}\n{STORE}',
        lambda x, y: y.__setitem__(slice(64), x[:512:8]),
    ),
    "vsst": (
        f'{LOAD}\npto.vsst %v, %ub_out[%offset], "STRIDE_S8_B32" : {V}, {P}',
        lambda x, y: y.__setitem__(slice(0, 512, 8), x[:64]),
    ),
    "vgather2": (
        f"{INDICES}\n%v = pto.vgather2 %ub, %o, %m : {P}, !pto.vreg<64xi32>, !pto.mask<b32> -> {V}\n{STORE}",
        lambda x, y: y.__setitem__(slice(64), x[:128:2]),
    ),
    "vscatter": (
        f"{LOAD}\n{INDICES}\npto.vscatter %v, %ub_out, %o, %m : {V}, {P}, !pto.vreg<64xi32>, !pto.mask<b32>",
        lambda x, y: y.__setitem__(slice(0, 128, 2), x[:64]),
    ),
}


WITH_REGISTERS = [name for name in TARGETS if find_target(name).vector_registers]


@pytest.mark.parametrize("target", WITH_REGISTERS)
@pytest.mark.parametrize("path", PATHS)
def test_every_path_through_vector_registers(path: str, target: str) -> None:
    vector, change = PATHS[path]
    x, y, expected = np.arange(512, dtype=np.float32), np.zeros(512, np.float32), np.zeros(512, np.float32)
    run_text(listing(vector), target, x, y)
    change(x, expected)
    assert np.array_equal(y, expected)


def test_devices_without_registers_refuse_the_paths() -> None:
    assert WITH_REGISTERS == ["cpu", "a5"]
    with pytest.raises(pto.DiagnosticError) as refused:
        run_text(listing(COMPUTE), "a2a3", np.zeros(512, np.float32), np.zeros(512, np.float32))
    assert [d.rule for d in refused.value.diagnostics] == ["VEC-A3-01"]


def test_a_load_before_its_copy_has_completed_is_found() -> None:
    for text, races in ((listing(COMPUTE), False), (listing(COMPUTE, set="", wait=""), True)):
        report = sanitize(parse_module(text).module, "a5", [np.ones(512, np.float32), np.zeros(512, np.float32)])
        found = {d.rule for d in report.diagnostics if str(d.severity) == "error"}
        assert ("RACE-RAW" in found) is races


def test_the_flags_of_the_listing_are_read() -> None:
    body = """
        pto.set_flag[#pto.pipe<PIPE_MTE2>, #pto.pipe<PIPE_V>, #pto.event<EVENT_ID0>]
        pto.wait_flag[#pto.pipe<PIPE_MTE2>, #pto.pipe<PIPE_V>, #pto.event<EVENT_ID0>]"""
    assert rules_of(function(body), "a5") == []
