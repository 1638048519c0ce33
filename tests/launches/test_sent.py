"""Workers are sent the program itself, whatever text has words for."""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit.launches.launch import _program, launch

from .conftest import Inline
from .test_launch import both, same


@pto.kernel(target="a5")
def expands(y: pto.Ptr[pto.u8]) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.u8, 1, 32)
    pto.TEXPANDS(tile, 200)
    pto.TSTORE(pto.GlobalTensor(y, (4, 32))[pto.get_block_idx()], tile)


@pto.kernel(target="a5")
def subtracts(x: pto.Ptr[pto.bf16], y: pto.Ptr[pto.bf16]) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.bf16, 1, 16)
    other = pto.Tile(pto.TileType.Vec, pto.bf16, 1, 16)
    pto.TLOAD(tile, pto.GlobalTensor(x, (4, 16))[pto.get_block_idx()])
    pto.TLOAD(other, pto.GlobalTensor(y, (4, 16))[pto.get_block_idx()])
    pto.TSUB(tile, tile, other)
    pto.TSTORE(pto.GlobalTensor(y, (4, 16))[pto.get_block_idx()], tile)


@pytest.mark.parametrize(
    ("kernel", "arrays"),
    [
        (expands, [np.zeros((4, 32), np.uint8)]),
        (subtracts, [np.full((4, 16), n, ml_dtypes.bfloat16) for n in (3, 2)]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_kernels_that_only_python_may_write(kernel: pto.Kernel, arrays: list[Any]) -> None:
    one, other, executor = both(kernel.compile(*arrays), arrays, 4)
    same(one, other)
    assert len(executor.tasks) == 4


def test_places_travel() -> None:
    """What a worker knows of the program is all that the caller knows."""
    executor = Inline()
    program = expands.compile()
    launch(program, [np.zeros((4, 32), np.uint8)], 4, executor=executor, jobs=2)
    given = executor.tasks[0].given
    read = _program(given["program"], "a5", "expands", False, 2)
    places = [[op.location for op in p.entry.body.walk()] for p in (program, read)]
    assert places[0] == places[1]
    assert places[0][-1].file == __file__
    assert not read.module.text
    assert "pto.texpands" in json.dumps(given)


@pto.kernel(target="a5")
def fails(y: pto.Ptr[pto.i32], n: int) -> None:
    y[pto.get_block_idx() * n] = 1  # here


def test_findings_of_workers_point_at_lines_of_python() -> None:
    program = fails.compile(pto.i32, 1)
    said = []
    for go in (program.launch, lambda *a: launch(*(program, *a), executor="processes", jobs=1, say=lambda _: None)):
        with pytest.raises(pto.DiagnosticError) as caught:
            go([np.zeros(1, np.int32), 1], 2)
        said.append(caught.value.diagnostics)
    assert said[0] == said[1]
    assert (said[0][0].location.file, said[0][0].location.line) == (__file__, fails.location.line + 2)
