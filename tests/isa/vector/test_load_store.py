"""Every distribution mode at every element type against a model that goes byte by byte (vector-path 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.isa.vector.access.load_store import LOAD_MODES, MERGES, SPLITS, STORE_MODES
from ptokit.machine.lanes import Fault
from ptokit.types.dtypes import DTYPES
from tests.each import each

from .model import Bench, loaded, predicate, stored
from .programs import run

TYPES = ["i8", "u8", "e4m3", "e5m2", "hif8", "i16", "u16", "f16", "bf16", "i32", "u32", "f32", "i64", "u64"]
MERGED = {name for name, mode in STORE_MODES.items() if mode.merge is not None}

# Register bytes for memory that counts 0, 1, 2, … (table of section 4.1): bytes 0..7, 32..35, the last four.
TABLE = {
    "NORM": ([0, 1, 2, 3, 4, 5, 6, 7], [32, 33, 34, 35], [252, 253, 254, 255]),
    "BRC_B16": ([0, 1, 0, 1, 0, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 1]),
    "BRC_B32": ([0, 1, 2, 3, 0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]),
    "US_B8": ([0, 0, 1, 1, 2, 2, 3, 3], [16, 16, 17, 17], [126, 126, 127, 127]),
    "US_B16": ([0, 1, 0, 1, 2, 3, 2, 3], [16, 17, 16, 17], [126, 127, 126, 127]),
    "DS_B8": ([0, 2, 4, 6, 8, 10, 12, 14], [64, 66, 68, 70], [248, 250, 252, 254]),
    "DS_B16": ([0, 1, 4, 5, 8, 9, 12, 13], [64, 65, 68, 69], [248, 249, 252, 253]),
    "UNPK_B8": ([0, 0, 1, 0, 2, 0, 3, 0], [16, 0, 17, 0], [126, 0, 127, 0]),
    "UNPK_B16": ([0, 1, 0, 0, 2, 3, 0, 0], [16, 17, 0, 0], [126, 127, 0, 0]),
    "UNPK_B32": ([0, 1, 2, 3, 0, 0, 0, 0], [16, 17, 18, 19], [0, 0, 0, 0]),
    "UNPK4": ([0, 0, 0, 0, 1, 0, 0, 0], [8, 0, 0, 0], [63, 0, 0, 0]),
    "BRC_BLK": ([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [28, 29, 30, 31]),
    "E2B_B16": ([0, 1, 0, 1, 0, 1, 0, 1], [2, 3, 2, 3], [14, 15, 14, 15]),
    "E2B_B32": ([0, 1, 2, 3, 0, 1, 2, 3], [4, 5, 6, 7], [28, 29, 30, 31]),
}


@each("dist", TABLE)
def test_the_table_of_modes(dist: str) -> None:
    bench = Bench()
    bench.ub[0, 64 : 64 + 1024] = np.arange(1024) % 256
    found = bench.call("vlds", bench.pointer(64), None, dist=dist, types={"src": "f32", "dst": "f32"})
    raw = found.view(np.uint8)[0].tolist()
    assert (raw[:8], raw[32:36], raw[-4:]) == TABLE[dist]


@each("dtype", TYPES)
@each("dist", LOAD_MODES)
def test_loads(dist: str, dtype: str) -> None:
    bench, rng = Bench(2), np.random.default_rng(len(dist))
    bench.ub[:, :4096] = rng.integers(0, 256, (2, 4096))
    size = DTYPES[dtype].size
    found = bench.call("vlds", bench.pointer(256, dtype), 64 // size, dist=dist, types={"src": dtype, "dst": dtype})
    assert found.dtype == (DTYPES[dtype].value or DTYPES[dtype].storage)
    for block in range(2):
        assert found.view(np.uint8)[block].tolist() == loaded(dist, bench.ub[block, 320:2048].tolist())


@each("dtype", TYPES)
@each("dist", [d for d in (*STORE_MODES, "NORM", "1PT") if d not in MERGED])
def test_stores(dist: str, dtype: str) -> None:
    bench, rng = Bench(2), np.random.default_rng(len(dist))
    bench.ub[:, :4096] = rng.integers(0, 256, (2, 4096))
    size = DTYPES[dtype].size
    value = rng.integers(0, 256, (2, 256)).astype(np.uint8)
    for mask in (None, predicate(rng)):
        old = bench.ub[:, :4096].copy()
        image = [True] * 256 if mask is None else mask[0].tolist()
        pointer = bench.pointer(256, dtype)
        bench.call("vsts", value, pointer, 64 // size, mask, dist=dist, types={"value": dtype, "dst": dtype})
        for block in range(2):
            wanted = stored(dist, size, value[block].tolist(), image, old[block, 320:640].tolist())
            assert bench.ub[block, 320:640].tolist() == wanted
            assert np.array_equal(bench.ub[block, :320], old[block, :320])
            assert np.array_equal(bench.ub[block, 640:4096], old[block, 640:])


@each("dist, width, channels", [("MRG4CHN_B8", 1, 4), ("MRG2CHN_B8", 1, 2), ("MRG2CHN_B16", 2, 2)])
def test_merging_stores(dist: str, width: int, channels: int) -> None:
    bench = Bench()
    value = np.arange(256, dtype=np.uint8)[None]
    bench.call("vsts", value, bench.pointer(0), 0, None, dist=dist, types={"value": "u8", "dst": "u8"})
    run = 32 // channels // width
    for b in range(8):
        for i in range(run):
            for c in range(channels):
                at = 32 * b + (channels * i + c) * width
                first = 32 * b + (run * c + i) * width
                assert bench.ub[0, at : at + width].tolist() == list(range(first, first + width))


@each("dtype", TYPES)
@each("dist", SPLITS)
def test_dual_loads(dist: str, dtype: str) -> None:
    bench, rng = Bench(), np.random.default_rng(3)
    bench.ub[:, :1024] = rng.integers(0, 256, (1, 1024))
    low, high = bench.call(
        "vldsx2", bench.pointer(0, dtype), None, dist=dist, types={"src": dtype, "low": dtype, "high": dtype}
    )
    unit = 32 if dist == "BDINTLV" else int(dist.removeprefix("DINTLV_B")) // 8
    memory = bench.ub[0, :512].tolist()
    units = [memory[k : k + unit] for k in range(0, 512, unit)]
    assert low.view(np.uint8)[0].tolist() == [x for part in units[::2] for x in part]
    assert high.view(np.uint8)[0].tolist() == [x for part in units[1::2] for x in part]


def test_the_dual_examples() -> None:
    bench = Bench()
    bench.ub[0, :512] = np.arange(512) % 256
    types = {"src": "u32", "low": "u32", "high": "u32"}
    low, high = bench.call("vldsx2", bench.pointer(0, "u32"), None, dist="DINTLV_B32", types=types)
    assert [hex(int(x)) for x in (low[0, 0], low[0, 1], high[0, 0])] == ["0x3020100", "0xb0a0908", "0x7060504"]


@each("dist", MERGES)
def test_dual_stores_ignore_the_predicate(dist: str) -> None:
    bench, rng = Bench(), np.random.default_rng(3)
    a, b = rng.integers(0, 256, (2, 1, 256)).astype(np.uint8)
    none = np.zeros((1, 256), bool)
    types = {"low": "u8", "high": "u8", "dst": "u8"}
    bench.call("vstsx2", a, b, bench.pointer(32, "u8"), 0, none, dist=dist, types=types)
    w = MERGES[dist]
    for j in range(256 // w):
        assert bench.ub[0, 32 + 2 * j * w :][:w].tolist() == a[0, j * w :][:w].tolist()
        assert bench.ub[0, 32 + (2 * j + 1) * w :][:w].tolist() == b[0, j * w :][:w].tolist()


# ------------------------------------------------------------------ addresses


@each(
    "dist, fits, refused",
    [
        ("NORM", 32, 16),
        ("BRC_B16", 2, 1),
        ("BRC_B32", 4, 2),
        ("BRC_B8", 1, None),
        ("E2B_B16", 16, 8),
        ("E2B_B32", 32, 16),
    ]
    + [(d, 32, 16) for d in ("US_B8", "DS_B16", "UNPK_B8", "UNPK4", "SPLT4CHN", "BLK")],
)
def test_alignment_of_loads(dist: str, fits: int, refused: int | None) -> None:
    bench, types = Bench(), {"src": "u8", "dst": "u8"}
    bench.call("vlds", bench.pointer(0, "u8"), fits, dist=dist, types=types)
    if refused is not None:
        with pytest.raises(Fault) as fault:
            bench.call("vlds", bench.pointer(0, "u8"), refused, dist=dist, types=types)
        assert fault.value.rule == "VEC-A5-03"


def test_one_element_needs_its_own_alignment_only() -> None:
    bench, value = Bench(), np.full((1, 256), 7, np.uint8)
    types = {"value": "f32", "dst": "f32"}
    bench.call("vsts", value, bench.pointer(4), None, None, dist="1PT_B32", types=types)
    assert bench.ub[0, :12].tolist() == [0] * 4 + [7] * 4 + [0] * 4
    with pytest.raises(Fault, match="not a multiple of 4"):
        bench.call("vsts", value, bench.pointer(2), None, None, dist="1PT_B32", types=types)


@each("address", [-32, 262144 - 224, 262144])
def test_accesses_end_with_the_buffer(address: int) -> None:
    bench, types = Bench(), {"src": "f32", "dst": "f32"}
    bench.call("vlds", bench.pointer(262144 - 256), None, dist="NORM", types=types)
    with pytest.raises(Fault) as fault:
        bench.call("vlds", bench.pointer(address), None, dist="NORM", types=types)
    assert fault.value.rule == "PTR-A5-02"


def test_the_offset_counts_elements_of_the_pointer() -> None:
    """Not those of the mode's token."""
    bench = Bench()
    bench.ub[0, :64] = np.arange(64)
    found = bench.call("vlds", bench.pointer(0, "f32"), 3, dist="BRC_B16", types={"src": "f32", "dst": "f32"})
    assert found.view(np.uint8)[0, :4].tolist() == [12, 13, 12, 13]


