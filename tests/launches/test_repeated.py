"""A worker may be lost when it has written all: its blocks run again, and leave what they leave in one process."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.launches import arrays
from ptokit.launches.launch import launch

from .conftest import Inline
from .test_launch import RNG, columns, narrow, rows


class LostLate(Inline):
    """Does the work of every task and loses the answer, the first time."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done = super().submit(fn, *args, **kwargs)
        ((entry,),) = args
        if sum(task.id == entry["id"] for task in self.tasks) > 1:
            return done
        lost: Future[Any] = Future()
        lost.set_exception(RuntimeError("worker gone"))
        return lost


@pto.kernel(target="a5")
def adds_to_own(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
    """Each block adds to rows that are its own."""
    top = pto.get_block_idx() * 4
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 4, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 4])
    pto.TSTORE(pto.GlobalTensor(y, (n, 32))[top : top + 4], tile, atomic=pto.AtomicType.AtomicAdd)


@pytest.mark.parametrize("small", [0, 1 << 30], ids=["shared", "sent"])
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("kernel", [rows, adds_to_own, columns, narrow], ids=lambda kernel: kernel.name)
def test_work_that_is_done_twice(
    kernel: pto.Kernel, mapped: bool, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "SMALL", small)
    shape = (16, 64) if kernel is columns else (32, 32)
    x, y = RNG.random(shape, np.float32), RNG.random(shape, np.float32)
    more = {"rows": [32, 1.5], "adds_to_own": [32], "columns": [16, 64], "narrow": [32, 0]}[kernel.name]
    blocks = 32 if kernel is narrow else 8
    program = kernel.compile(x, y, *more)
    wanted = y.copy()
    program.launch([x, wanted, *more], blocks)
    if mapped:
        y.tofile(tmp_path / "y")
        x.tofile(tmp_path / "x")
        y = np.memmap(tmp_path / "y", np.float32, "r+", 0, shape)
        x = np.memmap(tmp_path / "x", np.float32, "r", 0, shape)
    executor = LostLate()
    launch(program, [x, y, *more], blocks, executor=executor, jobs=2)
    assert y.tobytes() == wanted.tobytes()
    assert len(executor.tasks) >= 2 * 4
