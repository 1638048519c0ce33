"""`pto.quant`: the fields of quantisation words, and what the fix-pipe makes of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptokit as pto
from ptokit.isa.numerics.quant import Word

KNOWN = [
    ({"scale": 1.0}, 0x0000_4000_3F80_0000),
    ({"scale": 1.0, "zero": 1}, 0x0000_4020_3F80_0000),
    ({"scale": 1.0, "zero": 300}, 0x0000_6580_3F80_0000),
    ({"scale": 0.1}, 0x0000_4000_3DCC_CCCD),
    ({"scale": 0.5, "signed": False}, 0x0000_0000_3F00_0000),
    ({"scale": 0.0, "signed": False, "shift": 4}, 0x0000_0003_0000_0000),
    ({"scale": -2.0, "signed": False}, 0x0000_0000_C000_0000),
]


@pytest.mark.parametrize(("fields", "word"), KNOWN)
def test_known_words(fields: dict[str, Any], word: int) -> None:
    made = pto.quant(**fields)
    assert type(made) is int
    assert made == word


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    *(st.integers(0, 511), st.booleans(), st.integers(1, 16)),
)
def test_every_field_comes_back(scale: float, zero: int, signed: bool, shift: int) -> None:
    word = pto.quant(scale, zero, signed=signed, shift=shift)
    fields = Word.parse(word)
    assert word >> 47 == 0
    assert word >> 36 & 1 == 0
    assert (float(fields.scale), int(fields.offset)) == (scale, zero)
    assert (bool(fields.signed), int(fields.shift)) == (signed, shift)
    assert pto.quant([scale] * 3, zero, signed=signed, shift=shift).tolist() == [word] * 3


def test_arrays_give_a_word_for_each_column() -> None:
    words = pto.quant(np.array([0.5, 2.0]), np.array([0, 7]))
    assert words.dtype == np.uint64
    assert words.tolist() == [pto.quant(0.5), pto.quant(2.0, 7)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ((1e50,), "the scale 1e+50 is no finite f32"),
        ((float("nan"),), "no finite f32"),
        ((1.0, 512), "zero is an integer from 0 to 511, not 512"),
        ((1.0, -1), "zero is an integer"),
        ((1.0, 0.5), "zero is an integer"),
        (("x",), "could not convert"),
    ],
)
def test_what_a_field_cannot_hold_is_refused(fields: tuple[Any, ...], said: str) -> None:
    with pytest.raises(pto.DiagnosticError, match=re.escape(said)) as refused:
        pto.quant(*fields)
    assert refused.value.diagnostics[0].rule == "LANG-CALL"
    with pytest.raises(pto.DiagnosticError):
        pto.quant(1.0, shift=17)


@pytest.mark.parametrize(("signed", "low", "high"), [(True, -128, 127), (False, 0, 255)])
def test_the_fix_pipe_does_what_the_word_says(signed: bool, low: int, high: int) -> None:
    element = pto.i8 if signed else pto.u8

    @pto.kernel(target="a2a3")
    def drain(a: pto.Ptr[pto.i8], b: pto.Ptr[pto.i8], y: Any):
        nz = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
        a_l1, b_l1 = (pto.Tile(pto.TileType.Mat, pto.i8, 32, 32, **nz) for _ in pto.static_range(2))
        left, right, acc = pto.TileLeft(pto.i8, 32, 32), pto.TileRight(pto.i8, 32, 32), pto.TileAcc(pto.i32, 32, 32)
        pto.TLOAD(a_l1, pto.GlobalTensor(a, (32, 32)))
        pto.TLOAD(b_l1, pto.GlobalTensor(b, (32, 32)))
        pto.TMOV(left, a_l1)
        pto.TMOV(right, b_l1)
        pto.TMATMUL(acc, left, right)
        pto.TSTORE(pto.GlobalTensor(y, (32, 32)), acc, pto.quant(0.25, 3, signed=signed))

    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 9, (32, 32)).astype(np.int8) for _ in range(2))
    y = np.zeros((32, 32), np.dtype(element.value))
    drain(a, b, y)
    product = a.astype(np.int32) @ b.astype(np.int32)
    rounded = np.clip(np.rint(product * 0.25), -256, 255)
    assert np.array_equal(y, np.clip(rounded + 3, low, high).astype(y.dtype))
    assert len(np.unique(y)) > 20
