"""Meaning as data: types of nodes, what follows from the words, and that the table of primitives says what they do."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.isa.meaning.expressions import (
    BOOL,
    COLUMN,
    ROW,
    Bit,
    Const,
    Convert,
    Element,
    Scalar,
    exp,
    greater,
    leaves,
    maximum,
    select,
    type_of,
)
from ptokit.isa.meaning.primitives import PRIMITIVES
from ptokit.isa.meaning.sentence import sentence
from ptokit.isa.meaning.words import Lane, Python, Write, lane
from ptokit.isa.table import TABLE
from ptokit.types.dtypes import DTYPES

A, B, S = Element("src0"), Element("src1"), Scalar("scalar", "src0")
TYPES = {"src0": DTYPES["f16"], "src1": DTYPES["f16"], "dst": DTYPES["f32"]}


def test_types_of_nodes() -> None:
    assert type_of(A + 1, TYPES) is DTYPES["f16"]
    assert type_of(Const(1, Convert(A, "dst")), TYPES) is DTYPES["f32"]
    assert type_of(greater(A, S), TYPES) == BOOL
    assert type_of(select(greater(A, 0), Convert(A, "dst"), 0), TYPES) is DTYPES["f32"]
    assert type_of(Bit("mask"), TYPES) == BOOL
    assert type_of(S, TYPES) is DTYPES["f16"]


def test_leaves_are_found_once_and_constants_read_nothing() -> None:
    assert list(leaves(select(greater(A, 0), A, A * B))) == [A, B]
    assert list(leaves(maximum(S, 0))) == [S]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (lane((A + B) * 2), "dst = (src0 + src1) * 2"),
        (lane(A - Element("src1", COLUMN)), "dst[i,j] = src0[i,j] - src1[i,0]"),
        (lane(exp(A - Element("src1", ROW))), "dst[i,j] = exp(src0[i,j] - src1[0,j])"),
        (lane(select(Bit("mask"), A, S)), "dst = mask bit ? src0 : scalar"),
        (lane(maximum(A - B, 0)), "dst = max(src0 - src1, 0)"),
        (Lane((Write("lo", A), Write("hi", -B))), "lo = src0; hi = -src1"),
        (Python(print), ""),
    ],
)
def test_sentences(word: Lane, text: str) -> None:
    assert sentence(word) == text


def test_every_instruction_that_runs_has_a_meaning() -> None:
    assert [i.name for i in TABLE.values() if (i.run is None) != (i.meaning is None)] == []


@pytest.mark.parametrize("name", PRIMITIVES)
def test_numpy_forms_take_an_array_to_write(name: str) -> None:
    """Values of every primitive, written in place of its first argument where that has the result's type."""
    p = PRIMITIVES[name]
    number = np.array([[[1, 2, 3, 4]]], np.float32 if p.for_floats else np.int32)
    args = [number.copy() for k in range(3) if f"{{{k}}}" in p.words]
    if name == "select":
        args[0] = number > 2
    result = p.numpy(*args)
    out = np.empty(number.shape, result.dtype)
    p.numpy(*args, out=out)
    assert (out == result).all()
    assert (result.dtype == bool) == p.gives_condition
    if not p.gives_condition:
        assert result.dtype == number.dtype
        p.numpy(*args, out=args[-1])
        assert (args[-1] == result).all()
