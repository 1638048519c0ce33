"""The code of the first page and of the tutorial runs, and prints what the pages show (`tools/pages.py` renews it)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ptokit.cpp.compiler import find_compiler
from ptokit.diagnostics import DiagnosticError

TOOL = Path(__file__).parents[1] / "tools" / "pages.py"
SPEC = importlib.util.spec_from_file_location("pages_tool", TOOL)
assert SPEC is not None
assert SPEC.loader is not None
pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pages)


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_code_prints(page: Path) -> None:
    if ".cpp(" in page.read_text(encoding="utf-8"):
        try:
            find_compiler()
        except DiagnosticError as error:
            pytest.skip(f"{error.diagnostics[0].message}: {error.diagnostics[0].hint}")
    for package in ("torch", "pypto"):
        if f"import {package}" in page.read_text(encoding="utf-8"):
            pytest.importorskip(package)
    assert pages.executed(page) == page.read_text(encoding="utf-8")


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n```output\n3\n```\n", encoding="utf-8")
    assert "```output\n2\n```\n" in pages.executed(page)


def test_there_is_something_to_run() -> None:
    assert len(pages.PAGES) >= 2
