"""Links to pages of the documentation, relative to the base that PTOKIT_DOCS sets."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit
from ptokit.diagnostics.render import link_to, page_of

RACY = "examples/pto/racy.pto"
ARGS = ["ones:f32:64x256", "uninit:f32:64x256", 4]


def test_no_base_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PTOKIT_DOCS", raising=False)
    assert link_to(page_of("RACE-WAR")) is None
    assert "page      reference/rules/RACE-WAR.html" in str(ptokit.explain("RACE-WAR"))
    report = ptokit.sanitize(RACY, ARGS, target="a2a3")
    assert "RACE-WAR.html" not in report.html()


def test_links_begin_with_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_DOCS", "https://docs.example/ptokit/")
    page = "https://docs.example/ptokit/reference/rules/RACE-WAR.html"
    assert f"page      {page}" in str(ptokit.explain("RACE-WAR"))
    report = ptokit.sanitize(RACY, ARGS, target="a2a3")
    assert f"<a href='{page}'>RACE-WAR</a>" in report.html()


def test_sarif_has_them(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    from pathlib import Path

    from ptokit.diagnostics.render import sarif

    report = ptokit.sanitize(RACY, [np.ones((64, 256), np.float32), np.zeros((64, 256), np.float32), 4], target="a2a3")
    for base, expected in (("", None), ("file:///docs", "file:///docs/reference/rules/RACE-WAR.html")):
        monkeypatch.setenv("PTOKIT_DOCS", base)
        log = sarif({"a2a3": report.diagnostics}, "1", Path.cwd())
        (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
        assert rule.get("helpUri") == expected
