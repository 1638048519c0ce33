"""What reading keeps for later: compared types, words, lists, constants, names. Each use is as if it were the first."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from ptokit.asm import parse_module
from ptokit.asm.forms.attributes import Written, declared_value
from ptokit.asm.reading.parser import Parser
from ptokit.asm.reading.written import _declared
from ptokit.asm.text.lexer import Tokens
from ptokit.diagnostics import Diagnostics
from ptokit.isa.table import TABLE, Attr
from ptokit.targets import A2A3, A5
from ptokit.types.tile import DYNAMIC

from .reading import body, errors_in, in_function, ops, read

T = "!pto.tile_buf<vec, 16x16xf32>"


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("arith.extsi %i : i32 to i64", "arith.extsi %i : i32 to i16"),
        ("arith.trunci %l : i64 to i32", "arith.trunci %l : i64 to f32"),
        ("arith.truncf %x : f32 to f16", "arith.truncf %x : f32 to f64"),
        ("arith.extf %x : f32 to f64", "arith.extf %x : f32 to f16"),
        ("arith.index_cast %n : index to i64", "arith.index_cast %n : index to index"),
        ("arith.bitcast %x : f32 to i32", "arith.bitcast %x : f32 to i16"),
        ("arith.sitofp %i : i32 to f32", "arith.sitofp %i : i32 to i64"),
    ],
)
def test_types_are_compared_for_every_operation(good: str, bad: str) -> None:
    """Casts of one type to two others: one that fits says nothing of the other."""
    assert errors_in(f"%a = {good}\n%b = {good}") == []
    assert [(rule, line) for rule, line, _ in errors_in(f"%a = {good}\n%b = {bad}\n%d = {good}")] == [("TEXT-TYPE", 2)]
    assert [(rule, line) for rule, line, _ in errors_in(f"%a = {bad}\n%b = {good}")] == [("TEXT-TYPE", 1)]


def attributes() -> dict[str, list[Attr]]:
    """All that text can give instructions, by name, one of each kind."""
    found: dict[str, dict[Any, Attr]] = defaultdict(dict)
    for name in TABLE:
        for attr in TABLE[name].text_attrs.values():
            found[attr.name].setdefault((attr.kind, attr.mnemonic, tuple(attr.words)), attr)
    return {name: list(kinds.values()) for name, kinds in found.items() if len(kinds) > 1}


def parser(text: str) -> Parser:
    return Parser(Tokens(text), "t.pto", Diagnostics(), A5)


def test_a_word_is_read_for_its_own_attribute() -> None:
    """Attributes of one name have other words in other instructions."""
    compared = 0
    for name, several in attributes().items():
        words = {word for attr in several for word in attr.words} | {"NORM", "eq", "1", "add"}
        for spelled in sorted({f'"{word}"' for word in words} | {"1", "7"}):
            shared = parser(spelled)
            for attr in (*several, *reversed(several)):
                alone = parser(spelled)
                before = shared.errors
                expected = declared_value(alone, attr, Written(spelled, 0))
                assert _declared(shared, attr, Written(spelled, 0)) == expected, (name, spelled)
                assert shared.errors - before == alone.errors, (name, spelled)
                compared += 1
    assert compared > 300


def test_lists_are_not_shared() -> None:
    lists = 0
    for name in TABLE:
        for attr in TABLE[name].text_attrs.values():
            for spelled in ("[1, 2]", "array<i64: 1, 2>"):
                p = parser(spelled)
                first = _declared(p, attr, Written(spelled, 0))
                if isinstance(first, list):
                    lists += 1
                    assert _declared(p, attr, Written(spelled, 0)) is not first
    assert lists


def test_aliases_of_left_tiles_before_the_target() -> None:
    """The target decides the layout of left tiles, also of those that the text named before it."""
    tile = "!pto.tile_buf<left, 16x16xf16>"
    found = {}
    for target in (A2A3, A5):
        text = f"""!named = {tile}
        module attributes {{pto.target_arch = "{target.name}"}} {{
          func.func @f() {{
            %a = pto.alloc_tile : !named
            %b = pto.alloc_tile : {tile}
            return
          }}
        }}"""
        first, second, _ = body(read(text)).ops
        assert first.result.type == second.result.type
        found[target.name] = first.result.type
    assert found["a2a3"] != found["a5"]


def test_a_constant_for_each_type() -> None:
    """``tassign`` and ``subview`` make constants of the numbers in them."""
    found = ops("subview %t, 0, 0 : (!pto.tile_buf<vec, 16x16xf32>, index, index) -> !pto.tile_buf<vec, 8x16xf32>")
    assert [op.name for op in found] == ["arith.constant", "pto.subset"]
    from ptokit.asm.reading.parser import Expansion
    from ptokit.asm.reading.statements.sync import constant
    from ptokit.types.values import I64, INDEX

    e = Expansion()
    a, b, c = constant(e, 4, I64), constant(e, 4, INDEX), constant(e, 4, I64)
    assert (a.type, b.type) == (I64, INDEX)
    assert a is c
    assert constant(e, 5, I64) is not a


def test_a_tile_that_is_moved_keeps_its_name_to_the_end_of_the_region() -> None:
    """Regions inside do not end what was assigned around them; those that end, do."""
    found = ops(
        f"""tassign %t, 0
        scf.if %c {{
          pto.tadds ins(%t, %x : {T}, f32) outs(%u : {T})
        }}
        pto.tadds ins(%t, %x : {T}, f32) outs(%u : {T})
        scf.if %c {{
          tassign %t, 64
          pto.tadds ins(%t, %x : {T}, f32) outs(%u : {T})
        }}
        pto.tadds ins(%t, %x : {T}, f32) outs(%u : {T})"""
    )
    outer = next(op for op in found if op.name == "pto.tassign").result
    uses = [op["src"] for top in found for op in (top, *(o for r in top.regions for o in r.ops)) if "tadds" in op.name]
    inner = next(o for op in found for r in op.regions for o in r.ops if o.name == "pto.tassign").result
    assert [use is outer for use in uses] == [True, True, False, True]
    assert uses[2] is inner


def test_the_name_of_a_moved_tile_is_a_new_one() -> None:
    found = ops(f"%t.1 = pto.alloc_tile : {T}\ntassign %t, 0\npto.tadds ins(%t.1, %x : {T}, f32) outs(%u : {T})")
    made = {op.result.name: op for op in found if op.results and op.name != "arith.constant"}
    assert len(made) == 2
    assert made["t.1"].name == "pto.alloc_tile"
    (use,) = (op for op in found if op.name == "pto.tadds")
    assert use["src"] is made["t.1"].result


@pytest.mark.parametrize(("offset", "valid"), [(0, 4), (4, 4), (2, 4), (6, 4), (8, 4), (9, 4), (14, 4), (15, 3)])
def test_the_valid_part_of_a_subset(offset: int, valid: int) -> None:
    """The valid size is a period: what is left of it after the offset is valid."""
    period = 6
    expected = min(valid, period - offset % period)
    source = "!pto.tile_buf<vec, 16x16xf32, valid=16x6>"
    text = f"%a = pto.alloc_tile : {source}\n%o = arith.constant {offset} : index\n%z = arith.constant 0 : index\n"
    text += f"%s = pto.subset %a[%z, %o] sizes [16, {valid}] : {source}"
    assert (ops(text)[-1].result.type.valid_row, ops(text)[-1].result.type.valid_col) == (16, expected)


@pytest.mark.parametrize(("stated", "expected"), [("4", 4), ("8", 8), ("12", 8)])
def test_the_valid_part_of_a_subview(stated: str, expected: int) -> None:
    text = f"%a = pto.alloc_tile : {T}\n%z = arith.constant 0 : index\n%r = arith.constant {stated} : index\n"
    text += f"%s = pto.subview %a[%z, %z] sizes [8, 8] valid [%r, %r] : {T}"
    type = ops(text)[-1].result.type
    assert (type.valid_row, type.valid_col) == (expected, expected)


def test_a_size_below_zero_is_open() -> None:
    text = "%a1 = arith.constant -2 : index\n%a2 = arith.constant 3 : index\n"
    text += "%w = pto.partition_view %tv, offsets = [%a2, %a2], sizes = [%a1, %a2] : !pto.tensor_view<?x16xf32>"
    assert ops(text)[-1].result.type.dims == (DYNAMIC, 3)


@pytest.mark.parametrize("segments", ["1, 0, 0, 1", "0, 1, 0, 1", "2, 0, 0, 1", "1, 1, 1, 1", "1, 1, 0, 2"])
def test_segments_that_an_operation_cannot_have(segments: str) -> None:
    given = ["%t", "%u", "%l"][: sum(map(int, segments.split(", ")))]
    types = [T, T, "i64"][: len(given)]
    stated = f"<{{operandSegmentSizes = array<i32: {segments}>}}>"
    text = f'"pto.tmov"({", ".join(given)}) {stated} : ({", ".join(types)}) -> ()'
    assert [rule for rule, *_ in errors_in(text)] == ["TEXT-OPERANDS"]


@pytest.mark.parametrize(("sizes", "fit"), [("1, 1", True), ("2, 0", False), ("1, 2", False), ("1, 0", False)])
def test_segments_of_cases(sizes: str, fit: bool) -> None:
    text = in_function(
        f"""
        "cf.switch"(%i, %n, %n)[^a, ^b, ^b] <{{case_values = dense<[3, 4]> : vector<2xi32>,
          case_operand_segments = array<i32: {sizes}>,
          operandSegmentSizes = array<i32: 1, 0, 2>}}> : (i32, index, index) -> ()
        ^a:
          cf.br ^d
        ^b(%a1: index):
          cf.br ^d
        ^d:
        """
    )
    assert (not list(parse_module(text, "t.pto").diagnostics)) is fit


def test_operands_on_several_lines_have_their_columns() -> None:
    module = read(in_function(f"      pto.tadd ins(%t,\n   %u : {T},\n   {T})\n outs(%u : {T})"))
    op = body(module).ops[0]
    places = module.written(op)
    found = {name: (place.value.line, place.value.column) for name, (place, *_) in places.items()}
    line = op.location.line
    assert found["src0"] == (line, op.location.column + len("pto.tadd ins("))
    assert found["src1"] == (line + 1, 4)
    assert found["dst"] == (line + 3, 7)


def test_a_rounding_mode_is_written_once() -> None:
    text = "%a1 = arith.extf %x : f32 to f64\n%b1 = arith.truncf %a1 {} : f64 to f32"
    assert errors_in(text.format("downward")) == []
    found = errors_in(text.format("downward to_nearest_even"))
    assert [(rule, line) for rule, line, _ in found] == [("TEXT-UNEXPECTED", 2)]


@pytest.mark.parametrize("flag", ["overflow<nsw>", "overflow<nuw>"])
def test_flags_are_written_once(flag: str) -> None:
    assert errors_in(f"%b1 = arith.addi %l, %l {flag} : i64") == []
    assert [rule for rule, *_ in errors_in(f"%b1 = arith.addi %l, %l {flag} overflow<nsw> : i64")] == [
        "TEXT-UNEXPECTED"
    ]


def test_a_group_of_one_is_called_as_it_is_written() -> None:
    """It may be used by its name and by its number."""
    uses = "%b1 = arith.addi %a1, %n : index\n%b2 = arith.addi %a1#0, %n : index"
    first, *uses = ops(f"%a1:1 = arith.addi %n, %n : index\n{uses}")
    assert first.result.name == "a1"
    assert all(use["lhs"] is first.result for use in uses)


@pytest.mark.parametrize("size", [0, 1001])
def test_the_size_of_a_group(size: int) -> None:
    found = errors_in(f"%a1:{size} = arith.addi %n, %n : index")
    assert [(rule, line) for rule, line, _ in found] == [("TEXT-RESULTS", 1)]


def test_what_stands_after_the_operands_is_written_once() -> None:
    load = "pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) outs(%t : !pto.tile_buf<vec, 16x16xf32>)"
    for word in ("pad_value = %x : f32", "pad_mode = <PadNull>", "init_condition = %c : i1"):
        assert errors_in(f"{load} {word}") == []
        assert [rule for rule, *_ in errors_in(f"{load} {word} {word}")] == ["TEXT-UNEXPECTED"]


@pytest.mark.parametrize(
    ("sizes", "type", "fits"),
    [("[4]", "?", True), ("[%n]", "?", True), ("[4]", "4", True), ("[%n]", "4", True), ("[5]", "4", False)],
)
def test_sizes_that_a_type_leaves_open(sizes: str, type: str, fits: bool) -> None:
    text = f"""func.func @k(%m: memref<64xf32>, %n: index) {{
    %a = memref.reinterpret_cast %m to offset: [0], sizes: {sizes}, strides: [1] : memref<64xf32> to memref<{type}xf32>
      return
    }}"""
    assert [d.rule for d in parse_module(text, "t.pto").diagnostics] == ([] if fits else ["TEXT-TYPE"])


def test_a_body_whose_parameters_have_no_names() -> None:
    text = "module {\nfunc.func @f(index) {\nreturn\n}\nfunc.func @g(index)\nfunc.func @h() {\nreturn\n}\n}\n"
    assert [(d.rule, d.location.line) for d in parse_module(text, "t.pto").diagnostics] == [("TEXT-TOPLEVEL", 2)]
