"""Arithmetic that only threads have gives what NumPy gives. That of `arith`: `test_arithmetic_everywhere`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .programs import launch, load, run, store


def through(body: str, *given: np.ndarray, out: Any, kind: str, **kinds: str) -> np.ndarray:
    """What 32 threads store, each its element."""
    found = np.zeros(32, out)
    run(launch(body + store("%r", kind), **kinds, out=kind), *given, found)
    return found


X = np.linspace(0.1, 6.3, 32).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("sqrt", np.sqrt),
        ("absf", np.abs),
        ("exp", np.exp),
        ("log", np.log),
        ("sin", np.sin),
        ("cos", np.cos),
        ("ceil", np.ceil),
        ("floor", np.floor),
        ("rint", np.rint),
        ("round", lambda x: np.floor(x + 0.5)),
    ],
)
def test_functions_are_rounded_once(name: str, formula: Any) -> None:
    body = load("%x0", "%x", "f32") + f"  %r = pto.{name} %x0 : f32 -> f32\n"
    found = through(body, X, out=np.float32, kind="f32", x="f32")
    assert np.array_equal(found, formula(X.astype(np.float64)).astype(np.float32))


def test_fma_rounds_once() -> None:
    a = np.full(32, 1 + 2.0**-12, np.float32)
    body = (
        load("%a", "%x", "f32") + "  %m = arith.constant -1.0 : f32\n  %r = pto.fma %a, %a, %m : f32, f32, f32 -> f32\n"
    )
    found = through(body, a, out=np.float32, kind="f32", x="f32")
    assert (found == np.float32(2.0**-11 + 2.0**-24)).all()


@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_upper_halves_of_products(kind: str, sign: str) -> None:
    bits, dtype = int(kind[1:]), np.dtype(f"i{int(kind[1:]) // 8}")
    rng = np.random.default_rng(bits)
    a, b = (rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 32, dtype, endpoint=True) for _ in range(2))
    body = (
        load("%a", "%x", kind) + load("%b", "%y", kind) + f"  %r = pto.mulhi %a, %b {sign} : {kind}, {kind} -> {kind}\n"
    )
    found = through(body, a, b, out=dtype, kind=kind, x=kind, y=kind)
    mask = (1 << bits) - 1
    numbers = [(int(p), int(q)) if sign == "signed" else (int(p) & mask, int(q) & mask) for p, q in zip(a, b)]
    assert [int(v) & mask for v in found] == [(p * q >> bits) & mask for p, q in numbers]


@pytest.mark.parametrize(
    ("letter", "formula"),
    [
        ("r", np.rint),
        ("f", np.floor),
        ("c", np.ceil),
        ("z", np.trunc),
        ("a", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)),
    ],
)
def test_conversions_round_as_their_letter_says(letter: str, formula: Any) -> None:
    x = np.array([*np.arange(-5, 5, 0.5), np.inf, -np.inf, np.nan, 3e9, -3e9, *np.zeros(7)], np.float32)
    body = load("%a", "%x", "f32") + f"  %r = pto.convert %a round({letter}) sat signed : f32 -> i32\n"
    found = through(body, x, out=np.int32, kind="i32", x="f32")
    wanted = np.clip(np.nan_to_num(formula(x.astype(np.float64)), nan=0.0), -(2.0**31), 2.0**31 - 1)
    assert np.array_equal(found, wanted.astype(np.int32))
