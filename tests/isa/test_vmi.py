"""Operations on logical vectors: what they do, as whole programs and against loops over the lanes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ptokit.isa.site import VectorInfo
from ptokit.isa.table import TABLE
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, PACKED, dtype

from .vector.programs import run_both as run

F32, I32 = "!pto.vmi.vreg<100xf32>", "!pto.vmi.vreg<100xi32>"
MASK = "!pto.vmi.mask<100xpred>"


def kernel(body: str, element: str = "f32") -> str:
    """A program that has %x in UB at 0, %y at 8192, 4096 bytes of each, and runs `body`."""
    return f"""\
func.func @f(%gx: !pto.ptr<{element}, gm>, %gy: !pto.ptr<{element}, gm>) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 4096 : i64
  %o = arith.constant 8192 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c40 = arith.constant 40 : index
  %c70 = arith.constant 70 : index
  %x = pto.castptr %z : i64 -> !pto.ptr<{element}, ub>
  %y = pto.castptr %o : i64 -> !pto.ptr<{element}, ub>
  pto.mte_gm_ub %gx, %x, %z, %n nburst(%one, %n, %n)
    : !pto.ptr<{element}, gm>, !pto.ptr<{element}, ub>, i64, i64, i64, i64, i64
  pto.mte_gm_ub %gy, %y, %z, %n nburst(%one, %n, %n)
    : !pto.ptr<{element}, gm>, !pto.ptr<{element}, ub>, i64, i64, i64, i64, i64
{body}
  pto.mte_ub_gm %y, %gy, %n nburst(%one, %n, %n)
    : !pto.ptr<{element}, ub>, !pto.ptr<{element}, gm>, i64, i64, i64, i64
  return
}}
"""


def ran(body: str, x: np.ndarray, element: str = "f32", blocks: int = 1) -> np.ndarray:
    y = np.full(4096 // x.itemsize, 7, x.dtype)
    run(kernel(body, element), x, y, blocks=blocks)
    return y


@pytest.fixture
def data() -> np.ndarray:
    return np.random.default_rng(1).uniform(-4, 4, 1024).astype(np.float32)


def test_a_vector_of_any_length_with_a_tail(data: np.ndarray) -> None:
    body = f"""\
  %m = pto.vmi.create_mask %c70 : index -> {MASK}
  %a = pto.vmi.vload %x[%c10] : !pto.ptr<f32, ub> -> {F32}
  %b = pto.vmi.vmul %a, %a, %m : {F32}, {F32}, {MASK} -> {F32}
  pto.vmi.vstore %b, %y[%c1], %m : {F32}, !pto.ptr<f32, ub>, {MASK}"""
    for blocks in (1, 3):
        y = ran(body, data, blocks=blocks)
        assert np.array_equal(y[1:71], data[10:80] * data[10:80])
        assert (np.delete(y, np.arange(1, 71)) == 7).all()


def test_inactive_lanes_are_zero(data: np.ndarray) -> None:
    body = f"""\
  %m = pto.vmi.create_mask %c40 : index -> {MASK}
  %a = pto.vmi.vload %x[%c0] : !pto.ptr<f32, ub> -> {F32}
  %b = pto.vmi.vabs %a, %m : {F32}, {MASK} -> {F32}
  pto.vmi.vstore %b, %y[%c0] : {F32}, !pto.ptr<f32, ub>"""
    y = ran(body, data)
    assert np.array_equal(y[:40], np.abs(data[:40]))
    assert not y[40:100].any()
    assert (y[100:] == 7).all()


def test_groups_are_loaded_folded_spread_and_stored(data: np.ndarray) -> None:
    body = f"""\
  %m = pto.vmi.pset "PAT_ALL" : {MASK}
  %a = pto.vmi.vload %x[%c0], %c40 {{group = 4 : i64}} : !pto.ptr<f32, ub> -> {F32}
  %s = pto.vmi.vcmax %a, %m {{group = 4 : i64}} : {F32}, {MASK} -> !pto.vmi.vreg<4xf32>
  %t = pto.vmi.vbrc %s {{group = 4 : i64}} : !pto.vmi.vreg<4xf32> -> {F32}
  %d = pto.vmi.vsub %a, %t : {F32}, {F32} -> {F32}
  pto.vmi.vstore %d, %y[%c0], %c40 {{group = 4 : i64}} : {F32}, !pto.ptr<f32, ub>
  pto.vmi.vstore %s, %y[%c0], %c1 {{group = 4 : i64}} : !pto.vmi.vreg<4xf32>, !pto.ptr<f32, ub>"""
    y = ran(body, data)
    rows = np.stack([data[40 * g : 40 * g + 25] for g in range(4)])
    wanted = rows - rows.max(axis=1, keepdims=True)
    assert np.array_equal(y[:4], rows.max(axis=1))
    found = np.stack([y[40 * g : 40 * g + 25] for g in range(4)])
    assert np.array_equal(found.ravel()[4:], wanted.ravel()[4:])


def test_pairs_of_vectors(data: np.ndarray) -> None:
    body = f"""\
  %a, %b = pto.vmi.vload %x[%c0] {{dist_mode = "dintlv"}} : !pto.ptr<f32, ub> -> {F32}, {F32}
  pto.vmi.vstore %b, %a, %y[%c0] {{dist_mode = "dintlv"}} : {F32}, {F32}, !pto.ptr<f32, ub>"""
    y = ran(body, data)
    assert np.array_equal(y[:200:2], data[1:200:2])
    assert np.array_equal(y[1:200:2], data[:200:2])


def test_gather_counts_elements(data: np.ndarray) -> None:
    body = f"""\
  %m = pto.vmi.create_mask %c40 : index -> {MASK}
  %n99 = arith.constant 99 : i32
  %i = pto.vmi.vci %n99 {{order = "DESC"}} : i32 -> {I32}
  %a = pto.vmi.vgather %x, %i, %m : !pto.ptr<f32, ub>, {I32}, {MASK} -> {F32}
  pto.vmi.vstore %a, %y[%c0] : {F32}, !pto.ptr<f32, ub>"""
    y = ran(body, data)
    assert np.array_equal(y[:40], data[99:59:-1])
    assert not y[40:100].any()


def test_a_store_to_narrower_elements_keeps_the_low_bits() -> None:
    x = np.arange(4096, dtype=np.uint8)
    body = """\
  %base = arith.constant 259 : i32
  %v = pto.vmi.vci %base : i32 -> !pto.vmi.vreg<16xi32>
  %apart = arith.constant 8 : index
  pto.vmi.vstore %v, %y[%c0], %apart {group = 2} : !pto.vmi.vreg<16xi32>, !pto.ptr<ui8, ub>"""
    y = ran(body, x, "ui8")
    assert y[:16].tolist() == list(range(3, 19))
    assert (y[16:] == 7).all()


def vector(name: str, kind: str, lanes: int) -> VectorInfo:
    return VectorInfo(name, (DTYPES | PACKED)[kind], lanes, "")


def call(name: str, *operands: Any, types: dict[str, VectorInfo], **attrs: Any) -> Any:
    instr = TABLE[f"vmi.{name}"]
    given = {a.name: a.default for a in instr.attrs} | attrs
    assert instr.run is not None
    return instr.run(SimpleNamespace(target=A5), *operands, types=types, **given)


@pytest.mark.parametrize(
    ("source", "to", "attrs", "given", "wanted"),
    [
        ("f32", "i32", {"saturate": "SAT"}, [1.5, 2.5, -1.5, 3e9], [2, 2, -2, 2**31 - 1]),
        ("f32", "i32", {"rounding": "Z", "saturate": "SAT"}, [1.5, 2.9, -1.5, -3e9], [1, 2, -1, -(2**31)]),
        ("f32", "i32", {"rounding": "A", "saturate": "SAT"}, [1.5, 2.5, -2.5, 0.4], [2, 3, -3, 0]),
        ("i32", "i8", {"saturate": "NOSAT"}, [1, 257, -1, 128], [1, 1, -1, -128]),
        ("i32", "i8", {"saturate": "SAT"}, [1, 257, -1, -300], [1, 127, -1, -128]),
        ("f32", "f16", {"saturate": "SAT"}, [1.0, 1e9, -1e9, np.nan], [1, 65504, -65504, 0]),
    ],
)
def test_conversions(source: str, to: str, attrs: dict[str, str], given: list[float], wanted: list[float]) -> None:
    x = np.array([given], dtype(source).value)
    types = {"source": vector("source", source, 4), "result": vector("result", to, 4)}
    assert call("vcvt", x, types=types, **attrs).tolist() == [wanted]


def test_pairs_of_four_bit_numbers() -> None:
    x = np.array([[0x42, 0xF1]], np.uint8)  # the low nibble first: 1, 2; 0.5, -6
    types = {"source": vector("source", "e2m1x2", 2), "result": vector("result", "bf16x2", 2)}
    wide = call("vcvt", x, types=types)
    assert (wide.view(np.uint16).astype(np.uint32) << 16).view(np.float32).tolist() == [[1, 2, 0.5, -6]]
    back = {"source": types["result"], "result": types["source"]}
    assert call("vcvt", wide, types=back, rounding="R").tolist() == x.tolist()


@pytest.mark.parametrize("word", ["eq", "ne", "lt", "le", "gt", "ge", "olt", "uge"])
def test_comparisons(word: str) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 3, (2, 16)).astype(np.int32) for _ in range(2))
    on = rng.integers(0, 2, (1, 16)).astype(bool)
    found = call("vcmp", a, b, on, types={}, cmp=word)
    plain = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}
    seen = (a.view(np.uint32), b.view(np.uint32)) if word[0] == "u" else (a, b)
    for block in range(2):
        rows = zip(seen[0][block].tolist(), seen[1][block].tolist(), on[0].tolist())
        assert found[block].tolist() == [plain[word[-2:]](p, q) and let for p, q, let in rows]


def test_shifts_move_everything_out() -> None:
    x = np.array([[1, -8, 5, -1]], np.int32)
    count = np.array([[31, 1, 32, 40]], np.int32)
    assert call("vshl", x, count, types={}).tolist() == [[-(2**31), -16, 0, 0]]
    assert call("vshr", x, count, types={}).tolist() == [[0, -4, 0, -1]]


def test_halves_of_products_and_extensions() -> None:
    a, b = np.array([[0xFFFFFFFF, 3]], np.uint32), np.array([[0xFFFFFFFF, 5]], np.uint32)
    low, high = call("vmull", a, b, None, types={})
    assert low.tolist() == [[1, 15]]
    assert high.tolist() == [[0xFFFFFFFE, 0]]
    types = {"source": vector("source", "i8", 2), "result": vector("result", "i32", 2)}
    assert call("extui", np.array([[-1, 2]], np.int8), types=types).tolist() == [[255, 2]]
    assert call("extsi", np.array([[-1, 2]], np.int8), types=types).tolist() == [[-1, 2]]


@pytest.mark.parametrize(("pattern", "wanted"), [("PAT_ALL", 8), ("PAT_ALLF", 0), ("PAT_VL3", 3), ("PAT_H", 4)])
def test_patterns(pattern: str, wanted: int) -> None:
    types = {"result": vector("result", "f32", 8)}
    assert call("pset", types=types, pattern=pattern).tolist() == [[k < wanted for k in range(8)]]
    twice = {"result": vector("result", "f32", 16)}
    assert call("pset", types=twice, pattern=pattern, group=2).tolist() == [[k < wanted for k in range(8)] * 2]


@pytest.mark.parametrize("name", ["vdhist", "vchist"])
def test_histograms(name: str) -> None:
    rng = np.random.default_rng(4)
    acc, x = rng.integers(0, 9, (1, 256)).astype(np.uint16), rng.integers(0, 256, (2, 300)).astype(np.uint8)
    on = rng.integers(0, 2, (1, 300)).astype(bool)
    found = call(name, acc, x, on, types={})
    for block in range(2):
        let = x[block][on[0]]
        counts = [(let == k).sum() if name == "vdhist" else (let <= k).sum() for k in range(256)]
        assert found[block].tolist() == (acc[0] + np.array(counts)).tolist()