def test_blocks_may_have_places_of_their_own() -> None:
    bench, types = Bench(3), {"src": "u8", "dst": "u8"}
    bench.ub[:, :512] = np.random.default_rng(0).integers(0, 256, (3, 512))
    starts = np.array([0, 96, 32])
    found = bench.call("vlds", bench.pointer(0, "u8"), starts, dist="NORM", types=types)
    assert all(np.array_equal(found[b], bench.ub[b, s : s + 256]) for b, s in enumerate(starts))
    mask = np.arange(256)[None] < 10
    value = np.full((1, 256), 77, np.uint8)
    old = bench.ub[:, :512].copy()
    bench.call("vsts", value, bench.pointer(0, "u8"), starts, mask, dist="NORM", types={"value": "u8", "dst": "u8"})
    for b, s in enumerate(starts):
        old[b, s : s + 10] = 77
    assert np.array_equal(bench.ub[:, :512], old)


# ------------------------------------------------------------- blocks, strides


@each("control", [(2, 4), (2 << 16 | 4, None), (1, 0), (0, 3)])
def test_block_loads_and_stores(control: tuple[int, int | None]) -> None:
    """LIB example: block stride 2 and repeat stride 4 take blocks 4, 6, 8, …"""
    bench, rng = Bench(), np.random.default_rng(1)
    bench.ub[:, :2048] = rng.integers(0, 256, (1, 2048))
    step, first = control if control[1] is not None else (2, 4)
    mask = np.repeat(np.array([[1, 1, 0, 1, 1, 1, 0, 1]], bool), 32, axis=1)
    found = bench.call("vsldb", bench.pointer(0), *control, mask, types={"src": "f32", "dst": "f32"}).view(np.uint8)
    old = bench.ub[0].copy()
    for b in range(8):
        place = 32 * (first + b * step)
        wanted = old[place : place + 32].tolist() if mask[0, 32 * b] else [0] * 32
        assert found[0, 32 * b : 32 * b + 32].tolist() == wanted
    value = rng.integers(0, 256, (1, 256)).astype(np.uint8)
    bench.call("vsstb", value, bench.pointer(4096), *control, mask, types={"value": "f32", "dst": "f32"})
    wanted_memory = np.zeros(2048, np.uint8)
    for b in range(8):
        if mask[0, 32 * b]:
            wanted_memory[32 * (first + b * step) :][:32] = value[0, 32 * b : 32 * b + 32]
    assert np.array_equal(bench.ub[0, 4096:6144], wanted_memory)


