"""Findings in `.pto` text mark the operand that they are about, or its type; every operand can be found in the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import FORMS, convert
from ptokit.diagnostics import Location
from ptokit.ir import Module, Op, Value
from ptokit.ir.verify import verify
from ptokit.targets import target
from tests.each import each

from .reading import CORPUS, body, read

F32, F16 = "!pto.tile_buf<vec, 16x64xf32>", "!pto.tile_buf<vec, 16x64xf16>"
STEM = re.compile(r"(?:_\d+|#0)\Z")  # at level 1, %acc_2 may stand for the tile %acc
HEAD = f"""\
!rows = {F32}
module attributes {{pto.target_arch = "a5"}} {{
func.func @k(%a: !rows, %b: {F16}, %p: !pto.ptr<f32>) {{
%c7 = arith.constant 7 : i64
%c99 = arith.constant 99 : index
"""


def marked(text: str, at: Location) -> str:
    line = text.split("\n")[at.line - 1]
    return line[at.column - 1 : at.column - 1 + at.length]


def check_places(text: str, module: Module) -> int:
    """Every operand that the text names is found there, with a type that is its own; how many there are."""
    assert module.written is not None
    count = 0
    for function in module.functions:
        for op in function.body.walk() if function.body is not None else ():
            if op.regions or op.name not in (f"pto.{marked(text, op.location)}", marked(text, op.location).strip('"')):
                continue  # it has no places, or the text implies it
            places = module.written(op)
            for name, given in op.operands.items():
                values = [given] if isinstance(given, Value) else given or []
                written = [v for v in values if not (isinstance(v.owner, Op) and v.owner.location == op.location)]
                assert len(places.get(name, ())) == len(written), (op.name, name, op.location)
                for value, place in zip(written, places.get(name, ())):
                    assert STEM.sub("", marked(text, place.value)) == STEM.sub("", f"%{value.name}")
                    if place.type is not None:
                        spelled = marked(text, place.type)
                        assert module.written.types[spelled] == value.type, (op.name, name, spelled)
                    count += 1
    return count


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", CORPUS[::3], ids=lambda p: p.stem)
def test_every_operand_is_found(path: Path, form: str) -> None:
    text = convert(read(path.read_text()), form).text
    if text is None:
        pytest.skip(f"no {form}")
    module = read(text)
    assert check_places(text, module) > 5


ADD = "pto.tadd ins(%a, %b : {0}, {1}) outs(%a : {0})"
CASES = [
    # what is wrong, the rule, and what is marked
    (ADD.format("!rows", F16), "EW-04", F16),
    (ADD.format(F32, F16), "EW-04", F16),
    (f'"pto.tadd"(%a, %b, %a) : (!rows, {F16}, !rows) -> ()', "EW-04", F16),
    (f"%d = pto.tadd %a, %b : !rows, {F16} -> !rows", "EW-04", F16),
    (f"%d = tadd %a, %b : !rows, {F16} -> !rows", "EW-04", F16),
    (f"\tpto.tadd\tins(%a,\t%b : !rows,\t{F16}) outs(%a : !rows) // 语", "EW-04", F16),
    (f"pto.tadd // 一\n ins(%a, // 二 %b : !rows\n %b\n : !rows,\n {F16})\n outs(%a : !rows)", "EW-04", F16),
    (f"pto.tload ins(%b : {F16}) outs(%a : !rows)", "LD-1", F16),
    ("%t = pto.alloc_tile valid_row = %c99 : !pto.tile_buf<vec, 16x64xf32, valid=?x64>", "TILE-01", "%c99"),
    ("%t = pto.alloc_tile addr = %c7 : !rows", "ADDR-ALIGN", "%c7"),
    ("%t = pto.alloc_tile : !pto.tile_buf<vec, 16x17xf32>", "TILE-05", "!pto.tile_buf<vec, 16x17xf32>"),
    ("%t = pto.alloc_tile : !pto.tile_buf<vec, 1600x64xf32>", "UB-CAPACITY", "!pto.tile_buf<vec, 1600x64xf32>"),
]


@each("operation, rule, wanted", CASES)
def test_findings_mark_what_they_are_about(operation: str, rule: str, wanted: str) -> None:
    text = f"{HEAD}{operation}\nreturn\n}}\n}}\n"
    parsed = parse_module(text, "k.pto")
    assert not parsed.diagnostics.errors, parsed.diagnostics
    found = [d for d in verify(parsed.module, target("a5")) if d.rule == rule]
    assert [marked(text, d.location) for d in found] == [wanted]
    assert {d.location.file for d in found} == {"k.pto"}


def test_an_operation_that_is_longer_than_the_text_looked_at_first() -> None:
    names = ", ".join(["%c99"] * 600)
    text = f"{HEAD}func.call @f({names}) : ({', '.join(['index'] * 600)}) -> ()\nreturn\n}}\n}}\n"
    module = parse_module(text, "k.pto").module
    call = body(module).ops[2]
    assert module.written is not None
    places = module.written(call)["args"]
    assert [marked(text, place.value) for place in places] == ["%c99"] * 600
    assert len({place.type for place in places}) == 600


def test_an_operand_that_the_text_does_not_have() -> None:
    """A number of level 1 stands for a constant; findings about it mark the operation."""
    module = read(f"{HEAD}%d = tmuls %a, 2.0 : !rows -> !rows\nreturn\n}}\n}}\n")
    operation = next(op for op in body(module).ops if op.name == "pto.tmuls")
    assert module.place(operation, "scalar") == operation.location
    assert module.place(operation, "nothing") == operation.location
