"""Operations of `arith` on floats at edge values (assembly 11).

What is expected is the best of the neighbours of a guess, by exact fractions.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np

from ptokit.asm import parse_module
from ptokit.isa.scalar.arithmetic import FLOAT_PREDICATES
from ptokit.run import compile_program
from ptokit.targets import target
from tests.each import each

from .arithmetic import KINDS, bits, edges, evaluate, fault, number


def patterns(type: str) -> list[int]:
    kind = np.dtype(KINDS[type])
    top, info = kind.itemsize * 8, ml_dtypes.finfo(kind)
    values = [
        0.0,
        1.0,
        -1.0,
        0.1,
        -2.5,
        3.0,
        1e4,
        float(info.max),
        float(info.smallest_normal),
        -float(info.max),
        np.inf,
        -np.inf,
        np.nan,
    ]
    found = [int(np.array([v]).astype(kind).view(f"u{kind.itemsize}")[0]) for v in values]
    return [*found, 1, 1 << (top - 1), (1 << (top - 1)) + 1, found[1] + 1]  # least subnormal, -0, 1 + 1 ulp


def value(pattern: int, type: str) -> float:
    kind = np.dtype(KINDS[type])
    return float(np.array([pattern], f"u{kind.itemsize}").view(kind)[0])


def nearest(exact: Fraction, type: str, mode: str = "even") -> float:
    """The float nearest to a number: the best of all between the neighbours of a guess."""
    kind = np.dtype(KINDS[type])
    info = ml_dtypes.finfo(kind)
    limit = Fraction(float(info.max))
    ulp = limit - Fraction(float(np.nextafter(info.max, kind.type(0))))
    if mode == "even" and abs(exact) >= limit + ulp / 2:
        return math.inf if exact > 0 else -math.inf
    with np.errstate(all="ignore"):
        guess = kind.type(float(min(max(exact, -limit), limit)))
    near = {float(guess)}
    for direction in (-np.inf, np.inf):
        step = guess
        with np.errstate(over="ignore"):
            for _ in range(2):
                step = np.nextafter(step, kind.type(direction))
                near.add(float(step))
    finite = sorted(v for v in near if math.isfinite(v))
    if mode == "downward":
        below = [v for v in finite if Fraction(v) <= exact]
        return max(below) if below else -math.inf
    if mode == "upward":
        above = [v for v in finite if Fraction(v) >= exact]
        return min(above) if above else math.inf
    if mode == "toward_zero":
        return nearest(exact, type, "downward" if exact > 0 else "upward")

    def key(v: float) -> tuple[Fraction, int]:
        last = int(np.array([v], np.float64).astype(kind).view(f"u{kind.itemsize}")[0]) & 1
        return abs(Fraction(v) - exact), last if mode == "even" else -abs(Fraction(v))

    return min(finite, key=key)


def same(found: int, wanted: float, type: str) -> bool:
    got = value(found, type)
    if math.isnan(wanted):
        return math.isnan(got)
    return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)


def exact(op: str, a: float, b: float, type: str) -> float:
    """The result of an operation, by fractions where both are finite."""
    if math.isnan(a) or math.isnan(b):
        others = [v for v in (a, b) if not math.isnan(v)]
        return others[0] if op in ("maxnumf", "minnumf") and others else math.nan
    if op[:3] in ("max", "min"):
        order = sorted((a, b), key=lambda v: (v, math.copysign(1, v)))
        return order[op.startswith("max")]
    if not (math.isfinite(a) and math.isfinite(b)) or (b == 0 and op in ("divf", "remf")):
        with np.errstate(all="ignore"):
            x, y = np.float64(a), np.float64(b)
            return float({"addf": x + y, "subf": x - y, "mulf": x * y, "divf": x / y, "remf": np.fmod(x, y)}[op])
    x, y = Fraction(a), Fraction(b)
    if op == "remf":
        return math.copysign(nearest(x - y * math.trunc(x / y), type), a)
    result = {"addf": x + y, "subf": x - y, "mulf": x * y, "divf": x / y if y else x}[op]
    if result == 0:
        minus = math.copysign(1, a) * math.copysign(1, b) < 0
        if op == "addf":
            minus = a == 0 and math.copysign(1, a) < 0 and math.copysign(1, b) < 0
        if op == "subf":
            minus = a == 0 and math.copysign(1, a) < 0 and math.copysign(1, b) > 0
        return -0.0 if minus else 0.0
    found = nearest(result, type)
    return math.copysign(found, result)


FLOATS = ["addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"]


@each("type", ["f16", "bf16", "f32"])
@each("op", FLOATS)
def test_floats(op: str, type: str) -> None:
    rows = list(itertools.product(patterns(type), repeat=2))
    line = f"%r = arith.{op} %a, %b : {type}"
    for uniform in (False, True):
        part = rows[::23] if uniform else rows[::2]  # 17 patterns: all are met on both sides
        for (a, b), (got,) in zip(part, evaluate(line, [type, type], [type], part, uniform=uniform)):
            x, y = value(a, type), value(b, type)
            wanted = exact(op, x, y, type)
            either = x == y == 0 and op in ("maxnumf", "minnumf")  # either zero
            assert value(got, type) == 0 if either else same(got, wanted, type), (x, y, wanted, value(got, type))


@each("type", ["f16", "bf16", "f32", "f64"])
def test_negation(type: str) -> None:
    top = 1 << (bits(type) - 1)
    for (a,), (got,) in zip(
        [[p] for p in patterns(type)],
        evaluate(f"%r = arith.negf %a : {type}", [type], [type], [[p] for p in patterns(type)]),
    ):
        assert math.isnan(value(a, type)) or got == a ^ top


@each("predicate", FLOAT_PREDICATES)
def test_float_comparisons(predicate: str) -> None:
    rows = list(itertools.product(patterns("f32"), repeat=2))
    line = f"%r = arith.cmpf {predicate}, %a, %b : f32"
    table = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    for (a, b), (got,) in zip(rows, evaluate(line, ["f32", "f32"], ["i1"], rows)):
        x, y = value(a, "f32"), value(b, "f32")
        unordered = math.isnan(x + y) and (math.isnan(x) or math.isnan(y))
        if predicate in ("true", "false", "ord", "uno"):
            wanted = {"true": True, "false": False, "ord": not unordered, "uno": unordered}[predicate]
        elif predicate == "one":
            wanted = not unordered and (x < y or x > y)
        elif predicate == "une":
            wanted = unordered or x < y or x > y
        else:
            ordered = eval(f"x {table[predicate[1:]]} y")
            wanted = (predicate[0] == "u") if unordered else ordered
        assert got == int(wanted), (x, y)


TIES = [
    1 + 2**-8 + 2**-40,
    1 + 2**-8,
    1 + 3 * 2**-8,
    1 + 2**-11 + 2**-40,
    1 + 2**-24 + 2**-50,
    2**-133 * 1.5,
    -1e39,
    65520.0,
]
TIES += [65519.99, 3.5e38, -(2**-25), 2**-24 * 1.5, 0.0, -0.0]


@each("mode", ["", "to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"])
@each("type", ["f16", "bf16", "f32"])
def test_truncation_of_floats_rounds_once(type: str, mode: str) -> None:
    rows = [[int(np.float64(v).view(np.uint64))] for v in TIES]
    found = evaluate(f"%r = arith.truncf %a {mode} : f64 to {type}", ["f64"], [type], rows)
    for v, (got,) in zip(TIES, found):
        if mode == "to_nearest_away" and abs(v) > 6e4:
            continue  # what overflows to infinity is another question
        wanted = nearest(
            Fraction(v), type, {"": "even", "to_nearest_even": "even", "to_nearest_away": "away"}.get(mode, mode)
        )
        assert same(got, math.copysign(wanted, v), type), (v, wanted, value(got, type))


@each("type", ["f16", "bf16", "f32"])
def test_extension_of_floats_is_exact(type: str) -> None:
    rows = [[p] for p in patterns(type)]
    for (a,), (got,) in zip(rows, evaluate(f"%r = arith.extf %a : {type} to f64", [type], ["f64"], rows)):
        assert same(got, value(a, type), "f64")


@each("type", ["f16", "bf16", "f32", "f64"])
@each("width", [1, 8, 32, 64])
def test_whole_numbers_become_floats(width: int, type: str) -> None:
    top = [*edges(width)] + (
        [(1 << 60) + (1 << 36) + 1, (1 << 53) + 1, (1 << 24) + 1, 65520, 65519] if width == 64 else []
    )
    rows = [[v] for v in top]
    for op, numbers in (("sitofp", [number(v, width) for v in top]), ("uitofp", top)):
        found = evaluate(f"%r = arith.{op} %a : i{width} to {type}", [f"i{width}"], [type], rows)
        for v, (got,) in zip(numbers, found):
            assert same(got, nearest(Fraction(v), type), type), (op, v, value(got, type))


@each("width", [1, 8, 32, 64])
def test_floats_become_whole_numbers(width: int) -> None:
    values = [
        0.0,
        -0.0,
        0.9,
        -0.9,
        1.5,
        -1.0,
        100.7,
        127.9,
        -128.9,
        255.99,
        2.0**31 - 1,
        -(2.0**31),
        2.0**62,
        2.0**63,
        -(2.0**63),
    ]
    for op, least, most in (
        ("fptosi", -(1 << (width - 1)), (1 << (width - 1)) - 1),
        ("fptoui", 0, (1 << width) - 1),
    ):
        line = f"%r = arith.{op} %a : f64 to i{width}"
        fit = [v for v in values if least <= math.trunc(v) <= most]
        rows = [[int(np.float64(v).view(np.uint64))] for v in fit]
        assert evaluate(line, ["f64"], [f"i{width}"], rows) == [[math.trunc(v) % (1 << width)] for v in fit]
        for v in (most + 1, least - 1, math.nan, math.inf):
            bad = [[int(np.float64(v if abs(v) < 2**53 else v * 2).view(np.uint64))]]
            assert fault(line, ["f64"], [f"i{width}"], bad) == "RUN-CONVERT"


def test_bit_patterns_of_nan_are_kept() -> None:
    rows = [[0x7FC01234], [0xFFC00001], [0x7F800000]]
    line = "%f = arith.bitcast %a : i32 to f32\n%r = arith.bitcast %f : f32 to i32"
    assert evaluate(line, ["i32"], ["i32"], rows) == rows
    constant = "%f = arith.constant 0x7FC01234 : f32\n%r = arith.bitcast %f : f32 to i32"
    assert evaluate(constant, ["i32"], ["i32"], [[0]]) == [[0x7FC01234]]


def test_constants_are_rounded_to_their_type() -> None:
    for type in ("f16", "bf16", "f32"):
        line = f"%f = arith.constant 0.1 : {type}\n%r = arith.extf %f : {type} to f64"
        ((found,),) = evaluate(line, ["i8"], ["f64"], [[0]])
        assert same(found, nearest(Fraction(1, 10), type), "f64")


@each("type", ["i1", "i8", "i64", "index", "f32"])
def test_select(type: str) -> None:
    some = patterns(type)[:4] if type == "f32" else edges(bits(type))[:4]
    rows = [(c, a, b) for c in (0, 1) for a in some for b in some]
    wanted = [[a if c else b] for c, a, b in rows]
    assert evaluate(f"%r = arith.select %a, %b, %c : {type}", ["i1", type, type], [type], rows) == wanted


@each("backend", ["numpy", "native"])
@each("type", ["f16", "bf16", "f32", "f64"])
def test_elements_of_memory_are_numbers(type: str, backend: str) -> None:
    """An element that is loaded, added to and stored, at a place that all blocks share and at one for each."""
    text = f"""func.func @k(%x: !pto.ptr<{type}>, %v: {type}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %b = pto.get_block_idx
      %i = arith.index_cast %b : i64 to index
      %at = arith.addi %i, %c2 : index
      %a = pto.load_scalar %x[%c1] : !pto.ptr<{type}> -> {type}
      %s = arith.addf %a, %v : {type}
      pto.store_scalar %s, %x[%c0] : !pto.ptr<{type}>, {type}
      %e = pto.load_scalar %x[%at] : !pto.ptr<{type}> -> {type}
      %n = arith.addf %e, %v : {type}
      pto.store_scalar %n, %x[%at] : !pto.ptr<{type}>, {type}
      return
    }}"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    x = np.array([0, 2.25, -1, 3], KINDS[type])
    compile_program(parsed.module, target("a5")).launch([x, 1.5], 2, backend=backend)
    assert x.tolist() == [3.75, 2.25, 0.5, 4.5]
