"""The walk from a first try at one number a row to a right softmax: each finding leads one step on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8").splitlines()
VEC, COLUMN = pto.TileType.Vec, pto.BLayout.ColMajor


def first(t, tmp):
    pto.TROWSUM(pto.Tile(VEC, pto.f32, 16, 1), t, tmp)


def second(t, tmp):
    total = pto.Tile(VEC, pto.f32, 1, 16)
    pto.TROWSUM(total, t, tmp)


def third(t, tmp):
    total = pto.Tile(VEC, pto.f32, 16, 8, valid_col=1)
    pto.TROWSUM(total, t, tmp)
    pto.TROWEXPANDDIV(t, t, total)


def fourth(t, tmp):
    total = pto.Tile(VEC, pto.f32, 16, 1, COLUMN)
    pto.TROWSUM(total, t, tmp)
    pto.TMUL(t, t, total)


def fifth(t, tmp):
    total, more = (pto.Tile(VEC, pto.f32, 16, 1, COLUMN) for _ in range(2))
    pto.TROWSUM(total, t, tmp)
    pto.TRECIP(more, total)


def right(t, tmp):
    total, inverse = (pto.Tile(VEC, pto.f32, 16, 1, COLUMN) for _ in range(2))
    pto.TROWSUM(total, t, tmp)
    pto.TRECIP(inverse.reshape(1, 16), total.reshape(1, 16))
    pto.TROWEXPANDMUL(t, t, inverse)


def kernel(part: Callable[[pto.Tile, pto.Tile], None]) -> pto.Kernel:
    @pto.kernel(target="a2a3")
    def f(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
        t, tmp = (pto.Tile(VEC, pto.f32, 16, 64) for _ in range(2))
        pto.TLOAD(t, pto.GlobalTensor(x, (16, 64)))
        part(t, tmp)
        pto.TSTORE(pto.GlobalTensor(y, (16, 64)), t)

    return f


@pytest.mark.parametrize(
    ("part", "rule", "hint"),
    [
        (first, "TILE-05", "is pto.BLayout.ColMajor"),
        (second, "RRED-COM-03", "16x1, ColMajor"),
        (third, "REXP-COM-11", "is ColMajor and has one column"),
        (fourth, "EW-02", "TROWEXPANDMUL"),
        (fifth, "EW-02", "a reshape to 1x16"),
    ],
)
def test_each_finding_leads_on(part: Callable[[pto.Tile, pto.Tile], None], rule: str, hint: str) -> None:
    found = kernel(part).check().errors
    assert [hint in (d.hint or "") for d in found if d.rule == rule] == [True]
    (shown,) = [line.split(" | ") for line in PAGE if f"`{rule}`" in line and hint in line]
    (step,) = (d for d in found if d.rule == rule)
    assert shown[1].partition(": ")[2] in step.message
    assert shown[2].removesuffix(" |") in (step.hint or "")


def test_the_end_of_the_walk() -> None:
    f = kernel(right)
    assert not f.check().errors
    x = np.random.default_rng(1).random((16, 64), np.float32)
    y = np.zeros_like(x)
    f(x, y)
    assert np.abs(y - x / x.sum(axis=1, keepdims=True)).max() < 1e-6
