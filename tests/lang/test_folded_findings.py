"""What is wrong with the type of one tile is said once, however many instructions use the tile."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptokit

HEAD = """import ptokit as pto

@pto.kernel(target="a2a3")
def f(a: pto.Ptr[pto.f16]):
    left = pto.TileLeft(pto.f16, 64, 64)
    right = pto.Tile(pto.TileType.Right, pto.f16, 64, 64)
    other = pto.Tile(pto.TileType.Right, pto.f16, 64, 64)
    acc = pto.TileAcc(pto.f32, 64, 64)
"""
FIRST = "    pto.TMATMUL(acc, left, right)\n"
AGAIN = "    pto.TMATMUL_ACC(acc, acc, left, right)\n"
OTHER = "    pto.TMATMUL_ACC(acc, acc, left, other)\n"


def found(tmp_path: Path, body: str) -> list[tuple[int, list[tuple[str, int]]]]:
    """Line and notes of each finding of MAT-COM-06."""
    file = tmp_path / "k.py"
    file.write_text(HEAD + body, encoding="utf-8")
    errors = [d for d in ptokit.check(str(file)).diagnostics if d.rule == "MAT-COM-06"]
    return [(d.location.line, [(n.message, n.location.line) for n in d.notes]) for d in errors]


RIGHT = ("right: Tile(Right, f16, 64, 64)", 6)


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("", []),
        (AGAIN, [("the same in TMATMUL_ACC", 10)]),
        (3 * AGAIN, [("the same in TMATMUL_ACC, and in 2 more", 10)]),
    ],
)
def test_one_tile_is_one_finding(tmp_path: Path, more: str, note: list[tuple[str, int]]) -> None:
    assert found(tmp_path, FIRST + more) == [(9, [RIGHT, *note])]


def test_each_tile_has_its_own(tmp_path: Path) -> None:
    assert found(tmp_path, FIRST + OTHER) == [(9, [RIGHT]), (10, [("other: Tile(Right, f16, 64, 64)", 7)])]


def test_a_comment_hides_what_is_in_its_line_only(tmp_path: Path) -> None:
    ignore = "  # ptokit: ignore[MAT-COM-06]\n"
    assert found(tmp_path, FIRST.rstrip() + ignore + AGAIN) == [(10, [RIGHT])]
    assert found(tmp_path, FIRST + AGAIN.rstrip() + ignore) == [(9, [RIGHT])]
