"""The example kernels and synchronisation cases are read completely and printed without loss."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptokit.asm import parse_module, print_module, read_module
from ptokit.ir import Op

from .reading import CORPUS, body, read, round_trip
from .same import assert_same

LINE_WITH_OPERATION = re.compile(r"^\s*(?:%[\w, %]+ = )?((?:pto|arith|scf)\.[\w.]+|return)", re.MULTILINE)


def operations(text: str) -> list[str]:
    """Names of the operations of a text, one per line at most, found without the parser."""
    names = LINE_WITH_OPERATION.findall(re.sub(r"//.*", "", text))
    return ["func.return" if n == "return" else n for n in names]


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_every_operation_is_read(path: Path) -> None:
    result = read_module(path)
    assert not list(result.diagnostics), "\n".join(map(str, result.diagnostics))
    (function,) = result.module.functions
    assert function.name == re.sub(r"^\d+_", "", path.stem)
    ops = list(body(result.module).walk())
    text = path.read_text()
    assert [op.name for op in ops] == operations(text)
    lines = text.splitlines()
    for op in ops:
        spelled = "return" if op.name == "func.return" else op.name
        place = op.location
        assert lines[place.line - 1][place.column - 1 :][: place.length] == spelled
        for value in op.results:
            place = value.location
            assert lines[place.line - 1][place.column - 1 :][: place.length] == f"%{value.name}"


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_printing_loses_nothing(path: Path) -> None:
    module = read(path.read_text())
    text = round_trip(module)
    newest = {"pto.tstore_fp": "pto.tstore"}
    assert operations(text) == [newest.get(name, name) for name in operations(path.read_text())]


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_layout_of_the_text_does_not_matter(path: Path) -> None:
    text = re.sub(r"//.*", "", path.read_text())
    module = read(text)
    flat = " ".join(text.split())
    assert_same(module, read(flat))
    assert_same(module, read(text.replace(",", " , // comment\n").replace("(", "( ")))
    assert print_module(read(flat)) == print_module(module)


def test_module_attributes_choose_the_layout_of_left_tiles() -> None:
    text = "module%s { func.func @f() { %%t = pto.alloc_tile : !pto.tile_buf<left, 16x16xf16> return } }"

    def layout(attributes: str) -> str:
        (tile, _) = body(parse_module(text % attributes).module).ops
        assert isinstance(tile, Op)
        return tile.result.type.blayout.text  # type: ignore[union-attr]

    assert layout("") == "row_major"
    assert layout(' attributes {pto.target_arch = "a3"}') == "row_major"
    assert layout(' attributes {pto.target_arch = "A5"}') == "col_major"
    assert layout(' attributes {"pto.target_arch" = "a5"}') == "col_major"
