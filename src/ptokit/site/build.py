"""Builds the site: written pages, notebooks and the reference, handed to Sphinx; which page a topic has."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ptokit import __version__
from ptokit.api.findings import load_catalogue
from ptokit.api.instruction import named
from ptokit.api.parts import unknown
from ptokit.diagnostics import CATALOGUE
from ptokit.diagnostics.render import page_of
from ptokit.isa.table import TABLE

from .reference import FOLDER, LISTS, Links, citations, escaped, pages, section, sections, slug, users
from .reference import SOURCES_FOLDER as CHAPTERS

# Pages whose code runs, as notebooks: the same text, code and outputs, to open in Jupyter and change.


SESSIONS = ("start.md", "tutorial/[0-9]*.md", "howto/*.md", "bugs/*.md")
"""Pages whose Python runs from the first block to the last, as one session."""

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```output\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
"""A block of code, and the block after it that shows what it prints."""

_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)#:]+)\)")
_PAGE_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")


def sessions(docs: Path) -> list[Path]:
    """The pages below `docs` with code that runs, in the order of reading."""
    found = (page for pattern in SESSIONS for page in sorted(docs.glob(pattern)))
    return [page for page in found if BLOCK.search(page.read_text(encoding="utf-8"))]


def notebook(page: Path) -> str:
    """A page with code as a notebook (JSON of nbformat 4.5), with outputs.

    Links to other pages become words, since a notebook lies anywhere, and pictures become part of it.
    """
    cells = list(_cells(page))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    language = {"name": "python"}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": language}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cells(page: Path) -> Iterator[dict[str, Any]]:
    text = page.read_text(encoding="utf-8")
    end = count = 0
    for block in BLOCK.finditer(text):
        yield from _words(text[end : block.start()], page)
        count, end = count + 1, block.end()
        printed = [] if block[2] is None else [{"output_type": "stream", "name": "stdout", "text": block[2]}]
        code = block[1].rstrip("\n")
        yield {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": printed, "source": code}
    yield from _words(text[end:], page)


def _words(text: str, page: Path) -> Iterator[dict[str, Any]]:
    def inside(image: re.Match[str]) -> str:
        file = page.parent / image[2]
        kind = {".svg": "svg+xml"}.get(file.suffix, file.suffix.lstrip("."))
        return f"![{image[1]}](data:image/{kind};base64,{base64.b64encode(file.read_bytes()).decode()})"

    words = _PAGE_LINK.sub(r"\1", _IMAGE.sub(inside, text)).strip()
    if words:
        yield {"cell_type": "markdown", "metadata": {}, "source": words}


# Builds the site: the pages as people wrote them and the reference, put together and handed to Sphinx.


PACKAGE = Path(__file__).parents[1]
SOURCES = (PACKAGE.parent / "ptokit_docs", PACKAGE.parents[1] / "docs")
"""Where the written pages are: beside an installed package, in a checkout."""

_STAMP = "made-from.txt"
_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)]+)\)")
_NAMED = re.compile(r"(?<!\[)`([A-Z][A-Z0-9_-]+|reference/[a-z]+)`(?!\])")


class NotBuiltError(Exception):
    """The site cannot be built here; the text says why and what helps."""


def written() -> Path:
    """The folder with the written pages. Raises `NotBuiltError`."""
    for folder in SOURCES:
        if (folder / "conf.py").exists():
            return folder
    raise NotBuiltError("this installation of ptokit has no documentation pages; install a wheel, or use a checkout")


def cache() -> Path:
    """Where sites are kept that `ptokit docs` has built, by version."""
    base = os.environ.get("XDG_CACHE_HOME") or (Path.home() / ".cache")
    return Path(base) / "ptokit" / f"docs-{__version__}"


def stamp() -> str:
    """What the site of this installation is made from, in one number: written pages, code and version."""
    source = written()
    hashed = hashlib.sha256(__version__.encode())
    for folder, pattern in ((source, "*"), (PACKAGE, "*.py")):
        for path in sorted(p for p in folder.rglob(pattern) if p.is_file()):
            hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def is_current(site: Path) -> bool:
    """True of a site that has been built from what is installed now."""
    made_from = site / _STAMP
    return made_from.exists() and made_from.read_text(encoding="utf-8") == stamp()


def stage(source: Path, to: Path) -> None:
    """Put written pages and reference into the new folder `to`; links that leave the documentation become words.

    Pages whose code runs get a notebook beside them, and a link to it.
    """
    shutil.copytree(source, to)
    for session in sessions(source):
        page = to / session.relative_to(source)
        page.with_suffix(".ipynb").write_text(notebook(session), encoding="utf-8")
        title, rest = page.read_text(encoding="utf-8").split("\n", 1)
        link_to = f"{{download}}`This page as a notebook <{page.stem}.ipynb>`"
        page.write_text(f"{title}\n\n{link_to}\n{rest}", encoding="utf-8")
    link = Links.from_pages(source)
    for page in to.rglob("*.md"):
        depth = len(page.relative_to(to).parts) - 1
        page.write_text(_inside(page.read_text(encoding="utf-8"), depth, link), encoding="utf-8")
    used_by = users(source)
    for page in sorted((to / CHAPTERS).glob("*.md")):
        page.write_text(_with_users(page.read_text(encoding="utf-8"), page.name, used_by, link), encoding="utf-8")
    for path, text in pages(source):
        page = to / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


def _inside(text: str, depth: int, link: Links) -> str:
    """A written page `depth` folders down, with links to the reference where it names a rule or an instruction."""
    up = "../" * depth

    def to_reference(name: re.Match[str]) -> str:
        page = link(name[1])
        return name[0] if page is None else f"[{name[0]}]({up}{page})"

    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and not line.startswith("#"):
            line = _LINK.sub(lambda found: found[1] if found[2].startswith(f"{up}../") else found[0], line)
            line = _NAMED.sub(to_reference, line)
        lines.append(line)
    return "\n".join(lines)


def _with_users(text: str, page: str, used_by: Mapping[str, Sequence[str]], link: Links) -> str:
    """A chapter with the rules and instructions that name a section as their source, at the end of the section."""
    parts = re.split(r"(?m)^(?=#{2,4} )", text)
    for i, part in enumerate(parts):
        title = re.match(r"#{2,4} (.*)\n", part)
        names = used_by.get(f"{CHAPTERS}/{page}#{slug(title[1])}", ()) if title else ()
        if names:
            words = ", ".join(f"[{escaped(name)}](../{link(name)})" for name in names)
            parts[i] = f"{part.rstrip()}\n\n{{.users}}\nSource of {words}.\n\n"
    return "".join(parts)


def build(out: Path, jobs: int = 2) -> None:
    """Build the site in the folder `out`, in place of what is there. Warnings are errors.

    Raises `NotBuiltError` where Sphinx is missing or refuses a page; `out` is then as it was.
    """
    source, made_from = written(), stamp()
    for module, package in (("sphinx", "Sphinx"), ("myst_parser", "myst-parser"), ("furo", "furo")):
        if importlib.util.find_spec(module) is None:
            raise NotBuiltError(f"{package} builds the pages and is not installed: pip install 'ptokit[docs]'")
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.with_name(f"{out.name}.{os.getpid()}")
    try:
        stage(source, work / "source")
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", str(jobs)]
        done = subprocess.run(
            [*command, "-d", str(work / "trees"), str(work / "source"), str(work / "html")],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise NotBuiltError(f"the pages are not right:\n{done.stderr.strip()}")
        (work / "html" / _STAMP).write_text(made_from, encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        (work / "html").rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)


# Which page a topic has: a rule, an instruction, or a page by its name.


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
