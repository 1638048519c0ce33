"""Sums and products of columns on devices: order and rounding of each step are those of the libraries."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto

TYPES = {"f16": np.float16, "f32": np.float32, "bf16": ml_dtypes.bfloat16}
COLS = 32


def kernel(target: str, type: str, rows: int, name: str, tree: bool) -> Any:
    dtype = getattr(pto, type)

    @pto.kernel(target=target)
    def fold(x: pto.Ptr[dtype], y: pto.Ptr[dtype]) -> None:
        t = pto.Tile(pto.TileType.Vec, dtype, rows, COLS, addr=0)
        row = pto.Tile(pto.TileType.Vec, dtype, 1, COLS, addr=0x8000)
        tmp = pto.Tile(pto.TileType.Vec, dtype, rows, COLS, addr=0x10000)
        pto.TLOAD(t, pto.GlobalTensor(x, (rows, COLS)))
        if tree:
            pto.TCOLSUM(row, t, tmp, is_binary=True)
        else:
            getattr(pto, name)(row, t)
        pto.TSTORE(pto.GlobalTensor(y, (1, COLS)), row)

    return fold


def in_turn(x: np.ndarray, name: str) -> Any:
    acc = x[0]
    for value in x[1:]:
        acc = acc + value if name == "TCOLSUM" else acc * value
    return acc


def as_tree(x: np.ndarray, a5: bool) -> Any:
    level = list(x)
    if len(level) == 1:
        return level[0] + x.dtype.type(0) if a5 else level[0]
    while len(level) > 1:
        sums = [level[2 * i] + level[2 * i + 1] for i in range(len(level) // 2)]
        if len(level) % 2:
            at = len(sums) - 1 if a5 else 0
            sums[at] = sums[at] + level[-1]
        level = sums
    return level[0]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 13])
@pytest.mark.parametrize(("name", "tree"), [("TCOLSUM", False), ("TCOLSUM", True), ("TCOLPROD", False)])
@pytest.mark.parametrize(
    ("target", "type"), [("a2a3", "f16"), ("a2a3", "f32"), ("a5", "f16"), ("a5", "f32"), ("a5", "bf16")]
)
def test_each_step_is_rounded(
    target: str, type: str, name: str, tree: bool, rows: int, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    scale = 30 if name == "TCOLSUM" else 1.2
    x = (np.random.default_rng(rows).standard_normal((rows, COLS)) * scale).astype(TYPES[type])
    x[:, 0] = -0.0
    y = np.zeros((1, COLS), TYPES[type])
    kernel(target, type, rows, name, tree)(x, y)
    wanted = [as_tree(c, target == "a5") if tree else in_turn(c, name) for c in x.T]
    assert y[0].tobytes() == np.array(wanted, TYPES[type]).tobytes()


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_small_numbers_are_lost_one_by_one(target: str) -> None:
    """2048 + 1 is 2048 in f16, and so is 2048 + 1 + 1; on cpu the sum is rounded once."""
    x = np.ones((3, COLS), np.float16)
    x[0] = 2048
    y = np.zeros((1, COLS), np.float16)
    kernel(target, "f16", 3, "TCOLSUM", False)(x, y)
    assert (y == 2048).all()
    kernel("cpu", "f16", 3, "TCOLSUM", False)(x, y)
    assert (y == 2050).all()
