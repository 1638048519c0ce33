"""Values that meet behind branches and loops: which of them are one value, and what they become if they are not."""

from __future__ import annotations

import numpy as np

import ptokit as pto
from ptokit import Ptr, f32, i64


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
