"""Arithmetic of lanes gives what the scalar unit gives for single numbers, and what NumPy gives for threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.ir.core import Op, Value
from ptokit.run.fault import Fault
from ptokit.run.machine import arith as scalar_arith
from ptokit.run.machine.lanes import plain
from ptokit.run.simt import arithmetic
from ptokit.run.simt.kinds import kind_of
from ptokit.types.values import Scalar

from .programs import launch, load, run, store

INTEGERS = sorted(arithmetic._INTEGER)
FLOATS = sorted(arithmetic._FLOAT)
EDGES = {
    "i8": [0, 1, -1, 2, 7, -128, 127],
    "i32": [0, 1, -1, 5, 31, -(2**31), 2**31 - 1, 123456789],
    "i64": [0, 1, -1, 63, -(2**63), 2**63 - 1, 2**53 + 1, -(2**60) - 7],
    "i1": [0, 1],
    "f32": [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 3.4e38, 1e-45],
    "f16": [0.0, -0.0, 1.5, -2.25, np.inf, np.nan, 65504.0, 6e-8],
    "bf16": [0.0, -0.0, 1.5, -2.25, np.inf, np.nan, 3e38],
}


def operation(name: str, source: str, result: str, count: int = 2, **attrs: Any) -> Op:
    values = {f"v{k}": Value(Scalar(source)) for k in range(count)}
    return Op(f"arith.{name}", dict(values), attrs, [Value(Scalar(result))])


def agree(op: Op, source: str, count: int) -> None:
    """Every combination of edges: the same number, to the bit, or a fault in both."""
    kind = kind_of(Scalar(source))
    assert kind is not None
    given = np.array(EDGES[source]).astype(kind.array)
    columns = [c.reshape(-1) for c in np.meshgrid(*[given] * count)]
    many, one = arithmetic.function(op), scalar_arith.function(op)
    assert many is not None
    for row in zip(*columns):
        numbers = [bool(x) if source == "i1" else plain(x) for x in row]
        try:
            with np.errstate(all="ignore"):
                expected = one(*numbers)
        except Fault as fault:
            refused = fault.rule
            with pytest.raises(Fault) as error:
                many(np.ones(1, bool), *(np.array([x]) for x in row))
        else:
            refused = ""
        if refused:
            assert error.value.rule == refused
            continue
        got = many(np.ones(1, bool), *(np.array([x]) for x in row))[0]
        same = (got != got and expected != expected) or (
            got == expected and bool(np.signbit(np.float64(got))) == bool(np.signbit(np.float64(expected)))
        )
        assert same, (op.name, op.attrs, numbers, got, expected)


@pytest.mark.parametrize("type", ["i8", "i32", "i64", "i1"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str, type: str) -> None:
    agree(operation(name, type, type), type, 2)


@pytest.mark.parametrize("type", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str, type: str) -> None:
    agree(operation(name, type, type), type, 2)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
@pytest.mark.parametrize("type", ["i32", "i64", "i1"])
def test_comparisons(predicate: str, type: str) -> None:
    agree(operation("cmpi", type, "i1", predicate=predicate), type, 2)


@pytest.mark.parametrize("predicate", ["oeq", "one", "olt", "oge", "ueq", "une", "ult", "uge", "ord", "uno", "true"])
def test_comparisons_of_floats(predicate: str) -> None:
    agree(operation("cmpf", "f32", "i1", predicate=predicate), "f32", 2)


@pytest.mark.parametrize(
    ("name", "source", "result"),
    [
        ("extsi", "i8", "i32"),
        ("extsi", "i1", "i32"),
        ("extui", "i8", "i64"),
        ("extui", "i1", "i32"),
        ("trunci", "i64", "i8"),
        ("trunci", "i32", "i1"),
        ("index_cast", "i32", "index"),
        ("index_castui", "i32", "index"),
        ("sitofp", "i32", "f32"),
        ("sitofp", "i64", "f32"),
        ("sitofp", "i64", "bf16"),
        ("uitofp", "i32", "f16"),
        ("uitofp", "i64", "f16"),
        ("uitofp", "i1", "f32"),
        ("fptosi", "f32", "i32"),
        ("fptoui", "f16", "i8"),
        ("extf", "f16", "f32"),
        ("extf", "bf16", "f32"),
        ("truncf", "f32", "f16"),
        ("truncf", "f32", "bf16"),
        ("bitcast", "f32", "i32"),
        ("bitcast", "i32", "f32"),
        ("negf", "f32", "f32"),
    ],
)
def test_casts(name: str, source: str, result: str) -> None:
    agree(operation(name, source, result, 1), source, 1)


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
