"""Operations of `arith` on whole numbers at edge values, against sums of bits and exact fractions (assembly 11).

Operands come from memory, so that they differ between blocks, or are arguments, or constants.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.isa.scalar.arithmetic import INTEGER_PREDICATES
from tests.each import each

from .arithmetic import bits, compiled, edges, evaluate, fault, number

WIDTHS = [1, 7, 32, 64]


def divided(rounded: Callable[[Fraction], int], *, sign: bool) -> Callable[[int, int, int], int]:
    def quotient(a: int, b: int, width: int) -> int:
        x, y = (number(a, width), number(b, width)) if sign else (a, b)
        return rounded(Fraction(x, y))

    return quotient


def remainder(*, sign: bool) -> Callable[[int, int, int], int]:
    def left(a: int, b: int, width: int) -> int:
        x, y = (number(a, width), number(b, width)) if sign else (a, b)
        return int(math.copysign(abs(x) % abs(y), x)) if abs(x) < 1 << 52 else x - y * math.trunc(Fraction(x, y))

    return left


def chosen(pick: Callable[[Any, Any], Any], *, sign: bool) -> Callable[[int, int, int], int]:
    return lambda a, b, w: pick((number(a, w) if sign else a, a), (number(b, w) if sign else b, b))[1]


INTEGERS: dict[str, Callable[[int, int, int], int]] = {
    "addi": lambda a, b, w: sum(1 << k for k in range(w) if (a + b) >> k & 1),
    "subi": lambda a, b, w: a + ((1 << w) - b),
    "muli": lambda a, b, w: sum(a << k for k in range(w) if b >> k & 1),
    "divsi": divided(math.trunc, sign=True),
    "ceildivsi": divided(math.ceil, sign=True),
    "floordivsi": divided(math.floor, sign=True),
    "divui": divided(math.floor, sign=False),
    "ceildivui": divided(math.ceil, sign=False),
    "remsi": remainder(sign=True),
    "remui": remainder(sign=False),
    "andi": lambda a, b, w: int("".join(str(int(x) & int(y)) for x, y in zip(f"{a:064b}", f"{b:064b}")), 2),
    "ori": lambda a, b, w: int("".join(str(int(x) | int(y)) for x, y in zip(f"{a:064b}", f"{b:064b}")), 2),
    "xori": lambda a, b, w: int("".join(str(int(x != y)) for x, y in zip(f"{a:064b}", f"{b:064b}")), 2),
    "shli": lambda a, b, w: a * 2**b,
    "shrui": lambda a, b, w: a // 2**b,
    "shrsi": lambda a, b, w: math.floor(Fraction(number(a, w), 2**b)),
    "maxsi": chosen(max, sign=True),
    "minsi": chosen(min, sign=True),
    "maxui": chosen(max, sign=False),
    "minui": chosen(min, sign=False),
}


def pairs(op: str, width: int) -> list[tuple[int, int]]:
    """Those that have a result."""
    found = list(itertools.product(edges(width), repeat=2))
    if op.startswith("sh"):
        return [(a, b) for a, b in found if b < width]
    return [(a, b) for a, b in found if b or not ("div" in op or "rem" in op)]


@each("width", WIDTHS)
@each("op", INTEGERS)
def test_whole_numbers(op: str, width: int) -> None:
    rows, type = pairs(op, width), f"i{width}"
    wanted = [[INTEGERS[op](a, b, width) % (1 << width)] for a, b in rows]
    line = f"%r = arith.{op} %a, %b : {type}"
    assert evaluate(line, [type, type], [type], rows) == wanted
    assert evaluate(line, [type, type], [type], rows[::9], uniform=True) == wanted[::9]


@each("op", ["addi", "subi", "muli", "minsi", "maxsi"])
@each("width", [1, 8, 32, 64])
def test_constants_are_folded_in_their_type(op: str, width: int) -> None:
    rows = pairs(op, width)[::7]
    type = f"i{width}"
    lines, wanted = [], []
    for k, (a, b) in enumerate(rows):
        lines += [f"%{n}{k} = arith.constant {number(v, width)} : {type}" for n, v in (("a", a), ("b", b))]
        lines += [f"%r{k} = arith.{op} %a{k}, %b{k} : {type}", f"%i{k} = arith.constant {k} : index"]
        lines += ["" if width == 64 else f"%w{k} = arith.extsi %r{k} : {type} to i64"]
        lines += [f"pto.store_scalar %{'r' if width == 64 else 'w'}{k}, %p[%i{k}] : !pto.ptr<i64>, i64"]
        wanted.append(number(INTEGERS[op](a, b, width) % (1 << width), width))
    out = np.zeros(len(rows), np.int64)
    compiled("\n".join(["func.func @f(%p: !pto.ptr<i64>) {", *lines, "return", "}"])).launch([out])
    assert out.tolist() == wanted


@each("predicate", INTEGER_PREDICATES)
@each("type", ["i1", "i8", "i64", "index"])
def test_comparisons(predicate: str, type: str) -> None:
    width = bits(type)
    rows = list(itertools.product(edges(width), repeat=2))
    compare = getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                           "ge": "greater_equal"}[predicate[-2:]])  # fmt: skip
    sign = predicate[0] == "s"
    wanted = [[int(compare(*(np.int64(number(v, width)) if sign else np.uint64(v) for v in row)))] for row in rows]
    line = f"%r = arith.cmpi {predicate}, %a, %b : {type}"
    assert evaluate(line, [type, type], ["i1"], rows) == wanted
    assert evaluate(line, [type, type], ["i1"], rows[::9], uniform=True) == wanted[::9]


@each("width", WIDTHS)
@each("op", ["addui_extended", "mulsi_extended", "mului_extended"])
def test_two_results(op: str, width: int) -> None:
    rows, type = list(itertools.product(edges(width), repeat=2)), f"i{width}"
    carry = "i1" if op == "addui_extended" else type

    def whole(a: int, b: int) -> int:
        if op == "mulsi_extended":
            return number(a, width) * number(b, width)
        return a + b if op == "addui_extended" else a * b

    wanted = [[whole(a, b) % (1 << width), (whole(a, b) >> width) % (1 << bits(carry))] for a, b in rows]
    assert evaluate(f"%r, %s = arith.{op} %a, %b : {type}", [type, type], [type, carry], rows) == wanted


@each("source, result", [(1, 8), (1, 64), (8, 16), (8, 64), (16, 32), (32, 64), (7, 33)])
def test_extension_and_truncation(source: int, result: int) -> None:
    small, large = f"i{source}", f"i{result}"
    rows = [[v] for v in edges(source)]
    wide = [[v] for v in edges(result)]
    assert evaluate(f"%r = arith.extui %a : {small} to {large}", [small], [large], rows) == rows
    wanted = [[number(v, source) % (1 << result)] for (v,) in rows]
    assert evaluate(f"%r = arith.extsi %a : {small} to {large}", [small], [large], rows) == wanted
    cut = [[v % (1 << source)] for (v,) in wide]
    assert evaluate(f"%r = arith.trunci %a : {large} to {small}", [large], [small], wide) == cut


@each("width", WIDTHS)
def test_index(width: int) -> None:
    type = f"i{width}"
    rows = [[v] for v in edges(width)]
    sign = [[number(v, width) % (1 << 64)] for (v,) in rows]
    assert evaluate(f"%r = arith.index_cast %a : {type} to index", [type], ["index"], rows) == sign
    assert evaluate(f"%r = arith.index_castui %a : {type} to index", [type], ["index"], rows) == rows
    wide = [[v] for v in edges(64)]
    for op in ("index_cast", "index_castui"):
        cut = [[v % (1 << width)] for (v,) in wide]
        assert evaluate(f"%r = arith.{op} %a : index to {type}", ["index"], [type], wide) == cut


def test_products_beyond_64_bits() -> None:
    """Index is exact; what becomes an i64 has its low bits."""
    rows = [(1 << 62, 12), (3 << 40, 5 << 40), (-(1 << 63), -1)]
    wanted = [[a * b % (1 << 64)] for a, b in rows]
    assert evaluate("%r = arith.muli %a, %b : index", ["index", "index"], ["index"], rows, uniform=True) == wanted


@each("op", ["divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui"])
@each("type", ["i1", "i8", "i64", "index"])
def test_division_by_zero(op: str, type: str) -> None:
    assert fault(f"%r = arith.{op} %a, %b : {type}", [type, type], [type], [(1, 1), (1, 0)]) == "RUN-DIV-ZERO"


@each("op", ["shli", "shrsi", "shrui"])
@each("type", ["i1", "i8", "i64"])
def test_shifts_by_the_width(op: str, type: str) -> None:
    rows = [(1, 0), (1, bits(type))] if type != "i1" else [(1, 0), (1, 1)]
    assert fault(f"%r = arith.{op} %a, %b : {type}", [type, type], [type], rows) == "RUN-SHIFT"


@each(
    "line, place",
    [
        ("%r = arith.addi %v, %v : vector<4xi32>", "arith.addi of vector<4xi32>"),
        ("%r = arith.addi %w, %w : i65", "arith.addi of i65"),
        ("%r = arith.addf %e, %e : f8E5M2", "arith.addf of f8E5M2"),
        ("%r = arith.select %c, %v, %v : vector<4xi32>", "arith.select of vector<4xi32>"),
    ],
)
def test_what_the_scalar_unit_does_not_have(line: str, place: str) -> None:
    text = f"func.func @f(%v: vector<4xi32>, %w: i65, %e: f8E5M2, %c: i1) {{\n{line}\nreturn\n}}\n"
    with pytest.raises(DiagnosticError) as caught:
        compiled(text)
    (found,) = caught.value.diagnostics
    assert (found.rule, found.message, found.location.line) == ("TEXT-UNIMPLEMENTED", f"{place} cannot be run yet", 2)
