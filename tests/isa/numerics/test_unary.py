"""Unary functions are correctly rounded, checked with 40-digit arithmetic."""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from ptokit.isa.numerics.unary import FUNCTIONS, HARD, approx_f32, table16, unary
from ptokit.types.codecs import decode_table
from ptokit.types.dtypes import bf16, f16, f32

from ...sweeps import PART, swept
from . import model

PRECISE = Context(prec=40)


def precise(name: str, x: float) -> Decimal:
    d = Decimal(x)
    one = Decimal(1)
    return {
        "exp": lambda: d.exp(PRECISE),
        "log": lambda: d.ln(PRECISE),
        "sqrt": lambda: d.sqrt(PRECISE),
        "rsqrt": lambda: PRECISE.divide(one, d.sqrt(PRECISE)),
        "recip": lambda: PRECISE.divide(one, d),
    }[name]()


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_16_bit_tables_are_correctly_rounded(name, dtype):
    """No f64 result is so close to the middle of two neighbours that its error of one unit could matter."""
    x = decode_table(dtype).astype(np.float64)
    with np.errstate(all="ignore"):
        wide = FUNCTIONS[name](x)
        table = table16(name, dtype)
        rounded = table.astype(np.float64)
        ok = np.isfinite(wide) & np.isfinite(rounded) & (wide != rounded)
        up = np.nextafter(table, dtype.value.type(np.inf)).astype(np.float64)
        down = np.nextafter(table, dtype.value.type(-np.inf)).astype(np.float64)
    neighbour = np.where(wide > rounded, up, down)[ok]
    middle = (rounded[ok] + neighbour) / 2
    inside = np.isfinite(middle)
    assert (np.abs(wide[ok] - middle)[inside] > 4 * np.spacing(np.abs(middle[inside]))).all()
    assert (np.abs(wide[ok] - rounded[ok]) <= np.abs(wide[ok] - neighbour)).all()


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_16_bit_specials(dtype):
    """compute-elementwise 4.6."""

    def apply(name, *values):
        return unary(name, np.array(values, np.float32).astype(dtype.value), dtype).astype(np.float64)

    assert apply("exp", -np.inf, np.inf, 0).tolist() == [0, np.inf, 1]
    assert apply("log", 0, -0.0, 1, np.inf).tolist() == [-np.inf, -np.inf, 0, np.inf]
    assert apply("rsqrt", 0, -0.0, np.inf, 4).tolist() == [np.inf, -np.inf, 0, 0.5]
    assert apply("recip", 0, -0.0, np.inf).tolist() == [np.inf, -np.inf, 0]
    root = apply("sqrt", -0.0, 4)
    assert root.tolist() == [0, 2]
    assert np.signbit(root[0])
    for name in ("log", "sqrt", "rsqrt"):
        assert np.isnan(apply(name, -1, np.nan)).all()
    assert np.isnan(apply("exp", np.nan)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_f32_is_correctly_rounded(name):
    rng = np.random.default_rng(5)
    x = np.exp2(rng.uniform(-20, 6, 300)).astype(np.float32)
    if name in ("exp", "recip"):
        x[::2] *= -1
    got = approx_f32(name)(x)
    for value, result in zip(x.tolist(), got.view(np.uint32).tolist(), strict=True):
        want = model.to_float(Fraction(precise(name, value)), "f32", "RINT", False)
        assert model.decode("f32", result) == want


@pytest.mark.parametrize("name", FUNCTIONS)
def test_out_and_shapes(name):
    x = np.linspace(0.5, 3, 50000, dtype=np.float32).reshape(2, 100, 250)
    fresh = approx_f32(name)(x)
    out = np.empty_like(x)
    assert approx_f32(name)(x, out) is out
    assert (out == fresh).all()
    strided = np.zeros((2, 100, 500), np.float32)
    approx_f32(name)(x, strided[:, :, ::2])
    assert (strided[:, :, ::2] == fresh).all()
    assert (strided[:, :, 1::2] == 0).all()
    assert (unary(name, x, f32) == fresh).all()
    approx_f32(name)(x, x)
    assert (x == fresh).all()
    half = np.array([[1.5, 2.5]], np.float16)
    target = np.empty_like(half)
    assert (unary(name, half, f16, target) == unary(name, half, f16)).all()


# f32 on every machine -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HARD)
def test_hard_cases_are_the_nearest_binary64_rounded_once(name):
    for argument, result in HARD[name].items():
        x = np.uint32(argument).view(np.float32)
        exact = precise(name, float(x))
        assert np.float32(float(exact)).view(np.uint32) == result
        middles = [
            (Decimal(float(np.float32(float(exact)))) + Decimal(float(np.nextafter(np.float32(float(exact)), to)))) / 2
            for to in (np.float32(-np.inf), np.float32(np.inf))
        ]
        assert min(abs(exact - m) for m in middles) < 7 * Decimal(float(np.spacing(np.abs(float(exact)))))


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("units", [-4, -1, 0, 1, 4])
def test_other_libraries_give_the_same_f32(name, units, monkeypatch):
    """A library whose results are off by some units is corrected where that would show."""
    honest = FUNCTIONS[name]
    monkeypatch.setitem(FUNCTIONS, name, lambda x: (honest(x).view(np.int64) + units).view(np.float64))
    approx_f32.cache_clear()
    try:
        x = np.array(list(HARD[name]), np.uint32).view(np.float32)
        assert approx_f32(name)(x).view(np.uint32).tolist() == list(HARD[name].values())
    finally:
        approx_f32.cache_clear()


def hard_cases_in_part(given, _):
    x = np.arange(given["start"], given["start"] + PART, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        y = FUNCTIONS[given["name"]](x.astype(np.float64))
        near = np.abs((y.view(np.int64) & ((1 << 29) - 1)) - (1 << 28)) <= 6
        tiny = np.abs(y) < 2.0**-126  # subnormal in f32: the middle lies higher up in the fraction
        scaled = np.abs(y) * 2.0**149
        between = np.abs(scaled % 1 - 0.5) <= 6 * 2.0**-52 * np.maximum(scaled, 1)
        hit = np.where(tiny, between, near) & np.isfinite(y) & (y != 0) & (y != 1)
    return x[hit].view(np.uint32).tolist()


@pytest.mark.campaign
@pytest.mark.parametrize("name", HARD)
def test_every_hard_case_is_listed(name):
    """All 2^32 arguments: about three minutes for each function and core."""
    assert swept(f"{__name__}:hard_cases_in_part", name=name) == sorted(HARD[name])
