"""Pages of rules and instructions: what they lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptokit
from ptokit.api.parts import PAGES, pages_of

DOCS = Path(__file__).parents[2] / "docs"


def test_sources_lead_to_something_to_open() -> None:
    """A document, or what the source itself names: a page of this documentation, a file of the assembler, a rule."""
    pages = ptokit.explain()
    rules = {page.id for page in pages}
    for page in pages:
        if page.source:
            named = ("docs/", ".cpp", ".td", ".h", ".md", "PTO")
            inside = any(word in page.source for word in named) or rules & set(page.source.replace(",", "").split())
            assert pages_of(page.source) or inside or page.source.startswith("derived"), (page.id, page.source)


def test_pages_of_this_documentation_are_there() -> None:
    for page in ptokit.explain():
        if page.source.startswith("docs/"):
            assert (DOCS.parent / page.source.split(",")[0].split("#")[0]).is_file(), page.id


def test_pages_show_what_to_read() -> None:
    assert f"to read   {PAGES['load-store']}" in str(ptokit.explain("LOAD-A5-07"))
    assert "to read" in str(ptokit.isa("TLOAD"))


def test_lists_are_sorted() -> None:
    names = [page.name for page in ptokit.isa()]
    assert names == sorted(names, key=lambda name: (name[0].islower(), name))
    ids = [page.id for page in ptokit.explain()]
    assert ids == sorted(ids)


@pytest.mark.parametrize("call", [lambda: ptokit.isa("TLOAF"), lambda: ptokit.explain("LOAD-A5-7")])
def test_unknown_names_come_with_near_ones(call: object) -> None:
    with pytest.raises(ptokit.UsageError, match="Did you mean"):
        call()  # type: ignore[operator]
