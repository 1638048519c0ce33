"""The gallery of reported bugs: every section has its thread, shows the mistake and ends without it.

That the pages show what their code prints is tested with all pages (`tests/test_pages_run.py`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptokit.site.build import written
from ptokit.site.reference import reported, slug

DOCS = written()

PAGES = sorted(page for page in (DOCS / "bugs").glob("*.md") if page.name != "index.md")
SECTIONS = [
    pytest.param(page, part, id=f"{page.stem}: {part.splitlines()[0]}")
    for page in PAGES
    for part in page.read_text(encoding="utf-8").split("\n## ")[1:]
]
THREAD = re.compile(r"\]\(https://github\.com/[\w-]+/[\w-]+/(?:(?:issues|pull)/\d+|commit/[0-9a-f]{40})\)")


def test_there_are_twenty() -> None:
    assert len(SECTIONS) >= 20


@pytest.mark.parametrize(("page", "text"), SECTIONS)
def test_a_bug_has_its_thread_and_its_repair(page: Path, text: str) -> None:
    title = text.splitlines()[0]
    assert THREAD.search(text)
    assert f"({page.name}#{slug(title)})" in (DOCS / "bugs" / "index.md").read_text(encoding="utf-8")
    outputs = re.findall(r"^```output\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    rules = re.findall(r"^([A-Z0-9-]+) - ", "".join(outputs), re.MULTILINE)
    if rules:
        told = [number for number, output in enumerate(outputs) if re.search(r"^[A-Z0-9-]+ - ", output, re.MULTILINE)]
        assert any("clean" in output.splitlines() for output in outputs[told[-1] + 1 :])


def test_rules_name_the_bugs_that_they_find() -> None:
    found = reported(DOCS)
    title = "Scratch reuses bytes that a store still reads"
    assert (title, f"bugs/memory-and-bounds.md#{slug(title)}") in found["RACE-WAR"]
    assert "clean" not in found
