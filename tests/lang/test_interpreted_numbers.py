"""Numbers of the run in interpreted kernels: what a compiled launch accepts and refuses, they accept and refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

TYPES = [pto.f32, pto.f16, pto.bf16, pto.i8, pto.i16, pto.i32, pto.i64, pto.u8, pto.u16, pto.u32]


def cast_pointers(dtype: Any) -> Any:
    @pto.kernel(target="a5")
    def kernel(x: pto.Ptr[dtype], out: pto.Ptr[dtype], n: pto.i32) -> None:
        local = pto.castptr(0, dtype)
        local[0] = x[0]
        local[n] = x[n]
        later = pto.castptr(local + 1, dtype)
        later[1] = local[0]
        out[0] = local[2]
        out[1] = local[n]
        bytes_of = pto.castptr(out, pto.u8)
        bytes_of[pto.cast(n, pto.index) + 40] = 9
        same = pto.castptr(bytes_of, dtype)
        same[2] = x[1]

    return kernel


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_elements_through_cast_pointers(dtype: Any) -> None:
    kernel = cast_pointers(dtype)
    left = []
    for launch in (kernel[1], kernel.interpret):
        x, out = np.arange(1, 9).astype(dtype.value), np.zeros(64, dtype.value)
        launch(x, out, 3)
        left.append(out.tobytes())
        assert (out[0], out[1], out[2]) == (x[0], x[3], x[1])
    assert left[0] == left[1]


def test_a_read_only_array_is_refused_at_the_store() -> None:
    kernel = cast_pointers(pto.f32)
    x, out = np.ones(8, np.float32), np.zeros(64, np.float32)
    out.flags.writeable = False
    with pytest.raises(DiagnosticError):
        kernel.interpret(x, out, 3)


def region(made: str) -> Any:
    """A kernel on tiles whose valid region is an argument, stated in one of several ways."""

    @pto.kernel(target="a5")
    def kernel(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], r: pto.index, c: pto.index) -> None:
        a = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, valid_row=r, valid_col=c)
        if made == "set":
            b = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
            b.set_valid(r, c)
        else:
            b = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, valid_row=r, valid_col=c)
        if made != "no views":
            pto.TLOAD(a, pto.GlobalTensor(x, (r, c), (64, 1)))
        if made == "rows":
            s = pto.Tile(pto.TileType.Vec, pto.f32, 16, 1, pto.BLayout.ColMajor, valid_row=r, valid_col=1)
            t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
            pto.TROWSUM(s, a, t)
            pto.TROWEXPAND(b, s)
        elif made == "selected":
            pto.TMULS(b, a, 2.0)
            pto.TMAX(b, b, a)
            pto.TCVT(b, a, pto.RoundMode.RINT)
        else:
            pto.TADDS(b, a, 1.0)
        if made == "resized":
            a.set_valid(c, r)
        if made != "no views":
            pto.TSTORE(pto.GlobalTensor(y, (r, c), (64, 1)), b)
        y[1023] = 7.0

    return kernel


def outcome(launch: Callable[..., Any], r: int, c: int) -> tuple[list[str], bytes]:
    x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    try:
        launch(x, y, r, c)
    except DiagnosticError as error:
        return sorted({d.rule for d in error.diagnostics}), b""
    return [], y.tobytes()


SIZES = [(0, 64), (16, 0), (0, 0), (2, 3), (16, 64), (17, 1), (1, 65), (-1, 1), (3, -1), (-1, -1)]


@pytest.mark.parametrize("made", ["given", "set", "no views", "rows", "selected", "resized"])
def test_valid_regions_that_the_run_gives(made: str) -> None:
    kernel = region(made)
    accepted = 0
    for r, c in SIZES:
        compiled = outcome(kernel[1], r, c)
        assert outcome(kernel.interpret, r, c) == compiled, (r, c)
        accepted += not compiled[0]
    assert accepted >= 3


def test_sizes_that_python_gives_are_checked_as_when_compiled() -> None:
    """They are part of the types."""

    @pto.kernel(target="a5")
    def kernel(y: pto.Ptr[pto.f32]) -> None:
        pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, valid_row=0)

    for launch in (kernel[1], kernel.interpret):
        with pytest.raises(DiagnosticError) as caught:
            launch(np.zeros(4, np.float32))
        assert [d.rule for d in caught.value.diagnostics] == ["LANG-TILE"]


def test_a_position_of_the_run_does_not_count_from_the_end() -> None:
    @pto.kernel(target="a5")
    def kernel(x: pto.Ptr[pto.f32], n: pto.index) -> None:
        t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 8)
        g = pto.GlobalTensor(x, (4, 8))
        pto.TLOAD(t, g[n : n + 1, 0:8])
        pto.TSTORE(g[0:1, 0:8], t)

    for launch in (kernel[1], kernel.interpret):
        with pytest.raises(DiagnosticError) as caught:
            launch(np.zeros((4, 8), np.float32), -1)
        assert [d.rule for d in caught.value.diagnostics] == ["GM-OOB"]


SHIFT = [(pto.i32, np.int32), (pto.i16, np.int16)]


@pytest.mark.parametrize(("dtype", "kind"), SHIFT, ids=str)
def test_rules_on_numbers_of_the_run(dtype: Any, kind: Any) -> None:
    """EW-09 of a count that is negative, compiled and interpreted, with a fixed valid region."""

    @pto.kernel(target="a5")
    def kernel(x: pto.Ptr[dtype], n: pto.i32) -> None:
        t = pto.Tile(pto.TileType.Vec, dtype, 1, 32)
        pto.TLOAD(t, pto.GlobalTensor(x, (1, 32)))
        pto.TSHLS(t, t, pto.cast(n, dtype))
        pto.TSTORE(pto.GlobalTensor(x, (1, 32)), t)

    for launch in (kernel[1], kernel.interpret):
        x = np.ones(32, kind)
        launch(x, 3)
        assert (x == 8).all()
        with pytest.raises(DiagnosticError) as caught:
            launch(x, -1)
        assert [d.rule for d in caught.value.diagnostics] == ["EW-09"]
        assert (x == 8).all()
