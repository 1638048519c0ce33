"""The whole site, built; and what `ptokit docs` does without building it."""

from __future__ import annotations

import html
import importlib.util
import re
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typer.testing import CliRunner

from ptokit.cli.main import app
from ptokit.site import build as building


def test_docs_opens_the_page_of_a_site_that_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setenv("PTOKIT_DOCS", "https://docs.example")
    done = CliRunner().invoke(app, ["docs", "RACE-WAR"])
    assert done.exit_code == 0, done.output
    assert opened == ["https://docs.example/reference/rules/RACE-WAR.html"]
    assert CliRunner().invoke(app, ["docs", "--print"]).stdout == "https://docs.example/index.html\n"
    assert len(opened) == 1


def test_docs_without_sphinx_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PTOKIT_DOCS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["docs"])
    assert done.exit_code == 1
    assert "pip install 'ptokit[docs]'" in done.stderr
    assert not (tmp_path / "ptokit" / "docs").exists()


def test_docs_of_a_topic_that_there_is_not() -> None:
    done = CliRunner().invoke(app, ["docs", "TLOADD"])
    assert done.exit_code == 2
    assert "TLOAD" in done.output


def site_at(cache: Path, made_from: str) -> Path:
    """A site as `build` leaves it."""
    site = building.cache()
    assert site.is_relative_to(cache)
    site.mkdir(parents=True)
    (site / "index.html").write_text("<html></html>", encoding="utf-8")
    (site / "made-from.txt").write_text(made_from, encoding="utf-8")
    return site


@pytest.fixture
def no_base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("PTOKIT_DOCS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_docs_keeps_a_site_of_what_is_installed(no_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = site_at(no_base, building.stamp())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["docs", "--print"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{(site / 'index.html').as_uri()}\n"
    assert (
        CliRunner()
        .invoke(app, ["docs", "--print", "load-store 3.6"])
        .stdout.endswith("explanation/load-store.html#36-outside-of-the-valid-region\n")
    )


def test_docs_notices_a_site_of_another_state(no_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site_at(no_base, "another")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["docs", "--print"])
    assert done.exit_code == 0
    assert "ptokit has changed since the pages were built" in done.stderr
    assert "showing the old pages: Sphinx builds the pages and is not installed" in done.stderr


def test_the_stamp_follows_pages_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, package = tmp_path / "docs", tmp_path / "package"
    for folder in (docs, package):
        folder.mkdir()
    (docs / "conf.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(building, "SOURCES", (docs,))
    monkeypatch.setattr(building, "PACKAGE", package)
    stamps = [building.stamp()]
    for file in (docs / "page.md", package / "code.py", package / "notes.txt"):
        file.write_text("text", encoding="utf-8")
        stamps.append(building.stamp())
    assert len(set(stamps[:3])) == 3
    assert stamps[3] == stamps[2]


def dead_links(site: Path) -> list[str]:
    """Links of built pages to files and anchors that are not there."""
    anchors = {
        p.resolve(): set(re.findall(r'\bid="([^"]+)"', p.read_text(encoding="utf-8"))) for p in site.rglob("*.html")
    }
    dead = []
    for page in anchors:
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8"))):
            address = urlsplit(html.unescape(link))
            if address.scheme:
                continue
            to = (page.parent / unquote(address.path)).resolve() if address.path else page
            anchor = unquote(address.fragment)
            if not to.exists() or (anchor and to in anchors and anchor not in anchors[to]):
                dead.append(f"{page.relative_to(site.resolve())}: {link}")
    return sorted(dead)


def test_dead_links_are_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y"></a><a href="#x"></a><a href="c.html">', "utf-8")
    (tmp_path / "b.html").write_text('<a href="https://example.org/gone"></a><img src="no.png">', "utf-8")
    assert dead_links(tmp_path) == ["a.html: b.html#y", "a.html: c.html", "b.html: no.png"]


@pytest.mark.campaign
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    building.build(tmp_path / "site")
    index = (tmp_path / "site" / "searchindex.js").read_text(encoding="utf-8")
    for word in ("tstore", "race", "RACE-WAR"):
        assert word in index
    assert building.is_current(tmp_path / "site")
    assert dead_links(tmp_path / "site") == []
    notebooks = {path.name for path in (tmp_path / "site" / "_downloads").rglob("*.ipynb")}
    assert "09-flash-attention.ipynb" in notebooks
