"""Findings about an operand mark the argument of the call that it is."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ptokit as pto
from ptokit.diagnostics import Diagnostic, DiagnosticError

TILES = """
def f(x: pto.Ptr[pto.f32]):
    wide = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    narrow = pto.Tile(pto.TileType.Vec, pto.f16, 16, 64)
    pair = [wide, narrow]
    {call}
"""


def finding(call: str, tmp_path: Path) -> Diagnostic:
    """The error about a call in a file."""
    file = tmp_path / "k.py"
    text = TILES.format(call=call)
    file.write_text(text, encoding="utf-8")
    linecache.checkcache(str(file))
    scope: dict[str, Any] = {"pto": pto, "__name__": __name__}
    exec(compile(text, str(file), "exec"), scope)
    function: Callable[..., None] = scope["f"]
    with pytest.raises(DiagnosticError) as caught:
        pto.kernel(target="a2a3")(function).compile()
    return next(d for d in caught.value.diagnostics if d.rule == "EW-04")


def marked(found: Diagnostic) -> str:
    """The text that its carets are under."""
    at = found.location
    assert at.file is not None
    return linecache.getline(at.file, at.line).rstrip("\n")[at.column - 1 : at.column - 1 + at.length]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("pto.TADD(narrow, wide, narrow)", "wide"),
        ("pto.TADD(wide, wide, pair[1])", "pair[1]"),
        ("pto.TADD(wide, src1=narrow, src0=wide)", "narrow"),
        ("pto.TADD(wide, src1=wide, src0=narrow)", "narrow"),
        ("é = 'ä'; pto.TADD(wide, wide, narrow)", "narrow"),
        ("pto.TADD(wide, *pair)", "pto.TADD(wide, *pair)"),  # which argument that is, the call does not say
    ],
)
def test_the_argument_is_marked(tmp_path: Path, call: str, what: str) -> None:
    assert marked(finding(call, tmp_path)) == what


def test_the_argument_of_a_call_of_several_lines_is_marked(tmp_path: Path) -> None:
    found = finding("pto.TADD(\n        wide,\n        wide,\n        narrow,\n    )", tmp_path)
    assert (found.location.line, marked(found)) == (9, "narrow")


def test_a_call_of_several_lines_is_where_it_begins(tmp_path: Path) -> None:
    found = finding("pto.TADD(\n        wide,\n        *pair,\n    )", tmp_path)
    assert (found.location.line, found.location.column) == (6, 5)
