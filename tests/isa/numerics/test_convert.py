"""TCVT: every pair of every target against exact fractions, and the vectors of compute-elementwise 8.5 and 8.7."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptokit.isa.meaning.primitives import INTEGRAL, PRIMITIVES
from ptokit.isa.numerics.unary import CVT_PAIRS, Rounding, conversion, converter
from ptokit.targets import A2A3, A5, CPU, TARGETS
from ptokit.types.dtypes import DTYPES, bf16, e1m2, e2m1, f16, f32, hif8, i8, i16, i32, i64, int4, u8, u16, u32
from ptokit.types.enums import RoundMode, SaturationMode
from tests.each import each

from . import model


def convert(values, src, dst, *, mode, sat, target, tmp=False):
    """Values of TCVT."""
    how = conversion(src, dst, mode=mode, sat=sat, target=target, tmp=tmp)
    if src is dst:
        return PRIMITIVES[INTEGRAL[how.rounding]].numpy(values)
    if how.through is not None:
        values, src = converter(src, how.through, how.rounding, True)(values), how.through
    return converter(src, dst, how.rounding, how.saturate)(values)


ON, OFF = SaturationMode.ON, SaturationMode.OFF
CASES = [(t, *pair) for t, pairs in CVT_PAIRS.items() for pair in pairs]
EDGES = [2.0**k for k in (-25, -24, -23, -22, -15, -14, -10, 7, 8, 15, 16, 31, 32, 63, 64, 100)]
EDGES += [0, 0.5, 1.5, 2.5, 0.25, 0.75, 1.75, 1.875, 2, 5, 6, 7, 8, 127.5, 128.5, 255.5, 448, 464, 480, 57344, 61440]
EDGES += [65504, 65519, 65520, 65535.5, 32768, 40959, 40960, 32767.5, 3e38, np.inf, np.nan, 1.0625, 8.5, 18]
EDGES += [3 * 2.0**-23, 3 * 2.0**-24, 3 * 2.0**-25, 40000, 3e9, 0.1, 9.2233715e18]


def test_pair_counts():
    """compute-elementwise 8.2."""
    assert len(CVT_PAIRS["a2a3"]) == 25
    assert len(CVT_PAIRS["a5"]) == 45
    assert set(CVT_PAIRS["cpu"]) == set(CVT_PAIRS["a2a3"]) | set(CVT_PAIRS["a5"])
    for missing in [(u16, f32), (u32, f32), (f16, bf16), (f32, i8), (i8, f32), (i8, u8)]:
        assert all(missing not in pairs for pairs in CVT_PAIRS.values())
    with pytest.raises(KeyError):
        convert(np.zeros(1, np.int32), i32, f16, mode=RoundMode.RINT, sat=None, target=A5)


def test_default_saturation():
    """Off by default are six kinds of narrowing to integers, and hif8; f32 to f16 and bf16 overflow on A2/A3."""
    off = {(f32, i16), (f16, i16), (f16, i8), (f16, u8), (i32, i16), (i64, i32)}
    assert {k for k, p in CVT_PAIRS["a5"].items() if not p.saturates} == off | {(f32, hif8), (f16, hif8)}
    assert {k for k, p in CVT_PAIRS["a2a3"].items() if not p.saturates} == off | {(f32, f16), (f32, bf16)}
    assert {k for k, p in CVT_PAIRS["cpu"].items() if p.odd} == {(f32, f16)}


def test_pairs_that_honour_an_explicit_saturation_mode():
    """The (c) marks of compute-elementwise 8.2, and on A2/A3 the two float destinations that can overflow."""
    narrowing = {(f32, i16), (f16, i16), (f16, i8), (f16, u8), (i32, i16), (i64, i32)}
    more = {(f32, f16), (f32, bf16)}
    a5 = {(f32, i32), (f32, i64), (f16, i32), (bf16, i32), (bf16, f16), (i16, f16), (i16, u8), (i32, u16), (i32, u8)}
    a5 |= {(u32, u8), (u32, u16), (u32, i16)}
    a5 |= {(f32, hif8), (f16, hif8)}  # saturates where it is asked to; device suites keep infinities without a mode
    honouring = {t: {k for k, p in pairs.items() if p.honours_sat} for t, pairs in CVT_PAIRS.items()}
    assert honouring["a2a3"] == narrowing | more
    assert honouring["a5"] == narrowing | more | a5
    assert honouring["cpu"] == set(CVT_PAIRS["cpu"])


def samples(name: str) -> np.ndarray:
    """Codes of the source type: random bits and the neighbourhoods of the limits of all destinations."""
    dtype = DTYPES[name]
    rng = np.random.default_rng(len(name) + dtype.bits)
    if dtype.bits <= 8:
        return np.arange(256, dtype=np.uint8)
    if dtype.is_integer:
        info = np.iinfo(dtype.value)
        near = [s * (1 << k) + d for k in (7, 8, 11, 15, 16, 24, 31, 53, 63) for s in (1, -1) for d in (-1, 0, 1)]
        near += [65504, 65519, 65520, 65535, (1 << 24) + 1, (1 << 24) + 3, (1 << 62) + (1 << 38) + 1]
        values = [v for v in near if info.min <= v <= info.max]
        scaled = rng.integers(info.min, info.max, 40, dtype=dtype.value, endpoint=True) >> rng.integers(
            0, dtype.bits, 40
        )
        return np.concatenate([np.array(values, dtype.value), scaled.astype(dtype.value)]).view(dtype.storage)
    with np.errstate(over="ignore"):
        edges = np.array([*EDGES, *(-v for v in EDGES)], np.float32).astype(dtype.value).view(dtype.storage)
        spread = (rng.standard_normal(60) * np.exp2(rng.uniform(-30, 40, 60))).astype(dtype.value).view(dtype.storage)
    top = np.iinfo(dtype.storage).max
    random = rng.integers(0, top, 40, dtype=dtype.storage, endpoint=True)
    return np.concatenate([edges, edges - 1, edges + 1, spread, random])


def expected(src, dst, pair, number, mode: str, saturate: bool):
    """What compute-elementwise 8.3 and 8.5 say, in fractions."""
    fixed = {Rounding.EVEN: "RINT", Rounding.AWAY: "ROUND", Rounding.EXACT: "RINT"}.get(pair.rounding)
    default = "TRUNC" if pair.rounding is Rounding.MODE_ZERO else "RINT"
    if fixed:
        mode = fixed
    elif mode == "CAST_RINT":
        mode = "RINT"
    elif mode == "NONE" or (mode == "ODD" and (src, dst) != (f32, f16)):
        mode = default
    if src is f32 and dst is f32:
        if isinstance(number, str):
            return number
        n = model.rounded(abs(number), mode, number < 0)
        return ("-0" if n == 0 else Fraction(-n)) if number < 0 else Fraction(n)
    if dst.is_integer:
        if (src, dst) == (i16, u32) and saturate:
            return max(number, Fraction(0))
        return model.to_integer(number, dst.name, mode, saturate)
    if pair.rounding is Rounding.EXACT:
        return number
    if number == "nan" and saturate and dst.name in ("e4m3", "e5m2", "hif8"):
        return Fraction(0)
    return model.to_float(number, dst.name, mode, saturate)


@pytest.mark.parametrize(("target", "src", "dst"), CASES, ids=lambda v: str(v))
def test_pair_against_fractions(target, src, dst):
    pair = CVT_PAIRS[target][src, dst]
    codes = samples(src.name)[:: 1 if src.bits <= 8 else 2]
    numbers = [model.decode(src.name, int(c)) for c in codes]
    if src.name in ("e2m1", "e1m2", "int4"):
        numbers = [model.decode(src.name, int(c) & 0xF) for c in codes]
    values = codes if src.value is None else codes.view(src.value)
    for mode in RoundMode:
        for sat in (None, ON, OFF):
            saturate = pair.saturates if sat is None or not pair.honours_sat else sat is ON
            got = convert(values, src, dst, mode=mode, sat=sat, target=TARGETS[target])
            assert got.dtype == (np.dtype(np.uint8) if dst.value is None else dst.value)
            for number, code in zip(numbers, got.view(dst.storage).tolist(), strict=True):
                want = expected(src, dst, pair, number, mode.name, saturate)
                assert model.decode(dst.name, code) == want, (number, mode.name, sat)


@pytest.mark.parametrize(
    ("src", "dst", "x", "off", "on"),
    [
        (f16, i8, -200, 56, -128),
        (f16, i8, 200, -56, 127),
        (f16, u8, -100, 156, 0),
        (f16, u8, 300, 44, 255),
        (f16, u8, np.inf, 255, 255),
        (f16, i8, np.inf, -1, 127),
        (f16, i8, -np.inf, 0, -128),
        (f16, i8, np.nan, 0, 0),
        (f32, i16, 40000, -25536, 32767),
        (f32, i16, -40000, 25536, -32768),
        (i32, i16, 40000, -25536, 32767),
        (i32, i16, -40000, 25536, -32768),
        (i64, i32, 3000000000, -1294967296, 2147483647),
        (f32, i16, 3e9, 24064, 32767),
    ],
    ids=str,
)
def test_integer_range_vectors(src, dst, x, off, on):
    """compute-elementwise 8.5, second table."""
    for target in (name for name, pairs in CVT_PAIRS.items() if (src, dst) in pairs):
        for sat, want in ((OFF, off), (ON, on), (None, off)):
            got = convert(np.array([x], src.value), src, dst, mode=RoundMode.RINT, sat=sat, target=TARGETS[target])
            assert got.tolist() == [want]


def test_f32_to_i32_default_is_toward_zero():
    x = np.array([2.5, -2.5], np.float32)
    results = {m.name: convert(x, f32, i32, mode=m, sat=None, target=A5).tolist() for m in RoundMode}
    assert results["RINT"] == results["CAST_RINT"] == [2, -2]
    assert results["ROUND"] == [3, -3]
    assert results["FLOOR"] == [2, -3]
    assert results["CEIL"] == [3, -2]
    assert results["TRUNC"] == results["ODD"] == results["NONE"] == [2, -2]


def test_the_a2a3_form_with_tmp_saturates_an_i32_on_the_way():
    """compute-elementwise 8.5: 3e9 gives -1 and -3e9 gives 0, where the native instruction wraps the exact value."""
    x = np.array([3e9, -3e9, 40000, np.inf, -np.inf, np.nan], np.float32)
    native = convert(x, f32, i16, mode=RoundMode.RINT, sat=OFF, target=A2A3)
    assert native.tolist() == [24064, -24064, -25536, -1, 0, 0]
    assert convert(x, f32, i16, mode=RoundMode.RINT, sat=OFF, target=A2A3, tmp=True).tolist() == [
        *(-1, 0, -25536),
        *(-1, 0, 0),
    ]
    wrapped = convert(x[:1], f32, i32, mode=RoundMode.RINT, sat=OFF, target=A2A3, tmp=True)
    assert wrapped.tolist() == [3000000000 - (1 << 32)]
    assert convert(x[:1], f32, i32, mode=RoundMode.RINT, sat=OFF, target=A2A3).tolist() == [(1 << 31) - 1]


def test_largest_i64_is_reached_from_above():
    x = np.array([2.0**63, 1.5 * 2.0**63, 1e30, -(2.0**63), -1e30], np.float32)
    high, low = (1 << 63) - 1, -(1 << 63)
    got = convert(x, f32, i64, mode=RoundMode.RINT, sat=ON, target=A5)
    assert got.tolist() == [high, high, high, low, low]


def test_negative_i16_to_u32():
    """Clamped to 0 as the upstream golden does; the cpu profile keeps the bits when saturation is off."""
    v = np.array([-1, 5], np.int16)
    assert convert(v, i16, u32, mode=RoundMode.RINT, sat=OFF, target=A5).tolist() == [0, 5]
    assert convert(v, i16, u32, mode=RoundMode.RINT, sat=ON, target=CPU).tolist() == [0, 5]
    assert convert(v, i16, u32, mode=RoundMode.RINT, sat=OFF, target=CPU).tolist() == [0xFFFFFFFF, 5]


def test_int4_clamps():
    x = np.array([-9, -8, 7.5, 6.5, 100, -0.6], np.float16)
    assert convert(x, f16, int4, mode=RoundMode.RINT, sat=None, target=A2A3).tolist() == [8, 8, 7, 6, 7, 0xF]
    assert convert(np.arange(16, dtype=np.uint8), int4, f16, mode=RoundMode.RINT, sat=None, target=A2A3).tolist() == [
        *range(8),
        *range(-8, 0),
    ]


def test_bf16_to_fp4():
    """Ties to the even code, saturation, sign of zero (compute-elementwise 8.7; compute-reduce-matrix 20)."""
    x = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 7, -0.0, np.inf, -100], ml_dtypes.bfloat16)
    got = convert(x, bf16, e2m1, mode=RoundMode.RINT, sat=None, target=A5)
    assert got.tolist() == [0, 2, 2, 4, 4, 6, 6, 7, 8, 7, 15]
    y = np.array([0.125, 0.375, 1.625, 1.8, 2, -3], ml_dtypes.bfloat16)
    assert convert(y, bf16, e1m2, mode=RoundMode.RINT, sat=None, target=A5).tolist() == [0, 2, 6, 7, 7, 15]
    nan = np.array([np.nan], ml_dtypes.bfloat16)
    assert convert(nan, bf16, e2m1, mode=RoundMode.RINT, sat=None, target=A5).tolist() == [7]


def test_shapes_views_and_empty_arrays():
    x = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    assert convert(x[:, ::2, 1:], f16, i8, mode=RoundMode.RINT, sat=None, target=A5).shape == (2, 2, 3)
    strided = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::3]
    for dst in (f16, bf16, i32, DTYPES["hif8"], DTYPES["e4m3"], f32):
        got = convert(strided, f32, dst, mode=RoundMode.RINT, sat=None, target=A5)
        assert got.shape == (2, 2)
        assert model.decode(dst.name, int(got.view(dst.storage)[1, 0])) == 12
        none = convert(np.zeros((0, 8), np.float32), f32, dst, mode=RoundMode.ROUND, sat=OFF, target=A5)
        assert none.shape == (0, 8)
    assert convert(np.array([3], np.int8), i8, i16, mode=RoundMode.RINT, sat=None, target=A5).tolist() == [3]
    assert convert(np.array([3], np.uint8), u8, u16, mode=RoundMode.RINT, sat=None, target=A5).tolist() == [3]


@pytest.mark.parametrize(("dst", "code"), [(f16, 0x7E00), (bf16, 0x7FC0)], ids=str)
def test_narrowing_knows_one_nan(dst, code):
    x = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    got = converter(f32, dst, RoundMode.RINT, False)(np.append(x, np.float32(1)))
    assert got.view(np.uint16).tolist()[:4] == [code] * 4


@each("src", [f32, f16])
def test_hif8_keeps_infinities_and_nan(src):
    x = np.array([np.inf, -np.inf, np.nan, -0.0], np.float32).astype(src.value)
    got = convert(x, src, DTYPES["hif8"], mode=RoundMode.RINT, sat=None, target=A5)
    assert got.tolist() == [0x6F, 0xEF, 0x80, 0]