def test_inactive_blocks_may_lie_anywhere() -> None:
    bench = Bench()
    mask = np.repeat(np.arange(8)[None] == 0, 32, axis=1)
    types = {"src": "f32", "dst": "f32"}
    bench.call("vsldb", bench.pointer(262144 - 32), 1, 0, mask, types=types)
    with pytest.raises(Fault, match="bytes"):
        bench.call("vsldb", bench.pointer(262144 - 32), 1, 0, None, types=types)


@each("token, step, width", [("STRIDE_S3_B16", 3, 2), ("STRIDE_S4_B64", 4, 8)])
def test_strides(token: str, step: int, width: int) -> None:
    bench, rng = Bench(), np.random.default_rng(2)
    bench.ub[:, :2048] = rng.integers(0, 256, (1, 2048))
    found = bench.call("vsld", bench.pointer(0), 8, stride=token, types={"src": "f32", "dst": "f32"}).view(np.uint8)
    bench.call("vsst", found.copy(), bench.pointer(4096), 8, stride=token, types={"value": "f32", "dst": "f32"})
    for j in range(256 // width):
        place = 32 + j * step * width
        assert found[0, j * width : (j + 1) * width].tolist() == bench.ub[0, place : place + width].tolist()
        assert np.array_equal(bench.ub[0, 4096 + place : 4096 + place + width], bench.ub[0, place : place + width])


# ------------------------------------------------------------ gather, scatter


@each("dtype, index", [("f32", "i32"), ("u32", "u32"), ("f16", "u16"), ("bf16", "i16")])
def test_gather_and_scatter(dtype: str, index: str) -> None:
    bench, rng = Bench(2), np.random.default_rng(4)
    bench.ub[:, :8192] = rng.integers(0, 256, (2, 8192))
    size = DTYPES[dtype].size
    lanes = 256 // size
    offsets = np.stack([rng.permutation(1000)[:lanes] for _ in range(2)]).astype(DTYPES[index].value)
    mask = predicate(rng)
    types = {"src": dtype, "offsets": index, "dst": dtype}
    found = bench.call("vgather2", bench.pointer(64, dtype), offsets, mask, None, types=types).view(np.uint8)
    value = rng.integers(0, 256, (2, 256)).astype(np.uint8)
    old = bench.ub.copy()
    bench.call(
        "vscatter",
        value,
        bench.pointer(8192, dtype),
        offsets,
        mask,
        None,
        types={"value": dtype, "dst": dtype, "offsets": index},
    )
    for b in range(2):
        for lane in range(lanes):
            place = int(offsets[b, lane]) * size
            on = bool(mask[0, lane * size])
            wanted = old[b, 64 + place : 64 + place + size].tolist() if on else [0] * size
            assert found[b, lane * size : (lane + 1) * size].tolist() == wanted
            if on:
                old[b, 8192 + place : 8192 + place + size] = value[b, lane * size : (lane + 1) * size]
    assert np.array_equal(bench.ub, old)


@each("dtype, lanes", [("u8", "u16"), ("i8", "i16")])
def test_gathered_bytes_are_extended_with_zeros(dtype: str, lanes: str) -> None:
    """Offsets count bytes; what they choose is the low half of a 16-bit lane (micro specification, vgather2)."""
    bench, rng = Bench(), np.random.default_rng(5)
    bench.ub[:, :4096] = rng.integers(0, 256, (1, 4096))
    offsets = rng.integers(0, 4000, (1, 128)).astype(np.uint16)
    mask = np.repeat(rng.random((1, 128)) < 0.7, 2, axis=1)
    types = {"src": dtype, "offsets": "u16", "dst": lanes}
    found = bench.call("vgather2", bench.pointer(64, dtype), offsets, mask, None, types=types).view(np.uint16)
    wanted = np.where(mask[0, ::2], bench.ub[0, 64 + offsets[0].astype(int)], 0)
    assert np.array_equal(found[0], wanted)
    assert (wanted > 127).any()


def test_every_second_byte_is_scattered() -> None:
    """128 offsets of 16 bits take the even bytes of a register (micro specification, vscatter)."""
    bench, rng = Bench(), np.random.default_rng(6)
    value, offsets = (
        rng.integers(1, 256, (1, 256)).astype(np.uint8),
        rng.permutation(4000)[None, :128].astype(np.uint16),
    )
    on = rng.random((1, 128)) < 0.7
    types = {"value": "u8", "dst": "u8", "offsets": "u16"}
    bench.call("vscatter", value, bench.pointer(64, "u8"), offsets, np.repeat(on, 2, axis=1), None, types=types)
    wanted = np.zeros(4096, np.uint8)
    wanted[offsets[0][on[0]].astype(int)] = value[0, ::2][on[0]]
    assert np.array_equal(bench.ub[0, 64 : 64 + 4096], wanted)


def test_a_number_of_lanes_instead_of_a_predicate() -> None:
    bench = Bench()
    bench.ub[0, :1024] = np.arange(256, dtype=np.float32).view(np.uint8)
    offsets = np.arange(64, dtype=np.int32)[None][:, ::-1].copy()
    types = {"src": "f32", "offsets": "i32", "dst": "f32"}
    found = bench.call("vgather2", bench.pointer(0), offsets, None, 5, types=types)
    assert found[0, :6].tolist() == [63, 62, 61, 60, 59, 0]
    assert not found[0, 5:].any()


def test_of_two_lanes_at_one_place_the_lowest_wins() -> None:
    bench = Bench()
    offsets = np.zeros((1, 64), np.int32)
    value = np.arange(1, 65, dtype=np.float32)[None]
    types = {"value": "f32", "dst": "f32", "offsets": "i32"}
    bench.call("vscatter", value, bench.pointer(0), offsets, None, None, types=types)
    assert bench.ub[0, :4].view(np.float32).tolist() == [1.0]
    mask = np.zeros((1, 256), bool)
    mask[0, [20, 40]] = True  # lanes 5 and 10
    bench.call("vscatter", value, bench.pointer(0), offsets, mask, None, types=types)
    assert bench.ub[0, :4].view(np.float32).tolist() == [6.0]


def test_block_gather() -> None:
    bench, rng = Bench(), np.random.default_rng(5)
    bench.ub[:, :2048] = rng.integers(0, 256, (1, 2048))
    offsets = np.zeros((1, 64), np.uint32)
    offsets[0, :8] = [64, 0, 1024, 32, 32, 96, 128, 1984]
    offsets[0, 8:] = 0xFFFFFFFF  # further lanes are not used
    mask = np.zeros((1, 256), bool)
    mask[0, [4 * b for b in range(8) if b != 2]] = True
    types = {"src": "f32", "offsets": "u32", "dst": "f32"}
    found = bench.call("vgatherb", bench.pointer(0), offsets, mask, None, types=types).view(np.uint8)
    for b in range(8):
        place = int(offsets[0, b])
        wanted: Any = bench.ub[0, place : place + 32] if b != 2 else np.zeros(32, np.uint8)
        assert np.array_equal(found[0, 32 * b : 32 * b + 32], wanted)


@each("element", ["!pto.f4E2M1x2", "!pto.f8E8M0", "!pto.hif8x2", "!pto.bf16x2"])
def test_registers_of_packed_elements_are_moved(element: str) -> None:
    size = {"!pto.hif8x2": 2, "!pto.bf16x2": 4}.get(element, 1)
    text = f"""\
func.func @f(%x: !pto.ptr<{element}, gm>, %y: !pto.ptr<{element}, gm>) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 256 : i64
  %o = arith.constant 4096 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = pto.castptr %z : i64 -> !pto.ptr<{element}, ub>
  %out = pto.castptr %o : i64 -> !pto.ptr<{element}, ub>
  pto.mte_gm_ub %x, %in, %z, %n nburst(%one, %n, %n)
    : !pto.ptr<{element}, gm>, !pto.ptr<{element}, ub>, i64, i64, i64, i64, i64
  pto.vecscope {{
    %m = pto.pset_b8 "PAT_ALL" : !pto.mask<b{8 * size}>
    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%p = %in) -> (!pto.ptr<{element}, ub>) {{
      %v = pto.vlds %p[%c0] : !pto.ptr<{element}, ub> -> !pto.vreg<{256 // size}x{element}>
      pto.vsts %v, %out[%c0], %m : !pto.vreg<{256 // size}x{element}>, !pto.ptr<{element}, ub>, !pto.mask<b{8 * size}>
      %q = pto.addptr %p, %c1 : !pto.ptr<{element}, ub> -> !pto.ptr<{element}, ub>
      scf.yield %q : !pto.ptr<{element}, ub>
    }}
  }}
  pto.mte_ub_gm %out, %y, %n nburst(%one, %n, %n)
    : !pto.ptr<{element}, ub>, !pto.ptr<{element}, gm>, i64, i64, i64, i64
  return
}}
"""
    text = text.replace("pset_b8", f"pset_b{8 * size}")
    x = np.random.default_rng(size).integers(0, 256, 256).astype(np.uint8).view(f"u{size}")
    y = np.zeros_like(x)
    run(text, x, y)
    assert np.array_equal(x, y)
