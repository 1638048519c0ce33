"""Rounding to integral values, to narrower floats and to fewer fraction bits."""

import numpy as np
import pytest

from ptokit.isa.numerics.arith import narrow, round_to_integral
from ptokit.types.dtypes import BF16, F16, bf16, e4m3, e5m2, f16, int_to_float, round_to_format
from ptokit.types.enums import RoundMode, SaturationMode

from . import model

MODES = ["RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD"]


def bits(x: np.ndarray, dtype) -> int:
    return int(x.view(dtype.storage)[0])


# compute-elementwise 8.5, first table
NARROWING = [
    (f16, 1 + 2**-11, ["3C00", "3C01", "3C00", "3C01", "3C00", "3C01"]),
    (f16, -1.0001, ["BC00", "BC00", "BC01", "BC00", "BC00", "BC01"]),
    (f16, 65520.0, ["7C00", "7C00", "7BFF", "7C00", "7BFF", "7BFF"]),
    (f16, 2.0**-25, ["0000", "0001", "0000", "0001", "0000", "0001"]),
    (bf16, float(np.uint32(0x3F808000).view(np.float32)), ["3F80", "3F81", "3F80", "3F81", "3F80", "3F81"]),
    (bf16, float(np.uint32(0x3F818000).view(np.float32)), ["3F82", "3F82", "3F81", "3F82", "3F81", "3F81"]),
    (bf16, float(np.uint32(0xBF808000).view(np.float32)), ["BF80", "BF81", "BF81", "BF80", "BF80", "BF81"]),
]


@pytest.mark.parametrize(("dtype", "x", "expected"), NARROWING, ids=lambda v: str(v)[:12])
@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_narrowing_vectors(dtype, x, expected, wide):
    for mode, code in zip(MODES, expected, strict=True):
        assert f"{bits(narrow(np.array([x], wide), dtype, RoundMode[mode]), dtype):04X}" == code, mode


def test_saturation_clamps_overflow_and_infinity():
    x = np.array([65520, -1e9, np.inf, -np.inf], np.float32)
    assert narrow(x, f16, sat=SaturationMode.ON).tolist() == [65504, -65504, 65504, -65504]
    assert narrow(x, f16, sat=SaturationMode.OFF).tolist() == [np.inf, -np.inf, np.inf, -np.inf]
    assert narrow(x, f16, RoundMode.TRUNC).tolist() == [65504, -65504, np.inf, -np.inf]
    assert narrow(x, f16, RoundMode.FLOOR).tolist() == [65504, -np.inf, np.inf, -np.inf]
    assert narrow(x, f16, RoundMode.CEIL).tolist() == [np.inf, -65504, np.inf, -np.inf]


def test_fp8_vectors():
    """compute-elementwise 8.7."""
    x = np.array([0.3, 17, 19, 2**-10, 3 * 2**-10, 464], np.float32)
    assert narrow(x, e4m3).view(np.uint8).tolist() == [0x2A, 0x58, 0x5A, 0x00, 0x02, 0x7E]
    assert narrow(x[:5], e5m2).view(np.uint8).tolist() == [0x35, 0x4C, 0x4D, 0x14, 0x1A]
    over = np.array([np.nextafter(np.float32(464), np.float32(500)), 61440], np.float32)
    assert narrow(over[:1], e4m3).view(np.uint8).tolist() == [0x7F]
    assert narrow(over[1:], e5m2).view(np.uint8).tolist() == [0x7C]
    assert narrow(over, e4m3, sat=SaturationMode.ON).view(np.uint8).tolist() == [0x7E, 0x7E]
    assert narrow(over[1:], e5m2, sat=SaturationMode.ON).view(np.uint8).tolist() == [0x7B]


def test_nan_is_the_canonical_quiet_one():
    x = np.array([0x7F800001, 0xFFC00123, 0x7FFFFFFF], np.uint32).view(np.float32)
    for mode in RoundMode:
        for sat in SaturationMode:
            assert narrow(x, f16, mode, sat).view(np.uint16).tolist() == [0x7E00] * 3
            assert narrow(x, bf16, mode, sat).view(np.uint16).tolist() == [0x7FC0] * 3
            assert narrow(x, e4m3, mode, sat).view(np.uint8).tolist() == [0x7F] * 3


INTEGRAL = [
    (2.5, [2, 3, 2, 3, 2, 3]),
    (-2.5, [-2, -3, -3, -2, -2, -3]),
    (3.5, [4, 4, 3, 4, 3, 3]),
    (0.49999997, [0, 0, 0, 1, 0, 1]),
    (8388609.0, [8388609] * 6),
    (4194304.5, [4194304, 4194305, 4194304, 4194305, 4194304, 4194305]),
    (-0.3, [-0.0, -0.0, -1, -0.0, -0.0, -1]),
    (-0.0, [-0.0] * 6),
    (np.inf, [np.inf] * 6),
    (-np.inf, [-np.inf] * 6),
]


@pytest.mark.parametrize(("x", "expected"), INTEGRAL)
@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_integral_values_keep_the_sign(x, expected, wide):
    for mode, value in zip(MODES, expected, strict=True):
        got = round_to_integral(np.array([x], wide), RoundMode[mode])
        assert got.dtype == wide
        assert got[0] == value, mode
        assert np.signbit(got[0]) == np.signbit(value), mode
    assert np.isnan(round_to_integral(np.array([np.nan], wide), RoundMode.ODD))[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_every_f32_path_agrees_with_fractions(dtype, mode):
    """Sizes on both sides of the piece length, normal, subnormal, overflowing and special values mixed."""
    rng = np.random.default_rng(7)
    fmt = F16 if dtype is f16 else BF16
    x = (rng.standard_normal(400) * np.exp2(rng.uniform(-40, 20, 400))).astype(np.float32)
    cut = np.uint32(0xFFFFF000 if dtype is f16 else 0xFFFF8000)
    x[:200] = (x[:200].view(np.uint32) & cut).view(np.float32)  # makes ties
    for saturate in (False, True):
        few = round_to_format(x, fmt, RoundMode[mode], saturate)
        expected = [model.to_float(model.decode("f32", int(c)), dtype.name, mode, saturate) for c in x.view(np.uint32)]
        assert [model.decode(dtype.name, int(c)) for c in few] == expected
        many = round_to_format(np.tile(x, 400).reshape(400, 400), fmt, RoundMode[mode], saturate)
        assert (many == few).all()
        assert (round_to_format(x.astype(np.float64), fmt, RoundMode[mode], saturate) == few).all()


@pytest.mark.parametrize("mode", MODES)
def test_any_f32_bits_round_alike_by_bits_and_by_parts(mode):
    x = np.random.default_rng(11).integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
    for fmt in (F16, BF16):
        for saturate in (False, True):
            with np.errstate(invalid="ignore"):
                by_parts = round_to_format(x.astype(np.float64), fmt, RoundMode[mode], saturate)
            assert (round_to_format(x, fmt, RoundMode[mode], saturate) == by_parts).all()


def test_wide_integers_round_to_odd_so_that_the_next_rounding_is_right():
    v = np.array([2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1, 2**60 + 2**36 + 1, 12345], np.int64)
    wide = int_to_float(v)
    for value, x in zip(v.tolist(), wide.tolist(), strict=True):
        for mode in MODES:
            got = narrow(np.array([x]), model_f32(), RoundMode[mode])
            expected = model.to_float(model.Fraction(value), "f32", mode, False)
            assert model.decode("f32", int(got.view(np.uint32)[0])) == expected


def model_f32():
    from ptokit.types.dtypes import f32

    return f32
