"""A finding knows which operands its message names: as data, not by reading the message."""

from __future__ import annotations

import re

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Doubt
from ptokit.ir.verify import verify
from ptokit.isa.check import broken_rules
from ptokit.isa.site import MARK, Site, TileInfo, without_marks
from ptokit.targets import target
from tests.each import each

from . import test_rules_compute, test_rules_irregular
from .fake import site
from .rule_cases import F, case_ids

CASES = [*test_rules_compute.CASES, *test_rules_irregular.CASES]
_WORD = re.compile(r"[\w.$-]+")
_ENGLISH = {"mask", "scale", "offset", "tmp"}  # operands whose names are words that messages have, too


@each("case", CASES, ids=case_ids(CASES))
def test_operands_are_those_that_the_message_names(case: tuple) -> None:
    _, name, on, _, bad = case
    given = dict(bad)
    place = site(name, on, given.pop("attrs", None), **given)
    for broken in broken_rules(place):
        assert MARK not in f"{broken.message}{broken.hint}"
        assert set(broken.operands) <= {*place.operands, *place.attrs}
        tiles = {n for n, info in place.operands.items() if isinstance(info, TileInfo)}
        shown = set(_WORD.findall(broken.message))
        read = {n for n in tiles if n in shown or place.operands[n].name in shown}  # type: ignore[union-attr]
        assert read - _ENGLISH <= set(broken.operands) & tiles <= read, broken.message


def test_names_are_marked_until_a_finding_is_made() -> None:
    o: Site = site("TADD", "a5", None, dst=F, src0=F, src1=F)
    message, operands = without_marks(f"{o:src1} and {o:dst}, {o:src1} again, shown as {o:%src0}")
    assert message == f"src1 and dst, src1 again, shown as {o.src0.name}"
    assert operands == ("src1", "dst", "src0")
    assert without_marks("nothing") == ("nothing", ())
    assert type(without_marks(Doubt(f"{o:dst}"))[0]) is Doubt


TEXT = """func.func @k() {{
  %a = pto.alloc_tile : !pto.tile_buf<{a}>
  %b = pto.alloc_tile : !pto.tile_buf<{b}>
  %c = pto.alloc_tile : !pto.tile_buf<{c}>
  {operation}
  return
}}
"""
VEC, HALF, BOXED = "vec, 16x64xf32", "vec, 16x64xf16", "vec, 16x64xf32, blayout=col_major, slayout=row_major"
LINES = {"a": 2, "b": 3, "c": 4}


@pytest.mark.parametrize(
    ("rule", "tiles", "operation", "named"),
    [
        ("EW-04", (VEC, VEC, HALF), "pto.tadd ins(%a, %c : !A, !C) outs(%b : !B)", "bc"),
        ("EW-04", (VEC, HALF, VEC), "pto.tadd ins(%a, %b : !A, !B) outs(%c : !C)", "bc"),
        ("EW-03", (VEC, BOXED, VEC), "pto.tadd ins(%a, %b : !A, !B) outs(%c : !C)", "b"),
        ("EW-01", (VEC, "mat, 16x64xf32", VEC), "pto.tadd ins(%b, %a : !B, !A) outs(%c : !C)", "b"),
        (
            "RRED-COM-01",
            (BOXED, "vec, 16x1xf32, blayout=col_major", VEC),
            "pto.trowsum ins(%a, %c : !A, !C) outs(%b : !B)",
            "a",
        ),
        (
            "MAT-NPU-01",
            ("left, 16x16xf16, slayout=row_major", "right, 16x16xf16, slayout=col_major", "acc, 16x16xf32"),
            "%d = pto.alloc_tile : !C\n  pto.tmatmul.acc ins(%c, %a, %b : !C, !A, !B) outs(%d : !C)",
            "c",
        ),
        (
            "EXTR-COM-02",
            (VEC, VEC, VEC),
            "%n = arith.constant 60 : index\n  pto.textract ins(%a, %n, %n : !A, index, index) outs(%b : !B)",
            "ab",
        ),
    ],
)
def test_notes_stand_where_the_tiles_that_are_named_are_made(
    rule: str, tiles: tuple[str, str, str], operation: str, named: str
) -> None:
    a, b, c = tiles
    for key, spelled in zip("ABC", tiles):
        operation = operation.replace(f"!{key}", f"!pto.tile_buf<{spelled}>")
    text = TEXT.format(a=a, b=b, c=c, operation=operation)
    read = parse_module(text, "k.pto", target=target("a2a3"))
    assert not read.diagnostics.errors, str(read.diagnostics)
    found = {d.rule: d for d in verify(read.module, target("a2a3"))}
    assert rule in found, found
    places = {(n.location.file, n.location.line, n.location.column) for n in found[rule].notes}
    assert places >= {("k.pto", LINES[tile], 3) for tile in named}
    assert not places & {("k.pto", LINES[tile], 3) for tile in set("abc") - set(named)}
