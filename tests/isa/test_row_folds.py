"""Sums and products of rows on devices: order and rounding of each step are those of the libraries.

The model adds one number to another, as TRowReduceOps.hpp, TRowSum.hpp, TRowReduce.hpp and TRowProd.hpp have it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto

TYPES = {"f16": np.float16, "f32": np.float32}
BACKENDS = ["numpy", "native"]


def kernel(target: str, type: str, name: str, shape: tuple[int, int], valid: Any, column: bool = False) -> Any:
    """``valid``: the valid region of the type, or None: that of the run, which is all of the array."""
    dtype, (rows, cols) = getattr(pto, type), shape
    dst = {"cols": 1, "blayout": pto.BLayout.ColMajor} if column else {"cols": 16, "valid_col": 1}

    @pto.kernel(target=target)
    def fold(x: pto.Ptr[dtype], y: pto.Ptr[dtype], vr: int, vc: int) -> None:
        vr, vc = (vr, vc) if valid is None else valid
        t = pto.Tile(pto.TileType.Vec, dtype, rows, cols, valid_row=vr, valid_col=vc, addr=0)
        tmp = pto.Tile(pto.TileType.Vec, dtype, rows, cols, addr=0x10000)
        s = pto.Tile(pto.TileType.Vec, dtype, rows, valid_row=vr, addr=0x20000, **dst)
        pto.TLOAD(t, pto.GlobalTensor(x, (vr, vc)))
        getattr(pto, name)(s, t, tmp)
        pto.TSTORE(pto.GlobalTensor(y, (vr, 1)), s)

    return fold


def added(x: list[Any]) -> Any:
    """Neighbours, by vcadd and vcgadd."""
    while len(x) > 1:
        x = [x[k] + x[k + 1] for k in range(0, len(x), 2)]
    return x[0]


def filled(x: list[Any], count: int) -> list[Any]:
    return x + [type(x[0])(0)] * (count - len(x))


def sum_on_a5(x: list[Any]) -> Any:
    lanes = 256 // x[0].itemsize
    total = type(x[0])(0)
    for first in range(0, len(x), lanes):
        total = total + added(filled(x[first : first + lanes], lanes))
    return total


def sum_on_a2a3(x: list[Any]) -> Any:
    lanes = 256 // x[0].itemsize
    count, left = divmod(len(x), lanes)
    if count == 0 or (count, left) == (1, 0):
        return added(filled(x, lanes))
    repeats = [x[k * lanes : (k + 1) * lanes] for k in range(count)]
    if count == 1:
        tmp = repeats
    else:
        tmp = [[a + b for a, b in zip(repeats[2 * k], repeats[2 * k + 1])] for k in range(count // 2)]
        if count % 2:
            tmp[0] = [a + b for a, b in zip(tmp[0], repeats[-1])]
    for k in range(left):
        tmp[0][k] = tmp[0][k] + x[count * lanes + k]
    while len(tmp) > 1:
        half = [[a + b for a, b in zip(tmp[2 * k], tmp[2 * k + 1])] for k in range(len(tmp) // 2)]
        if len(tmp) % 2:
            half[-1] = [a + b for a, b in zip(half[-1], tmp[-1])]
        tmp = half
    return added(tmp[0])


def product_on_a2a3(x: list[Any]) -> Any:
    kind, lanes = type(x[0]), 32 // x[0].itemsize
    tmp = [kind(1)] * lanes
    for k, value in enumerate(x):
        tmp[k % lanes] = tmp[k % lanes] * value
    total = np.float32(tmp[0])
    for value in tmp[1:]:
        total = total * np.float32(value)
    return kind(total)


def product_on_a5(x: list[Any]) -> Any:
    """Each round interleaves the lower and the upper half with ones, so that halves are multiplied."""
    kind, lanes = type(x[0]), 256 // x[0].itemsize
    acc = [kind(1)] * lanes
    for k, value in enumerate(x):
        acc[k % lanes] = acc[k % lanes] * value
    for _ in range(lanes.bit_length() - 1):
        low = [v for a in acc[: lanes // 2] for v in (a, kind(1))]
        high = [v for a in acc[lanes // 2 :] for v in (a, kind(1))]
        acc = [a * b for a, b in zip(low, high)]
    return acc[0]


MODELS = {
    ("TROWSUM", "a2a3"): sum_on_a2a3,
    ("TROWSUM", "a5"): sum_on_a5,
    ("TROWPROD", "a2a3"): product_on_a2a3,
    ("TROWPROD", "a5"): product_on_a5,
}


def numbers(rng: np.random.Generator, name: str, shape: tuple[int, ...], type: str) -> np.ndarray:
    """Whose sums and products show the order."""
    if name == "TROWPROD":
        return np.asarray(rng.choice([-1, 1], shape) * rng.uniform(0.7, 1.4, shape)).astype(TYPES[type])
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)).astype(TYPES[type])


def compare(target: str, type: str, name: str, shape: tuple[int, int], size: tuple[int, int], static: bool) -> None:
    rng = np.random.default_rng(size[1])
    x = numbers(rng, name, size, type)
    x[0] = -0.0
    y = np.zeros((size[0], 1), TYPES[type])
    kernel(target, type, name, shape, size if static else None)(x, y, *size)
    with np.errstate(all="ignore"):
        wanted = np.array([MODELS[name, target](list(row)) for row in x], TYPES[type])
    assert y[:, 0].tobytes() == wanted.tobytes()


COLS = [1, 2, 3, 8, 15, 16, 31, 63, 64, 65, 100, 127, 128, 129, 192, 200, 256, 320, 449, 512, 640, 1000, 1024]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("name", ["TROWSUM", "TROWPROD"])
def test_each_step_is_rounded(name: str, target: str, type: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Valid regions of any size, of the type and of the run."""
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    part = COLS if backend == "numpy" else COLS[(name == "TROWSUM") + 2 * (target == "a5") :: 4]
    for k, cols in enumerate(part):
        physical = max(128, -(-cols // 128) * 128)
        compare(target, type, name, (8, physical), (1 + k % 8, cols), static=k % 3 != 0)
        if backend == "numpy":  # native code takes a compilation for each
            compare(target, type, name, (8, physical), (3, cols), static=k % 3 == 0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_long_rows(target: str, type: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    for name in ("TROWSUM", "TROWPROD"):
        for cols in (2176, 7 * 512 + 13, 4096):
            compare(target, type, name, (2, 4096), (2, cols), static=cols == 4096)
            if backend == "numpy":
                compare(target, type, name, (2, 4096), (2, cols), static=cols != 4096)


def blocks(x: list[Any]) -> list[Any]:
    return [added(x[k : k + 8]) for k in range(0, len(x), 8)]


def side_by_side(x: list[Any]) -> list[Any]:
    return [x[16 * k + j] + x[16 * k + 8 + j] for k in range(len(x) // 16) for j in range(8)]


SPECIAL = {
    (64, 128): lambda x: blocks(side_by_side(blocks(x))),
    (32, 256): lambda x: blocks(side_by_side(side_by_side(blocks(x)))),
    (16, 512): lambda x: blocks(blocks(blocks(x))),
    (8, 1024): lambda x: blocks(side_by_side(blocks(blocks(x)))),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SPECIAL)
def test_four_shapes_of_f32_have_an_order_of_their_own(
    shape: tuple[int, int], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a2a3, where the valid region is part of the type and dst is a DN tile."""
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    x = numbers(np.random.default_rng(1), "TROWSUM", shape, "f32")
    special = np.array([SPECIAL[shape](list(row))[0] for row in x], np.float32)
    general = np.array([sum_on_a2a3(list(row)) for row in x], np.float32)
    assert (special != general).any()
    for valid, column, wanted in ((shape, True, special), (shape, False, general), (None, True, general)):
        y = np.zeros((shape[0], 1), np.float32)
        kernel("a2a3", "f32", "TROWSUM", shape, valid, column)(x, y, *shape)
        assert y[:, 0].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_small_numbers_are_lost_at_the_step_that_adds_them(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2048 + 1 is 2048 in f16. The neighbours 1 + 1 are added first; on cpu the sum is rounded once."""
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    for row, devices, cpu in (
        ([2048, 1, 1, 0], 2048, 2050),
        ([2048, 0, 1, 1], 2050, 2050),
        ([60000, 60000, -30000, -30000], np.inf, 60000),
    ):
        for target in ("a2a3", "a5", "cpu"):
            x, y = np.array([row], np.float16), np.zeros((1, 1), np.float16)
            kernel(target, "f16", "TROWSUM", (8, 128), (1, 4))(x, y, 1, 4)
            assert y.item() == (cpu if target == "cpu" else devices)


@pytest.mark.parametrize("backend", BACKENDS)
def test_repeats_are_added_before_or_after_their_lanes(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1e8 - 1e8 in lane 0 of two repeats of f32, and ones beside both."""
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    x, y = np.zeros((1, 128), np.float32), np.zeros((1, 1), np.float32)
    x[0, [0, 1, 64, 65]] = 1e8, 1, -1e8, 1
    for target, wanted in (("a2a3", 2), ("a5", 0), ("cpu", 2)):
        kernel(target, "f32", "TROWSUM", (8, 128), (1, 128))(x, y, 1, 128)
        assert y.item() == wanted
