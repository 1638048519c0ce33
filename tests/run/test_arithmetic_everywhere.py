"""Every operation of `arith` on every type at edge values, wherever it is carried out, against plain Python integers.

The model knows bit patterns and fractions only, and rounds by itself. It is asked by: one block, whose numbers are
Python's; blocks together; machine code; threads; and the text, where operands are constants.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.isa.scalar.arithmetic import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.run import compile_program
from ptokit.targets import A5

from .arithmetic import bits, edges, made, number, signed, widened

pytest.importorskip("llvmlite")

FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
"""Bits of a significand, least and greatest exponent."""
INTEGERS = ["i1", "i7", "i8", "i16", "i24", "i32", "i64", "index"]
FLOATS = list(FORMATS)
WAYS = ["one block", "blocks", "machine code", "threads", "text"]
ROUNDINGS = ["to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"]
Pattern = int
Rows = Sequence[Sequence[Pattern]]


# ------------------------------------------------------------------- the model


def pattern(sign: int, exponent: int, significand: int, type: str) -> Pattern:
    """Bits of ±significand * 2**exponent, which fits exactly."""
    p, least, _ = FORMATS[type]
    field = exponent + p - 1 - least + 1 if significand >> (p - 1) else 0
    return sign << (bits(type) - 1) | field << (p - 1) | significand & ((1 << (p - 1)) - 1)


def infinity(sign: int, type: str) -> Pattern:
    p = FORMATS[type][0]
    return sign << (bits(type) - 1) | ((1 << (bits(type) - p)) - 1) << (p - 1)


def quiet(type: str) -> Pattern:
    return infinity(0, type) | 1 << (FORMATS[type][0] - 2)


def sign_of(x: Pattern, type: str) -> int:
    return x >> (bits(type) - 1)


def is_nan(x: Pattern, type: str) -> bool:
    return x & ((1 << (bits(type) - 1)) - 1) > infinity(0, type)


@cache
def value(x: Pattern, type: str) -> Fraction | float:
    """A finite number as a fraction; an infinity."""
    p, least, _ = FORMATS[type]
    field, low = x >> (p - 1) & ((1 << (bits(type) - p)) - 1), x & ((1 << (p - 1)) - 1)
    minus = -1 if sign_of(x, type) else 1
    if field == (1 << (bits(type) - p)) - 1:
        return minus * math.inf
    significand = low | (1 << (p - 1) if field else 0)
    return minus * significand * Fraction(2) ** (max(field, 1) - 1 + least - p + 1)


def rounded(x: Fraction | float, type: str, sign: int = 0, mode: str = "to_nearest_even") -> Pattern:
    """A number in a type; ``sign``: of zero."""
    p, least, most = FORMATS[type]
    if isinstance(x, float):
        return infinity(int(x < 0), type)
    if x == 0:
        return sign << (bits(type) - 1)
    sign, size = int(x < 0), abs(x)
    exponent = max(least, size.numerator.bit_length() - size.denominator.bit_length() - 1)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    scaled = size / Fraction(2) ** (exponent - p + 1)
    whole, rest = math.floor(scaled), scaled - math.floor(scaled)
    up = {
        "to_nearest_even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1),
        "to_nearest_away": rest >= Fraction(1, 2),
        "toward_zero": False,
        "downward": sign and rest > 0,
        "upward": not sign and rest > 0,
    }[mode]
    whole += bool(up)
    if whole >> p:
        whole, exponent = whole >> 1, exponent + 1
    if exponent > most:
        stays = mode == "toward_zero" or (mode == "downward" and not sign) or (mode == "upward" and sign)
        return infinity(sign, type) - bool(stays)
    return pattern(sign, exponent - p + 1, whole, type)


def integers(op: str, a: int, b: int, w: int) -> int | str:
    """A result of any size, or the rule that refuses it."""
    x, y = number(a, w), number(b, w)
    if "div" in op or "rem" in op:
        if b == 0:
            return "RUN-DIV-ZERO"
        x, y = (a, b) if op.endswith("ui") else (x, y)
        round_ = math.ceil if op.startswith("ceil") else math.floor if op.startswith("floor") else math.trunc
        return x - y * math.trunc(Fraction(x, y)) if "rem" in op else round_(Fraction(x, y))
    if op.startswith("sh"):
        if b >= w:
            return "RUN-SHIFT"
        return a * 2**b if op == "shli" else (x if op == "shrsi" else a) // 2**b
    if op.startswith(("max", "min")):
        pick = max if op.startswith("max") else min
        return pick(x, y) if op.endswith("si") else pick(a, b)
    texts = f"{a:0{w}b}", f"{b:0{w}b}"
    match op:
        case "addi":
            return a + b
        case "subi":
            return a - b
        case "muli":
            return a * b
        case "andi":
            return int("".join("01"[p == q == "1"] for p, q in zip(*texts)), 2)
        case "ori":
            return int("".join("01"["1" in (p, q)] for p, q in zip(*texts)), 2)
        case "xori":
            return int("".join("01"[p != q] for p, q in zip(*texts)), 2)
    raise AssertionError(op)


def floats(op: str, a: Pattern, b: Pattern, type: str) -> Pattern:
    nans, signs = [is_nan(v, type) for v in (a, b)], [sign_of(v, type) for v in (a, b)]
    if op in ("maxnumf", "minnumf") and any(nans):
        return quiet(type) if all(nans) else a if nans[1] else b
    if any(nans):
        return quiet(type)
    x, y = value(a, type), value(b, type)
    if op[:3] in ("max", "min"):
        order = sorted((a, b), key=lambda v: (value(v, type), -sign_of(v, type)))
        return order[1 if op.startswith("max") else 0]
    if op == "subf":
        y, signs, op = -y, [signs[0], 1 - signs[1]], "addf"
    if op == "addf":
        if isinstance(x, float) and isinstance(y, float) and x != y:
            return quiet(type)
        return rounded(x if isinstance(x, float) else y if isinstance(y, float) else x + y, type, signs[0] & signs[1])
    minus = signs[0] ^ signs[1]
    infinite = isinstance(x, float), isinstance(y, float)
    if op == "mulf":
        if any(infinite):
            return quiet(type) if 0 in (x, y) else infinity(minus, type)
        return rounded(x * y, type, minus)
    if op == "divf":
        if all(infinite) or x == y == 0:
            return quiet(type)
        if infinite[0] or y == 0:
            return infinity(minus, type)
        return minus << (bits(type) - 1) if infinite[1] else rounded(Fraction(x) / Fraction(y), type, minus)
    assert op == "remf"
    if infinite[0] or y == 0:
        return quiet(type)
    return a if infinite[1] else rounded(x - y * math.trunc(Fraction(x) / Fraction(y)), type, signs[0])


def compared(predicate: str, x: Any, y: Any) -> bool:
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[predicate]


def cast(op: str, a: Pattern, source: str, result: str, mode: str) -> Pattern | str:
    if op in ("bitcast", "extui", "index_castui"):
        return a
    if op in ("extsi", "index_cast", "trunci"):
        return number(a, bits(source))
    if op in ("sitofp", "uitofp"):
        return rounded(Fraction(number(a, bits(source)) if op == "sitofp" else a), result)
    if op in ("fptosi", "fptoui"):
        x, w = (math.nan if is_nan(a, source) else value(a, source)), bits(result)
        if isinstance(x, float):
            return "RUN-CONVERT"
        least, most = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if op == "fptosi" else (0, (1 << w) - 1)
        return math.trunc(x) if least <= math.trunc(x) <= most else "RUN-CONVERT"
    if is_nan(a, source):
        return quiet(result)
    return rounded(value(a, source), result, sign_of(a, source), mode)


# ------------------------------------------------------------------- all cases


@dataclass(frozen=True)
class Case:
    """An operation: its line with %a, %b, .. and results %r, %s, and what each row of operands gives."""

    line: str
    types: tuple[str, ...]
    results: tuple[str, ...]
    rows: tuple[tuple[Pattern, ...], ...]
    wanted: tuple[Any, ...]  # for each row: results as patterns; or a rule

    def those(self, *, refused: bool) -> Case:
        kept = [(r, w) for r, w in zip(self.rows, self.wanted) if isinstance(w, str) == refused]
        return Case(self.line, self.types, self.results, tuple(r for r, _ in kept), tuple(w for _, w in kept))


@cache
def points(type: str) -> tuple[Pattern, ...]:
    """Edge values of a type."""
    if type not in FORMATS:
        return tuple(sorted({*edges(bits(type)), *(v for v in (31, 32, 63) if v < 1 << bits(type))}))
    p, _, most = FORMATS[type]
    top = 1 << (bits(type) - 1)
    some = [0, 1, infinity(0, type), infinity(0, type) - 1, 1 << (p - 1), (1 << (p - 1)) - 1]
    some += [rounded(Fraction(v), type) for v in ("1", "1/3", "2.5", "100", "127.5", "3", "40000")]
    some += [rounded(Fraction(2) ** e, type) for e in (31, 63) if e <= most]
    return tuple(sorted({*some, *(v | top for v in some), some[6] + 1, quiet(type), quiet(type) | top}))


@dataclass(frozen=True)
class Operation:
    """An operation: its line, the types of its operands and results, and what it gives."""

    line: str
    types: Sequence[str]
    results: Sequence[str]
    fn: Callable[..., Any]

    def case(self, every: int) -> Case:
        """For each of so many rows of edges."""
        line, types, results, fn = self.line, self.types, self.results, self.fn
        rows = tuple(itertools.product(*map(points, types)))[::every]
        return Case(line, tuple(types), tuple(results), rows, wanted_of(rows, results, fn))


def wanted_of(rows: Rows, results: Sequence[str], fn: Callable[..., Any]) -> tuple[Any, ...]:
    wanted: list[Any] = []
    for row in rows:
        found = fn(*row)
        several = found if isinstance(found, tuple) else (found,)
        cut = tuple(v % (1 << bits(t)) for v, t in zip(several, results) if not isinstance(v, str))
        wanted.append(found if isinstance(found, str) else cut)
    return tuple(wanted)


def short(names: Sequence[str] | frozenset[str]) -> list[str]:
    return sorted(name.removeprefix("arith.") for name in names)


def of_integers(type: str) -> Iterator[Operation]:
    w = bits(type)
    for op in short(ARITH_BINARY):
        if op.endswith("i"):
            fn = lambda a, b, op=op: integers(op, a, b, w)  # noqa: E731
            yield Operation(f"%r = arith.{op} %a, %b : {type}", [type] * 2, [type], fn)
    for predicate in INTEGER_PREDICATES:

        def met(a: int, b: int, predicate: str = predicate) -> int:
            unsigned = predicate.startswith("u")
            return int(compared(predicate[-2:], *((a, b) if unsigned else (number(a, w), number(b, w)))))

        yield Operation(f"%r = arith.cmpi {predicate}, %a, %b : {type}", [type] * 2, ["i1"], met)
    yield Operation(f"%r = arith.select %a, %b, %c : {type}", ["i1", type, type], [type], lambda c, a, b: a if c else b)
    for op in short(ARITH_EXTENDED) if type != "index" else ():

        def whole(a: int, b: int, op: str = op) -> tuple[int, int]:
            if op == "addui_extended":
                return a + b, a + b >> w
            x = number(a, w) * number(b, w) if op == "mulsi_extended" else a * b
            return x, x >> w

        yield Operation(
            f"%r, %s = arith.{op} %a, %b : {type}", [type] * 2, [type, "i1" if "add" in op else type], whole
        )


def of_floats(type: str) -> Iterator[Operation]:
    for op in short(ARITH_BINARY):
        if op.endswith("f"):
            fn = lambda a, b, op=op: floats(op, a, b, type)  # noqa: E731
            yield Operation(f"%r = arith.{op} %a, %b : {type}", [type] * 2, [type], fn)
    for predicate in FLOAT_PREDICATES:

        def met(a: int, b: int, predicate: str = predicate) -> int:
            unordered = is_nan(a, type) or is_nan(b, type)
            if predicate in ("true", "false"):
                return int(predicate == "true")
            if predicate in ("ord", "uno"):
                return int(unordered == (predicate == "uno"))
            if unordered:
                return int(predicate[0] == "u")
            return int(compared(predicate[1:], value(a, type), value(b, type)))

        yield Operation(f"%r = arith.cmpf {predicate}, %a, %b : {type}", [type] * 2, ["i1"], met)
    yield Operation(f"%r = arith.select %a, %b, %c : {type}", ["i1", type, type], [type], lambda c, a, b: a if c else b)
    (negation,) = short(ARITH_UNARY)
    yield Operation(f"%r = arith.{negation} %a : {type}", [type], [type], lambda a: a ^ 1 << (bits(type) - 1))


SIDES: dict[str, tuple[list[str], list[str], Callable[[str, str], bool]]] = {
    "extsi": (INTEGERS[:-1], INTEGERS[:-1], lambda s, r: bits(s) < bits(r)),
    "extui": (INTEGERS[:-1], INTEGERS[:-1], lambda s, r: bits(s) < bits(r)),
    "trunci": (INTEGERS[:-1], INTEGERS[:-1], lambda s, r: bits(s) > bits(r)),
    "index_cast": (INTEGERS, INTEGERS, lambda s, r: (s == "index") != (r == "index")),
    "index_castui": (INTEGERS, INTEGERS, lambda s, r: (s == "index") != (r == "index")),
    "sitofp": (INTEGERS[:-1], FLOATS, lambda s, r: True),
    "uitofp": (INTEGERS[:-1], FLOATS, lambda s, r: True),
    "fptosi": (FLOATS, INTEGERS[:-1], lambda s, r: True),
    "fptoui": (FLOATS, INTEGERS[:-1], lambda s, r: True),
    "extf": (FLOATS, FLOATS, lambda s, r: bits(s) < bits(r)),
    "truncf": (FLOATS, FLOATS, lambda s, r: bits(s) > bits(r)),
    "bitcast": (INTEGERS[:-1] + FLOATS, INTEGERS[:-1] + FLOATS, lambda s, r: bits(s) == bits(r)),
}


def of_casts(op: str) -> Iterator[Operation]:
    sources, targets, fits = SIDES[op]
    for source, result in itertools.product(sources, targets):
        if not fits(source, result):
            continue
        for mode in ROUNDINGS if op == "truncf" else [""]:
            fn = lambda a, s=source, r=result, m=mode: cast(op, a, s, r, m or ROUNDINGS[0])  # noqa: E731
            yield Operation(f"%r = arith.{op} %a {mode} : {source} to {result}", [source], [result], fn)


KINDS = [*INTEGERS, *FLOATS, *sorted(SIDES)]


def operations(kind: str) -> list[Operation]:
    return list((of_integers if kind in INTEGERS else of_floats if kind in FLOATS else of_casts)(kind))


@cache
def of(kind: str, every: int = 1) -> list[Case]:
    """All operations of a kind, for some rows of edges."""
    return [one.case(every) for one in operations(kind)]


# ------------------------------------------------------------------- the ways


def named(line: str, k: object) -> str:
    """The line with the names of its place in the program."""
    return " ".join(word[:2] + str(k) + word[2:] if word[0] == "%" else word for word in line.split())


def operation(k: int, one: Case, operands: Sequence[str]) -> list[str]:
    """Lines that make the operands of 64-bit numbers, carry it out, and make such numbers of the results."""
    lines = [made(f"{name}{k}", type, source) for name, type, source in zip("abc", one.types, operands)]
    return [*lines, named(one.line, k), *(widened(f"{n}{k}", t) for n, t in zip("rs", one.results))]


def per_row(cases: Sequence[Case], count: int, row: str, *, space: str = "") -> list[str]:
    """Lines that do all cases for the row of this name."""
    body, first = [], 0
    for k, one in enumerate(cases):
        for j in range(len(one.types)):
            body += [f"%n{k}_{j} = arith.constant {(first + j) * count} : index"]
            body += [f"%i{k}_{j} = arith.addi {row}, %n{k}_{j} : index"]
            body += [f"%x{k}_{j} = pto.load_scalar %in[%i{k}_{j}] : !pto.ptr<i64{space}> -> i64"]
        body += operation(k, one, [f"x{k}_{j}" for j in range(len(one.types))])
        first += len(one.types)
        for j, name in enumerate("rs"[: len(one.results)]):
            body += [f"%m{k}_{j} = arith.constant {(2 * k + j) * count} : index"]
            body += [f"%o{k}_{j} = arith.addi {row}, %m{k}_{j} : index"]
            body += [f"pto.store_scalar %{name}{k}_out, %out[%o{k}_{j}] : !pto.ptr<i64{space}>, i64"]
    return body


HEAD = "func.func @f(%in: !pto.ptr<i64>, %out: !pto.ptr<i64>) {"
THREADS = """module attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
func.func @f(%in: !pto.ptr<i64, gm>, %out: !pto.ptr<i64, gm>) attributes {{pto.kernel}} {{
%n = arith.constant 32 : i32
%y = arith.constant {high} : i32
%u = arith.constant 1 : i32
pto.simt_launch @body<<<%n, %y, %u>>>(%in, %out) : (!pto.ptr<i64, gm>, !pto.ptr<i64, gm>) -> ()
return
}}
func.func @body(%in: !pto.ptr<i64, gm>, %out: !pto.ptr<i64, gm>) attributes {{pto.simt_entry}} {{
%tx = pto.get_tid_x : i32
%ty = pto.get_tid_y : i32
%width = arith.constant 32 : i32
%row = arith.muli %ty, %width : i32
%thread = arith.addi %row, %tx : i32
%at = arith.index_castui %thread : i32 to index
{body}
return
}}
}}"""


def folded(cases: Sequence[Case], count: int) -> list[str]:
    """Every row of its own, of constants."""
    lines = []
    for k, one in enumerate(cases):
        for i, row in enumerate(one.rows):
            n = f"{k}_{i}"
            for x, v, t in zip("abc", row, one.types):
                lines += [f"%{x}{n} = arith.constant {number(v, bits(t))} : {t}"]
            lines += [named(one.line, n)]
            for j, (x, t) in enumerate(zip("rs", one.results)):
                lines += [widened(f"{x}{n}", t), f"%o{n}_{j} = arith.constant {(2 * k + j) * count + i} : index"]
                lines += [f"pto.store_scalar %{x}{n}_out, %out[%o{n}_{j}] : !pto.ptr<i64>, i64"]
    return lines


def outcome(way: str, cases: Sequence[Case]) -> list[list[tuple[Pattern, ...]]]:
    """What the operations give, by case and row."""
    count = max(len(one.rows) for one in cases)
    count += -count % 32
    numbers = ["%zero = arith.constant 0 : index", f"%count = arith.constant {count} : index"]
    numbers += ["%one = arith.constant 1 : index"]
    blocks, backend = 1, "native" if way == "machine code" else "numpy"
    match way:
        case "one block" | "machine code":
            body = per_row(cases, count, "%at")
            text = [HEAD, *numbers, "scf.for %at = %zero to %count step %one {", *body, "}", "return", "}"]
        case "blocks":
            head = [HEAD, "%id = pto.get_block_idx", "%at = arith.index_cast %id : i64 to index"]
            text, blocks = [*head, *per_row(cases, count, "%at"), "return", "}"], count
        case "threads":
            text = [THREADS.format(high=count // 32, body="\n".join(per_row(cases, count, "%at", space=", gm")))]
        case _:
            text = [HEAD, *folded(cases, count), "return", "}"]
    parsed = parse_module("\n".join(text))
    assert [str(d) for d in parsed.diagnostics] == []
    program = compile_program(parsed.module, A5)
    columns = []
    for one in cases:
        rows = [*one.rows, *[one.rows[0]] * (count - len(one.rows))]
        columns += [[signed(row[j]) for row in rows] for j in range(len(one.types))]
    out = np.zeros(2 * len(cases) * count, np.int64)
    program.launch([np.array(columns, np.int64).ravel(), out], blocks, backend=backend)
    found = []
    for k, one in enumerate(cases):
        parts = [out[(2 * k + j) * count :][: len(one.rows)].tolist() for j in range(len(one.results))]
        masks = [(1 << bits(t)) - 1 for t in one.results]
        found.append([tuple(v & m for v, m in zip(row, masks)) for row in zip(*parts)])
    return found


def fits(way: str, one: Case) -> bool:
    """True if a way has the operation: threads have no odd widths, and texts no constants of floats' bits."""
    types = {*one.types, *one.results}
    if way == "threads":
        return types.isdisjoint(("i7", "i24"))
    return way != "text" or types.isdisjoint(FLOATS)


