"""Every source that code and rules cite is a section of a page of this repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptokit.api.findings import load_catalogue
from ptokit.diagnostics import CATALOGUE
from ptokit.isa.table import TABLE
from ptokit.site.reference import citations, section, sections, slug

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHAPTERS = sections(DOCS)
OPEN: set[str] = set()
"""Citations without a section, as ``load-store 3``. None may be added."""


def missing(text: str) -> set[str]:
    return {f"{c.chapter} {c.number}" for c in citations(text, CHAPTERS) if section(DOCS, c) is None}


def source_files() -> list[tuple[Path, str]]:
    files = sorted((ROOT / "src").rglob("*.py"))
    return [(f, re.sub(r"\n\s*(?:#\s*)?", " ", f.read_text(encoding="utf-8"))) for f in files]


def test_what_the_source_cites_has_a_section() -> None:
    found = {cited for _, text in source_files() for cited in missing(text)}
    assert found == OPEN
    assert sum(1 for _, text in source_files() for _ in citations(text, CHAPTERS)) > 800


def test_what_rules_and_instructions_cite_has_a_section() -> None:
    load_catalogue()
    sources = {r.source for r in CATALOGUE.values()} | {i.source for i in TABLE.values()}
    assert {cited for source in sources for cited in missing(source)} == OPEN


def test_no_chapter_is_cited_by_another_name() -> None:
    """A name with a hyphen before a number like 5.5 is a chapter, and spelt as one."""
    others = {
        f"{path.relative_to(ROOT)}: {name} {number}"
        for path, text in source_files()
        for name, number in re.findall(r"(?<![\w/.-])([a-z]+(?:-[a-z]+)+) (\d\d?\.\d\d?)(?![\w.])", text)
        if name not in CHAPTERS
    }
    assert others == set()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("load-store 3", ["3"]),
        ("load-store 3, 5 to 7", ["3", "5", "7"]),
        ("tmov; move-gather-scatter 2, 4.12, 6; load-store 6.3, D-20", ["2", "4.12", "6", "6.3", "D-20"]),
        ("compute-layout-irregular part 4", ["4"]),
        ("load-store 4-bit", []),
        ("a load-store", []),
    ],
)
def test_citations(text: str, numbers: list[str]) -> None:
    assert [cited.number for cited in citations(text, CHAPTERS)] == numbers


def test_a_citation_without_a_section_is_seen() -> None:
    assert missing("load-store 99.1") == {"load-store 99.1"}
    assert missing("types-and-layouts T-99") == {"types-and-layouts T-99"}
    assert missing("types-and-layouts T-01") == set()


def test_entries_that_a_table_sums_up_are_found() -> None:
    assert CHAPTERS["compute-elementwise"]["E-08"] == slug("10. Where sources disagree")
