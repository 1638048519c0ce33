"""Fix-pipe quantisation: vectors of load-store 6.3 and move-gather-scatter 6.3, and a scalar model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptokit.isa.numerics.quant import (
    FORMS,
    MOVE_MODES,
    STORE_MODES,
    QuantMode,
    Word,
    move_mode,
    quantize,
    relu_of,
    store_mode,
)
from ptokit.targets import A2A3, A5, CPU, TARGETS
from ptokit.types.dtypes import DTYPES, bf16, e4m3, f16, f32, hif8, i8, i16, i32, u8

from ..words import quant_word
from . import model

Q = QuantMode
SIGNED, ONE = 1 << 46, 0x3F800000


def one(mode, x, word, dst, src=f32, target=CPU, **options):
    got = quantize(np.array([x], src.value), dst, mode, word, target=target, **options)
    assert got.dtype == (dst.value or np.uint8)
    return got[0].item()


@pytest.mark.parametrize(
    ("x", "word", "dst", "cpu", "device"),
    [
        (5, 0x000040003F000000, i8, 2, 2),
        (7, 0x000040003F000000, i8, 4, 4),
        (5, 0x000040203F000000, i8, 4, 3),
        (300, 0x000040003F800000, i8, 127, 127),
        (-300, 0x000040003F800000, i8, -128, -128),
        (-3, 0x000000003F800000, u8, 0, 0),
        (300, 0x000000003F800000, u8, 255, 255),
        (12345, 0x000000603C23D70A, u8, 126, 126),
        (-5, 0x00007FE03F000000, i8, 127, 127),
        (215, 0x000040003DCCCCCD, i8, 22, 22),
        (2.5, 0x000040003F800000, i8, 2, 2),
        (-2.5, 0x000040003F800000, i8, -2, -2),
        (0.5, 0x000040203F800000, i8, 2, 1),
        (-300, 0x000065803F800000, i8, 0, 44),
        (-1, 0x000000003F800000, u8, 0, 0),
        (np.nan, 0x000040003F800000, i8, 0, 0),
        (np.inf, 0x000040003F800000, i8, 127, 127),
        (200, 0x000000003F800000, i8, -56, -56),
    ],
)
def test_8_bit_vectors(x, word, dst, cpu, device):
    assert one(Q.QF322B8_PRE, x, word, dst, target=CPU) == cpu
    assert one(Q.QF322B8_PRE, x, word, dst, target=A2A3) == device
    assert one(Q.QF322B8_PRE, x, word, dst, target=A5) == device


def test_8_bit_variants():
    word = 0x00007FE03F000000
    assert one(Q.QF322B8_PRE, -5, word, i8, signed_offset=True) == -4
    assert one(Q.QF322B8_PRE, -5, word, i8, signed_offset=True, target=A5) == -3
    assert one(Q.VQF322B8_PRE, 215, 0x000040003DCCCCCD, i8) == 21  # 19-bit scale
    assert one(Q.QF322B8_PRE, -3, 0x0000400040000000, i8, relu=True) == 0
    assert one(Q.REQ8, 101, 0x3F000000, u8, i32) == 50
    assert one(Q.REQ8, 103, 0x3F000000, u8, i32) == 52
    assert one(Q.REQ8, 1000, 0x000040003DCCCCCD, i8, i32) == 100
    assert one(Q.REQ8, -7, SIGNED | 0x3F000000, i8, i32) == -4  # load-store 13, example 5
    assert one(Q.REQ8, -7, SIGNED | 0x3F000000, i8, i32, relu=True) == 0


def test_half_vectors():
    assert one(Q.DEQF16, 70000, ONE, f16, i32) == 65504
    assert one(Q.DEQF16, 1500, 0x3F801000, f16, i32) == 1501
    assert one(Q.VDEQF16, 1500, 0x3F801000, f16, i32) == 1500
    assert one(Q.QF322F16_PRE, 1e6, ONE, f16) == 65504
    assert one(Q.QF322F16_PRE, np.inf, ONE, f16) == np.inf
    assert np.isnan(one(Q.QF322F16_PRE, np.nan, ONE, f16))
    assert one(Q.QF322F16_PRE, np.inf, ONE, f16, saturate_special=True) == 65504
    assert one(Q.QF322F16_PRE, np.nan, ONE, f16, saturate_special=True) == 0
    assert one(Q.QF322F16_PRE, np.nan, ONE, f16, relu=True) == 0


def test_casts():
    """Overflow follows CTRL[48], which is clear by default (load-store 6.3)."""
    assert one(Q.F322F16, 65520, 0, f16) == np.inf
    assert one(Q.F322F16, -65520, 0, f16, saturate_special=True) == -65504
    assert np.isnan(one(Q.F322F16, np.nan, 0, f16))
    assert one(Q.F322F16, np.nan, 0, f16, saturate_special=True) == 0
    assert one(Q.F322BF16, 3.4e38, 0, bf16) == np.inf
    assert one(Q.F322BF16, 3.4e38, 0, bf16, saturate_special=True) == float(np.uint32(0x7F7F0000).view(np.float32))
    assert one(Q.F322F16, 1 + 3 * 2**-11, 0, f16) == 1 + 2**-9
    assert one(Q.F322F16, -1, 0, f16, relu=True) == 0


def test_bf16_f32_and_8_bit_float_modes():
    half = quant_word(0.5)
    assert one(Q.QF322BF16_PRE, 3.4e38, quant_word(1), bf16) == np.inf
    assert one(Q.QS322BF16_PRE, 257, half, bf16, i32, target=A5) == 128.0
    assert one(Q.QS322BF16_PRE, 259, half, bf16, i32, target=A5) == 130.0
    assert one(Q.QF322F32_PRE, 3, half, f32, target=A5) == 1.5
    assert one(Q.QF322F32_PRE, -np.inf, half, f32, target=A5) == -np.inf
    assert one(Q.QF322HIF8_PRE, 2.125, half, hif8, target=A5) == 0x09
    assert one(Q.QF322HIF8_PRE, 1e9, half, hif8, target=A5) == 0x6E
    for x, code in ((17, 0x50), (1e9, 0x7E), (-np.inf, 0xFE), (np.nan, 0x7F)):
        got = quantize(np.array([x], np.float32), e4m3, Q.QF322FP8_PRE, half, target=A5)
        assert got.view(np.uint8).tolist() == [code]


def test_shifts_saturate_and_floor():
    for mode in (Q.SHIFTS322S16, Q.VSHIFTS322S16):
        assert one(mode, 1001, 0, i16, i32) == 500
        assert one(mode, -1001, 0, i16, i32) == -501
        assert one(mode, 1001, 0x300000000, i16, i32) == 62
        assert one(mode, 70000, 0, i16, i32) == 32767
        assert one(mode, -(2**31), 0, i16, i32) == -32768
        assert one(mode, -(2**31), 0xF00000000, i16, i32) == -32768
        assert one(mode, -5, 0, i16, i32, relu=True) == 0


def test_without_a_mode_the_value_is_converted():
    assert one(Q.NoQuant, -1.5, 0, f32) == -1.5
    assert one(Q.NoQuant, 1e9, 0, i8, i32) == 127
    assert one(Q.NoQuant, -2.7, 0, i8) == -2
    assert one(Q.NoQuant, 7, 0, i32, i32) == 7
    assert one(Q.NoQuant, np.nan, 0, f32, relu=True) == 0


def test_relu_clears_nan_and_negative_zero():
    x = np.array([-0.0, np.nan, -1, 2, np.inf, -np.inf], np.float32)
    got = relu_of(x)
    assert got.tolist() == [0, 0, 0, 2, np.inf, 0]
    assert not np.signbit(got).any()
    assert relu_of(np.array([-3, 3], np.int32)).tolist() == [0, 3]


def test_one_word_per_column():
    words = np.array([quant_word(1, signed=True), quant_word(0.5, 3), quant_word(2, 1, signed=True)], np.uint64)
    x = np.array([[-200, -10, 10], [3, 300, 63.4]], np.float32)
    got = quantize(x, u8, Q.VQF322B8_PRE, words, target=A2A3)
    assert got.view(np.int8).tolist() == [[-128, 0, 21], [3, -103, 127]]  # 153 as unsigned is -103
    relu = quantize(x, u8, Q.VQF322B8_PRE, words, target=A2A3, relu=True)
    assert relu.tolist() == [[0, 0, 21], [3, 153, 127]]
    assert (quantize(x[None], u8, Q.VQF322B8_PRE, words.view(np.int64), target=A2A3) == got).all()
    shifts = np.array([quant_word(0, shift=s) for s in (0, 3, 15)], np.uint64)
    assert quantize(np.full((1, 3), 1 << 17, np.int32), i16, Q.VSHIFTS322S16, shifts, target=CPU).tolist() == [
        [32767, 8192, 2]
    ]


def test_the_source_is_not_touched():
    x = np.array([[-1.5, np.nan, 1e9]], np.float32)
    kept = x.copy()
    for mode, dst in ((Q.QF322B8_PRE, i8), (Q.F322F16, f16), (Q.NoQuant, f32), (Q.QF322F32_PRE, f32)):
        for relu in (False, True):
            out = quantize(x, dst, mode, SIGNED | ONE, relu=relu, target=A5, saturate_special=True)
            assert not np.shares_memory(out, x)
    assert (x.view(np.uint32) == kept.view(np.uint32)).all()


def test_words():
    """load-store 6.2, move-gather-scatter 6.1."""
    assert quant_word(0.5, 1, signed=True) == 0x000040203F000000
    assert quant_word(0.01, 3) == 0x000000603C23D70A
    assert quant_word(1, -1, signed=True) == 0x00007FE03F800000
    word = Word.parse(0x000065833F800000)
    assert (int(word.offset), bool(word.signed), int(word.shift), float(word.scale)) == (300, True, 4, 1.0)
    assert float(Word.parse(0x3DCCCCCD).vector_scale) == 0.0999755859375
    assert float(Word.parse(0x00001FFF).vector_scale) == 0.0
    assert float(Word.parse(0x00002000).vector_scale) == 2.0**-127 * (1 + 1 / 1024)
    assert float(Word.parse(0x80000000).vector_scale) == 0.0
    assert float(Word.parse(0xBF800000).vector_scale) == -1.0
    assert float(Word.parse(0x7F800000).vector_scale) == np.inf
    assert int(Word.parse(-1).offset) == 511


def fraction(x):
    return model.decode("f32", int(np.float32(x).view(np.uint32)))


def in_f32(x):
    return model.to_float(x, "f32", "RINT", False)


def as_fraction(x):
    return model.Fraction(0) if x == "-0" else x


def reference_8_bit(x, scale, offset, signed, target):
    """load-store 6.3 in exact fractions, each binary32 step rounded on its own."""
    product = as_fraction(in_f32(as_fraction(in_f32(x)) * scale))
    low, high = (-128, 127) if signed else (0, 255)

    def rint(v):
        return model.rounded(abs(v), "RINT", v < 0) * (-1 if v < 0 else 1)

    if target == "cpu":
        q = rint(as_fraction(in_f32(product + offset)))
    else:
        q = max(-256, min(255, rint(product))) + offset
    return max(low, min(high, q))


@pytest.mark.parametrize("target", ["cpu", "a2a3", "a5"])
@given(
    x=st.integers(-(2**31), 2**31 - 1) | st.integers(-2000, 2000),
    scale=st.sampled_from([1.0, 0.5, 0.1, 0.25, 1e-3, 3.75, 2.0**-20]),
    offset=st.integers(0, 511) | st.just(0),
    signed=st.booleans(),
)
def test_8_bit_modes_against_fractions(target, x, scale, offset, signed):
    word = quant_word(scale, offset, signed)
    dst = i8 if signed else u8
    want = reference_8_bit(model.Fraction(x), fraction(scale), offset, signed, target)
    assert one(Q.REQ8, x, word, dst, i32, TARGETS[target]) == want
    assert one(Q.QF322B8_PRE, np.float32(x), word, dst, f32, TARGETS[target]) == want
    truncated = np.uint32(word & 0xFFFFE000).view(np.float32)
    want = reference_8_bit(model.Fraction(x), fraction(truncated), offset, signed, target)
    assert one(Q.VREQ8, x, word, dst, i32, TARGETS[target]) == want


def test_mode_numbers():
    """load-store 6.1, move-gather-scatter 5.3."""
    assert [Q.F322F16, Q.VREQ8, Q.REQ8, Q.VDEQF16, Q.DEQF16] == [1, 2, 3, 4, 5]
    assert [Q.VSHIFTS322S16, Q.SHIFTS322S16, Q.F322BF16, Q.VQF322B8_PRE, Q.QF322B8_PRE] == [12, 13, 16, 23, 24]
    assert [Q.QF322F16_PRE, Q.VQF322F16_PRE, Q.QF322BF16_PRE, Q.QS322BF16_PRE] == [32, 33, 34, 35]
    assert Q.VQS322BF16_PRE.number(A5) == 39
    assert Q.VQS322BF16_PRE.number(CPU) == 36


def test_mode_selection():
    assert store_mode(CPU, "cast", f32, f16) is Q.F322F16
    assert store_mode(A2A3, "scalar", f32, f16) is Q.QF322F16_PRE
    assert store_mode(A2A3, "vector", f32, f16) is Q.NoQuant
    assert store_mode(A5, "vector", f32, f16) is Q.VQF322F16_PRE
    assert store_mode(A5, "scalar", f32, f32) is Q.QF322F32_PRE
    assert move_mode(A5, "scalar", f32, f32) is Q.NoQuant
    assert move_mode(A5, "scalar", f32, e4m3) is Q.QF322FP8_PRE
    assert move_mode(A5, "vector", i32, bf16) is Q.VQS322BF16_PRE
    assert move_mode(A5, "cast", i32, f16) is Q.F322F16
    assert move_mode(A2A3, "cast", i32, f16) is Q.NoQuant
    assert move_mode(A2A3, "scalar", i32, i16) is Q.SHIFTS322S16
    assert move_mode(A5, "scalar", i32, i16) is Q.NoQuant
    assert store_mode(CPU, "vector", i32, i8) is Q.VREQ8


@pytest.mark.parametrize("tables", [STORE_MODES, MOVE_MODES], ids=["store", "move"])
@pytest.mark.parametrize("target", ["cpu", "a2a3", "a5"])
def test_every_selected_mode_runs(tables, target):
    for form in FORMS:
        for (src, dst), mode in tables[target][form].items():
            assert mode.per_column == (form == "vector")
            if src in (f32, i32):
                got = quantize(
                    np.array([[3, -4]], src.value), dst, mode, quant_word(1, signed=True), target=TARGETS[target]
                )
                code = got.view(dst.storage)[0]
                if dst.name == "i16":
                    assert got.tolist() == [[1, -2]]
                elif dst is u8:
                    assert got.tolist() == [[3, 252]]
                else:
                    assert [model.decode(dst.name, int(c)) for c in code] == [3, -4]


def test_dtypes_are_the_ones_of_the_tables():
    assert all(d in DTYPES.values() for forms in MOVE_MODES.values() for m in forms.values() for p in m for d in p)
