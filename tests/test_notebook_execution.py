"""A notebook, executed by a kernel of Jupyter: what its cells show of findings, errors and tiles."""

from __future__ import annotations

import re
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

pytest.importorskip("ipykernel")

CELLS = [
    "import ptokit as pto\n"
    "core = pto.Core('a5')\n"
    "t = core.Tile(pto.TileType.Vec, pto.f32, 16, 64)\n"
    "half = core.Tile(pto.TileType.Vec, pto.f16, 16, 64)",
    "def add(src):\n    core.TADD(t, t, src)\n\nadd(half)",
    "@pto.kernel(target='a5')\n"
    "def kernel(x: pto.Ptr[pto.f32]):\n"
    "    tile = pto.Tile(pto.TileType.Vec, pto.f32, 300, 256)\n"
    "    pto.TLOAD(tile, pto.GlobalTensor(x, (300, 256)))\n"
    "pto.check(kernel)",
    "kernel.check()",
    "import numpy as np\nkernel(np.zeros((300, 256), np.float32))",
    "try:\n    core.TADD(t, t, half)\nexcept pto.DiagnosticError as error:\n    caught = error\ncaught",
    "t",
    "raise ValueError('another error')",
]


@pytest.fixture(scope="module")
def outputs() -> list[list[Any]]:
    """What each cell shows."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3", allow_errors=True).execute()
    return [cell.outputs for cell in notebook.cells]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def traceback_of(shown: list[Any]) -> str:
    (error,) = (output for output in shown if output.output_type == "error")
    return plain("\n".join(error.traceback))


def html_of(shown: list[Any]) -> str:
    (result,) = (output for output in shown if output.output_type == "execute_result")
    return re.sub(r"<[^>]+>", "", result.data["text/html"]).replace("&lt;", "<").replace("&gt;", ">")


def test_nothing_is_wrong_with_the_first_cell(outputs: list[list[Any]]) -> None:
    assert outputs[0] == []


def test_a_refused_call_shows_its_line_and_the_users_calls_only(outputs: list[list[Any]]) -> None:
    text = traceback_of(outputs[1])
    assert "error: TADD: src1 has element type f16, dst has f32 [EW-04]" in text
    assert "    2 |     core.TADD(t, t, src)\n      |                     ^^^" in text
    assert [line.rpartition(": ")[2] for line in text.splitlines()[:2]] == ["in <module>", "in add"]
    assert "src/ptokit" not in text
    assert "site-packages" not in text


@pytest.mark.parametrize("cell", [2, 3])
def test_reports_show_their_findings(outputs: list[list[Any]], cell: int) -> None:
    shown = html_of(outputs[cell])
    assert "error: tile: the tile needs 307200 bytes" in shown
    assert "    3 |     tile = pto.Tile(pto.TileType.Vec, pto.f32, 300, 256)" in shown
    assert "[UB-CAPACITY]" in shown


def test_a_launch_that_is_refused(outputs: list[list[Any]]) -> None:
    text = traceback_of(outputs[4])
    assert "[UB-CAPACITY]" in text
    assert "src/ptokit" not in text


def test_an_error_that_was_caught(outputs: list[list[Any]]) -> None:
    assert "error: TADD: src1 has element type f16, dst has f32 [EW-04]" in html_of(outputs[5])


def test_a_tile_shows_itself(outputs: list[list[Any]]) -> None:
    (result,) = outputs[6]
    assert "vec 16x64xf32" in result.data["text/plain"]


def test_other_errors_look_as_always(outputs: list[list[Any]]) -> None:
    assert "ValueError: another error" in traceback_of(outputs[7])
