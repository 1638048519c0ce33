"""TLOAD and TSTORE against the slow model, over random types, shapes, strides, valid regions and pads.

The small version runs always; ``pytest -m campaign`` runs the long one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptokit.diagnostics import Severity
from ptokit.isa.check import broken_rules
from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.site import Site
from ptokit.isa.transfer.load import TLOAD
from ptokit.isa.transfer.store import TSTORE
from ptokit.machine.tiles import infos
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import AtomicType, Layout, PadValue
from ptokit.types.tile import CUSTOM_PAD, TileSpec

from . import transfer_model as model
from .transfer_model import Tensor
from .transfer_sites import spec as tile_spec

BASE = ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
SMALL = ["e4m3", "e5m2", "hif8", "e8m0"]
QUICK = settings(max_examples=120, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=6000, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Transfer:
    """One legal transfer."""

    on: str
    tile: TileSpec
    g: Tensor
    seed: int


def up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


def draw_strides(draw: Any, shape: list[int], order: tuple[int, ...], unit: int, dense: int) -> tuple[int, ...]:
    """Strides growing along `order` (innermost first), gaps in multiples of `unit`; the first `dense` have none."""
    stride, step = [0] * 5, 1
    for i, d in enumerate(order):
        if i >= dense:
            step = up(step, unit) + unit * draw(st.integers(0, 2))
        stride[d] = step
        step *= max(1, shape[d])
    return tuple(stride)


def draw_pad(draw: Any, on: str, dtype: DType) -> int:
    if dtype.is_float and dtype.size == 1:
        pads = [0, 1, CUSTOM_PAD | 0x5A]
    elif dtype.size == 8:
        pads = [0, 1] if on == "a5" else [0, 1, 2, 3, CUSTOM_PAD | 0x12345678]
    else:
        pads = [0, 1, 2, 3, CUSTOM_PAD | 0x9ABCDEF1]
    return draw(st.sampled_from(pads))


@st.composite
def plain_transfers(draw: Any, *, store: bool = False) -> Transfer:
    """ND to ND, DN to DN and NZ to Nz, from and to Vec and Mat."""
    on = draw(st.sampled_from(["cpu", "a2a3", "a5"]))
    loc = draw(st.sampled_from(["Vec", "Mat"] if not store or on != "a5" else ["Vec"]))
    kind = draw(st.sampled_from(["ND", "DN", "NZ"]))
    names = BASE + (SMALL + (["e2m1", "e1m2"] if kind == "ND" else []) if on == "a5" else [])
    dtype = DTYPES[draw(st.sampled_from(names))]
    if dtype.size == 8 and kind == "NZ":
        dtype = DTYPES["f16"]
    c0, packed = dtype.c0, dtype.packed
    lead = [draw(st.integers(1, 2)) for _ in range(3)]
    whole = loc == "Mat" and on == "a2a3"
    if kind == "NZ":
        shape = [lead[0], lead[1], lead[2], 16, c0]
        gap = c0 if whole else 1
        stride = draw_strides(draw, shape, (4, 3, 2, 1, 0), gap, 3)
        vr, vc = shape[2] * 16, shape[0] * shape[1] * c0
        rows, cols, layout = up(vr, 16) + 16 * draw(st.integers(0, 1)), vc + c0 * draw(st.integers(0, 1)), "Nz"
    else:
        line = c0 * draw(st.integers(1, 2)) if whole else draw(st.integers(1, 2 * c0))
        if packed:
            line = up(line, 2)
        count = draw(st.integers(1, 5))
        shape = [*lead, count, line] if kind == "ND" else [*lead, line, count]
        order = (4, 3, 2, 1, 0) if kind == "ND" else (3, 4, 2, 1, 0)
        stride = draw_strides(draw, shape, order, c0 if whole else 2 if packed else 1, 1)
        across, along = line, count * lead[0] * lead[1] * lead[2]
        vr, vc = (along, across) if kind == "ND" else (across, along)
        room = up(across, c0) + c0 * draw(st.integers(0, 1))
        lines = along + draw(st.integers(0, 2))
        rows, cols, layout = (lines, room, "ND") if kind == "ND" else (room, lines, "DN")
        if on == "a2a3" and whole and ((kind == "ND" and rows == 1) or (kind == "DN" and cols == 1)):
            rows, cols = (rows + 1, cols) if kind == "ND" else (rows, cols + 1)
    pad = 0 if store else draw_pad(draw, on, dtype)
    spec = tile_spec(loc, dtype.name, rows, cols, layout, valid=(vr, vc), pad=pad)
    return Transfer(on, spec, Tensor(tuple(shape), stride, Layout[kind]), draw(st.integers(0, 1 << 30)))


@st.composite
def fractal_loads(draw: Any) -> Transfer:
    """ND to Nz, DN to Zn, and on a5 and cpu DN to Nz, into Mat."""
    on = draw(st.sampled_from(["cpu", "a2a3", "a5"]))
    pair = draw(st.sampled_from(["ND-Nz", "DN-Zn"] + ([] if on == "a2a3" else ["DN-Nz"])))
    dtype = DTYPES[draw(st.sampled_from([n for n in BASE if "64" not in n] + (SMALL if on == "a5" else [])))]
    kind, layout = pair.split("-")
    vr, vc = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    row_unit, col_unit = (16, dtype.c0) if layout == "Nz" else (dtype.c0, 16)
    rows = up(vr, row_unit) + row_unit * draw(st.integers(0, 1))
    cols = up(vc, col_unit) + col_unit * draw(st.integers(0, 1))
    shape = [1, 1, 1, vr, vc]
    order = (4, 3, 2, 1, 0) if kind == "ND" else (3, 4, 2, 1, 0)
    stride = draw_strides(draw, shape, order, 1, 1)
    spec = tile_spec("Mat", dtype.name, rows, cols, layout, valid=(vr, vc), pad=draw_pad(draw, on, dtype))
    return Transfer(on, spec, Tensor(tuple(shape), stride, Layout[kind]), draw(st.integers(0, 1 << 30)))


@st.composite
def scale_loads(draw: Any) -> Transfer:
    """MX scales on a5."""
    kind = draw(st.sampled_from(["MX_A_ZZ", "MX_A_ND", "MX_A_DN", "MX_B_NN", "MX_B_ND", "MX_B_DN"]))
    left, grouped = kind[3] == "A", kind in ("MX_A_ZZ", "MX_B_NN")
    pairs = draw(st.integers(1, 4))
    long = 16 * draw(st.integers(1, 2)) if grouped else draw(st.integers(1, 40))
    if grouped:
        shape = [1, long // 16, pairs, 16, 2]
    elif kind in ("MX_A_ND", "MX_B_DN"):
        shape = [1, 1, long, pairs, 2]
    else:
        shape = [1, 1, pairs, long, 2]
    stride = draw_strides(draw, shape, (4, 3, 2, 1, 0), 2, 3 if grouped else 2)
    room, more = up(long, 16) + 16 * draw(st.integers(0, 1)), 2 * (pairs + draw(st.integers(0, 2)))
    rows, cols = (room, more) if left else (more, room)
    valid = (long, 2 * pairs) if left else (2 * pairs, long)
    spec = tile_spec("Mat", "e8m0", rows, cols, "Zz" if left else "Nn", valid=valid, fractal=32)
    return Transfer("a5", spec, Tensor(tuple(shape), stride, Layout[kind]), draw(st.integers(0, 1 << 30)))


class Bench:
    """A transfer with random contents, run by the executor."""

    def __init__(self, t: Transfer) -> None:
        self.t = t
        rng = np.random.default_rng(t.seed)
        dtype = t.tile.dtype
        nelem = t.g.reach + 6 + t.g.reach % 2
        self.memory = rng.integers(0, 256, dtype.nbytes(nelem), dtype=np.uint8)
        self.old = rng.integers(0, 256, t.tile.nbytes, dtype=np.uint8)
        self.machine = Single(target(t.on))
        self.tile = self.machine.tile(t.tile, self.old.tobytes())
        self.view = self.machine.view(dtype, self.memory, t.g.shape, t.g.stride, t.g.layout)
        self.before = self.codes(self.memory)

    def codes(self, raw: np.ndarray) -> list[int]:
        dtype = self.t.tile.dtype
        return (unpack_nibbles(raw) if dtype.packed else raw.view(dtype.storage)).tolist()

    def run(self, instr: Any, **operands: Any) -> None:
        for b in check_tile(self.t.tile, target(self.t.on)):
            raise AssertionError(f"{b.rule.id}: {b.message}")
        site = Site(instr, target(self.t.on), infos(operands), instr.attributes({}))
        errors = [
            f"{b.rule.id}: {b.message}" for b in broken_rules(site, text=False) if b.rule.severity is Severity.ERROR
        ]
        assert not errors
        self.machine.execute(instr, operands)


def check_load(t: Transfer) -> None:
    bench = Bench(t)
    spec = t.tile
    want = model.load(t.on, spec, spec.valid_row, spec.valid_col, list(bench.codes(bench.old)), t.g, bench.before)
    bench.run(TLOAD, dst=bench.tile, src=bench.view)
    values = bench.tile.read()  # before anybody looks at the bytes
    got = bench.codes(bench.tile.raw()[0])
    assert [a if b is not None else None for a, b in zip(got, want)] == want
    codes = values if spec.dtype.packed else values.view(spec.dtype.storage)
    assert codes.shape == (1, spec.valid_row, spec.valid_col)
    for r in range(spec.valid_row):
        for c in range(spec.valid_col):
            assert int(codes[0, r, c]) == want[model.tile_offset(spec, r, c)]
    assert bench.codes(bench.memory) == bench.before


def check_store(t: Transfer) -> None:
    bench = Bench(t)
    spec = t.tile
    old = bench.codes(bench.old)
    want = model.store(spec, spec.valid_row, spec.valid_col, list(old), t.g, bench.before)
    bench.run(TSTORE, dst=bench.view, src=bench.tile)
    assert bench.codes(bench.memory) == want
    assert bench.codes(bench.tile.raw()[0]) == old


def check_round_trip(t: Transfer) -> None:
    """A tile that stands for memory, stored to other memory of the same shape."""
    bench = Bench(t)
    other = np.zeros_like(bench.memory)
    copy = bench.machine.view(t.tile.dtype, other, t.g.shape, t.g.stride, t.g.layout)
    bench.run(TLOAD, dst=bench.tile, src=bench.view)
    bench.run(TSTORE, dst=copy, src=bench.tile)
    got = bench.codes(other)
    for r in range(t.tile.valid_row):
        for c in range(t.tile.valid_col):
            o = model.memory_offset(t.g, r, c)
            assert got[o] == bench.before[o]


TESTS = {
    "plain loads": (plain_transfers(), check_load),
    "fractal loads": (fractal_loads(), check_load),
    "scale loads": (scale_loads(), check_load),
    "plain stores": (plain_transfers(store=True), check_store),
    "round trips": (plain_transfers(store=True), check_round_trip),
}


@pytest.mark.parametrize("name", TESTS)
def test_transfers_equal_the_model(name: str) -> None:
    strategy, check = TESTS[name]
    QUICK(given(strategy)(check))()


@pytest.mark.campaign
@pytest.mark.parametrize("name", TESTS)
def test_many_transfers_equal_the_model(name: str) -> None:
    strategy, check = TESTS[name]
    LONG(given(strategy)(check))()


def test_the_model_is_not_the_code_under_test() -> None:
    """Offsets of the specification's table (types-and-layouts 6, 9.3)."""
    for layout, offset in {"ND": 1108, "DN": 657, "Nz": 788, "Zn": 1345, "Zz": 1300, "Nn": 833}.items():
        assert model.tile_offset(tile_spec("Mat", "f16", 32, 64, layout), 17, 20) == offset
    assert model.tile_offset(tile_spec("Acc", "f32", 32, 64, "Nz", fractal=1024), 17, 20) == 788
    assert model.tile_offset(tile_spec("Mat", "e8m0", 32, 8, "Zz", fractal=32), 17, 5) == 195
    assert model.memory_offset(Tensor((2, 1, 3, 4, 8), (1000, 900, 100, 10, 1), Layout.ND), 13, 5) == 1015
    nz = Tensor((1, 4, 3, 16, 16), (3072, 768, 256, 16, 1), Layout.NZ)
    assert model.memory_offset(nz, 17, 20) == 1044
    assert model.memory_offset(Tensor((1, 1, 4, 32, 2), (256, 256, 64, 2, 1), Layout.MX_B_ND), 5, 17) == 163


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8", "i16", "i32"])
def test_atomic_add_wraps_or_rounds_in_the_type_of_memory(dtype: str) -> None:
    kind = DTYPES[dtype]
    rng = np.random.default_rng(7)
    old = rng.integers(-100, 100, 128).astype(kind.value)
    new = rng.integers(-100, 100, 128).astype(kind.value)
    memory = old.copy()
    machine = Single(target("a5"))
    tile = machine.tile(tile_spec("Vec", dtype, 4, 32), new.tobytes())
    g = machine.view(kind, memory, (1, 1, 1, 4, 32), (128, 128, 128, 32, 1), Layout.ND)
    machine.execute(TSTORE, {"dst": g, "src": tile}, {"atomic": AtomicType.AtomicAdd})
    assert np.array_equal(memory, (old.astype(np.float64) + new.astype(np.float64)).astype(np.int64).astype(kind.value))


