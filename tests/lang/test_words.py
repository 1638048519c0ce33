"""Findings about kernels in Python speak Python: names, types and operations as the kernel writes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit
import ptokit as pto
from ptokit.diagnostics import Diagnostic

from .random_calls import callable_names
from .random_rules import PythonSample
from .support import kernel, words_of_text

VEC = pto.TileType.Vec


def findings(run: Callable[[], Any]) -> list[Diagnostic]:
    """What a check or a sanitizer reports, or a launch raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pto.KernelWarning)
            return list(getattr(run(), "diagnostics", ()))
    except pto.DiagnosticError as error:
        return error.diagnostics


@pytest.mark.parametrize("part", [k if k % 3 == 0 else pytest.param(k, marks=pytest.mark.campaign) for k in range(8)])
def test_all_instructions_with_numbers_that_break_their_rules(part: int) -> None:
    rules = set()
    for position, name in enumerate(callable_names()[part::8]):
        with suppress(LookupError):
            sample = PythonSample(name, 0)
            given = frozenset(n.name for n in sample.numbers) if position % 2 else frozenset()
            launched, args = sample.kernel(given), sample.arguments(given)
            with suppress(pto.DiagnosticError):
                checked = list(launched.check())
                assert words_of_text(checked) == []
            for run in (launched[1], launched.interpret[1], launched[1].sanitize):
                found = findings(lambda run=run, args=args: run(*args))
                assert words_of_text(found) == []
                rules |= {d.rule for d in found}
    assert len(rules) > 10


def described(part: Callable[[], None]) -> list[str]:
    """The notes of what is found about a kernel that does this."""

    @kernel
    def k() -> None:
        part()

    return list(dict.fromkeys(note.message for found in k.check().errors for note in found.notes))


def test_names_are_expressions_of_the_source() -> None:
    def part() -> None:
        grid = [[pto.Tile(VEC, pto.f32, 16, 64) for _ in range(2)] for _ in range(2)]
        half = pto.Tile(VEC, pto.f16, 16, 64)
        pto.TADD(half, grid[1][0], grid[0][1])

    assert described(part) == ["half: Tile(Vec, f16, 16, 64)", "grid[1][0]: Tile(Vec, f32, 16, 64)"]


def test_a_second_tile_of_a_name_is_called_so_too() -> None:
    def part() -> None:
        for dtype in (pto.f32, pto.f16):
            t = pto.Tile(VEC, dtype, 16, 64)
            u = pto.Tile(VEC, pto.f32, 16, 64)
            pto.TADD(u, t, t)

    assert described(part) == ["u: Tile(Vec, f32, 16, 64)", "t: Tile(Vec, f16, 16, 64)"]


def test_what_has_no_name() -> None:
    def part() -> None:
        t = pto.Tile(VEC, pto.f32, 16, 64)
        pto.TADD(t.bitcast(pto.i32), pto.Tile(VEC, pto.f32, 16, 64), t)

    assert described(part) == ["t.bitcast(pto.i32): Tile(Vec, i32, 16, 64)", "a tile: Tile(Vec, f32, 16, 64)"]


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: pto.Tile(VEC, pto.f32, 16, 1, pto.BLayout.ColMajor), "Tile(Vec, f32, 16, 1, ColMajor)"),
        (lambda: pto.Tile(VEC, pto.f32, 16, 64, valid_row=9), "Tile(Vec, f32, 16, 64, valid_row=9)"),
        (
            lambda: pto.Tile(VEC, pto.f32, 16, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC),
            "Tile(Vec, f32, 16, 64, valid_row=DYNAMIC, valid_col=DYNAMIC)",
        ),
        (lambda: pto.Tile(VEC, pto.f32, 16, 64, pad=pto.PadValue.Min), "Tile(Vec, f32, 16, 64, pad=Min)"),
        (lambda: pto.Tile(VEC, pto.f32, 16, 64, pad=pto.custom_pad(5)), "Tile(Vec, f32, 16, 64, pad=custom_pad(0x5))"),
        (lambda: pto.TileAcc(pto.f32, 16, 64), "TileAcc(f32, 16, 64)"),
        (lambda: pto.TileRight(pto.f32, 16, 64), "TileRight(f32, 16, 64)"),
        (
            lambda: pto.Tile(pto.TileType.Mat, pto.f32, 16, 64, pto.BLayout.ColMajor, slayout=pto.SLayout.RowMajor),
            "Tile(Mat, f32, 16, 64, ColMajor, slayout=RowMajor)",
        ),
    ],
)
def test_types_are_as_the_kernel_makes_them(make: Callable[[], pto.Tile], shown: str) -> None:
    def part() -> None:
        t, u = pto.Tile(VEC, pto.i64, 16, 64), make()
        pto.TADD(t, u, t)

    assert f"u: {shown}" in described(part)


def test_loops_tiles_and_arguments_of_the_sanitizer() -> None:
    @pto.kernel(target="a2a3")
    def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
        bufs = [pto.Tile(VEC, pto.f32, 16, 64, addr=4096 * i) for i in range(2)]
        for i in range(n):
            pto.TLOAD(bufs[1], pto.GlobalTensor(x, (n * 16, 64))[i * 16 : i * 16 + 16])
            pto.TADD(bufs[0], bufs[1], bufs[1])
            pto.TSTORE(pto.GlobalTensor(y, (n * 16, 64))[i * 16 : i * 16 + 16], bufs[0])

    x = np.ones((32, 64), np.float32)
    report = k.sanitize(x, np.zeros_like(x), 2)
    said = "\n".join(note.message for d in report.diagnostics for note in d.notes)
    assert "rows 0..15, columns 0..63 of bufs[1]" in said
    assert "i = 0" in said
    assert {race.first.operand for race in report.races.values()} == {"bufs[0]", "bufs[1]"}
    beyond = k.sanitize(x, np.zeros((16, 64), np.float32), 2)
    assert any("argument y, which has 1024 elements" in d.message for d in beyond.diagnostics)


def test_comments_that_ignore_nothing_are_those_of_python(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text('import ptokit as pto\n\n\n@pto.kernel(target="a5")\ndef k():  # ptokit: ignore\n    pass\n')
    (found,) = ptokit.check(str(file)).diagnostics
    assert (found.rule, found.hint) == ("IGNORE-FORM", "# ptokit: ignore[RULE-ID] reason")
