"""The Python of docs/python.md runs, and does what its own assertions say."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
PIECES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(PIECES)))
def test_the_page_runs(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    file, text = f"<docs/python.md {number}>", PIECES[number]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), {"__name__": "page"})
    assert "error" not in capsys.readouterr().out


def test_there_is_something_to_run() -> None:
    assert len(PIECES) >= 2
