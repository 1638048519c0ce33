"""Values that meet after branches and loops: which of them are one value, and what they become if they are not."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f32, i64

from .support import check, kernel
from .test_syntax import made


def test_zeros_of_two_signs_are_two_values() -> None:
    @pto.kernel(target="a5")
    def k(x: Ptr[i64], y: Ptr[f32], n: int) -> None:
        z = 0.0
        if x[0] > n:
            z = -0.0
        y[0] = z
        turned = 0.0
        for _i in range(n):
            turned = -0.0
        y[1] = turned

    for first, n in ((5, 0), (-5, 0), (5, 3)):
        found = np.ones(2, np.float32)
        k(np.array([first]), found, n)
        assert np.signbit(found).tolist() == [first > n, n > 0]


def test_a_whole_number_and_a_fraction_meet_as_a_fraction() -> None:
    @pto.kernel(target="a5")
    def k(x: Ptr[i64], y: Ptr[f32]) -> None:
        v = 1
        if x[0] > 3:
            v = 2.5
        y[0] = v

    for first, expected in ((3, 1.0), (4, 2.5)):
        found = np.zeros(1, np.float32)
        k(np.array([first]), found)
        assert found[0] == expected


@pytest.mark.parametrize("types", [("i16", "i32"), ("i32", "i16"), ("i8", "i64"), ("i64", "i8"), ("i8", "i16")])
def test_integers_of_two_types_meet_in_the_wider_one(types: tuple[str, str]) -> None:
    first, second = types
    text = f"""
def f(a: pto.Ptr[pto.{first}], b: pto.Ptr[pto.{second}], y: pto.Ptr[pto.i64], n: int):
    v = a[0]
    if n > 3:
        v = b[0]
    y[0] = v
    w = b[0]
    if n > 3:
        w = a[0]
    y[1] = w
"""
    k = pto.kernel(target="a5")(made(text))
    a, b = (np.array([np.iinfo(name.replace("i", "int")).max - 1], name.replace("i", "int")) for name in types)
    for n in (3, 4):
        found = np.zeros(2, np.int64)
        k(a, b, found, n)
        assert found.tolist() == ([b[0], a[0]] if n > 3 else [a[0], b[0]])


def test_a_truth_value_and_a_number_do_not_meet() -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int) -> None:
        v = n
        if n > 3:
            v = n > 5
        y[0] = v  # here

    check(f, "LANG-SCOPE", "'v' is of different kinds")


def test_a_tile_and_a_number_do_not_meet() -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int) -> None:
        v = Tile(TileType.Vec, f32, 8, 64)
        if n > 3:
            v = 1.0
        pto.TADDS(v, v, 1.0)  # here

    check(f, "LANG-SCOPE", "'v' is of different kinds")


def test_tiles_with_other_valid_regions_do_not_meet() -> None:
    """One name could not tell which part of the tile is valid."""

    def f(x: Ptr[f32], y: Ptr[f32], n: int) -> None:
        a = Tile(TileType.Vec, f32, 8, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
        b = Tile(TileType.Vec, f32, 8, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
        a.set_valid(2, 64)
        b.set_valid(n, 64)
        t = a
        if n > 3:
            t = b
        pto.TADDS(t, t, 1.0)  # here

    check(f, "LANG-SCOPE", "'t' is of different kinds")


def test_tiles_with_one_valid_region_meet() -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int) -> None:
        a = Tile(TileType.Vec, f32, 8, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
        b = Tile(TileType.Vec, f32, 8, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
        a.set_valid(n, 64)
        b.set_valid(n, 64)
        pto.TADDS(a, a, 1.0)
        pto.TADDS(b, b, 2.0)
        t = a
        if n > 3:
            t = b
        pto.TSTORE(GlobalTensor(y, (n, 64), (64, 1)), t)

    for n, expected in ((2, 1.0), (5, 2.0)):
        found = np.zeros((8, 64), np.float32)
        kernel(f)(np.zeros(1, np.float32), found, n)
        assert (found[:n] == expected).all()
        assert not found[n:].any()


def test_a_word_that_a_loop_changes_is_not_known_after_it() -> None:
    """Whether the loop has an iteration is for the run to tell; what does not change is known."""

    def f(x: Ptr[f32], y: Ptr[f32], n: int) -> None:
        word = same = "a"
        for _i in range(n):
            word, same = "b", "a"
        y[0] = 1.0 if same == "a" else 2.0
        y[1] = 1.0 if word == "b" else 2.0  # here

    check(f, "LANG-SCOPE", "'word' is assigned in a loop")
