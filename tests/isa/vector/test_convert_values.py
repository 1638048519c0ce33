"""vcvt, vtrc, vci and the fused conversions against exact fractions, for every pair of types."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from ptokit.isa.site import ScalarInfo, VregInfo
from ptokit.isa.vector.compute.convert import PAIRS
from ptokit.types.dtypes import DTYPES, PACKED
from tests.each import each
from tests.isa.numerics.model import FLOATS, Number, decode, to_float, to_integer

from . import lane_model as model
from .registers import call, codes, mask, numbers, register, same

# vector-path 6.6, word for word.
LISTS = """
f32 → si16(p), si32, si64(p), f16(p), bf16(p). f16 → ui8(p), si8(p), si16, si32(p), f32(p). bf16 → si32(p), f16, f32(p).
ui8 → ui16(p), ui32(Pk), f16(p). si8 → si16(p), si32(Pk), f16(p). ui16 → ui8(p), ui32(p).
si16 → ui8(p), ui32(p), si32(p), f16, f32(p). ui32 → ui8(Pk), ui16(p), si16(p).
si32 → ui8(Pk), ui16(p), si16(p), si64(p), f32. si64 → f32(p). ui32 → f32.
"""
KINDS = {"p": ("EVEN", "ODD"), "Pk": ("P0", "P1", "P2", "P3"), "": ()}
MODES = {"R": "RINT", "A": "ROUND", "F": "FLOOR", "C": "CEIL", "Z": "TRUNC", "O": "ODD"}


def listed() -> dict[tuple[str, str], tuple[str, ...]]:
    def short(name: str) -> str:
        return name.replace("si", "i").replace("ui", "u")

    out = {}
    for src, targets in re.findall(r"(\w+) → ([^.]+)\.", LISTS):
        for name, kind in re.findall(r"(\w+)(?:\((\w+)\))?", targets):
            out[short(src), short(name)] = KINDS[kind]
    return out


# PTOAS e32488c9, lookupVcvtContract.
NARROW = """
f32: e4m3(RAZ) e5m2(RAZ) hif8(A). f16: e4m3(RAFZC) e5m2(RAFZC) hif8(A). bf16: e4m3(RAFZC) e5m2(RAFZC).
bf16: e1m2x2(RAFZC) e2m1x2(RAFZC). e4m3: f32(). e5m2: f32(). hif8: f32(). e1m2x2: bf16(). e2m1x2: bf16().
"""
NARROWED = {
    (src, dst): modes
    for src, targets in re.findall(r"(\w+): ([^.]+)\.", NARROW)
    for dst, modes in re.findall(r"(\w+)\((\w*)\)", targets)
}
PAIR_NAMES = [(s.name, d.name) for s, d in PAIRS if (s.name, d.name) not in NARROWED]


def test_the_pairs_are_those_of_the_lists() -> None:
    names = {(s.name, d.name): parts for (s, d), parts in PAIRS.items()}
    assert {pair: parts for pair, parts in names.items() if pair not in NARROWED} == listed()
    assert len(names) == 36 + len(NARROWED)
    for src, dst in NARROWED:
        assert names[src, dst] == KINDS["p" if src[-2:] == "16" and dst[-2:] != "x2" else "Pk"]


def converted(x: Number, dst: str, mode: str, saturate: bool) -> Number:
    if dst in FLOATS or dst == "hif8":
        return to_float(Fraction(0) if saturate and x == "nan" else x, dst, MODES[mode], saturate)
    return to_integer(x, dst, MODES[mode], saturate)


@each("src, dst", PAIR_NAMES)
def test_vcvt(src: str, dst: str) -> None:
    parts = PAIRS[DTYPES[src], DTYPES[dst]] or ("",)
    data = codes(src, 7)
    on = np.random.default_rng(8).random(data.shape) < 0.7
    source, count = numbers(src, data)[0], 256 // DTYPES[dst].size
    for mode, saturate in (
        ("R", True),
        ("R", False),
        ("A", False),
        ("F", True),
        ("C", False),
        ("Z", True),
        ("O", False),
    ):
        for part_index, part in enumerate(parts):
            sat = "SAT" if saturate else "NOSAT"
            got = call("vcvt", register(src, data), mask(src, on), out=dst, rnd=mode, sat=sat, part=part)
            want: list[Number] = [Fraction(0)] * count
            for i, x in enumerate(source):
                if len(source) > count:  # widening
                    factor = len(source) // count
                    if i % factor == part_index and on[0, i]:
                        want[i // factor] = converted(x, dst, mode, saturate)
                elif on[0, i]:
                    want[i * (count // len(source)) + part_index] = converted(x, dst, mode, saturate)
            found = numbers(dst, got)[0]
            assert got.shape == (1, count)
            assert all(map(same, found, want)), (mode, sat, part)


@each("src, dst", [pair for pair, modes in NARROWED.items() if modes])
def test_floats_become_floats_of_8_bits(src: str, dst: str) -> None:
    single = dst.removesuffix("x2")
    data = codes(src, 7)
    on = np.random.default_rng(8).random(data.shape) < 0.7
    pairs = dst != single
    parts = PAIRS[DTYPES[src], (DTYPES | PACKED)[dst]]
    for mode in NARROWED[src, dst]:
        for saturate in (False,) if pairs else (False, True):
            for first, part in enumerate(parts):
                word = "" if pairs else "SAT" if saturate else "NOSAT"
                types = {"src": narrow(src), "dst": narrow(dst)}
                got = call("vcvt", register(src, data), mask(src, on), types=types, rnd=mode, sat=word, part=part)
                found = got.view(np.uint8)
                assert found.shape == (1, 256)
                made = [
                    converted(x, single, mode, saturate) if keep else Fraction(0)
                    for x, keep in zip(numbers(src, data)[0], on[0], strict=True)
                ]
                mine = found[0, first :: len(parts)]
                if pairs:
                    mine = np.stack((mine & 0xF, mine >> 4), -1).ravel()
                values = [decode(single, int(c)) for c in mine]
                assert all(map(same, values, made)), (mode, word, part)
                found[0, first :: len(parts)] = 0
                assert not found.any()


@each("src, dst", [pair for pair, modes in NARROWED.items() if not modes])
def test_floats_of_8_bits_become_wider_ones(src: str, dst: str) -> None:
    single = src.removesuffix("x2")
    data = np.random.default_rng(3).permutation(256).astype(np.uint8)[None]
    on = np.random.default_rng(8).random(data.shape) < 0.7
    for first in range(4):
        types = {"src": narrow(src), "dst": narrow(dst)}
        got = call("vcvt", data.view(types["src"].dtype.value or np.uint8), on, types=types, part=f"P{first}")
        want: list[Number] = []
        for code, keep in zip(data[0, first::4].tolist(), on[0, first::4], strict=True):
            made = [decode(single, c) for c in ((code & 0xF, code >> 4) if single != src else (code,))]
            want += made if keep else [Fraction(0)] * len(made)
        assert all(map(same, numbers(dst, got)[0], want))


def narrow(name: str) -> VregInfo:
    dtype = (DTYPES | PACKED)[name]
    return VregInfo(name, dtype, 256 // dtype.size)


def test_without_attributes_it_rounds_to_even_and_wraps() -> None:
    data = np.array([[0.5, 1.5, 2.5, 70000.0, -1.0, np.nan]] * 1, np.float32)
    got = call("vcvt", np.pad(data, ((0, 0), (0, 58))), out="i16", part="EVEN")
    assert got[0, :12:2].tolist() == [0, 2, 2, 70000 - 65536, -1, 0]


def test_the_older_spelling() -> None:
    x = np.full((1, 64), 1e9, np.float32)
    got = call("vcvt", x, out="i16", round_mode="ROUND_Z", sat="RS_ENABLE", part="PART_ODD")
    assert got[0, :4].tolist() == [0, 32767, 0, 32767]


def test_halves_merge_by_vor() -> None:
    a, b = np.arange(64, dtype=np.float32)[None], np.arange(100, 164, dtype=np.float32)[None]
    even, odd = (call("vcvt", x, out="f16", part=part) for x, part in ((a, "EVEN"), (b, "ODD")))
    assert call("vor", even, odd)[0, :6].tolist() == [0, 100, 1, 101, 2, 102]


@each("mode", MODES)
@each("dtype", ["f16", "bf16", "f32"])
def test_vtrc(dtype: str, mode: str) -> None:
    data = codes(dtype, 9)
    got = numbers(dtype, call("vtrc", register(dtype, data), rnd=mode))[0]
    for x, y in zip(numbers(dtype, data)[0], got):
        if isinstance(x, str):
            assert y == x
            continue
        n = model.number(-0.0) if x < 0 else Fraction(0)
        whole = to_integer(x, "i64", MODES[mode], False) if abs(x) < 2**60 else x
        assert same(y, whole if whole != 0 else n), (x, y)


@each("dtype", ["i8", "i16", "i32", "f16", "f32"])
@each("order", ["ASC", "DESC"])
def test_vci(dtype: str, order: str) -> None:
    got = numbers(dtype, call("vci", 120, out=dtype, order=order))[0]
    assert len(got) == 256 // DTYPES[dtype].size
    for i, y in enumerate(got):
        exact = 120 + i if order == "ASC" else 120 - i
        assert y == (Fraction(exact) if dtype in FLOATS else model.wrap(exact, dtype))


def test_vci_rounds_f16_once() -> None:
    got = call("vci", 2047.0, out="f16", order="ASC")
    assert got[0, :5].tolist() == [2047, 2048, 2048, 2050, 2052]


NUMBERS = {
    **{f"{k}{n}": (-7, f"i{n}", -7 % (1 << n)) for k in "iu" for n in (8, 16, 32)},
    "f16": (2.5, "f16", 0x4100),
    "bf16": (2.5, "bf16", 0x4020),
    "f32": (2.5, "f32", 0x40200000),
    "e4m3": (2.5, "e4m3", 0x42),
    "e5m2": (0x43, "i8", 0x43),  # an integer is the code
    "hif8": (0x9A, "i8", 0x9A),
}


@each("dtype", NUMBERS)
def test_vbr_and_vdup(dtype: str) -> None:
    value, type, code = NUMBERS[dtype]
    storage, count = DTYPES[dtype].storage, 256 // DTYPES[dtype].size
    number = ScalarInfo("s", type)
    got = call("vbr", value, out=dtype, scalar=number)
    assert np.array_equal(np.ascontiguousarray(got).view(storage), np.full((1, count), code, storage))
    on = np.arange(count)[None] % 2 == 0
    dup = call("vdup", value, mask(dtype, on), out=dtype, position="LOWEST", src=number)
    assert np.array_equal(dup.view(storage), np.where(on, code, 0))


def test_a_number_of_each_block() -> None:
    got = call("vbr", np.array([[1], [-1]]), out="u8", scalar=ScalarInfo("s", "i8"))
    assert got.tolist() == [[1] * 256, [255] * 256]


@each("dtype", ["i8", "f16", "f32", "hif8"])
def test_vdup_of_a_lane(dtype: str) -> None:
    data, info = codes(dtype, 3, blocks=2), VregInfo("s", DTYPES[dtype], 256 // DTYPES[dtype].size)
    for position, lane in (("LOWEST", 0), ("HIGHEST", -1)):
        got = call("vdup", register(dtype, data), None, out=dtype, position=position, src=info)
        assert np.array_equal(got.view(data.dtype), np.repeat(data[:, lane][:, None], data.shape[1], axis=1))


@each("name, src, dst", [("vaddreluconv", "f32", "f16"), ("vaddreluconv", "f16", "i8"), ("vmulconv", "f16", "i8")])
def test_fused_conversions_round_once_and_saturate(name: str, src: str, dst: str) -> None:
    a, b = codes(src, 15), codes(src, 16)
    if src == "f32":  # a tie in f16 that 2**-80 breaks
        a[0, 0], b[0, 0] = 0x3F801000, 0x17800000
    got = numbers(dst, call(name, register(src, a), register(src, b), out=dst))[0]
    assert not any(got[1::2])
    for x, y, z in zip(numbers(src, a)[0], numbers(src, b)[0], got[::2]):
        if "nan" in (x, y) or (isinstance(x, str) or isinstance(y, str)):
            exact = (model.add if name != "vmulconv" else model.multiply)("f32", x, y)
        else:
            exact = Fraction(x) + Fraction(y) if name != "vmulconv" else Fraction(x) * Fraction(y)
        if name != "vmulconv" and exact != "nan" and model.as_float(exact) <= 0:
            exact = Fraction(0)
        assert same(z, converted(exact, dst, "R", True)), (x, y, z)
