"""The session of docs/library.md is what Python prints."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "library.md"


def test_the_session_of_the_page() -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert (failed, tried > 15) == (0, True)
