"""Reductions against loops over the active lanes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ptokit.types.dtypes import DTYPES
from tests.each import each
from tests.isa.numerics.model import FLOATS, Number, to_float

from . import lane_model as model
from .registers import call, codes, mask, numbers, register, same

I16_32_F = ("i16", "u16", "i32", "u32", "f16", "f32")
WIDER = {"i8": "i16", "u8": "u16", "i16": "i32", "u16": "u32"}


def finite(dtype: str, seed: int) -> np.ndarray:
    data = codes(dtype, seed)
    if dtype in FLOATS:
        limit = 100 if dtype == "f16" else 1e30
        value = data.view(DTYPES[dtype].value)
        data[~(np.abs(value.astype(np.float64)) < limit)] = 0
    return data


def total(dtype: str, values: list[Number]) -> Number:
    """Of a power of two of lanes: floats neighbour to neighbour, each sum rounded."""
    if dtype not in FLOATS:
        return model.wrap(sum((Fraction(x) for x in values), Fraction(0)), dtype)
    while len(values) > 1:
        values = [added(dtype, *values[k : k + 2]) for k in range(0, len(values), 2)]
    return values[0]


def added(dtype: str, a: Number, b: Number) -> Number:
    if a == b == "-0":
        return "-0"
    exact = sum((Fraction(0) if x == "-0" else Fraction(x) for x in (a, b)), Fraction(0))
    return to_float(exact, dtype, "RINT", False) if exact else Fraction(0)


def actives(dtype: str, seed: int, chance: float = 0.6) -> np.ndarray:
    return np.random.default_rng(seed).random((1, 256 // DTYPES[dtype].size)) < chance


@each("dtype", ["i8", "u8", *I16_32_F])
def test_vcadd(dtype: str) -> None:
    data, on, out = finite(dtype, 1), actives(dtype, 2), WIDER.get(dtype, dtype)
    got = numbers(out, call("vcadd", register(dtype, data), mask(dtype, on), out=out))[0]
    want = total(out, [x if a else Fraction(0) for x, a in zip(numbers(dtype, data)[0], on[0])])
    assert len(got) == 256 // DTYPES[out].size
    assert not any(got[1:])
    assert got[0] == want


def test_vcadd_of_256_ones_is_256() -> None:
    got = call("vcadd", np.ones((1, 256), np.int8), out="i16")
    assert got[0, 0] == 256
    assert got.dtype == np.int16
    assert not got[0, 1:].any()


@each("dtype", I16_32_F)
@each("name", ["vcgadd", "vcgmax", "vcgmin"])
def test_groups(name: str, dtype: str) -> None:
    data = finite(dtype, 3) if name == "vcgadd" else codes(dtype, 3)
    size = 32 // DTYPES[dtype].size
    on = actives(dtype, 4)
    on[0, 2 * size : 3 * size] = False  # one group is empty
    got = numbers(dtype, call(name, register(dtype, data), mask(dtype, on)))[0]
    lanes = numbers(dtype, data)[0]
    for g in range(8):
        places = range(g * size, (g + 1) * size)
        if name == "vcgadd":
            want = total(dtype, [lanes[i] if on[0, i] else Fraction(0) for i in places])
        else:
            want = extreme(name, dtype, [lanes[i] for i in places if on[0, i]])
        assert same(got[g], want), g
    assert not any(got[8:])


def empty(name: str, dtype: str) -> Number:
    if dtype in FLOATS:
        return "-inf" if name.endswith("max") else "inf"
    info = np.iinfo(DTYPES[dtype].value)
    return Fraction(info.min if name.endswith("max") else info.max)


def extreme(name: str, dtype: str, values: list[Number]) -> Number:
    out = empty(name, dtype)
    for x in values:
        out = model.extreme(1 if name.endswith("max") else -1)(dtype, out, x)
    return out


def test_small_numbers_are_lost_at_the_step_that_adds_them() -> None:
    x = np.zeros((1, 128), np.float16)
    x[0, :4] = 2048, 1, 1, 0
    x[0, 16:20] = 2048, 0, 1, 1
    assert call("vcgadd", x)[0, :2].tolist() == [2048, 2050]
    assert call("vcadd", x, out="f16")[0, 0] == 4096  # 2048 + 2050, between 4096 and 4100


def test_vcgadd_of_the_lane_numbers() -> None:
    got = call("vcgadd", np.arange(64, dtype=np.float32)[None])
    assert got[0, :8].tolist() == [28, 92, 156, 220, 284, 348, 412, 476]
    assert not got[0, 8:].any()


def test_integer_groups_wrap() -> None:
    got = call("vcgadd", np.full((1, 128), 30000, np.int16))
    assert got[0, 0] == (16 * 30000 + 32768) % 65536 - 32768


@each("dtype", ["f16", "f32"])
def test_vcpadd(dtype: str) -> None:
    data, on = finite(dtype, 5), actives(dtype, 6)
    got = numbers(dtype, call("vcpadd", register(dtype, data), mask(dtype, on)))[0]
    lanes = [x if a else Fraction(0) for x, a in zip(numbers(dtype, data)[0], on[0])]
    half = len(lanes) // 2
    for i in range(half):
        assert same(got[i], model.add(dtype, lanes[2 * i], lanes[2 * i + 1]))
    assert not any(got[half:])
    plain = call("vcpadd", np.arange(64, dtype=np.float32)[None])
    assert plain[0, :4].tolist() == [1, 5, 9, 13]


@each("dtype", ["f16", "f32"])
def test_vcpadd_as_the_texts_have_it(dtype: str) -> None:
    data, on = finite(dtype, 5), actives(dtype, 6)
    got = numbers(dtype, call("vcpadd", register(dtype, data), mask(dtype, on), mode="PREFIX"))[0]
    lanes = [x if a else Fraction(0) for x, a in zip(numbers(dtype, data)[0], on[0])]
    want = lanes[0]
    for i, y in enumerate(got):
        want = added(dtype, want, lanes[i]) if i else want
        assert same(y, want)
    assert call("vcpadd", np.ones((1, 64), np.float32), mode="PREFIX")[0, :4].tolist() == [1, 2, 3, 4]


@each("dtype", I16_32_F)
@each("name", ["vcmax", "vcmin"])
@each("nan", [False, True])
def test_extremes_with_their_place(name: str, dtype: str, nan: bool) -> None:
    data = codes(dtype, 7) if nan else finite(dtype, 7)
    on = actives(dtype, 8)
    got = call(name, register(dtype, data), mask(dtype, on))
    lanes = [(x, i) for i, (x, a) in enumerate(zip(numbers(dtype, data)[0], on[0])) if a]
    nans = [i for x, i in lanes if x == "nan"]
    pick = max if name == "vcmax" else min
    best = nans[0] if nans else pick(lanes, key=lambda p: (model.as_float(p[0]), -p[1] if pick is max else p[1]))[1]
    assert got.view(DTYPES[dtype].storage)[0, 1] == best
    assert same(numbers(dtype, got)[0][0], numbers(dtype, data)[0][best])
    assert not got[0, 2:].astype(bool).any()


def test_the_place_of_a_lowest_value_among_inactive_lanes() -> None:
    data = np.full((1, 64), -np.inf, np.float32)
    on = np.arange(64)[None] >= 5
    assert call("vcmax", data, mask("f32", on)).view(np.uint32)[0, :2].tolist() == [0xFF800000, 5]
    small = np.full((1, 64), -(1 << 31), np.int32)
    assert call("vcmax", small, mask("i32", on))[0, :2].tolist() == [-(1 << 31), 5]


@each("dtype", I16_32_F)
@each("name", ["vcmax", "vcmin"])
def test_nothing_active(name: str, dtype: str) -> None:
    data = codes(dtype, 9)
    got = call(name, register(dtype, data), mask(dtype, np.zeros((1, data.shape[1]), bool)))
    assert numbers(dtype, got)[0][0] == empty(name, dtype)
    assert not got.view(DTYPES[dtype].storage)[0, 1:].any()
    none = call("vcadd", register(dtype, data), mask(dtype, np.zeros((1, data.shape[1]), bool)), out=dtype)
    assert not none.view(DTYPES[dtype].storage).any()


def test_every_block_has_its_own_mask() -> None:
    data = np.arange(64, dtype=np.float32)[None]
    on = np.stack([np.arange(64) < 3, np.arange(64) < 4])
    assert call("vcadd", data, mask("f32", on), out="f32")[:, 0].tolist() == [3, 6]
    assert call("vcmax", data, mask("f32", on)).view(np.uint32)[:, 1].tolist() == [2, 3]
