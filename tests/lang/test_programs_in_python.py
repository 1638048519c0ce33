"""Whole kernels written in Python: what they compute, and that their text computes the same bytes."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.launches.launch import LaunchWarning
from ptokit.run import compile_program
from ptokit.targets import target

from ..launches.conftest import Inline
from .programs import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_computes_what_numpy_does(case: Case) -> None:
    args = case.args()
    before = copy.deepcopy(args)
    pto.kernel(target=case.target)(case.kernel)[case.blocks](*args)
    for position, want in case.expected(before).items():
        got = args[position].astype(np.float64).reshape(want.shape)
        np.testing.assert_allclose(got, want.astype(np.float64), rtol=case.rtol, atol=case.atol)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_its_text_runs_to_the_same_bytes(case: Case) -> None:
    kernel = pto.kernel(target=case.target)(case.kernel)
    args, others = case.args(), case.args()
    kernel[case.blocks](*args)
    read = parse_module(kernel.to_pto(), target=target(case.target))
    assert [str(d) for d in read.diagnostics] == []
    compile_program(read.module, target(case.target)).launch(others, case.blocks)
    for ours, theirs in zip(args, others):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_workers_leave_the_same_bytes(case: Case) -> None:
    kernel = pto.kernel(target=case.target)(case.kernel)
    args, others = case.args(), case.args()
    kernel[case.blocks](*args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LaunchWarning)
        kernel[case.blocks](*others, executor=Inline())
    for ours, theirs in zip(args, others):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


def test_special_numbers_survive_the_text() -> None:
    numbers = (float("inf"), float("-inf"), float("nan"), -0.0, 1e-45, 0.1, 16777217.0, 3.4028235677973366e38)

    def f(y: pto.Ptr[pto.f32]):
        for i, number in enumerate(numbers):
            t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 8)
            pto.TEXPANDS(t, number)
            pto.TSTORE(pto.GlobalTensor(y, (8, 8))[i], t)
            y[64 + i] = number

    kernel = pto.kernel(target="a5")(f)
    ours, theirs = np.zeros(72, np.float32), np.zeros(72, np.float32)
    kernel(ours)
    with np.errstate(over="ignore"):
        want = np.array(numbers).astype(np.float32)
    assert np.array_equal(ours[64:], want, equal_nan=True)
    assert np.array_equal(ours[:64:8], want, equal_nan=True)
    assert np.signbit(ours[3 * 8])
    read = parse_module(kernel.to_pto(), target=target("a5"))
    assert [str(d) for d in read.diagnostics] == []
    compile_program(read.module, target("a5")).launch([theirs])
    assert ours.tobytes() == theirs.tobytes()
