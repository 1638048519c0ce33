"""Kernels as values: pickled by name, copied, used from threads, processes and coroutines."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import threadpoolctl

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f16, f32


@pto.kernel(target="a5")
def scale(x: Ptr[f32], y: Ptr[f32], factor: float):
    row = pto.get_block_idx()
    tile = Tile(TileType.Vec, f32, 1, 64)
    pto.TLOAD(tile, GlobalTensor(x, (8, 64))[row : row + 1])
    pto.TMULS(tile, tile, factor)
    pto.TSTORE(GlobalTensor(y, (8, 64))[row : row + 1], tile)


@pto.kernel(target="a5")
def product(x: Ptr[f16], y: Ptr[f16], z: Ptr[f32]):
    a, b = (Tile(TileType.Mat, f16, 16, 16, pto.BLayout.ColMajor, slayout=pto.SLayout.RowMajor) for _ in range(2))
    pto.TLOAD(a, GlobalTensor(x, (16, 16)))
    pto.TLOAD(b, GlobalTensor(y, (16, 16)))
    left, right, acc = pto.TileLeft(f16, 16, 16), pto.TileRight(f16, 16, 16), pto.TileAcc(f32, 16, 16)
    pto.TMOV(left, a)
    pto.TMOV(right, b)
    pto.TMATMUL(acc, left, right)
    pto.TSTORE(GlobalTensor(z, (16, 16)), acc)


class Space:
    """A kernel may be an attribute."""

    inner = scale.on("a2a3")


def right(kernel: Any, factor: float = 3.0) -> bool:
    x = np.arange(512, dtype=np.float32).reshape(8, 64)
    y = np.zeros_like(x)
    kernel[8](x, y, factor)
    return bool((y == x * np.float32(factor)).all())


def local() -> pto.Kernel:
    @pto.kernel(target="a5")
    def hidden(y: Ptr[f32]):
        y[0] = 7.0

    return hidden


def test_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert len(pickle.dumps(scale)) < 300
    right(scale)  # a compiled one, too
    assert pickle.loads(pickle.dumps(scale)) is scale
    launcher = pickle.loads(pickle.dumps(scale[8]))
    assert (launcher.kernel, launcher.blocks) == (scale, 8)


@pytest.mark.parametrize("other", [scale.on("a2a3"), Space.inner])
def test_the_same_kernel_for_another_target(other: pto.Kernel) -> None:
    found = pickle.loads(pickle.dumps(other))
    assert (found.function, found.target.name) == (scale.function, "a2a3")
    assert right(found)


def test_a_kernel_without_a_name_in_its_module() -> None:
    with pytest.raises(pickle.PicklingError, match=r"hidden cannot be pickled: it is not .*local\.<locals>\.hidden"):
        pickle.dumps(local())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies(copied: Any) -> None:
    for kernel in (scale, scale.on("a2a3")):
        other = copied(kernel)
        assert other is not kernel
        assert (other.name, other.target, other.matmul) == (kernel.name, kernel.target, kernel.matmul)
        assert right(other)
    y = np.zeros(1, np.float32)
    copied(local())(y)
    assert y[0] == 7


def test_threads() -> None:
    """The first launches of a kernel, all at the same time; each with its own results."""
    kernel, start = copy.copy(scale), threading.Barrier(6)

    def work(k: int) -> bool:
        start.wait()
        return all(right(kernel, factor=float(k * 10 + i)) for i in range(5))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


def test_threads_of_products_leave_the_limits_of_blas_as_they_were() -> None:
    kernel, start = copy.copy(product), threading.Barrier(4)
    before = [library["num_threads"] for library in threadpoolctl.threadpool_info()]
    x = np.eye(16, dtype=np.float16)

    def work(k: int) -> bool:
        start.wait()
        y, z = np.full((16, 16), k, np.float16), np.zeros((16, 16), np.float32)
        for _ in range(5):
            kernel(x, y, z)
        return bool((z == k).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert [library["num_threads"] for library in threadpoolctl.threadpool_info()] == before


def test_coroutines() -> None:
    async def work(k: int) -> bool:
        await asyncio.sleep(0)
        here = right(scale, factor=float(k))
        return here and await asyncio.to_thread(right, scale, float(k))

    async def everything() -> list[bool]:
        return await asyncio.gather(*(work(k) for k in range(4)))

    assert asyncio.run(everything()) == [True] * 4


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert pool.submit(right, scale.on("a2a3")).result(timeout=60)
