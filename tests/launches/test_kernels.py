"""``kernel[blocks](…, executor=…)``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ptokit as pto

from .conftest import Inline
from .test_launch import rows


def test_a_kernel_on_an_executor() -> None:
    x = np.arange(40 * 32, dtype=np.float32).reshape(40, 32)
    y = np.zeros_like(x)
    executor = Inline()
    rows[10](x, y, 40, 1.5, executor=executor)
    assert (y == x * np.float32(1.5)).all()
    assert executor.tasks


def test_real_processes() -> None:
    x = np.arange(4000 * 32, dtype=np.float32).reshape(4000, 32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    rows[1000](x, y, 4000, 1.5, executor="processes")
    with ThreadPoolExecutor(2) as pool:
        rows[1000](x, z, 4000, 1.5, executor=pool)
    assert (y == x * np.float32(1.5)).all()
    assert (z == y).all()


def test_a_parameter_of_the_same_name_comes_first() -> None:
    @pto.kernel(target="a5")
    def own(y: pto.Ptr[pto.i32], executor: int) -> None:
        y[pto.get_block_idx()] = executor

    y = np.zeros(3, np.int32)
    own[3](y, executor=7)
    assert y.tolist() == [7, 7, 7]


def test_an_executor_that_there_is_not() -> None:
    x = np.zeros((40, 32), np.float32)
    with pytest.raises(pto.DiagnosticError, match="'nowhere' is no executor"):
        rows[10](x, x.copy(), 40, 1.5, executor="nowhere")