def check(kind: str, way: str, every: int) -> None:
    cases = [one.those(refused=False) for one in of(kind, every) if fits(way, one)]
    wrong, count = [], 6 if way == "machine code" else max(1, len(cases))  # compiling long programs is slow
    parts = [outcome(way, cases[k : k + count]) for k in range(0, len(cases), count)]
    for one, found in zip(cases, itertools.chain(*parts), strict=True):
        for row, got, wanted in zip(one.rows, found, one.wanted, strict=True):
            for g, w in zip(got, wanted):
                if g != w:
                    wrong.append((one.line, [hex(v) for v in row], hex(g), hex(w)))
    assert wrong == []


LEFT = {"machine code": ("i1", "i7", "i8", "i16", "i24", "i32", "index", "f16", "bf16", "f64")}  # compiling is slow
OFTEN = [(k, w) for k in KINDS for w in WAYS if k not in LEFT.get(w, ("i7", "i16", "i24"))]


@pytest.mark.parametrize(("kind", "way"), OFTEN)
def test_values(kind: str, way: str) -> None:
    """Every row of casts, every fourth of others: 4 has no factor in common with the numbers of edges."""
    check(kind, way, 1 if kind in SIDES or kind == "i1" else 11 if way == "text" else 4)


@pytest.mark.campaign
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_values(kind: str, way: str) -> None:
    check(kind, way, 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["i1", "i8", "index", "fptosi", "fptoui"])
def test_what_has_no_value_is_refused(kind: str, way: str) -> None:
    for one in of(kind):
        if fits(way, one) and not (way == "machine code" and {"i7", "i24"} & {*one.types, *one.results}):
            refused = one.those(refused=True)
            for row, rule in list(zip(refused.rows, refused.wanted))[:1]:
                with pytest.raises(DiagnosticError) as error:
                    outcome(way, [Case(one.line, one.types, one.results, (row,), ((),))])
                assert {d.rule for d in error.value.diagnostics} == {rule}, (one.line, row)


def test_no_operation_is_missing() -> None:
    lines = " ".join(one.line for kind in KINDS for one in operations(kind))
    for name in (*ARITH_BINARY, *ARITH_UNARY, *ARITH_CASTS, *ARITH_EXTENDED):
        assert f"{name} " in lines
