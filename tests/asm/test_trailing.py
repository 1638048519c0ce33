"""Words and tensor results after the operands of level 2; operands that only ``ins`` and ``outs`` can tell."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import convert
from ptokit.diagnostics import Diagnostics
from ptokit.ir.functions import check_runnable
from ptokit.isa.table import TABLE

from .interchange import read_elsewhere
from .reading import canonical, errors_in, in_function, ops, read

T, V = "!pto.tile_buf<vec, 16x16xf32>", "!pto.partition_tensor_view<16x16xf32>"
TENSOR = "tensor<16x16xf32>"
LOAD = f"pto.tload ins(%v : {V}) outs(%t : {T})"
WORDS = (
    "pad_mode = <PadValue>",
    "pad_value = %x : f32",
    "left_padding_num = %n : index",
    "init_out_buffer = true",
    "right_padding_num = %l : i64",
    "init_condition = %c : i1",
)
ALL = f"{LOAD} {' '.join(WORDS)}"
PRODUCT = (
    "!pto.tile_buf<left, 16x16xf16, slayout=row_major>",
    "!pto.tile_buf<right, 16x16xf16, slayout=col_major>",
    "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>",
)


@pytest.mark.parametrize("written", [*WORDS, " ".join(WORDS), " ".join(WORDS[::2]), f"{{t.note = 1}} {WORDS[0]}"])
def test_words_alone_and_in_order(written: str) -> None:
    assert canonical(f"{LOAD} {written}") == [f"{LOAD} {written}"]
    assert canonical(f"%r = {LOAD} {written} -> {TENSOR}") == [f"%r = {LOAD} {written} -> {TENSOR}"]


def test_what_they_stand_for() -> None:
    (load,) = ops(ALL)
    assert {name: value.name for name, value in load.operands.items() if not isinstance(value, list) and value} == {
        "dst": "t",
        "src": "v",
        "pad_value": "x",
        "left_padding_num": "n",
        "right_padding_num": "l",
        "init_condition": "c",
    }
    assert load.attrs == {"pad_mode": "PadValue", "init_out_buffer": True}


@pytest.mark.parametrize("mode", ["<PadNull>", "#pto.padmode<PadNull>", "#pto<padmode PadNull>"])
def test_spellings_of_the_padding_mode(mode: str) -> None:
    assert canonical(f"{LOAD} pad_mode = {mode}") == [f"{LOAD} pad_mode = <PadNull>"]
    assert canonical(f"{LOAD} {{pad_mode = {mode}}}") == [f"{LOAD} pad_mode = <PadNull>"]


@pytest.mark.parametrize(
    ("written", "rule"),  # the error is at the bar
    [
        ("pad_value = %x : f32 |pad_mode = <PadNull>", "TEXT-UNEXPECTED"),
        ("init_condition = %c : i1 |pad_value = %x : f32", "TEXT-UNEXPECTED"),
        ("pad_mode = <PadNull> |pad_mode = <PadNull>", "TEXT-UNEXPECTED"),
        ("{pad_mode = <PadNull>} |pad_mode = <PadNull>", "TEXT-UNEXPECTED"),
        ("pad_mode = |<PadNul>", "TY-8"),
        ("pad_mode = |PadNull", "TEXT-UNEXPECTED"),
        ("pad_mode = |#pto.pipe<PIPE_V>", "TEXT-ATTRIBUTE"),
        ("pad_value = |%x : i32", "TY-9"),
        ("pad_value = |%nothing : i32", "TY-9"),
        ("left_padding_num = %i : |i32", "TEXT-TYPE"),
        ("init_out_buffer = |1", "TEXT-ATTRIBUTE"),
        ("-> |tensor<*xf32>", "TEXT-TYPE"),
        (f"-> |{T}", "TEXT-TYPE"),
        ("-> |f32", "TEXT-TYPE"),
    ],
)
def test_errors(written: str, rule: str) -> None:
    before, _, after = f"{LOAD} {written}".partition("|")
    assert errors_in(before + after)[0] == (rule, 1, len(before) + 1)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{pad_mode = <PadNull>} pad_mode = <PadNull>", "'pad_mode' is written twice"),
        ("pad_value = %x : f32 pad_value = %x : f32", "'pad_value' is written twice"),
        ("pad_value = %x : f32 pad_mode = <PadNull>", "'pad_mode' follows 'pad_value'"),
    ],
)
def test_what_is_wrong_with_the_order(written: str, message: str) -> None:
    found = parse_module(in_function(f"{LOAD} {written}")).diagnostics
    assert [d.message for d in found] == [message]


def test_a_result_needs_its_type_and_a_type_its_instruction() -> None:
    assert errors_in(f"%r = {LOAD}") == [("TEXT-RESULTS", 1, 1)]
    assert errors_in(f"pto.tabs ins(%t : {T}) outs(%u : {T}) -> {TENSOR}") == [("TEXT-RESULTS", 1, 1)]
    assert {name for name, instr in TABLE.items() if instr.form.trailing} == {"TLOAD"}


@pytest.mark.parametrize("name", ["tmatmul", "tgemv", "tmatmul.acc", "tgemv.acc", "tmatmul.bias", "tgemv.bias"])
def test_products_may_give_a_tensor(name: str) -> None:
    left, right, acc = PRODUCT
    first, more = ("%a, ", f"{acc}, ") if name.endswith("acc") else ("", "")
    last, bias = (", %b", f", {PRODUCT[2]}") if name.endswith("bias") else ("", "")
    head = f"func.func @f(%l: {left}, %r: {right}, %a: {acc}, %b: {acc}) {{\n"
    line = f"pto.{name} ins({first}%l, %r{last} : {more}{left}, {right}{bias}) outs(%a : {acc}) -> {TENSOR}"
    cast = f"%y = builtin.unrealized_conversion_cast %x : {TENSOR} to {T}"
    text = convert(read(f"{head}%x = {line}\n{cast}\nreturn\n}}"), "dps").text
    assert text is not None
    assert f"    %x = {line}\n" in text
    assert convert(read(text), "dps").text == text
    assert {"TMATMUL", "TMATMUL_MX_BIAS", "TGEMV_MX", "TSTORE", "TMOV"} < {n for n, i in TABLE.items() if i.form.tensor}


def test_other_forms() -> None:
    module = read(in_function(f"{ALL}\n%r = {LOAD} -> {TENSOR}\n{LOAD} {WORDS[0]}"))
    canon = convert(module, "dps").text
    for form in ("sync", "generic"):
        text = convert(module, form).text
        assert text is not None
        assert convert(read(text), form).text == text
        assert convert(read(text), "dps").text == canon
    generic = convert(module, "generic").text or ""
    assert "(%v, %t, %x, %n, %l, %c) <{pad_mode = #pto.padmode<PadValue>, init_out_buffer = true, " in generic
    assert "operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : " in generic
    assert "array<i32: 1, 1, 0, 0, 0, 0>}> : " in generic
    read_elsewhere(generic)
    found = convert(module, "ssa").diagnostics
    refused = [d.location.line - 2 for d in found if d.rule == "CONVERT-FORM"]
    assert refused == [1, 2]  # the third has a mode only, which a dictionary can hold


def test_running_says_that_nothing_is_known_of_them() -> None:
    found = Diagnostics()
    text = in_function(f"{ALL}\n%r = {LOAD} -> {TENSOR}\n{LOAD} init_out_buffer = false\n{LOAD}")
    check_runnable(read(text), found)
    assert [(d.rule, d.location.line - 2) for d in found] == [("TEXT-UNIMPLEMENTED", 1), ("TEXT-UNIMPLEMENTED", 2)]
    assert "pto.tload with pad_mode, pad_value, left_padding_num, " in next(iter(found)).message


WRONG = [
    f"pto.tadd ins(%v, %u : {V}, {T}) outs(%t : {T})",
    f"pto.tabs ins(%v : {V}) outs(%t : {T})",
    f"pto.tload ins(%u : {T}) outs(%t : {T})",
    f"pto.tstore ins(%v : {V}) outs(%t : {T})",
    f"pto.trowsum ins(%v, %v : {V}, {V}) outs(%t : {T})",
    f"pto.tdivs ins(%x, %v : f32, {V}) outs(%t : {T})",
    f"pto.mscatter ins(%v, %v : {V}, {V}) outs(%t : {T})",
    f"pto.tgather ins(%v, %t : {V}, {T}) outs(%v : {V})",
]


@pytest.mark.parametrize("line", WRONG)
def test_wrong_operands_come_back_as_they_are(line: str) -> None:
    fresh = f"%s = pto.alloc_tile : {T}\n{line.replace('outs(%t', 'outs(%s')}"
    for snippet in (line, fresh):
        module = parse_module(in_function(snippet), "t.pto")
        assert not list(module.diagnostics), snippet
        canon = convert(module.module, "dps").text
        for form in ("sync", "generic"):
            text = convert(module.module, form).text
            assert text is not None
            assert convert(read(text), "dps").text == canon
        assert "CONVERT-FORM" in [d.rule for d in convert(module.module, "ssa").diagnostics]


OPEN = "!pto.tile_buf<vec, 16x16xf32, valid=?x?>"


def test_a_scratch_tile_that_reading_would_supply() -> None:
    """Without one, or with one whose valid sizes nothing says, an instruction comes back as it is or is refused."""
    head = f"func.func @f(%d: {OPEN}, %t: {T}, %n: index) {{\n%a = pto.alloc_tile : {T}\n"
    tail = "\nreturn\n}"
    without = read(f"{head}pto.trowmax ins(%t : {T}) outs(%a : {T}){tail}")
    text = convert(without, "sync").text or ""
    assert "trowmax ins(%t : !pto.tile<16x16xf32>) outs(%a" in text
    assert convert(read(text), "dps").text == convert(without, "dps").text
    opened = read(f"{head}pto.trowmax ins(%d : {OPEN}) outs(%a : {T}){tail}")
    assert [(d.rule, d.location.line) for d in convert(opened, "ssa").diagnostics] == [("CONVERT-FORM", 3)]
    scratch = f"%w = pto.alloc_tile valid_row = %n valid_col = %n : {OPEN}\n"
    given = read(f"{head}{scratch}pto.trowmax ins(%d, %w : {OPEN}, {OPEN}) outs(%a : {T}){tail}")
    text = convert(given, "ssa").text or ""
    assert "pto.trowmax %d, %w : " in text
    assert convert(read(text), "ssa").text == text


def test_a_scratch_tile_that_would_break_a_rule() -> None:
    head = f"func.func @f(%s: {T}, %t: {T}) {{\n%a = pto.alloc_tile : {T}\n"
    without = read(f"{head}pto.tprelu ins(%s, %t : {T}, {T}) outs(%a : {T})\nreturn\n}}")
    without.attrs["pto.target_arch"] = "a5"
    assert convert(without, "ssa").text
    without.attrs["pto.target_arch"] = "a3"
    (found,) = convert(without, "ssa").diagnostics
    assert (found.rule, found.location.line) == ("CONVERT-FORM", 3)
    assert "EW-11" in found.message
