"""Sums and products of columns on devices: order and rounding of each step are those of the libraries."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import target as target_named

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


def by_pairs(x: np.ndarray, name: str) -> Any:
    """Two rows at a time (a5's TColReduceOps.hpp, the form with POST_UPDATE, which is the default)."""
    acc, rest = x[0], list(x[1:])
    while rest:
        value, *rest = rest
        if rest:
            other, *rest = rest
            value = value + other if name == "TCOLSUM" else value * other
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
    plain = by_pairs if target == "a5" else in_turn
    wanted = [as_tree(c, target == "a5") if tree else plain(c, name) for c in x.T]
    assert y[0].tobytes() == np.array(wanted, TYPES[type]).tobytes()


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_small_numbers_are_lost_at_the_step_that_adds_them(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2048 + 1 is 2048 in f16. a2a3 adds row by row; a5 adds two rows first; on cpu the sum is rounded once."""
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    for column, wanted in (
        ([2048, 1, 1], {"a2a3": 2048, "a5": 2050, "cpu": 2050}),
        ([2048, 1], {"a2a3": 2048, "a5": 2048, "cpu": 2048}),
        ([2048, 1, 0, 1], {"a2a3": 2048, "a5": 2048, "cpu": 2050}),
        ([1, 1, 2048, 1], {"a2a3": 2052, "a5": 2048, "cpu": 2052}),
    ):
        x = np.repeat(np.array(column, np.float16)[:, None], COLS, 1)
        for target, result in wanted.items():
            y = np.zeros((1, COLS), np.float16)
            kernel(target, "f16", len(column), "TCOLSUM", False)(x, y)
            assert (y == result).all(), (column, target)


TEXT = """
module attributes {{pto.target_arch = "a5"{kind}}} {{
  func.func @f(%x: !pto.ptr<f16>, %y: !pto.ptr<f16>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : index
    %xv = pto.make_tensor_view %x, shape = [%c3, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf16>
    %yv = pto.make_tensor_view %y, shape = [%c1, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf16>
    %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c3, %c32] : !pto.tensor_view<?x?xf16> -> {x}
    %yp = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%c1, %c32] : !pto.tensor_view<?x?xf16> -> {y}
    %t = pto.alloc_tile : !pto.tile_buf<vec, 3x32xf16>
    %s = pto.alloc_tile : !pto.tile_buf<vec, 1x32xf16>
    pto.tload ins(%xp : {x}) outs(%t : !pto.tile_buf<vec, 3x32xf16>)
    pto.{op} ins(%t : !pto.tile_buf<vec, 3x32xf16>) outs(%s : !pto.tile_buf<vec, 1x32xf16>)
    pto.tstore ins(%s : !pto.tile_buf<vec, 1x32xf16>) outs(%yp : {y})
    return
  }}
}}
"""


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_templates_go_row_by_row(backend: str) -> None:
    """Modules of one kind of core are expanded by the assembler's templates, which take one row after the other."""
    for op, column, library, templates in (
        ("tcolsum", [2048, 1, 1], 2050, 2048),
        ("tcolprod", [2**-12, 2**12, 2**12], np.inf, 2**12),
    ):
        x = np.repeat(np.array(column, np.float16)[:, None], COLS, 1)
        for kind, wanted in (("", library), (", pto.kernel_kind = #pto.kernel_kind<vector>", templates)):
            types = {c: f"!pto.partition_tensor_view<{n}x32xf16>" for c, n in (("x", 3), ("y", 1))}
            parsed = parse_module(TEXT.format(kind=kind, op=op, **types), target=target_named("a5"))
            parsed.diagnostics.raise_if_errors()
            program = compile_program(parsed.module, target_named("a5"))
            y = np.zeros((1, COLS), np.float16)
            program.launch([x, y], 1, backend=backend)
            assert (y == wanted).all()
