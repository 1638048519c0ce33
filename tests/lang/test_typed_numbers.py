"""Numbers of every type: what an interpreted kernel computes is what the compiled one does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

from .test_syntax import made

SIGNED = ("i8", "i16", "i32", "i64", "index")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("f16", "bf16", "f32")
COUNT = 12
HEAD = "def f(y: pto.Ptr[pto.i64], z: pto.Ptr[pto.f32], {params}):"


class Expressions:
    """Random expressions on a parameter of every type; Python numbers among them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def of(self, kind: str, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return f"a_{kind}"
        a, b = self.of(kind, depth - 1), self.of(kind, depth - 1)
        if rng.random() < 0.25:
            other = rng.choice([k for k in (*INTEGERS, *FLOATS) if {k, kind} != {"f16", "bf16"}])
            if other in FLOATS and kind in INTEGERS:  # a number that the integer can hold
                least = 0.0 if kind in UNSIGNED else -100.0
                return f"pto.cast(pto.minimum(pto.maximum({self.of(other, depth - 1)}, {least}), 100.0), pto.{kind})"
            if kind in UNSIGNED and other in SIGNED:  # a negative number that is known would not fit
                return f"pto.cast({self.of(other, depth - 1)} ^ a_{other}, pto.{kind})"
            return f"pto.cast({self.of(other, depth - 1)}, pto.{kind})"
        if kind in FLOATS:
            c = rng.choice(["0.1", "-3.0", "1000.0", "2"])
            binary = f"({a} {rng.choice('+-*/')} {b})"
            return rng.choice([binary, f"({a} {rng.choice('+-*')} {c})", f"(-{a})", f"abs({a})"])
        constants = [3, 8, 100, 1, 200] if kind in UNSIGNED else [-7, -2, 3, 8, 100]
        c, places = rng.choice(constants), rng.randrange(1, 7)
        chosen = f"({a} if {a} < {b} else pto.cast({c}, pto.{kind}))"  # a plain number has no type when interpreted
        quotients = [f"({a} // {c})", f"({a} % {c})", f"({a} >> {places})", f"({a} << {places})"]
        quotients += [f"divmod({a}, {c})[{rng.randrange(2)}]", f"divmod({c}, {a} | 1)[{rng.randrange(2)}]"]
        others = [f"abs({a})", f"(~{a})", f"(-{a})", f"pto.{rng.choice(['minimum', 'maximum'])}({a}, {b})"]
        others += [f"pto.cdiv({a}, {abs(c)})", f"pto.cast({a} {rng.choice(['<', '>=', '=='])} {b}, pto.{kind})"]
        binary = f"({a} {rng.choice('+-*&|^')} {b})"
        return rng.choice([binary, binary, f"({a} + {c})", f"({c} * {a})", chosen, *quotients, *others])

    def function(self) -> str:
        params = ", ".join(f"a_{kind}: pto.{kind}" for kind in (*INTEGERS, *FLOATS))
        lines = [HEAD.format(params=params)]
        for k in range(COUNT):
            lines.append(f"    y[{k}] = pto.cast({self.of(self.rng.choice(INTEGERS), 4)}, pto.i64)")
            lines.append(f"    z[{k}] = pto.cast({self.of(self.rng.choice(FLOATS), 3)}, pto.f32)")
        return "\n".join(lines) + "\n"


def left(launch: Callable[..., None], numbers: list[Any]) -> tuple[str, bytes, bytes]:
    """The rule that a launch breaks, if any, and what it stores; NaN is NaN."""
    y, z = np.zeros(COUNT, np.int64), np.zeros(COUNT, np.float32)
    rule = ""
    try:
        launch(y, z, *numbers)
    except DiagnosticError as error:
        rule = error.diagnostics[0].rule
    z[np.isnan(z)] = np.nan
    return rule, y.tobytes(), z.tobytes()


def compare(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        text = Expressions(rng).function()
        kernel = pto.kernel(target="a5")(made(text))
        for _ in range(3):
            integers = [
                *(rng.choice([0, 1, -1, 5, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]) for bits in (8, 16, 32, 64, 64)),
                *(rng.choice([0, 1, 5, 2 ** (bits - 1), 2**bits - 1]) for bits in (8, 16, 32, 64)),
            ]
            floats = [np.float16(rng.uniform(-9, 9)).item() for _ in FLOATS]
            numbers = [*integers, *floats]
            assert left(kernel, numbers) == left(kernel.interpret, numbers), f"seed {seed}, {numbers}\n{text}"


def test_interpreted_numbers_are_those_of_the_compiled_kernel() -> None:
    compare(range(12))


@pytest.mark.campaign
def test_many_interpreted_numbers_are_those_of_the_compiled_kernel() -> None:
    compare(range(100, 1100))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("n << 70", "RUN-SHIFT"),
        ("n >> -1", "RUN-SHIFT"),
        ("1 << (n + 100)", "RUN-SHIFT"),
        ("m << 32", "RUN-SHIFT"),
        ("m << 2**40", "LANG-SCALAR"),
        ("2**70 << n", "LANG-SCALAR"),
        ("n + 2**70", "LANG-SCALAR"),
        ("2**64 - n", "LANG-SCALAR"),
        ("n * 1.5", "LANG-SCALAR"),
        ("n // 0", "LANG-SCALAR"),
        ("n // (n - 5)", "RUN-DIV-ZERO"),
        ("n % (n - 5)", "RUN-DIV-ZERO"),
        ("u % 512", "LANG-SCALAR"),
        ("u + -1", "LANG-SCALAR"),
        ("pto.cast(u < 300, pto.i32)", "LANG-SCALAR"),
        ("u % 256", ""),
        ("n + (2**64 - 1)", ""),
        ("n // (2**64 - 1)", ""),
        ("pto.cast(n - 6 == 2**64 - 1, pto.i32)", ""),
    ],
)
def test_numbers_that_do_not_fit_are_refused_as_in_the_compiled_kernel(text: str, rule: str) -> None:
    head = "def f(y: pto.Ptr[pto.i64], z: pto.Ptr[pto.f32], n: pto.index, m: pto.i32, u: pto.u8):"
    kernel = pto.kernel(target="a5")(made(f"{head}\n    y[0] = pto.cast({text}, pto.i64)\n"))
    compiled = left(kernel, [5, 3, 7])
    assert compiled[0] == rule
    assert left(kernel.interpret, [5, 3, 7]) == compiled