def test_packing_helpers_agree() -> None:
    codes = np.arange(16, dtype=np.uint8)
    assert unpack_nibbles(pack_nibbles(codes)).tolist() == codes.tolist()


@pytest.mark.parametrize("kind", ["ND", "DN"])
@pytest.mark.parametrize(("on", "pad"), [("a2a3", 0), ("a5", 1)])
@pytest.mark.parametrize("valid", [1, 5, 8, 13])
def test_the_last_block_of_a_vector_in_l1(kind: str, on: str, pad: int, valid: int) -> None:
    """a2a3 fills up the last 32 bytes with zeros, whatever the tile pads with; a5 with the pad value."""
    size = (1, 32) if kind == "ND" else (32, 1)
    region = (1, valid) if kind == "ND" else (valid, 1)
    spec = tile_spec("Mat", "i32", *size, kind, valid=region, pad=int(PadValue.Max))
    machine = Single(target(on))
    dst = machine.tile(spec, b"\x11" * 128)
    memory = np.arange(1, 33, dtype=np.int32)
    stride = (32, 1) if kind == "ND" else (1, 32)
    machine.execute(TLOAD, {"dst": dst, "src": machine.view(spec.dtype, memory, region, stride, Layout[kind])})
    end = -(-valid // 8) * 8
    got = dst.raw()[0].view(np.int32)
    assert np.array_equal(got[:valid], memory[:valid])
    assert (got[valid:end] == pad * 0x7FFFFFFF).all()
    assert (got[end:] == 0x11111111).all()
