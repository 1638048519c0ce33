"""Generic form as the reference writes it today: one name for windows with and without quantisation words."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import convert
from ptokit.targets import target

ACC = "!pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>"
FP = "!pto.tile_buf<scaling, 1x32xui64>"
MAT = "!pto.tile_buf<mat, 32x32xi8, blayout=col_major, slayout=row_major>"


@pytest.mark.parametrize("name", ["textract", "tinsert"])
@pytest.mark.parametrize(
    ("given", "sizes"),
    [("", "1, 0"), (f" fp %fp : {FP}", "1, 1")],
    ids=["plain", "words"],
)
def test_windows_of_accumulators(name: str, given: str, sizes: str) -> None:
    """Source, row, column, destination, then what is optional (PTOOps.td of August 2026)."""
    dst = MAT if given else MAT.replace("i8", "f16")
    lines = [f"%src = pto.alloc_tile : {ACC}", f"%fp = pto.alloc_tile : {FP}", f"%dst = pto.alloc_tile : {dst}"]
    lines += ["%c0 = arith.constant 0 : index"]
    lines += [f"pto.{name} ins(%src, %c0, %c0 : {ACC}, index, index{given}) outs(%dst : {dst})"]
    module = parse_module("\n".join(["func.func @k() {", *lines, "return", "}"]), target=target("a2a3")).module
    generic = convert(module, "generic").text
    operands = "%src, %c0, %c0, %dst, %fp" if given else "%src, %c0, %c0, %dst"
    assert f'"pto.{name}"({operands}) <{{operandSegmentSizes = array<i32: 1, 1, 1, {sizes}, 0>}}>' in generic
    read = parse_module(generic, target=target("a2a3"))
    read.diagnostics.raise_if_errors()
    assert convert(read.module, "generic").text == generic
    assert convert(read.module, "dps").text == convert(module, "dps").text


@pytest.mark.parametrize("name", ["textract", "tinsert"])
def test_the_name_with_words_is_gone(name: str) -> None:
    """What older texts call textract_fp is printed as textract."""
    older = f"pto.{name}_fp ins(%src, %fp, %c0, %c0 : {ACC}, {FP}, index, index) outs(%dst : {MAT})"
    lines = [f"%src = pto.alloc_tile : {ACC}", f"%fp = pto.alloc_tile : {FP}", f"%dst = pto.alloc_tile : {MAT}"]
    source = "\n".join(["func.func @k() {", *lines, "%c0 = arith.constant 0 : index", older, "return", "}"])
    read = parse_module(source, target=target("a2a3"))
    read.diagnostics.raise_if_errors()
    generic = convert(read.module, "generic").text
    assert f'"pto.{name}"(%src, %c0, %c0, %dst, %fp)' in generic
    assert "_fp" not in generic
