"""Pad values: the table and the examples of types-and-layouts 4."""

import numpy as np
import pytest

from ptokit.types.dtypes import DTYPES, bf16, e4m3, f16, f32, i8, i16, i32, i64, u8, u16, u32, u64
from ptokit.types.enums import PadValue
from ptokit.types.tensor import is_custom, pad_bits

LIMITS = {
    f32: (0xFF800000, 0x7F800000),
    f16: (0xFC00, 0x7C00),
    bf16: (0xFF80, 0x7F80),
    i32: (0x80000000, 0x7FFFFFFF),
    i16: (0x8000, 0x7FFF),
    i8: (0x80, 0x7F),
    u32: (0, 0xFFFFFFFF),
    u16: (0, 0xFFFF),
    u8: (0, 0xFF),
}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_table(dtype):
    low, high = LIMITS.get(dtype, (0, 0))
    bits = [pad_bits(dtype, pad) for pad in (PadValue.Null, PadValue.Zero, PadValue.Min, PadValue.Max)]
    assert bits == [0, 0, low, high]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
def test_limits_are_the_limits_of_the_type(dtype):
    def value(pad):
        return np.array([pad_bits(dtype, pad)], dtype.storage).view(dtype.value)[0]

    if dtype.is_float:
        assert (value(PadValue.Min), value(PadValue.Max)) == (-np.inf, np.inf)
    else:
        assert (value(PadValue.Min), value(PadValue.Max)) == (np.iinfo(dtype.value).min, np.iinfo(dtype.value).max)


def test_custom_bits_fill_one_element():
    pad = 0x1_0000_0000 | 0xA1B2C3D4
    assert pad_bits(f32, pad) == 0xA1B2C3D4
    assert pad_bits(f16, pad) == 0xC3D4
    assert pad_bits(e4m3, pad) == 0xD4
    assert pad_bits(i64, pad) == pad_bits(u64, pad) == 0xA1B2C3D4A1B2C3D4
    assert pad_bits(i64, pad, wide=False) == 0
    assert not is_custom(PadValue.Max)
