"""The site as it is handed to Sphinx: every instruction and rule has a page, and no link is dead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptokit
from ptokit.site.build import page_for, stage, written
from ptokit.site.reference import slug
from ptokit.targets import TARGETS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "source"
    stage(written(), folder)
    return folder


def test_every_instruction_and_rule_has_a_page(site: Path) -> None:
    for page in ptokit.isa():
        text = (site / "reference" / "instructions" / f"{page.name}.md").read_text(encoding="utf-8")
        assert page.signature in text
    for rule in ptokit.explain():
        assert (site / "reference" / "rules" / f"{rule.id}.md").exists()


def test_a_rule_says_why_on_its_page(site: Path) -> None:
    text = (site / "reference" / "rules" / "RACE-WAR.md").read_text(encoding="utf-8")
    assert "## Why" in text
    assert "## Refused" in text
    assert "Pipes run side by side" in text


def test_an_instruction_links_its_rules_and_shows_python(site: Path) -> None:
    text = (site / "reference" / "instructions" / "TSEL.md").read_text(encoding="utf-8")
    assert "[EW-SEL-01](../rules/EW-SEL-01.md)" in text
    assert "```python\n@pto.kernel" in text


def test_a_section_names_what_rests_on_it(site: Path) -> None:
    text = (site / "explanation" / "compute-elementwise.md").read_text(encoding="utf-8")
    on_a2a3 = text.partition("### 2.2 a2a3")[2].partition("### 2.3")[0]
    assert "[EW-A3-01](../reference/rules/EW-A3-01.md)" in on_a2a3
    assert "EW-A5" not in on_a2a3.partition("Source of")[2]


def test_every_device_is_drawn(site: Path) -> None:
    text = (site / "reference" / "targets.md").read_text(encoding="utf-8")
    for target in TARGETS.values():
        assert (f"](../images/machine-{target.name}.svg)" in text) == target.is_device


def test_sources_are_links_to_their_sections(site: Path) -> None:
    text = (site / "reference" / "rules" / "LOAD-A3-09.md").read_text(encoding="utf-8")
    assert "[load-store 11](../../explanation/load-store.md#11-rules)" in text


def test_written_pages_link_names_of_the_reference(site: Path) -> None:
    assert "[`RACE-WAR`](reference/rules/RACE-WAR.md)" in (site / "sanitizer.md").read_text(encoding="utf-8")


def test_no_link_is_dead(site: Path) -> None:
    """Neither the page nor the heading that a link names is missing."""
    texts = {
        page.resolve(): re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for page in sorted(site.rglob("*.md"))
    }
    anchors = {page: {slug(t) for t in re.findall(r"^#{1,4} (.*)$", text, re.M)} for page, text in texts.items()}
    known = {path.resolve() for path in site.rglob("*")}
    dead = []
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if link.startswith("http"):
                continue
            path, _, anchor = link.partition("#")
            to = (page.parent / path).resolve() if path else page
            if to not in known or (anchor and to in anchors and anchor not in anchors[to]):
                dead.append(f"{page.name}: {link}")
    assert dead == []


def test_every_written_page_is_in_the_tree(site: Path) -> None:
    """Sphinx would refuse a page that nothing leads to; so does this, without Sphinx."""
    listed = set()
    for page in site.rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    listed |= {p.resolve() for p in page.parent.glob(f"{line}.md")}
    lost = [p for p in site.rglob("*.md") if "orphan: true" not in p.read_text(encoding="utf-8")[:30]]
    assert {p.resolve() for p in lost} - listed == {(site / "index.md").resolve()}


@pytest.mark.parametrize(
    ("topic", "page"),
    [
        (None, "index.html"),
        ("tload", "reference/instructions/TLOAD.html"),
        ("race-war", "reference/rules/RACE-WAR.html"),
        ("sanitizer", "sanitizer.html"),
        ("rules", "reference/rules.html"),
        ("tutorial/index", "tutorial/index.html"),
        ("load-store", "explanation/load-store.html"),
        ("load-store 3.6", "explanation/load-store.html#36-outside-of-the-valid-region"),
    ],
)
def test_topics(topic: str | None, page: str) -> None:
    assert page_for(topic) == page


def test_a_topic_that_there_is_not() -> None:
    with pytest.raises(ptokit.UsageError, match="TLOAD"):
        page_for("TLOADD")
