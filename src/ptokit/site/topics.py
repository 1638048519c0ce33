"""Which page a topic has: a rule, an instruction, or a page by its name."""

from __future__ import annotations

from ptokit.api.findings import load_catalogue
from ptokit.api.instruction import named
from ptokit.api.parts import unknown
from ptokit.diagnostics import CATALOGUE
from ptokit.diagnostics.render import page_of
from ptokit.isa.table import TABLE

from .build import written
from .citations import citations, section, sections
from .reference import FOLDER, LISTS


def page_for(topic: str | None) -> str:
    """The page about `topic` as a path below the site; the first page of None.

    A topic is an instruction, a rule, a page (``sanitizer``), or a source that either names (``load-store 3.6``).

    Raises `UsageError` for a topic without a page, `NotBuiltError` where there are no pages.
    """
    if topic is None:
        return "index.html"
    load_catalogue()
    by_name = _written_pages()
    if topic.upper() in CATALOGUE:
        return page_of(topic.upper())
    instr = named(topic)
    if instr is not None:
        return f"{FOLDER}/instructions/{instr.name}.html"
    docs = written()
    for cited in citations(topic, sections(docs)):
        if place := section(docs, cited):
            return place.replace(".md#", ".html#")
    word = topic.lower().removesuffix(".md")
    if word in by_name:
        return by_name[word]
    raise unknown("page about", topic, [*CATALOGUE, *TABLE, *by_name], "ptokit docs", "topic")


def _written_pages() -> dict[str, str]:
    """Pages by their path, and by their last name where only one has it."""
    source = written()
    found: dict[str, str] = {f"{FOLDER}/{name}": f"{FOLDER}/{name}.html" for name in LISTS}
    found.update({name: f"{FOLDER}/{name}.html" for name in LISTS})
    for path in sorted(source.rglob("*.md")):
        page = path.relative_to(source).with_suffix("")
        found.setdefault(page.name.lower(), f"{page.as_posix()}.html")
        found[page.as_posix().lower()] = f"{page.as_posix()}.html"
    return found
