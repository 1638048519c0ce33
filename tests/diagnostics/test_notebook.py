"""What a notebook shows for a refusal."""

from __future__ import annotations

import linecache
import re

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity

CELL = "<cell 1>"
SOURCE = """\
import ptokit as pto
core = pto.Core("a5")
t = core.Tile(pto.TileType.Vec, pto.f32, 16, 64)
half = core.Tile(pto.TileType.Vec, pto.f16, 16, 64)

def add(src):
    core.TADD(t, t, src)

{call}
"""


def shown(call: str) -> list[str]:
    """The lines, without colour, after running the cell."""
    source = SOURCE.format(call=call)
    linecache.cache[CELL] = (len(source), None, source.splitlines(keepends=True), CELL)
    try:
        exec(compile(source, CELL, "exec"), {"__name__": "__main__"})
    except DiagnosticError as error:
        trace = error.__traceback__
        assert trace is not None
        error.__traceback__ = trace.tb_next  # without this test itself, as in a notebook
        return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in error._render_traceback_()]
    finally:
        del linecache.cache[CELL]
    raise AssertionError("not refused")


def test_the_findings_have_the_lines_of_the_cell() -> None:
    lines = shown("core.TADD(t, t, half)")
    assert lines[:3] == [
        "<cell 1>:9:17: error: TADD: src1 has element type f16, dst has f32 [EW-04]",
        "    9 | core.TADD(t, t, half)",
        "      |                 ^^^^",
    ]
    assert "<cell 1>:4:8: note: half: Tile(Vec, f16, 16, 64)" in lines
    assert not any("core_execute" in line for line in lines)


def test_calls_of_the_users_own_functions_are_listed() -> None:
    lines = shown("add(half)")
    assert lines[:3] == [
        "<cell 1>:9: in <module>",
        "<cell 1>:7: in add",
        "<cell 1>:7:21: error: TADD: src1 has element type f16, dst has f32 [EW-04]",
    ]


def test_an_error_without_place_or_traceback_is_shown_too() -> None:
    error = DiagnosticError(Diagnostic("EW-04", Severity.ERROR, "wrong"))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in error._render_traceback_()] == ["error: wrong [EW-04]"]
