"""MGATHER and MSCATTER against a slow model of the specification, on random operands, to the bit."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptokit.isa.transfer.gather
import ptokit.isa.transfer.scatter  # noqa: F401
from ptokit.isa.table import TABLE
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, Coalesce, GatherOOB, Layout, ScatterAtomicOp, ScatterOOB, SLayout, TileType
from ptokit.types.tile import TileSpec

from . import gather_model as model
from .gather_model import SIZES, Call, ModelTable, ModelTile

LAYOUTS = {
    "ND": (BLayout.RowMajor, SLayout.NoneBox),
    "DN": (BLayout.ColMajor, SLayout.NoneBox),
    "Nz": (BLayout.ColMajor, SLayout.RowMajor),
}
BASE = ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32"]
TYPES = {"cpu": BASE, "a2a3": BASE, "a5": [*BASE, "e4m3", "e5m2", "hif8"]}
ADD = {"cpu": BASE, "a2a3": ["f32", "f16", "bf16", "i32", "i16", "i8"], "a5": ["f32", "f16", "bf16", "i32", "u32"]}
EXTREME = {"cpu": BASE, "a2a3": [], "a5": ["f32", "i32", "u32"]}


@dataclass
class Seen:
    """A call for both sides."""

    call: Call
    dtype_index: str


def random_bits(rng: np.random.Generator, dtype: str, n: int) -> list[int]:
    """Bit patterns; for floats finite ones, whose sums do not depend on how NaN is written."""
    if dtype in ("f32", "f16", "bf16"):
        halves = rng.integers(-64, 65, n) * rng.choice([0.125, 1.0, 24.0, 1e-5, 500.0], n)
        if dtype == "bf16":
            return (halves.astype(np.float32).view(np.uint32) >> 16).tolist()
        return halves.astype(np.dtype(f"f{SIZES[dtype]}")).view(f"u{SIZES[dtype]}").tolist()
    return rng.integers(0, 1 << 8 * SIZES[dtype], n).tolist()


def multiple(n: int, of: int) -> int:
    return -(-n // of) * of


FORMS = {
    "MGATHER": [(on, form) for on in TYPES for form in ("elem", "row", "l1 elem", "l1 row")],
    "MSCATTER": [(on, form) for on in TYPES for form in ("elem", "row")],
}
for _forms in FORMS.values():
    _forms += [("a2a3", "nz elem"), ("a2a3", "nz row")]


@st.composite
def calls(draw: Any, op: str, on: str, form: str) -> Seen:
    """Legal calls of one form on a target."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    atomic = draw(st.sampled_from(["NONE", "Add", "Max", "Min"])) if op == "MSCATTER" else "NONE"
    pool = {"NONE": TYPES[on], "Add": ADD[on]}.get(atomic, EXTREME[on])
    if not pool:
        atomic, pool = "NONE", TYPES[on]
    dtype = draw(st.sampled_from(pool))
    c0 = 32 // SIZES[dtype]
    by_row, l1, nz = form.endswith("row"), form.startswith("l1"), form.startswith("nz")
    vr, vc = draw(st.integers(1, 20)), draw(st.integers(1, 2 * c0 + 3))
    table = draw(nz_tables(c0) if nz else tables(on, by_row, l1, vc))
    layout = (
        "Nz" if nz or l1 else draw(st.sampled_from({"cpu": ["ND", "DN", "Nz"], "a5": ["ND", "DN"]}.get(on, ["ND"])))
    )
    if nz and by_row:
        vc = min(vc, table.shape[0] * table.shape[1] * c0)
    rows = vr if layout == "ND" else multiple(vr, 16 if layout == "Nz" else c0)
    cols = vc if layout == "DN" else multiple(vc, c0)
    if nz and by_row:
        cols = max(cols, table.shape[0] * table.shape[1] * c0)
    if layout == "Nz":
        rows = max(rows, 32)  # a one-row tile would be stored without boxes
    reach = 1 + sum(max(0, n - 1) * s for n, s in zip(table.shape, table.stride))
    table.data = random_bits(rng, dtype, max(reach, model_reach(table, vc, c0)) + 3)
    tile = ModelTile(dtype, rows, cols, vr, vc, layout, random_bits(rng, dtype, rows * cols))
    oob = draw(st.sampled_from(["Undefined", "Clamp", "Wrap", "Zero" if op == "MGATHER" else "Skip"]))
    call = Call(on, tile, table, None, by_row, oob, l1, atomic=atomic)
    kind = draw(st.sampled_from(["i32", "u32"] if on != "cpu" or l1 else ["i32", "u32", "i64", "u64", "i16", "u8"]))
    fill_indices(draw, call, rng, kind)
    return Seen(call, kind)


