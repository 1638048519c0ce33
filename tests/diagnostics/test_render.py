"""Diagnostics as text: the place is marked exactly, whatever the line holds and however narrow the terminal is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptokit.diagnostics import Diagnostic, Location, Note, Severity
from ptokit.diagnostics.render import render, summary, visible

from ..cost import calls


def error(line: int, column: int, length: int = 1, message: str = "wrong", **more: object) -> Diagnostic:
    return Diagnostic("T-1", Severity.ERROR, message, Location("k.pto", line, column, length), **more)  # type: ignore[arg-type]


def shown(diagnostic: Diagnostic, text: str, width: int = 80) -> list[str]:
    return render([diagnostic], width=width, sources={"k.pto": text}).splitlines()


def marked(lines: list[str]) -> str:
    """The characters above the carets; every character here takes one cell."""
    text, caret = lines[1], lines[2]
    return text[caret.index("^") : caret.rindex("^") + 1]


def test_a_diagnostic_has_place_line_caret_hint_and_notes() -> None:
    text = "first\n  pto.tadd here\n"
    notes = (Note("made here", Location("k.pto", 1, 1, 5)), Note("in block 3"))
    assert shown(error(2, 3, 8, hint="convert it", notes=notes), text) == [
        "k.pto:2:3: error: wrong [T-1]",
        "    2 |   pto.tadd here",
        "      |   ^^^^^^^^",
        "   hint: convert it",
        "k.pto:1:1: note: made here",
        "    1 | first",
        "      | ^^^^^",
        "   note: in block 3",
    ]


def test_a_note_at_the_same_place_does_not_repeat_the_line() -> None:
    at = Location("k.pto", 1, 1, 5)
    lines = shown(Diagnostic("T-1", Severity.WARNING, "odd", at, notes=(Note("at block 2", at),)), "first")
    assert lines[0] == "k.pto:1:1: warning: odd [T-1]"
    assert lines[3:] == ["   note: at block 2"]


@pytest.mark.parametrize("column", [1, 2, 30, 200, 399, 400])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_long_lines_are_cut_around_the_mark(column: int, width: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(400))
    lines = shown(error(1, column, 1), text, width)
    assert all(len(line) <= width for line in lines[1:])
    assert marked(lines) == text[column - 1]


def test_a_mark_wider_than_the_terminal_is_cut() -> None:
    lines = shown(error(1, 11, 300), "x" * 10 + "y" * 300, 60)
    assert len(lines[1]) <= 60
    assert set(marked(lines)) <= {"y", "…"}


@pytest.mark.parametrize(("column", "length"), [(0, 1), (6, 1), (99, 5), (3, 0), (4, 99)])
def test_places_outside_the_line_are_tolerated(column: int, length: int) -> None:
    lines = shown(error(1, column, length), "abcde")
    assert lines[1] == "    1 | abcde"
    assert lines[2].count("^") >= 1
    assert len(lines[2]) <= len("    1 | abcde") + 1


def test_tabs_and_control_characters_keep_the_caret_in_place() -> None:
    lines = shown(error(1, 4, 2), "\t\x1bXab")
    assert lines[1] == "    1 |     \\x1bXab"
    assert marked(lines) == "ab"


def test_wide_characters_count_two_cells() -> None:
    lines = shown(error(1, 3, 1), "漢字x")
    assert lines[2] == "      |     ^"


def test_no_control_character_of_a_message_reaches_the_terminal() -> None:
    out = render([error(1, 1, message="bad \x1b[31m\x07")], sources={"k.pto": "\x1b]0;x\x07"})
    assert "\x1b" not in out
    assert "\x07" not in out
    assert visible("a\x00b\u202ec") == "a\\x00b\\u202ec"


def test_colour_changes_nothing_but_colour() -> None:
    item = error(1, 2, 3, hint="h", notes=(Note("n", Location("k.pto", 1, 1)),))
    plain = render([item], sources={"k.pto": "abcdef"})
    coloured = render([item], color=True, sources={"k.pto": "abcdef"})
    assert coloured != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_crlf_and_lone_cr(tmp_path: Path) -> None:
    file = tmp_path / "a.pto"
    file.write_bytes(b"one\r\ntwo\rthree\r\nfour")
    lines = render([Diagnostic("T-1", Severity.ERROR, "m", Location(str(file), 4, 1))]).splitlines()
    assert lines[1] == "    4 | four"


@pytest.mark.parametrize("location", [Location("nowhere.pto", 3, 1), Location("k.pto"), Location("k.pto", 9, 1)])
def test_a_missing_line_is_left_out(location: Location) -> None:
    out = render([Diagnostic("T-1", Severity.ERROR, "m", location)], sources={"k.pto": "x"})
    assert out == f"{location}: error: m [T-1]\n"


def test_without_a_file_there_is_no_place() -> None:
    assert render([Diagnostic("T-1", Severity.ERROR, "m")]) == "error: m [T-1]\n"


def test_messages_are_never_wrapped() -> None:
    message = "word " * 60
    assert message in shown(error(1, 1, message=message), "x", 40)[0]


def test_endless_words_of_a_message_are_cut() -> None:
    (line,) = render([Diagnostic("T-1", Severity.ERROR, f"{'x' * 300} is not {'9' * 5000}1")]).splitlines()
    assert line.startswith(f"error: {'x' * 300} is not 999")
    assert line.endswith("91 [T-1]")
    assert len(line) < 500


def test_many_findings_in_a_huge_line_are_quick() -> None:
    text = "x" * 10_000_000
    found = [error(1, 100_000 * i, 3) for i in range(1, 50)]
    out = render(found, width=80, sources={"k.pto": text})
    assert calls(lambda: render(found, width=80, sources={"k.pto": text})) < 100_000
    assert max(map(len, out.splitlines())) <= 80


def test_summary() -> None:
    warning = Diagnostic("T-1", Severity.WARNING, "m")
    assert summary([]) == ""
    assert summary([warning]) == "1 warning"
    assert summary([error(1, 1), error(2, 1), warning]) == "2 errors, 1 warning"
