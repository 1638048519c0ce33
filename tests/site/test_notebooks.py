"""Pages whose code runs are notebooks too, with the same code and outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptokit.site.build import BLOCK, notebook, sessions

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sessions(DOCS)
CHAPTERS = [page for page in PAGES if page.parent.name == "tutorial"]


def test_all_chapters_are_sessions() -> None:
    assert len(CHAPTERS) == len(list((DOCS / "tutorial").glob("[0-9]*.md"))) == 18
    assert DOCS / "howto" / "debug-a-hang.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_code_and_the_outputs_of_its_page(page: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    made = nbformat.reads(notebook(page), as_version=4)
    nbformat.validate(made)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert [cell.source for cell in code] == [block[0].rstrip("\n") for block in blocks]
    assert ["".join(out.text for out in cell.outputs) for cell in code] == [block[1] for block in blocks]


def test_nothing_in_a_notebook_needs_the_page_beside_it() -> None:
    for page in PAGES:
        for cell in json.loads(notebook(page))["cells"]:
            if cell["cell_type"] == "markdown":
                assert ".md" not in cell["source"].replace("README.md", "")
                assert "](../" not in cell["source"]


def executed(page: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    made = nbformat.reads(notebook(page), as_version=4)
    shipped = ["".join(out.text for out in cell.outputs) for cell in made.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(made, timeout=600, kernel_name="python3").execute()
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    printed = ["".join(out.text for out in cell.outputs if out.output_type == "stream") for cell in code]
    assert [text.rstrip() for text in printed] == [text.rstrip() for text in shipped]


def test_the_notebook_of_the_first_chapter_runs() -> None:
    executed(CHAPTERS[0])


@pytest.mark.campaign
@pytest.mark.parametrize("page", CHAPTERS[1:], ids=lambda page: page.stem)
def test_the_notebook_of_a_chapter_runs(page: Path) -> None:
    executed(page)