def tables(on: str, by_row: bool, l1: bool, vc: int) -> st.SearchStrategy[ModelTable]:
    """ND tables: packed on a5, with padded rows elsewhere; row tables are at least as wide as the tile."""

    def table(leading: tuple[int, int, int], rows: int, width: int, gap: int, inner: int) -> ModelTable:
        if on == "a5" and not l1:
            gap = 0
        if on != "cpu" or not by_row or l1:
            inner = 1
        if by_row:
            width = vc
        row = (width + gap) * inner
        t2 = rows * row
        t1 = leading[2] * t2
        t0 = leading[1] * t1
        return ModelTable((*leading, rows, width), (t0, t1, t2, row, inner), "ND", [])

    few = st.integers(1, 2)
    return st.builds(table, st.tuples(few, few, few), st.integers(1, 9), st.integers(1, 9), few, few)


def nz_tables(c0: int) -> st.SearchStrategy[ModelTable]:
    def table(s0: int, s1: int, s2: int, gap: int) -> ModelTable:
        t2 = 16 * c0
        t1 = s2 * t2 + gap * c0
        return ModelTable((s0, s1, s2, 16, c0), (s1 * t1, t1, t2, c0, 1), "NZ", [])

    return st.builds(table, st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(0, 2))


def model_reach(table: ModelTable, vc: int, c0: int) -> int:
    """Elements that rows addressed with the pitch of one dimension can reach."""
    s0, s1, s2, s3, s4 = table.shape
    return max(s0 * s1 * s2 * s3 * s4, s0 * s1 * s2 * s3 * table.stride[3] + vc, s0 * s1 * s2 * s3 * max(vc, c0))


def fill_indices(draw: Any, call: Call, rng: np.random.Generator, kind: str) -> None:
    """Indices around the capacity, negative and huge ones included where the mode allows them."""
    tile, cap = call.tile, model.limit(call)
    info = np.iinfo(np.dtype(f"{kind[0]}{int(kind[1:]) // 8}"))

    def some(n: int) -> list[int]:
        inside = rng.integers(0, cap, n)
        if call.oob == "Undefined":
            return [min(int(x), int(info.max)) for x in inside]
        near = rng.integers(-cap - 3, 2 * cap + 3, n)
        far = rng.choice([info.min, info.max, info.max - 1, -1, cap, cap - 1], n)
        mixed = np.choose(rng.integers(0, 3, n), [inside.astype(object), near.astype(object), far.astype(object)])
        return [min(max(int(x), int(info.min)), int(info.max)) for x in mixed]

    if call.l1:
        call.index_pitch = tile.vc + draw(st.integers(0, 3))
        call.index = some(tile.vr if call.by_row else tile.vr * call.index_pitch)
        call.scratch = random_bits(rng, tile.dtype, tile.rows * tile.cols + 5)
        return
    c0 = 32 // (int(kind[1:]) // 8)
    if not call.by_row:
        layout = "ND" if call.target == "a2a3" else draw(st.sampled_from(["ND", "DN"]))
        rows = tile.vr if layout == "ND" else multiple(tile.vr, c0)
        cols = multiple(tile.vc, c0) if layout == "ND" else tile.vc
        vr, vc = tile.vr, tile.vc
    elif call.target != "a2a3" and draw(st.booleans()):
        layout, rows, cols, vr, vc = "DN", multiple(tile.vr, c0), 1, tile.vr, 1
    else:
        layout, rows, cols, vr, vc = "ND", 1, multiple(tile.vr, c0), 1, tile.vr
    call.index = ModelTile(kind, rows, cols, vr, vc, layout, some(rows * cols))


