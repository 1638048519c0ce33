"""Kernels in Python on several devices: transfers by name, compiled and interpreted alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

N = 128


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"])
def interpreted(request: pytest.FixtureRequest) -> bool:
    return request.param


@pto.kernel(target="a2a3")
def swap(
    x: pto.Ptr[pto.f32],
    other_x: pto.Ptr[pto.f32],
    y: pto.Ptr[pto.f32],
    told: pto.Ptr[pto.i32],
    other_told: pto.Ptr[pto.i32],
    waits: pto.Static,
):
    """Row 1 goes to row 0 of the other rank, which fetches it into y."""
    stage = pto.Tile(pto.TileType.Vec, pto.f32, 1, N)
    pto.TASSIGN(stage, 0)
    pto.comm.tput(pto.GlobalTensor(other_x, (2, N))[0:1], pto.GlobalTensor(x, (2, N))[1:2], stage)
    pto.pipe_barrier(pto.PIPE_ALL)
    pto.TNOTIFY(pto.GlobalTensor(other_told, (1, 1)), 1)
    if waits:
        pto.TWAIT(pto.GlobalTensor(told, (1, 1)), 1)
    pto.comm.tget(pto.GlobalTensor(y, (1, N)), pto.GlobalTensor(x, (2, N))[0:1], stage)


def swap_args(waits: bool = True) -> list[Any]:
    x = np.zeros((2, 2, N), np.float32)
    x[:, 1] = [[1], [2]]
    told = np.zeros((2, 1), np.int32)
    return [x, pto.Peer("x", 1), np.zeros((2, N), np.float32), told, pto.Peer("told", 1), waits]


def launched(kernel: Any, ranks: int, interpreted: bool) -> Any:
    found = kernel.ranks(ranks)
    return found.interpret if interpreted else found


def test_ranks_swap_rows(interpreted: bool) -> None:
    args = swap_args()
    launched(swap, 2, interpreted)(*args)
    assert (args[2] == [[2], [1]]).all()


@pytest.mark.parametrize("waits", [True, False])
def test_a_missing_wait_is_found(waits: bool) -> None:
    rules = {d.rule for d in swap.ranks(2).sanitize(*swap_args(waits)).errors}
    assert rules == (set() if waits else {"RACE-XRANK-RAW", "RACE-XRANK-WAR"})


@pto.kernel(target="a2a3")
def largest(a: pto.Ptr[pto.f32], b: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
    acc = pto.Tile(pto.TileType.Vec, pto.f32, 1, N)
    stage = pto.Tile(pto.TileType.Vec, pto.f32, 1, N)
    members = [pto.GlobalTensor(a, (1, N)), pto.GlobalTensor(b, (1, N))]
    pto.comm.treduce(pto.GlobalTensor(y, (1, N)), acc, stage, members=members, op=pto.ReduceOp.Max, root=0)


def test_a_reduction_over_the_arrays_of_both_ranks(interpreted: bool) -> None:
    """Arrays in lists have sizes of their own, and are shared where both ranks have them."""
    a, b = np.arange(N, dtype=np.float32), np.full(N, 60, np.float32)
    y = [np.zeros(N, np.float32), np.zeros(2 * N, np.float32)]
    launched(largest, 2, interpreted)([a, a], (b, b), y)
    for each in y:
        assert (each[:N] == np.maximum(a, b)).all()


@pto.kernel(target="a2a3")
def waits_in_vain(told: pto.Ptr[pto.i32]):
    pto.TWAIT(pto.GlobalTensor(told, (1, 1)), 1)


def test_a_deadlock_names_line_and_signal(interpreted: bool) -> None:
    with pytest.raises(DiagnosticError) as error:
        launched(waits_in_vain, 2, interpreted)(np.zeros((2, 1), np.int32))
    (finding,) = error.value.diagnostics
    assert finding.rule == "DEADLOCK"
    assert "rank 0, block 0 waits here for element 0 of told of rank 0 to be == 1; it is 0" in finding.message
    assert finding.location.line == waits_in_vain.function.__code__.co_firstlineno + 2


@pytest.mark.parametrize("count", [0, 65, True, 1.5])
def test_a_number_of_ranks(count: Any) -> None:
    with pytest.raises(DiagnosticError) as error:
        swap.ranks(count)
    assert [d.rule for d in error.value.diagnostics] == ["LANG-BLOCKS"]
    assert repr(swap.ranks(2)[3]).endswith(".ranks(2)[3]")


def test_arguments_that_no_rank_can_have(interpreted: bool) -> None:
    with pytest.raises(DiagnosticError) as error:
        launched(waits_in_vain, 3, interpreted)(np.zeros((2, 1), np.int32))
    assert [d.rule for d in error.value.diagnostics] == ["RUN-RANKS"]
