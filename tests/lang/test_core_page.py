"""docs/notebook.md shows what really happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

from ptokit.draw import layout
from ptokit.types import dtypes
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import tile

DOCS = Path(__file__).parents[2] / "docs"


def test_the_session_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with np.printoptions():
        failed, tried = doctest.testfile(
            str(DOCS / "notebook.md"), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
        )
    assert (failed, tried > 15) == (0, True)


def test_the_picture_of_the_page() -> None:
    spec = tile(TileType.Mat, dtypes.f32, 16, 16, blayout=BLayout.ColMajor, slayout=SLayout.RowMajor)
    assert (DOCS / "images" / "nz.svg").read_text(encoding="utf-8") == layout(spec).svg() + "\n"