def array(dtype: str, elements: list[int]) -> np.ndarray:
    return np.array(elements, f"u{SIZES[dtype]}")


def run(op: str, seen: Seen) -> dict[str, list[int]]:
    """Execute the instruction; the elements of tile, table and scratch memory afterwards."""
    call = seen.call
    machine = Single(target(call.target))
    t = call.tile
    b, s = LAYOUTS[t.layout]
    loc = TileType.Mat if call.l1 else TileType.Vec
    spec = TileSpec(loc, DTYPES[t.dtype], t.rows, t.cols, t.vr, t.vc, b, s)
    data = machine.tile(spec, array(t.dtype, t.data).tobytes())
    gm = array(t.dtype, call.table.data)
    table = machine.view(DTYPES[t.dtype], gm, call.table.shape, call.table.stride, Layout[call.table.layout])
    size = int(seen.dtype_index[1:]) // 8
    index_kind = np.dtype(f"{seen.dtype_index[0]}{size}")
    index: Any
    scratch, memory = None, None
    if call.l1:
        values = np.array(call.index, index_kind)
        shape = (1, 1, 1, 1, t.vr) if call.by_row else (1, 1, 1, t.vr, t.vc)
        stride = (1, 1, 1, 1, 1) if call.by_row else (1, 1, 1, call.index_pitch, 1)
        index = machine.view(DTYPES[seen.dtype_index], values, shape, stride, Layout.ND)
        if not call.by_row:
            memory = array(t.dtype, call.scratch)
            scratch = machine.view(DTYPES[t.dtype], memory, (1, 1, 1, t.rows, t.cols), (1, 1, 1, t.cols, 1), Layout.ND)
    else:
        i = call.index
        ib, isl = LAYOUTS[i.layout]
        ispec = TileSpec(TileType.Vec, DTYPES[i.dtype], i.rows, i.cols, i.vr, i.vc, ib, isl)
        index = machine.tile(ispec, np.array(i.data, index_kind).tobytes())
    attrs: dict[str, Any] = {"mode": Coalesce.Row if call.by_row else Coalesce.Elem}
    if op == "MGATHER":
        attrs["oob"] = GatherOOB[call.oob]
        operands = {"dst": data, "src": table, "idx": index, "scratch": scratch}
    else:
        attrs |= {"oob": ScatterOOB[call.oob], "atomic": ScatterAtomicOp[call.atomic]}
        operands = {"dst": table, "src": data, "idx": index}
    machine.execute(TABLE[op], operands, attrs)
    after = data.raw()[0].view(f"u{SIZES[t.dtype]}").tolist()
    return {"tile": after, "table": gm.tolist(), "scratch": [] if memory is None else memory.tolist()}


def agree(op: str, seen: Seen) -> None:
    expected = copy.deepcopy(seen.call)
    (model.gather if op == "MGATHER" else model.scatter)(expected)
    got = run(op, seen)
    assert got["tile"] == expected.tile.data
    assert got["table"] == expected.table.data
    if got["scratch"]:
        keep = seen.call.target == "cpu"  # which gathers without a detour
        assert got["scratch"] == (seen.call.scratch if keep else expected.scratch)


def compare(op: str, form: tuple[str, str], examples: int) -> None:
    settings(max_examples=examples)(given(calls(op, *form))(lambda seen: agree(op, seen)))()


@pytest.mark.parametrize("form", FORMS["MGATHER"], ids=" ".join)
def test_gather_like_the_model(form: tuple[str, str]) -> None:
    compare("MGATHER", form, 30)


@pytest.mark.parametrize("form", FORMS["MSCATTER"], ids=" ".join)
def test_scatter_like_the_model(form: tuple[str, str]) -> None:
    compare("MSCATTER", form, 40)


@pytest.mark.campaign
@pytest.mark.parametrize(("op", "form"), [(op, form) for op, forms in FORMS.items() for form in forms])
def test_campaign(op: str, form: tuple[str, str]) -> None:
    compare(op, form, 2000)
