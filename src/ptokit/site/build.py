"""Builds the site: the pages as people wrote them and the reference, put together and handed to Sphinx."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ptokit import __version__

from .citations import FOLDER as CHAPTERS
from .citations import slug
from .markdown import escaped
from .notebooks import notebook, sessions
from .reference import Links, pages, users

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
