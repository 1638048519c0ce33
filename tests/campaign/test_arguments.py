"""The arguments that a case works on."""

from __future__ import annotations

import numpy as np

from ptokit.campaign.case import Action, Case
from ptokit.campaign.work import _arguments, _program

from .conftest import kernel


def made(seed: int) -> list[np.ndarray]:
    case = Case("k", "k.pto", kernel(), Action.RUN, args=("random:f32:16x64", "random:f32:16x64", "0"), seed=seed)
    first, second, _ = _arguments(case, _program(case))
    return [first, second]


def test_every_argument_has_numbers_of_its_own() -> None:
    (a, b), (c, d) = made(0), made(7)
    assert not np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert not np.array_equal(b, d)
    assert np.array_equal(a, made(0)[0])
