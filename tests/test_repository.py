"""What a stranger meets first keeps its promises: links, commands, examples in documents, packaging."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ptokit
from ptokit.site.build import page_for

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if link.startswith("http"):
            continue
        path, _, fragment = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if fragment:
            assert fragment in map(anchor, re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_list_of_decisions_is_complete() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[^)]+)\) \| (.*?) \|", (folder / "README.md").read_text(encoding="utf-8"))
    pages = sorted(p.name for p in folder.glob("[0-9]*.md"))
    assert [name for name, _ in listed] == pages
    for number, (name, title) in enumerate(listed, 1):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.startswith(f"# {number}. {title}\n")
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Situation", "Decision", "Why", "Cost"]


def shell_commands(text: str) -> list[list[str]]:
    joined = text.replace("\\\n", " ")
    return [shlex.split(line, comments=True)[2:] for line in joined.splitlines() if line.startswith("$ ptokit ")]


def run(args: list[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "ptokit", *args], cwd=ROOT, capture_output=True, text=True, encoding="utf-8",
        timeout=60, env=env, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("block", blocks(README, "console"))
def test_the_readme_shows_what_the_commands_print(block: str) -> None:
    commands = shell_commands(block)
    assert commands
    ran = [run(args) for args in commands]
    printed = [line for r in ran for line in (r.stderr + r.stdout).splitlines()]  # findings come before the summary
    shown = block.replace("\\\n", " ").splitlines()
    expected = [re.escape(line).replace("…", ".*") for line in shown if not line.startswith("$ ")]
    pattern = [re.sub(r"\d+\\\.\d+\\ m?s", r"[\\d.]+ m?s", line) for line in expected]  # a time is never the same
    assert len(printed) == len(pattern)
    for line, want in zip(printed, pattern, strict=True):
        assert re.fullmatch(want, line), (line, want)


def test_the_readme_kernel_runs() -> None:
    (code,) = blocks(README, "python")
    scope: dict[str, object] = {}
    file = ROOT / "README.py"  # a name for messages; the lines are found through linecache
    import linecache

    linecache.cache[str(file)] = (len(code), None, code.splitlines(keepends=True), str(file))
    exec(compile(code, str(file), "exec"), scope)


def test_the_readme_works_without_its_repository() -> None:
    """On a package index a relative link or picture leads nowhere; pages are named as topics of `ptokit docs`."""
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\]\((?!https://)[^)]+\)", prose) == []
    table = README.split("## Where to read on")[1].split("## What to expect")[0]
    topics = [t for row in re.findall(r"\| (`ptokit docs [^|]*) \|", table) for t in re.findall(r"`([^`]+)`", row)]
    assert len(topics) > 12
    for topic in topics:
        assert page_for(topic.removeprefix("ptokit docs ")).endswith(".html")


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_ci_runs_the_test_command() -> None:
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    assert "make test" in ci.read_text(encoding="utf-8")
    assert "make test" in README


def test_version_changelog_and_licence_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"## {ptokit.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "src" / "ptokit" / "py.typed").exists()
    assert project["license-files"] == ["LICENSE", "NOTICE"]
    assert json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))["version"] == ptokit.__version__


def test_every_documented_argument_form_is_understood() -> None:
    from ptokit.arguments.grammar import parse_argument

    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    table = page.split("## Arguments")[1].split("`DTYPE` is one of")[0]
    forms = re.findall(r"`([^`]+)`", table)
    assert len(forms) > 10
    stand_ins = {"DTYPE": "f32", "SHAPE": "4x4", "VALUE": "2", "seed=N": "seed=1", "PATH": "x"}
    for form in forms:
        for word, example in stand_ins.items():
            form = form.replace(word, example)
        if form != "--arg 2":
            parse_argument(form, 0)


def test_every_documented_element_type_exists() -> None:
    from ptokit.types.dtypes import DTYPES

    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"`DTYPE` is one of `([^`]+)`", page)
    assert named.split() == list(DTYPES)
