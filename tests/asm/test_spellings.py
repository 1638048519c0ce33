"""Spellings of numbers, types, attributes and places that are legal and rare (assembly 1 to 4), in every form."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from ptokit.asm.convert import convert, format_text
from ptokit.ir.verify import verify
from ptokit.isa.table import BY_TEXT
from ptokit.targets import A5

from .interchange import read_elsewhere
from .reading import FIRST_LINE, canonical, errors, errors_in, in_function, ops, read

S, T, V = "!pto.tile<16x16xf32>", "!pto.tile_buf<vec, 16x16xf32>", "!pto.partition_tensor_view<16x16xf32>"


def same_everywhere(text: str, *, elsewhere: bool = True) -> None:
    """Every form of a text is a fixed point and means the same; formatting it too; xDSL reads its generic form."""
    module = read(text)
    canon = convert(module, "dps").text
    for form in ("dps", "sync", "generic"):
        printed = convert(module, form).text
        assert printed is not None
        assert convert(read(printed), form).text == printed
    assert convert(read(convert(module, "generic").text or ""), "dps").text == canon
    formatted = format_text(text).text
    assert format_text(formatted).text == formatted
    assert convert(read(formatted), "dps").text == canon
    if elsewhere:
        read_elsewhere(convert(module, "generic").text or "")


FLOATS = {
    "f16": (np.uint16, np.float16, ["0x0001", "0x3C00", "0x7C00", "0xFC00", "0x8000"]),
    "bf16": (np.uint16, ml_dtypes.bfloat16, ["0x0001", "0x3F80", "0x7F80", "0xFF80"]),
    "f8E4M3FN": (np.uint8, ml_dtypes.float8_e4m3fn, ["0x01", "0x38", "0xFE"]),
    "f8E5M2": (np.uint8, ml_dtypes.float8_e5m2, ["0x01", "0x3C", "0x7C", "0xFC"]),
    "f8E8M0FNU": (np.uint8, ml_dtypes.float8_e8m0fnu, ["0x00", "0x7F", "0xFE"]),
    "f32": (np.uint32, np.float32, ["0x00000001", "0x3F800000", "0x7F800000", "0xFF800000"]),
    "f64": (np.uint64, np.float64, ["0x0000000000000001", "0x3FF0000000000000", "0xFFF0000000000000"]),
}


@pytest.mark.parametrize("name", FLOATS)
def test_bit_patterns_of_floats(name: str) -> None:
    storage, value, patterns = FLOATS[name]
    for pattern in patterns:
        (op,) = ops(f"%k = arith.constant {pattern} : {name}")
        assert op.attrs["value"] == float(np.array([int(pattern, 16)], storage).view(value)[0])
        (line,) = canonical(f"%k = arith.constant {pattern} : {name}")
        assert ops(line)[0].attrs["value"] == op.attrs["value"]
        assert math.isfinite(op.attrs["value"]) or line.split()[3] == pattern
    beyond = "0x1" + "0" * (len(patterns[0]) - 2)
    if name != "f64":
        assert errors_in(f"%k = arith.constant {beyond} : {name}") == [("TEXT-NUMBER", 1, 21)]


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f32", "f64"])
def test_not_a_number(name: str) -> None:
    storage, value, patterns = FLOATS[name]
    pattern = f"0x{int(np.array([np.nan], value).view(storage)[0]):0{len(patterns[0]) - 2}X}"
    assert canonical(f"%k = arith.constant {pattern} : {name}") == [f"%k = arith.constant {pattern} : {name}"]


def test_unsigned_numbers_have_no_sign() -> None:
    assert errors_in("%k = arith.constant -1 : ui8") == [("TEXT-NUMBER", 1, 21)]
    assert [op.attrs["value"] for op in ops("%k = arith.constant 255 : ui8\n%m = arith.constant 255 : i8")] == [255, -1]


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() -> ((i32) -> i32)",
        "func.func @f() -> (() -> ())",
        "func.func @f((i32) -> (f32, i1), tuple<i32, f32>, (() -> ()) -> ((i32) -> index))",
        in_function("%a = builtin.unrealized_conversion_cast %n : index to () -> ()"),
        in_function("%a = builtin.unrealized_conversion_cast %n : index to (i32) -> ((i1) -> i1)"),
        in_function("%a = builtin.unrealized_conversion_cast to i64"),
        in_function("%a:2 = builtin.unrealized_conversion_cast %n, %i : index, i32 to i64, f32 {k, x = 1}"),
        in_function("pto.tsync ins()"),
        in_function(f"pto.tsync ins(%t, %u : {T}, {T})"),
        'func.func @"a b"(%x-y: i32, %$d: i32, %.e: i32, %_f.g: i32 loc("q")) { return loc(unknown) } loc("f")',
    ],
)
def test_rare_texts(text: str) -> None:
    same_everywhere(text, elsewhere="tuple" not in text)


@pytest.mark.parametrize("value", ["1>", "<1", "[1, <]", "{a = >}", "a>", "> 1"])
def test_a_bracket_alone_is_no_value(value: str) -> None:
    (found, *_) = errors(f"func.func @f() attributes {{x = {value}}} {{ return }}")
    assert found[0] in ("TEXT-UNEXPECTED", "TEXT-UNCLOSED")


@pytest.mark.parametrize(("shape", "strides"), [("%n", ""), ("", "%n"), ("%n", "%n, %n"), ("", "")])
def test_a_view_of_another_rank_than_it_says(shape: str, strides: str) -> None:
    text = f"%a = pto.make_tensor_view %p, shape = [{shape}], strides = [{strides}] : !pto.tensor_view<?xf32>"
    found = verify(read(in_function(text)), A5)
    assert [(d.rule, d.location.line) for d in found] == [("MV-3", FIRST_LINE)]


def test_an_empty_module_has_a_block() -> None:
    same_everywhere('module @m attributes {pto.target_arch = "a5"} { }')
    text = '"builtin.module"() ({ ^bb0: "func.func"() ({ }) {sym_name = "f", function_type = () -> ()} : () -> () }) '
    assert [f.name for f in read(text + ": () -> ()").functions] == ["f"]
    assert errors('"builtin.module"() ({ ^bb0 }) : () -> ()') == [("TEXT-UNEXPECTED", 1, 28)]


@pytest.mark.parametrize(
    ("written", "attrs"),
    [
        (
            f'%a = pto.tcvt %t {{rnd = "WORD"}} : {S} -> {S}',
            {"rne": "RINT", "rz": "TRUNC", "rp": "CEIL", "rm": "FLOOR"},
        ),
        (f'pto.tcvt ins(%t {{rnd = "WORD"}} : {T}) outs(%u : {T})', {"rz": "TRUNC", "FLOOR": "FLOOR"}),
        (f'%a = tcmp %t, %u {{cmp = "WORD"}} : ({S}, {S}) -> {S}', {"lt": "lt", "GE": "ge"}),
        (f'pto.tcmp ins(%t, %u {{cmpMode = "WORD"}} : {T}, {T}) outs(%u : {T})', {"gt": "gt"}),
        (f'pto.tstore %t, %v {{atomic = "WORD"}} : ({S}, {V}) -> ()', {"add": "atomic_add", "none": "atomic_none"}),
        (
            f'pto.tstore ins(%t : {T}) outs(%v : {V}) {{atomic = "WORD"}}',
            {"max": "atomic_max", "atomic_min": "atomic_min"},
        ),
    ],
)
def test_strings_of_the_manual(written: str, attrs: dict[str, str]) -> None:
    for word, meant in attrs.items():
        *_, op = ops(written.replace("WORD", word))
        (value,) = op.attrs.values()
        assert value.text == meant
        assert next(iter(op.attrs)) in {a.name for a in BY_TEXT[op.name[4:]].attrs}
    assert [rule for rule, *_ in errors_in(written.replace("WORD", "bogus"))] == ["TY-8"]
