"""Rules of the assembler's verifiers of threads: statements that keep each, and statements that break it."""

from __future__ import annotations

import pytest

from ptokit.diagnostics import CATALOGUE

from .statements import Case, found


def threads(statement: str, params: str = "", attribute: str = "pto.simt_entry") -> str:
    """The statement in a function, without its end: of threads, or of another kind."""
    head = f"func.func @f(%i: index{params and ', '}{params}) attributes {{{attribute}}} {{"
    return f"{head}\n{statement}"


def closed(text: str) -> str:
    """The function with its end."""
    return f"{text}\nreturn\n}}"


_GM = "%p: P<i32, gm>"
_DEV = "%v = pto.ld_dev %p[%i] : P<i32, gm> -> i32"
CASES: list[Case] = [
    (
        "THR-01",
        threads("%v = pto.ldg %p[%i] : P<i32, gm> -> i32", _GM),
        (
            threads("%v = pto.ldg %p[%i] : P<i32, gm> -> i16", _GM),
            threads("pto.store %x, %p[%i] : P<i32, gm>, i64", f"{_GM}, %x: i64"),
        ),
    ),
    (
        "THR-02",
        threads("%v = pto.atomic_add %p, %x : P<i32, ub>, i32 -> i32", "%p: P<i32, ub>, %x: i32"),
        (
            threads("%v = pto.ldg %p[%i] : P<i32, ub> -> i32", "%p: P<i32, ub>"),
            threads("%v = pto.atomic_add %p, %x : P<i32, l1>, i32 -> i32", "%p: P<i32, l1>, %x: i32"),
        ),
    ),
    (
        "THR-03",
        threads("%v = pto.ldg %p[%i] : P<vector<2xf16>, gm> -> vector<2xf16>", "%p: P<vector<2xf16>, gm>"),
        (
            threads("%v = pto.ldg %p[%i] : P<vector<4xf16>, gm> -> vector<4xf16>", "%p: P<vector<4xf16>, gm>"),
            threads("%v = pto.ldg %p[%i] : P<vector<2xi64>, gm> -> vector<2xi64>", "%p: P<vector<2xi64>, gm>"),
        ),
    ),
    (
        "THR-04",
        threads("%v = pto.ldg %p[%i] : P<i32, gm> -> i32", _GM),
        (threads("%v = pto.ldg %p[%i] : P<i32, gm> -> i32", _GM, "pto.entry"),),
    ),
    (
        "THR-05",
        threads(_DEV, _GM, "pto.entry"),
        (
            threads(_DEV, _GM),
            threads(_DEV, _GM, "pto.helper"),
            threads("%v = pto.ld_dev %p[%i] : P<f32, gm> -> f32", "%p: P<f32, gm>", "pto.entry"),
        ),
    ),
    (
        "THR-06",
        threads("%v = pto.atomic_and %p, %x : P<i64, gm>, i64 -> i64", "%p: P<i64, gm>, %x: i64"),
        (
            threads("%v = pto.atomic_and %p, %x : P<f32, gm>, f32 -> f32", "%p: P<f32, gm>, %x: f32"),
            threads("%v = pto.atomic_add %p, %x : P<i64, ub>, i64 -> i64", "%p: P<i64, ub>, %x: i64"),
            threads("%v = pto.atomic_add %p, %x : P<i16, gm>, i16 -> i16", "%p: P<i16, gm>, %x: i16"),
        ),
    ),
    (
        "THR-08",
        threads("%v = pto.shuffle_up %x, %n {width = 32 : i32} : i32, i32 -> i32", "%x: i32, %n: i32"),
        (
            threads("%v = pto.shuffle_up %x, %n {width = 8 : i32} : i32, i32 -> i32", "%x: i32, %n: i32"),
            threads("%v = pto.shuffle_up %x, %n {width = 32 : i32} : i16, i32 -> i16", "%x: i16, %n: i32"),
        ),
    ),
    (
        "THR-09",
        threads("%v = pto.redux_max %x signed : i32 -> i32", "%x: i32"),
        (
            threads("%v = pto.redux_max %x : i32 -> i32", "%x: i32"),
            threads("%v = pto.redux_max %x signed : f32 -> f32", "%x: f32"),
            threads("%v = pto.redux_add %x : i64 -> i64", "%x: i64"),
        ),
    ),
    (
        "THR-10",
        threads("%v = pto.convert %x round(z) sat signed : f32 -> i32", "%x: f32"),
        (
            threads("%v = pto.convert %x round(z) nosat signed : f32 -> i32", "%x: f32"),
            threads("%v = pto.convert %x round(h) sat : f32 -> f16", "%x: f32"),
            threads("%v = pto.convert %x round(r) sat signed : i32 -> i64", "%x: i32"),
            threads("%v = pto.convert %x round(r) sat : i32 -> f32", "%x: i32"),
        ),
    ),
    (
        "THR-11",
        threads("pto.keep %x {slot = 8 : i64} : i64", "%x: i64"),
        (
            threads("pto.keep %x {slot = 7 : i64} : i64", "%x: i64"),
            threads("pto.keep %x {slot = 123 : i64} : i32", "%x: i32"),
        ),
    ),
]
_PAIR = "%v = pto.atomic_add %p, %x : P<vector<2xf16>, gm>, vector<2xf16> -> vector<2xf16>"
_PAIRS = "%p: P<vector<2xf16>, gm>, %x: vector<2xf16>"


@pytest.mark.parametrize(("rule", "good"), [(rule, good) for rule, good, _ in CASES])
def test_kept(rule: str, good: str) -> None:
    assert found(closed(good)) == []


@pytest.mark.parametrize(("rule", "wrong"), [(rule, wrong) for rule, _, several in CASES for wrong in several])
def test_broken(rule: str, wrong: str) -> None:
    assert (rule, 2) in found(closed(wrong))


def test_pairs_are_combined_by_threads_that_do_not_take_what_was_there() -> None:
    taken = f"{_PAIR}\n%w = pto.atomic_add %p, %v : P<vector<2xf16>, gm>, vector<2xf16> -> vector<2xf16>"
    assert found(closed(threads(_PAIR, _PAIRS))) == []
    assert found(closed(threads(_PAIR, _PAIRS, "pto.entry"))) == [("THR-07", 2)]
    assert found(closed(threads(taken, _PAIRS))) == [("THR-07", 2)]


def test_every_rule_has_a_case() -> None:
    assert {id for id in CATALOGUE if id.startswith("THR-")} == {rule for rule, *_ in CASES} | {"THR-07"}
