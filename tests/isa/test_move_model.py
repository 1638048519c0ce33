"""TMOV, TEXTRACT and TINSERT against a slow model, and their footprints against what they really change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

from ptokit.isa.check import first_error
from ptokit.isa.table import TABLE
from ptokit.types.tile import element_offset

from .move_cases import LAYOUTS, run, site, tile
from .move_model import Call, as_tile, predict

COPIED = ["f32", "f16", "bf16", "i8", "i32", "u32", "i16", "u8"]
CONVERTED = [
    ("f32", ["f16", "bf16", "f32", "i8", "u8"]),
    ("i32", ["i32", "i8", "u8", "f16", "i16", "bf16"]),
]
CAST = [("f32", "f16"), ("f32", "bf16"), ("f32", "f32"), ("i32", "i32")]


class Draw:
    """Tile notations, random contents."""

    def __init__(self, draw: Callable[[Any], Any], on: str) -> None:
        self.draw, self.on = draw, on

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def valid(self, rows: int, cols: int) -> tuple[int, int]:
        """A valid region, the whole in half of the cases."""
        if self.pick(True, False):
            return rows, cols
        return self.number(1, rows), self.number(1, cols)

    def bits(self, notation: str, rng: np.random.Generator) -> np.ndarray:
        """Bytes of a tile; accumulators hold numbers that quantisation can make something of."""
        spec = tile(notation)
        if spec.loc.name != "Acc":
            return rng.integers(0, 256, spec.nbytes, np.uint8)
        if spec.dtype.name == "i32":
            values = rng.integers(-(2**31), 2**31, spec.numel) >> rng.integers(0, 31, spec.numel)
            return values.astype(np.int32).view(np.uint8)
        numbers = (rng.normal(size=spec.numel) * 10.0 ** rng.integers(-6, 8, spec.numel)).astype(np.float32)
        special = np.array([0.0, -0.0, np.inf, -np.inf, 0.5, 1.5, -2.5, 3e38], np.float32)
        numbers = np.where(rng.random(spec.numel) < 0.1, rng.choice(special, spec.numel), numbers)
        return numbers.astype(np.float32).view(np.uint8)


def notation(loc: str, dtype: str, rows: int, cols: int, valid: tuple[int, int], layout: str) -> str:
    return f"{loc} {dtype} {rows}x{cols}[{valid[0]}x{valid[1]}] {layout}"


def word(d: Draw, to: str) -> int:
    """A quantisation word with a scale that puts accumulators in range now and then, of the sign the type needs."""
    scale = np.float32(d.pick(1.0, 0.5, 0.001, 1e-6, -2.0, 0.1, 3.0))
    bits = int(scale.view(np.uint32)) | d.number(0, 15) << 32
    if to in ("i8", "u8"):
        bits |= d.pick(0, 0, 1, 100, 300, 511) << 37 | (to == "i8") << 46
    return bits


@st.composite
def copies(draw: Any, on: str) -> tuple[str, str, dict[str, Any]]:
    """Moves, extractions and insertions that only copy."""
    d = Draw(draw, on)
    op, dtype = d.pick("TMOV", "TMOV", "TEXTRACT", "TINSERT"), d.pick(*COPIED)
    pairs = [("vec", "vec"), ("mat", "left"), ("mat", "right"), ("vec", "mat")]
    if op == "TINSERT":
        pairs = [("vec", "vec"), ("vec", "mat")]
    source, target = d.pick(*pairs)
    a = d.pick("ND", "Nz") if source == "vec" else d.pick("Nz", "Zn")
    left = "Zz" if on == "a2a3" else "Nz"
    b = {"left": left, "right": "Zn"}.get(target) or d.pick(a, "Nz", "Zn", *(["DN", "Zz", "Nn"] if on == "cpu" else []))
    rows, cols = d.pick(32, 64), d.pick(32, 64)
    valid = d.valid(rows, cols)
    if op == "TMOV":
        there = valid if on == "cpu" or source == "mat" else d.valid(rows, cols)
        into = notation(target, dtype, rows, cols, there, b)
        return op, f"{into} <- {notation(source, dtype, rows, cols, valid, a)}", {}
    big = (rows + 32, cols + 32)
    at = d.pick((0, 0), (32, 0), (0, 32), (32, 32), (d.number(0, 32), d.number(0, 32)))
    whole, part = notation("vec", dtype, *big, big, a), notation(target, dtype, rows, cols, valid, b)
    if op == "TEXTRACT":
        whole = notation(source, dtype, *big, big, a)
        return op, f"{part} <- {whole}; row={at[0]}; col={at[1]}", {"at": at}
    whole = notation(target, dtype, *big, big, b)
    return op, f"{whole} <- {notation(source, dtype, rows, cols, valid, a)}; row={at[0]}; col={at[1]}", {"at": at}


@st.composite
def drains(draw: Any, on: str) -> tuple[str, str, dict[str, Any]]:
    """Everything that leaves an accumulator."""
    d = Draw(draw, on)
    op = d.pick("TMOV", "TEXTRACT", "TINSERT")
    source, targets = d.pick(*CONVERTED)
    to = d.pick(*targets)
    form = d.pick("cast", "scalar", "vector")
    if form == "cast" and (source, to) not in CAST:
        form = "scalar"
    loc = "mat" if on == "a2a3" else d.pick("mat", "vec")
    layout = "Nz" if loc == "mat" else d.pick("ND", "DN", "Nz", "Nz1024")
    rows, cols = d.pick(32, 64), d.pick(32, 64)
    valid = d.valid(rows, cols)
    at = (0, 0) if op == "TMOV" else d.pick((0, 0), (32, 32), (0, 32))
    big = (rows, cols) if op == "TMOV" else (rows + 32, cols + 32)
    outer = valid if op == "TMOV" else big
    shapes = {"TINSERT": ((big, outer), ((rows, cols), valid))}.get(op, (((rows, cols), valid), (big, outer)))
    (dst_shape, dst_valid), (src_shape, src_valid) = shapes
    text = (
        f"{notation(loc, to, *dst_shape, dst_valid, layout)} <- {notation('acc', source, *src_shape, src_valid, 'Nz')}"
    )
    more: dict[str, Any] = {"at": at, "relu": d.pick(True, False)}
    text += f"; row={at[0]}; col={at[1]}" if op != "TMOV" else ""
    text += "; relu" if more["relu"] else ""
    if form == "scalar":
        more["quant"] = word(d, to)
        text += f"; quant={more['quant']}"
    elif form == "vector":
        more["fp"] = [word(d, to) for _ in range(src_shape[1])]
        text += f"; fp=scaling u64 1x{src_shape[1]} ND"
    elif loc == "vec" and on != "a2a3" and op == "TMOV" and d.pick(True, False):
        more["mode"] = d.pick("SingleModeVec1", "DualModeSplitM", "DualModeSplitN")
        text += f"; mode={more['mode']}"
    return op, text, more


@st.composite
def exponents(draw: Any, on: str) -> tuple[str, str, dict[str, Any]]:
    """X to Zz."""
    d = Draw(draw, on)
    axis = d.pick(0, 1)
    if axis:
        rows, cols = d.number(1, 48), d.pick(32, 64)
        into = notation("vec", "u8", 48, cols, (rows, cols), "Zz32")
        text = f"{into} <- {notation('vec', 'u8', 48, cols, (rows, cols), 'ND')}; tmp=vec u8 1x4096 ND"
    else:
        rows, cols = 2 * d.number(1, 24), d.pick(32, 64)
        into = notation("vec", "u8", cols, 48, (cols, rows), "Zz32")
        text = f"{into} <- {notation('vec', 'u8', 48, cols, (rows, cols), 'ND')}; tmp=vec u8 1x32 ND; grp_axis=0"
    return "TMOV", text, {"tmp": True, "grp_axis": axis}


def compare(on: str, op: str, text: str, more: dict[str, Any], rng_seed: int) -> bool:
    """Run the case if it is legal; True if it was."""
    s = site(op, on, text)
    if first_error(s) is not None:
        return False
    d = Draw(lambda _: None, on)
    rng = np.random.default_rng(rng_seed)
    sides = text.split(";")[0].split(" <- ")
    before = {name: d.bits(n.strip(), rng) for name, n in zip(("dst", "src"), sides)}
    data: dict[str, Any] = dict(before)
    if "fp" in more:
        data["fp"] = np.array(more["fp"], np.uint64)
    after = run(op, on, text, **data)
    specs = {name: s.operands[name].spec for name in before}
    old = {name: before[name].view(specs[name].dtype.storage) for name in before}
    new = {name: after[name].view(specs[name].dtype.storage) for name in before}
    call = Call(op, on, *(as_tile(specs[n], old[n].tolist()) for n in ("dst", "src")), **more)
    expected = predict(call)
    where = np.fromiter(expected, np.int64, len(expected))
    codes = np.fromiter(expected.values(), np.int64, len(expected)).astype(new["dst"].dtype)
    wrong = np.flatnonzero(new["dst"][where] != codes)
    assert not len(wrong), (on, op, text, where[wrong[:4]], new["dst"][where[wrong[:4]]], codes[wrong[:4]])
    writes = {n: footprint(s, n) for n in before}
    for name in before:
        changed = np.flatnonzero(new[name] != old[name])
        assert set(changed.tolist()) <= writes[name], (on, op, text, name)
    if on == "cpu":
        assert set(np.flatnonzero(new["dst"] != old["dst"]).tolist()) <= set(expected)
    return True


def footprint(s: Any, name: str) -> set[int]:
    """Elements of an operand that its instruction says it writes."""
    spec, out = s.operands[name].spec, set()
    for a in TABLE[s.instr.name].footprint(s):
        if a.operand == name and a.write:
            assert a.row + a.rows <= spec.rows
            assert a.col + a.cols <= spec.cols
            r, c = np.ogrid[a.row : a.row + a.rows, a.col : a.col + a.cols]
            out |= set(np.broadcast_to(element_offset(spec, r, c), (a.rows, a.cols)).reshape(-1).tolist())
    return out


STRATEGIES = {"copies": copies, "drains": drains, "exponents": exponents}


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("kind", sorted(STRATEGIES))
def test_small(kind, on):
    assume_legal(kind, on, 40)


@pytest.mark.campaign
@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("kind", sorted(STRATEGIES))
def test_campaign(kind, on):
    assume_legal(kind, on, 2000)


def assume_legal(kind: str, on: str, examples: int) -> None:
    """Compare that many legal cases."""
    if kind == "exponents" and on == "a2a3":
        return  # the form does not exist

    @seed(20_240_601)
    @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck))
    @given(STRATEGIES[kind](on), st.integers(0, 2**32 - 1))
    def check(case: tuple[str, str, dict[str, Any]], rng_seed: int) -> None:
        assume(compare(on, *case, rng_seed))

    check()


def test_the_model_notices_a_wrong_element():
    """A model that agreed with everything would prove nothing."""
    spec = tile("vec f32 32x32 Nz")
    a, b = as_tile(spec, list(range(1024))), as_tile(replace(spec, blayout=LAYOUTS["Zn"][0]), [0] * 1024)
    assert predict(Call("TMOV", "cpu", b, a)) != {k: k for k in range(1024)}
