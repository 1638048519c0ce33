"""The whole site, built; and what `ptokit docs` does without building it."""

from __future__ import annotations

import importlib.util
import webbrowser
from pathlib import Path

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


@pytest.mark.campaign
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    building.build(tmp_path / "site")
    index = (tmp_path / "site" / "searchindex.js").read_text(encoding="utf-8")
    for word in ("tstore", "race", "RACE-WAR"):
        assert word in index
