"""Ordinary mistakes in launches: one finding at the argument, which says what to pass instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto

from .support import finding_of, words_of_text


@pto.kernel(target="a5")
def k(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.f32], n: int, scale: float = 1.0) -> None:
    t, u = pto.Tile(pto.TileType.Vec, pto.f16, 16, 64), pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    pto.TLOAD(t, pto.GlobalTensor(x, (n, 64))[0:16])
    pto.TCVT(u, t, pto.RoundMode.CAST_RINT)
    pto.TSTORE(pto.GlobalTensor(y, (n, 64))[0:16], u)


@pto.kernel(target="a5")
def chosen(x: pto.Ptr[pto.f16], n: int) -> None:
    bufs = [pto.Tile(pto.TileType.Vec, pto.f16, 16, 64) for _ in range(2)]
    for i in range(n):
        pto.TLOAD(bufs[i % 2], pto.GlobalTensor(x, (16, 64)))


F64 = np.ones((16, 64))
F32, F16 = F64.astype(np.float32), F64.astype(np.float16)
SIGNATURE = "it is k(x: Ptr[f16], y: Ptr[f32], n: int, scale: f32 = 1.0)"

# launch, part of the message, part of the hint (None: there is none), what is marked
MISTAKES: list[tuple[Callable[[Any], Any], str, str | None, str]] = [
    (lambda k: k(F64, F32, 16), "x must have element type f16, not float64", "write x.astype(np.float16)", "F64"),
    (lambda k: k(F16, F64, 16), "y must have element type f32, not float64", "dtype=np.float32 if", "F64"),
    (
        lambda k: k(F16[:, ::2], F32, 16),
        "argument x is not contiguous",
        "numpy.ascontiguousarray(x)",
        "F16[:, ::2]",
    ),
    (lambda k: k(F16.tolist(), F32, 16), "argument x is a list, not an array", "numpy.array(x, dtype)", "k(F16.tol"),
    (lambda k: k(F16, F32, 16.5), "argument n must be an int, not 16.5", None, "16.5"),
    (lambda k: k(F16, F32, "16"), "argument n must be an int, not '16'", None, '"16"'),
    (lambda k: k(F16, F32, None), "argument n must be an int, not None", None, "None"),
    (lambda k: k(F16, F32, F32), "must be an int, not an array of shape (16, 64)", None, "F32"),
    (lambda k: k(F16, F32, 1 << 70), "does not fit 64 bits (int)", None, "1 << 70"),
    (lambda k: k(F16, F32, n=16.5), "argument n must be an int, not 16.5", None, "16.5"),
    (lambda k: k(F16, F32, 16, "a"), "argument scale must be a number, not 'a'", None, '"a"'),
    (lambda k: k(F16, F32), "kernel k lacks n", SIGNATURE, "k(F16, F32)"),
    (lambda k: k(), "kernel k lacks x and y and n", SIGNATURE, "k()"),
    (lambda k: k(F16, F32, 16, 1.0, 2.0), "takes 4 arguments, 5 are given", SIGNATURE, "k(F16, F32, 16"),
    (lambda k: k(F16, F32, 16, scal=2.0), "has no parameter scal", f"did you mean scale? {SIGNATURE}", "2.0"),
    (lambda k: k(F16, F32, 16, n=3), "n is given by position and by name", SIGNATURE, "3"),
]


@pytest.mark.parametrize("case", MISTAKES, ids=[case[1] for case in MISTAKES])
@pytest.mark.parametrize("way", ["launch", "interpret", "sanitize"])
def test_a_mistake_is_marked_in_the_call(way: str, case: tuple[Callable[[Any], Any], str, str | None, str]) -> None:
    call, message, hint, marked = case
    found = finding_of(lambda: call({"launch": k[1], "interpret": k.interpret[1], "sanitize": k.sanitize}[way]))
    assert message in found.message
    assert (found.hint is None) if hint is None else hint in (found.hint or "")
    assert words_of_text([found]) == []
    with open(__file__, encoding="utf-8") as file:
        line = file.read().splitlines()[found.location.line - 1]
    assert line[found.location.column - 1 :].startswith(marked)
    if found.rule.startswith("RUN-ARG"):
        words = found.message.split()
        assert [note.message for note in found.notes] == [f"{words[1]} is a parameter of kernel k"]


@pytest.mark.parametrize(
    ("blocks", "hint"),
    [
        ((2, 2), "pto.get_block_idx() // 2 and pto.get_block_idx() % 2 are the row and column"),
        (0, "takes an integer from 1"),
        (-1, "takes an integer from 1"),
        ("4", "takes an integer from 1"),
        (4.0, "write 4; // divides integers"),
    ],
)
def test_numbers_of_blocks(blocks: Any, hint: str) -> None:
    found = finding_of(lambda: k[blocks](F16, F32, 16))
    assert (found.rule, hint in (found.hint or "")) == ("LANG-BLOCKS", True)


def test_a_list_is_indexed_by_a_number_of_the_run() -> None:
    found = finding_of(lambda: chosen[1](F16, 2))
    assert (found.message, found.location.length) == (
        "a list is indexed by <int i % 2>, a number that only the run knows",
        len("bufs[i % 2]"),
    )
    assert "pto.static_range" in (found.hint or "")
