"""Codes of every element type: tables of types-and-layouts 1, round trips, and what encoding must satisfy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptokit.types import codecs
from ptokit.types.codecs import decode, decode_table, encode, narrow_integers, pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DTYPES, e1m2, e2m1, e4m3, e5m2, e8m0, f16, hif8, i8, i16, i32, i64, int4, u8, u64
from ptokit.types.enums import RoundMode

SMALL = [t for t in DTYPES.values() if t.bits <= 8]
FLOATS = [t for t in DTYPES.values() if t.is_float]

# types-and-layouts 1.9, positive decode table: base code and its eight values
HIF8_TABLE = {
    0x00: [0, *(2.0**e for e in range(-22, -15))],
    0x08: [1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875],
    0x10: [2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 3.75],
    0x18: [0.5, 0.5625, 0.625, 0.6875, 0.75, 0.8125, 0.875, 0.9375],
    0x20: [4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5],
    0x28: [8, 9, 10, 11, 12, 13, 14, 15],
    0x30: [0.25, 0.28125, 0.3125, 0.34375, 0.375, 0.40625, 0.4375, 0.46875],
    0x38: [0.125, 0.140625, 0.15625, 0.171875, 0.1875, 0.203125, 0.21875, 0.234375],
    0x40: [16, 20, 24, 28, 32, 40, 48, 56],
    0x48: [64, 80, 96, 112, 128, 160, 192, 224],
    0x50: [0.0625, 0.078125, 0.09375, 0.109375, 0.03125, 0.0390625, 0.046875, 0.0546875],
    0x58: [0.015625, 0.01953125, 0.0234375, 0.02734375, 0.0078125, 0.009765625, 0.01171875, 0.013671875],
    0x60: [256, 384, 512, 768, 1024, 1536, 2048, 3072],
    0x68: [4096, 6144, 8192, 12288, 16384, 24576, 32768, np.inf],
    0x70: [2.0**-8, 1.5 * 2**-8, 2.0**-9, 1.5 * 2**-9, 2.0**-10, 1.5 * 2**-10, 2.0**-11, 1.5 * 2**-11],
    0x78: [2.0**-12, 1.5 * 2**-12, 2.0**-13, 1.5 * 2**-13, 2.0**-14, 1.5 * 2**-14, 2.0**-15, 1.5 * 2**-15],
}


def codes_of(dtype):
    """All codes of a type of at most 16 bits."""
    return np.arange(1 << dtype.bits, dtype=dtype.storage)


def test_hif8_decode_table():
    for base, row in HIF8_TABLE.items():
        codes = np.arange(base, base + 8, dtype=np.uint8)
        assert decode(hif8, codes).tolist() == row
        if base:
            assert decode(hif8, codes | np.uint8(0x80)).tolist() == [-v for v in row]
    assert np.isnan(decode(hif8, np.array([0x80]))[0])
    assert not np.signbit(decode(hif8, np.array([0]))[0])
    values = decode(hif8, codes_of(hif8))
    assert len(set(values[np.isfinite(values)].tolist())) == 253


@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_hif8_encode_rules(wide):
    x = np.array([1.0625, 8.5, 18, 3 * 2.0**-23, 2.0**-23, -(2.0**-23), 2.0**-24, 0.0, -0.0, np.nan, 40959], wide)
    assert encode(hif8, x).tolist() == [0x09, 0x29, 0x41, 0x02, 0x01, 0x81, 0x00, 0x00, 0x00, 0x80, 0x6E]
    far = np.array([32768, 32769, 40959, 40960, 1e30, np.inf, -40960, -np.inf], wide)
    assert encode(hif8, far).tolist() == [0x6E] * 6 + [0xEE] * 2
    assert encode(hif8, far, saturate=False).tolist() == [0x6E, 0x6E, 0x6E, 0x6F, 0x6F, 0x6F, 0xEF, 0xEF]


def test_hif8_other_rounding_modes():
    x = np.array([1.0625, -1.0625, 1.1, -1.1, 8.5, 9.5, 36000], np.float32)
    results = {m: codecs.hifloat8_codes(x, m, saturate=False).tolist() for m in RoundMode}
    assert results[RoundMode.RINT] == [0x08, 0x88, 0x09, 0x89, 0x28, 0x2A, 0x6E]
    assert results[RoundMode.ROUND] == [0x09, 0x89, 0x09, 0x89, 0x29, 0x2A, 0x6E]
    assert results[RoundMode.FLOOR] == [0x08, 0x89, 0x08, 0x89, 0x28, 0x29, 0x6E]
    assert results[RoundMode.CEIL] == [0x09, 0x88, 0x09, 0x88, 0x29, 0x2A, 0x6F]
    assert results[RoundMode.TRUNC] == [0x08, 0x88, 0x08, 0x88, 0x28, 0x29, 0x6E]
    assert results[RoundMode.ODD] == [0x09, 0x89, 0x09, 0x89, 0x29, 0x29, 0x6E]


def test_fp4_tables():
    magnitudes = {e2m1: [0, 0.5, 1, 1.5, 2, 3, 4, 6], e1m2: [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]}
    for dtype, row in magnitudes.items():
        values = decode(dtype, codes_of(dtype))
        assert values.tolist() == row + [-v for v in row]
        assert np.signbit(values[8])


def test_fp8_landmarks():
    assert decode(e4m3, [0x7E, 0x08, 0x01, 0x80, 0x38]).tolist() == [448, 2**-6, 2**-9, 0, 1]
    assert np.isnan(decode(e4m3, [0x7F, 0xFF])).all()
    assert decode(e5m2, [0x7B, 0x7C, 0xFC, 0x01, 0x3C]).tolist() == [57344, np.inf, -np.inf, 2**-16, 1]
    assert np.isnan(decode(e5m2, [0x7D, 0x7E, 0x7F])).all()


@pytest.mark.parametrize("dtype", [t for t in FLOATS if 8 <= t.bits <= 16], ids=str)
def test_nan_codes_decode_to_quiet_nan(dtype):
    values = decode(dtype, codes_of(dtype))
    nan = values[np.isnan(values)].view(np.uint32)
    assert nan.size
    assert (nan & 0x00400000 != 0).all()


def test_e8m0_is_a_power_of_two_without_sign_or_zero():
    values = decode(e8m0, codes_of(e8m0)).astype(np.float64)
    assert (values[:255] == 2.0 ** (np.arange(255) - 127)).all()
    assert np.isnan(values[255])
    x = np.array([1, 1.4, 1.42, 3, 0, -1, np.nan, np.inf, 2.0**-140, 3e38], np.float32)
    assert encode(e8m0, x).tolist() == [127, 127, 128, 129, 0, 255, 255, 254, 0, 254]
    assert encode(e8m0, np.array([np.inf]), saturate=False).tolist() == [255]
    y = np.array([1.1, 0.9, 3.9])  # exponents 0 (up to 1), -1 (up to 0), 1 (up to 2)
    assert encode(e8m0, y, rounding=RoundMode.FLOOR).tolist() == [127, 126, 128]
    assert encode(e8m0, y, rounding=RoundMode.CEIL).tolist() == [128, 127, 129]
    assert encode(e8m0, y, rounding=RoundMode.TRUNC).tolist() == [127, 127, 128]
    assert encode(e8m0, y, rounding=RoundMode.ODD).tolist() == [128, 126, 128]


def test_int4_is_sign_extended():
    assert decode(int4, codes_of(int4)).tolist() == [*range(8), *range(-8, 0)]
    assert decode(int4, [0xF3]).tolist() == [3]  # only the low nibble counts
    assert encode(int4, np.array([-9, -8, -1, 7, 8])).tolist() == [8, 8, 15, 7, 7]
    assert encode(int4, np.array([-9, 8]), saturate=False).tolist() == [7, 8]
    assert encode(int4, np.array([200], np.uint8)).tolist() == [7]
    assert encode(int4, np.array([6.5, 7.9, -8.6, np.nan])).tolist() == [6, 7, 8, 0]


@pytest.mark.parametrize("dtype", [t for t in DTYPES.values() if t.bits <= 16], ids=str)
@pytest.mark.parametrize("wide", [None, np.float64], ids=["own", "f64"])
def test_every_code_survives_a_round_trip(dtype, wide):
    codes = codes_of(dtype)
    values = decode(dtype, codes)
    with np.errstate(invalid="ignore"):
        again = encode(dtype, values if wide is None else values.astype(wide), saturate=False)
    assert again.dtype == dtype.storage
    same = ~np.isnan(values.astype(np.float64))
    assert (again == codes)[same].all()
    assert np.isnan(decode(dtype, again[~same]).astype(np.float64)).all()


@pytest.mark.parametrize("dtype", [i32, i64, u64, DTYPES["u32"]], ids=str)
def test_wide_integers_survive_a_round_trip(dtype):
    info = np.iinfo(dtype.value)
    values = np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype.value)
    assert (decode(dtype, encode(dtype, values)) == values).all()


ML_DTYPES = {
    e4m3: ml_dtypes.float8_e4m3fn,
    e5m2: ml_dtypes.float8_e5m2,
    e2m1: ml_dtypes.float4_e2m1fn,
    f16: np.float16,
    DTYPES["bf16"]: ml_dtypes.bfloat16,
}


@pytest.mark.parametrize("dtype", ML_DTYPES, ids=str)
def test_encoding_agrees_with_ml_dtypes(dtype):
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(40000) * np.exp2(rng.uniform(-30, 30, 40000))).astype(np.float32)
    halves = decode(dtype, codes_of(dtype)).astype(np.float64)
    halves = np.unique(halves[np.isfinite(halves)])
    x = np.concatenate([x, ((halves[1:] + halves[:-1]) / 2).astype(np.float32), np.float32([0, -0.0, np.inf, -np.inf])])
    with np.errstate(over="ignore"):
        reference = x.astype(ML_DTYPES[dtype])
    codes = encode(dtype, x, saturate=False)
    nan = np.isnan(reference.astype(np.float32))
    assert (codes == reference.view(dtype.storage))[~nan].all()
    assert np.isnan(decode(dtype, codes[nan])).all()


@pytest.mark.parametrize("dtype", [t for t in FLOATS if t.bits <= 16 and t is not e8m0], ids=str)
@given(data=st.data())
def test_encoding_is_nearest_and_monotonic(dtype, data):
    values = np.sort(data.draw(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))).astype("f4")
    codes = encode(dtype, values)
    got = decode(dtype, codes).astype(np.float64)
    assert (np.diff(got) >= 0).all()
    grid = decode(dtype, codes_of(dtype)).astype(np.float64)
    grid = grid[np.isfinite(grid)]
    bounded = np.clip(values.astype(np.float64), grid.min(), grid.max())
    distance = np.abs(grid[None, :] - bounded[:, None]).min(axis=1)
    assert (np.abs(got - bounded) == distance).all()


@pytest.mark.parametrize("dtype", [t for t in FLOATS if t is not e8m0], ids=str)
@given(x=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_directed_modes_enclose_the_value(dtype, x):
    def rounded(mode):
        return float(decode(dtype, encode(dtype, np.array([x]), rounding=mode, saturate=False))[0])

    limit = {e2m1: 6.0, e1m2: 1.75, e4m3: 448.0}.get(dtype, np.inf)  # these have no infinity
    if abs(x) <= limit:
        down, up = rounded(RoundMode.FLOOR), rounded(RoundMode.CEIL)
        assert down <= x <= up
        assert rounded(RoundMode.TRUNC) == (down if x >= 0 else up)
        assert rounded(RoundMode.RINT) in (down, up)
        assert rounded(RoundMode.ODD) in (down, up)


def test_integers_saturate_or_wrap():
    assert encode(i8, np.array([127, 128, -129, 1000])).view(np.int8).tolist() == [127, 127, -128, 127]
    assert encode(i8, np.array([127, 128, -129, 1000]), saturate=False).tolist() == [127, 128, 127, 232]
    assert encode(u8, np.array([-1, 256], np.int64)).tolist() == [0, 255]
    assert encode(i16, np.array([1.5, 2.5, -40000.0, np.nan])).view(np.int16).tolist() == [2, 2, -32768, 0]
    assert narrow_integers(np.array([2**64 - 1], np.uint64), np.dtype(np.int64), True).tolist() == [2**63 - 1]
    assert narrow_integers(np.array([-5], np.int8), np.dtype(np.uint32), False).tolist() == [2**32 - 5]
    assert encode(u64, np.array([2.0**64, -1.0])).tolist() == [2**64 - 1, 0]
    assert encode(i64, np.array([2.0**65 + 2.0**14]), saturate=False).view(np.int64).tolist() == [2**14]


def test_scalars_python_numbers_and_booleans():
    assert int(encode(f16, 1.0)) == 0x3C00
    assert int(encode(f16, np.nan)) == 0x7E00
    assert encode(f16, [[1, 2], [3, 4]]).shape == (2, 2)
    for dtype in DTYPES.values():
        assert float(decode(dtype, encode(dtype, 1))) == 1
        assert decode(dtype, np.zeros((2, 3), dtype.storage)).shape == (2, 3)
    assert np.isnan(decode(DTYPES["bf16"], np.uint16(0x7F81)))
    assert encode(e4m3, np.array([True, False])).tolist() == [0x38, 0]
    assert encode(f16, np.array([70000, -70000, 2049], np.int32), saturate=False).tolist() == [0x7C00, 0xFC00, 0x6800]
    assert encode(f16, np.array([2**63], np.uint64)).tolist() == [0x7BFF]
    half = np.array([0.5], np.float16)
    assert encode(e2m1, half).tolist() == [1]


def test_tables_cannot_be_changed():
    for dtype in SMALL:
        assert not decode_table(dtype).flags.writeable


def test_nibbles():
    """types-and-layouts 1.6: the even index is the low nibble."""
    assert pack_nibbles(np.array([1, 2, 3, 4])).tolist() == [0x21, 0x43]
    assert pack_nibbles(np.array([1, 2, 3])).tolist() == [0x21, 0x03]
    assert pack_nibbles(np.array([0xF1, 0x12])).tolist() == [0x21]
    assert unpack_nibbles(np.array([0x21, 0x43])).tolist() == [1, 2, 3, 4]
    assert unpack_nibbles(np.array([[0x21], [0x43]]), 1).tolist() == [[1], [3]]
    assert pack_nibbles(np.zeros((3, 0))).shape == (3, 0)


@given(st.integers(0, 3), st.integers(0, 33), st.integers(0, 2**32 - 1))
def test_nibbles_survive_packing(rows, count, seed):
    codes = np.random.default_rng(seed).integers(0, 16, (rows, count), dtype=np.uint8)
    packed = pack_nibbles(codes)
    assert packed.shape == (rows, (count + 1) // 2)
    assert (unpack_nibbles(packed, count) == codes).all()
