"""Expressions that choose, by truths of Python and of the kernel: all combinations do what Python does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ptokit as pto
from ptokit import Ptr, i64
from ptokit.ir import Op

from .support import finding_of, kernel, ops
from .test_syntax import made

TRUTHS = ("False", "True", "n > 2", "x[0] > n", "not x[1] > n")
NUMBERS = ("0", "3", "n", "x[1]", "x[0] - 4")
SIZES = (-1, 0, 2, 5)


def compare(expressions: list[str], *, count: int = 16) -> None:
    """Every expression in a kernel and in Python; several are one kernel, since each takes a while to compile."""
    for first in range(0, len(expressions), count):
        part = expressions[first : first + count]
        lines = "\n".join(f"    y[{k}] = {text}" for k, text in enumerate(part))
        f = made(f"def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):\n{lines}\n")
        compiled = pto.kernel(target="a5")(f)
        for n, x in product(SIZES, ([4, 0], [-2, 7])):
            ours, theirs = np.full(count, -99), np.full(count, -99)
            f(np.array(x), theirs, n)
            compiled(np.array(x), ours, n)
            for k, text in enumerate(part):
                assert ours[k] == theirs[k], (text, x, n)


def test_one_of_two_truths() -> None:
    compare([f"1 if ({a} if {c} else {b}) else 2" for a, b, c in product(TRUTHS, TRUTHS, TRUTHS[2:])])


def test_truths_joined() -> None:
    compare([f"1 if {a} {word} {b} else 2" for a, b, word in product((*TRUTHS, *NUMBERS), TRUTHS, ("and", "or"))])
    compare([f"1 if {a} {word} {b} else 2" for a, b, word in product(TRUTHS, NUMBERS, ("and", "or"))])


def test_numbers_joined() -> None:
    compare([f"{a} {word} {b}" for a, b, word in product(NUMBERS, NUMBERS, ("and", "or"))])


def test_one_of_two_numbers() -> None:
    compare([f"{a} if {c} else {b}" for a, b, c in product(NUMBERS, NUMBERS, (*TRUTHS[2:], "n", "not n"))])


@pytest.mark.parametrize(
    "expression",
    [
        "12 // n if n > 0 else 5",
        "5 if n <= 0 else 12 % n",
        "n > 0 and 12 // n",
        "n <= 0 or 12 // n",
        "x[n] if n < 2 else 7",
        "1 << n if n >= 0 else 0",
        "2 < n < 12 // n",
    ],
)
def test_what_may_fail_is_done_where_it_is_needed_only(expression: str) -> None:
    f = made(f"def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):\n    y[0] = 1 if ({expression}) else 2\n")
    for n in (0, 1, 2, 3):
        ours, theirs = np.zeros(1, np.int64), np.zeros(1, np.int64)
        f(np.array([4, 0]), theirs, n)
        pto.kernel(target="a5")(f)(np.array([4, 0]), ours, n)
        assert ours[0] == theirs[0]


def test_what_cannot_fail_is_no_branch() -> None:
    @kernel
    def k(x: Ptr[i64], y: Ptr[i64], n: int) -> None:
        y[0] = n + 1 if n > 2 else n * 3
        y[1] = 1 if n > 2 and n < 9 else 0

    assert not ops(k, "scf.if")

    @kernel
    def divides(x: Ptr[i64], y: Ptr[i64], n: int) -> None:
        y[0] = 12 // n if n > 2 else 0

    inside: list[Op] = [op for branch in ops(divides, "scf.if") for region in branch.regions for op in region.ops]
    divisions = [op for op in ops(divides) if "div" in op.name]
    assert divisions
    assert all(op in inside for op in divisions)


@pytest.mark.parametrize(
    "text", ["min(x[0], x[1])", "max(x[0], x[1])", "min(x[1], x[0], x[2])", "max(x[2], x[1], x[0])"]
)
def test_extremes_choose_as_python_does(text: str) -> None:
    """Also between numbers that are no numbers, and between zeros."""
    k = pto.kernel(target="a5")(made(f"def f(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):\n    y[0] = {text}\n"))
    for given in product((1.0, 2.0, float("nan"), 0.0, -0.0), repeat=3):
        x = np.array(given, np.float32)
        found = np.zeros(1, np.float32)
        k(x, found)
        expected = np.float32(eval(text, {"x": [float(v) for v in x]}))
        assert np.array_equal(found[0], expected, equal_nan=True), given
        assert np.isnan(expected) or np.signbit(found[0]) == np.signbit(expected), given


def test_extremes_with_a_key() -> None:
    """The key may be any function of Python, which cannot be asked about numbers of the kernel."""

    @kernel
    def k(x: Ptr[i64], y: Ptr[i64]) -> None:
        y[0] = min(x[0], x[1], key=lambda v: -v)

    assert finding_of(lambda: k.trace(i64, i64)).rule.startswith("LANG-")


@pytest.mark.parametrize("test", ["n > 3 and (k := n) > 4", "0 < n < (k := 5)", "(n if n > 2 else (k := 1)) > 0"])
def test_names_are_not_assigned_where_python_may_not_come_to(test: str) -> None:
    f = made(f"def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):\n    if {test}:\n        y[0] = 1\n")
    found = finding_of(lambda: kernel(f).trace(i64, i64, 8))
    assert (found.rule, ":=" in found.message) == ("LANG-CONTROL", True)
