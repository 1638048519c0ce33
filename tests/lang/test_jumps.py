"""Variables where break, continue and return lead to."""

from __future__ import annotations

import ptokit as pto
from ptokit import Ptr, f32, i64

from .support import check, finding_of
from .test_syntax import agrees, made


def test_a_variable_that_the_next_iteration_reads_and_this_one_would_assign() -> None:
    def continued(x: Ptr[i64], y: Ptr[i64], n: int):
        s = 1
        for i in range(n):
            y[i] = s
            if x[i] > 3:
                y[20] = i
                if x[i] > 9:
                    s = 7
                    continue
            s = 0

    def inside(x: Ptr[i64], y: Ptr[i64], n: int):
        s = 1
        i = 0
        while i < n:
            y[i] = s
            i += 1
            if x[i] % 2 == 0:
                s = x[i]
                if x[i] > 9:
                    s = s + 1
                    continue
                s = s + 2
            s = s * 2

    agrees(continued, 0, 1, 4, 9)
    agrees(inside, 0, 1, 4, 9)


def test_a_variable_that_is_read_behind_a_loop_that_was_left() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        s = 1
        for i in range(n):
            if x[i] > 6:
                y[2] = i
                if x[i] > 9:
                    s = 50
                    break
            s = i
        y[0] = s
        for k in pto.static_range(4):
            if x[k + n] > 6:
                y[3] = k
                if x[k + n] > 15:
                    s = 100 + k
                    break
            s = k
        y[1] = s

    agrees(f, 0, 1, 2, 3, 5, 9)


def test_a_variable_without_a_value_where_the_loop_is_left() -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int) -> None:
        for k in pto.static_range(3):
            if n > k:
                break
            s = 1.0 + k
        y[0] = s  # here

    check(f, "LANG-SCOPE", "'s' has a value on one way that leads here, and none on the other")


def test_left_by_one_of_several_jumps() -> None:
    def f(x: Ptr[i64], y: Ptr[i64], n: int):
        for i in range(9):
            y[0] = i
            if x[i] == n:
                return
            if x[i] > 20:
                break
            y[1] = i
        y[2] = 1

    agrees(f, 0, 7, 14, 21, 5, 100)


def test_a_variable_of_another_kind_on_a_way_that_leaves() -> None:
    """What follows is compiled for the way that comes to it."""

    def last(x: Ptr[i64], y: Ptr[i64], n: int):
        if x[0] > n:
            w = n + 1
        else:
            w = x
            y[0] = 7
            return
        y[1] = w

    def first(x: Ptr[i64], y: Ptr[i64], n: int):
        if x[1] > n:
            w = x
            y[0] = 7
            return
        else:  # noqa: RET505
            w = n + 1
        y[1] = w

    agrees(last, -1, 0, 5)
    agrees(first, -1, 0, 9)


def test_try_is_refused_in_both_spellings() -> None:
    for word in ("except", "except*"):
        body = f"    try:\n        x[0] = 1.0\n    {word} ValueError:\n        x[0] = 2.0\n"
        f = made(f"def f(x: pto.Ptr[pto.f32], n: int):\n{body}")
        found = finding_of(lambda f=f: pto.kernel(target="a5")(f).trace(f32, 8))
        assert (found.rule, found.message) == ("LANG-CONTROL", "try cannot be compiled in a kernel")
