"""Level 2 as level 1: what becomes of written tiles, and what level 1 cannot express (CONVERT rules)."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import convert
from ptokit.run import compile_program
from ptokit.targets import A5

from .reading import FIRST_LINE, body, errors, in_function, read

T = "!pto.tile_buf<vec, 16x16xf32>"
S = "!pto.tile<16x16xf32>"
V = "!pto.partition_tensor_view<16x16xf32>"
ALLOC = f"%a = pto.alloc_tile : {T}\n"
LOAD = f"pto.tload ins(%v : {V}) outs(%a : {T})\n"
ABS = f"pto.tabs ins(%a : {T}) outs(%a : {T})\n"
STORE = f"pto.tstore ins(%a : {T}) outs(%v : {V})"


def values(snippet: str, form: str = "ssa") -> list[str]:
    """The lines of a snippet as level 1, read and printed again without a difference."""
    converted = convert(read(in_function(snippet)), form)
    assert converted.text is not None, "\n".join(map(str, converted.diagnostics))
    again = convert(read(converted.text), form)
    assert again.text == converted.text
    return [line[4:] for line in converted.text.splitlines()[2:-3]]


def unary(result: str, name: str, source: str) -> str:
    return f"{result} = pto.{name} {source} : ({S}) -> {S}"


def test_every_write_is_a_value() -> None:
    assert values(ALLOC + LOAD + ABS + STORE) == [
        f"%a = pto.tload %v : ({V}) -> {S}",
        unary("%a_0", "tabs", "%a"),
        f"pto.tstore %a_0, %v : ({S}, {V}) -> ()",
    ]


def test_a_loop_carries_what_its_next_turn_reads() -> None:
    loop = f"scf.for %k = %n to %n step %n {{\n{ABS}}}\n"
    assert values(ALLOC + LOAD + loop + STORE) == [
        f"%a = pto.tload %v : ({V}) -> {S}",
        f"%a_0 = scf.for %k = %n to %n step %n iter_args(%a_0 = %a) -> ({S}) {{",
        "  " + unary("%a_1", "tabs", "%a_0"),
        f"  scf.yield %a_1 : {S}",
        "}",
        f"pto.tstore %a_0, %v : ({S}, {V}) -> ()",
    ]


def test_a_loop_carries_nothing_that_each_turn_writes_first() -> None:
    assert values(f"{ALLOC}scf.for %k = %n to %n step %n {{\n{LOAD}{STORE}\n}}") == [
        "scf.for %k = %n to %n step %n {",
        f"  %a = pto.tload %v : ({V}) -> {S}",
        f"  pto.tstore %a, %v : ({S}, {V}) -> ()",
        "}",
    ]


def test_a_branch_gives_what_is_read_behind_it() -> None:
    assert values(f"{ALLOC}{LOAD}scf.if %c {{\n{ABS}}}\n{STORE}") == [
        f"%a = pto.tload %v : ({V}) -> {S}",
        f"%a_0 = scf.if %c -> ({S}) {{",
        "  " + unary("%a_0", "tabs", "%a"),
        f"  scf.yield %a_0 : {S}",
        "} else {",
        f"  scf.yield %a : {S}",
        "}",
        f"pto.tstore %a_0, %v : ({S}, {V}) -> ()",
    ]


def test_a_tile_written_in_one_branch_only_starts_undefined() -> None:
    assert values(f"{ALLOC}scf.if %c {{\n{LOAD}}}\n{STORE}")[:2] == [
        f"%a = pto.alloc_tile : {S}",
        f"%a_0 = scf.if %c -> ({S}) {{",
    ]


def test_while_and_switch_carry_tiles() -> None:
    loop = f"scf.while : () -> () {{\n{ABS}scf.condition(%c)\n}} do {{\nscf.yield\n}}\n"
    assert values(ALLOC + LOAD + loop + STORE) == [
        f"%a = pto.tload %v : ({V}) -> {S}",
        f"%a_0 = scf.while (%a_0 = %a) : ({S}) -> ({S}) {{",
        "  " + unary("%a_1", "tabs", "%a_0"),
        f"  scf.condition(%c) %a_1 : {S}",
        "} do {",
        f"^bb0(%a_0: {S}):",
        f"  scf.yield %a_0 : {S}",
        "}",
        f"pto.tstore %a_0, %v : ({S}, {V}) -> ()",
    ]
    switch = f"scf.index_switch %n\ncase 1 {{\n{ABS}}}\ndefault {{\n}}\n"
    lines = values(ALLOC + LOAD + switch + STORE)
    assert lines[1:3] == [f"%a_0 = scf.index_switch %n -> {S}", "case 1 {"]
    assert lines[-2:] == ["}", f"pto.tstore %a_0, %v : ({S}, {V}) -> ()"]


def test_what_changes_in_place_keeps_its_tile() -> None:
    assert values(f"{ALLOC}{LOAD}pto.taxpy ins(%u, %x : {T}, f32) outs(%a : {T})\n{STORE}") == [
        f"%a = pto.tload %v : ({V}) -> {S}",
        f"%a_0 = pto.taxpy %a, %u, %x : ({S}, {S}, f32) -> {S}",
        f"pto.tstore %a_0, %v : ({S}, {V}) -> ()",
    ]


def test_scratch_tiles_are_left_out_where_reading_supplies_them() -> None:
    other = "!pto.tile_buf<vec, 16x32xf32>"
    same = f"{ALLOC}%w = pto.alloc_tile : {T}\npto.txor ins(%t, %u, %w : {T}, {T}, {T}) outs(%a : {T})\n{STORE}"
    assert values(same)[0] == f"%a = pto.txor %t, %u : ({S}, {S}) -> {S}"
    own = f"{ALLOC}pto.txor ins(%t, %u, %a : {T}, {T}, {T}) outs(%a : {T})\n{STORE}"
    assert values(own)[0] == f"%a = pto.txor %t, %u : ({S}, {S}) -> {S}"
    wide = f"{ALLOC}%w = pto.alloc_tile : {other}\npto.txor ins(%t, %u, %w : {T}, {T}, {other}) outs(%a : {T})\n{STORE}"
    assert values(wide)[:2] == [
        "%w = pto.alloc_tile : !pto.tile<16x32xf32>",
        f"%a = pto.txor %t, %u, %w : ({S}, {S}, !pto.tile<16x32xf32>) -> {S}",
    ]


def test_the_sync_form_folds_what_is_used_first_and_once() -> None:
    view = "!pto.tensor_view<?x16xf32>"
    part = (
        "%s = arith.constant 16 : index\n"
        f"%w = pto.partition_view %tv, offsets = [%n, %n], sizes = [%s, %s] : {view} -> {V}\n"
    )
    assert values(f"{ALLOC}{part}pto.tload ins(%w : {V}) outs(%a : {T})\n{ABS}", "sync") == [
        f"%a = tload %tv[%n, %n] : ({view}, index, index) -> {S}",
        f"tabs %a, %a : ({S}, {S})",
    ]
    assert values(f"%y = pto.tassign %t, %l : {T} -> {T}\npto.tsync ins(%y : {T})", "sync") == [
        f"tassign %t, %l : {S}, i64",
        f"tsync %t : {S}",
    ]


PLACED = f"%a = pto.alloc_tile addr = %l : {T}"
SHAPE = "!pto.tile_buf<vec, 8x32xf32>"
RESHAPE = f"%b = pto.treshape %a : {T} -> {SHAPE}\n"
OPEN = "!pto.tile_buf<vec, 16x16xf32, valid=?x16>"
NARROW = "!pto.tile_buf<vec, 16x8xf32>"


I = "!pto.tile_buf<vec, 16x16xi32>"
INDICES = f"%w = pto.alloc_tile : {I}\n"
KEEPING = (
    f"pto.tconcatidx ins(%t, %u, %w, %w : {T}, {T}, {I}, {I})",
    f"pto.tgatherb ins(%t, %w : {T}, {I})",
    f"pto.tgather ins(%t, {{maskPattern = #pto.mask_pattern<P0101>}} : {T})",
)
"""They leave elements of their destination as they are, depending on what other tiles hold, or having too few."""


def test_tiles_that_a_turn_changes_are_named_in_order() -> None:
    names = [f"t{k}" for k in range(12)]
    made = "".join(f"%{n} = pto.alloc_tile : {T}\n%r{n} = pto.treshape %{n} : {T} -> {SHAPE}\n" for n in names)
    reads = "".join(f"pto.tabs ins(%{n} : {T}) outs(%u : {T})\n" for n in names)
    writes = "".join(f"pto.tabs ins(%r{n} : {SHAPE}) outs(%r{n} : {SHAPE})\n" for n in names)
    module = read(in_function(made + f"scf.for %k = %n to %n step %n {{\n{reads}{writes}}}"))
    found = [d.message.split()[4] for d in convert(module, "ssa").diagnostics if d.rule == "CONVERT-ALIAS"]
    assert found == [f"%{n}," for n in names]


@pytest.mark.parametrize(
    ("snippet", "rule", "line", "column"),
    [
        (PLACED, "CONVERT-ADDRESS", 1, 6),
        (f"%a = pto.tassign %t, %l : {T} -> {T}", "CONVERT-ADDRESS", 1, 6),
        ("pto.barrier <PIPE_ALL>", "CONVERT-ORDER", 1, 1),
        (f"pto.tsync ins(%t : {T})", "CONVERT-ORDER", 1, 1),
        ("pto.sync.set <PIPE_FIX>, 3", "CONVERT-ORDER", 1, 1),
        (ALLOC + LOAD + RESHAPE + ABS + f"pto.tabs ins(%b : {SHAPE}) outs(%b : {SHAPE})", "CONVERT-ALIAS", 5, 1),
        (
            f"{ALLOC}{LOAD}{RESHAPE}scf.for %k = %n to %n step %n {{\n{STORE}\n"
            f"pto.tabs ins(%b : {SHAPE}) outs(%b : {SHAPE})\n}}",
            "CONVERT-ALIAS",
            4,
            1,
        ),
        (
            f"%a = pto.alloc_tile : {NARROW}\npto.tload ins(%v : {V}) outs(%a : {NARROW})\n"
            f"pto.trowsum ins(%t, %u : {T}, {T}) outs(%a : {NARROW})",
            "CONVERT-PARTIAL",
            3,
            1,
        ),
        *((f"{INDICES}{ALLOC}{LOAD}{call} outs(%a : {T})", "CONVERT-PARTIAL", 4, 1) for call in KEEPING),
        (
            f"%a = pto.alloc_tile valid_row = %n : {OPEN}\npto.tabs ins(%t : {T}) outs(%a : {OPEN})",
            "CONVERT-VALID",
            2,
            1,
        ),
        (
            "%a = pto.alloc_tile valid_row = %n valid_col = %n : !pto.tile_buf<vec, 16x16xf32, valid=?x?>\n"
            "pto.set_validshape %a, %n, %n : !pto.tile_buf<vec, 16x16xf32, valid=?x?>",
            "CONVERT-VALID",
            2,
            1,
        ),
        (f"pto.tabs ins(%t : {T}) outs(%u : {T})", "CONVERT-PLACE", 1, 1),
        (f"{ALLOC}pto.section.vector {{\n{LOAD}}}\n{STORE}", "CONVERT-PLACE", 2, 1),
        (
            f"{ALLOC}pto.tmatmul.acc ins(%t, %u, %u : {T}, {T}, {T}) outs(%a : {T})",
            "CONVERT-PLACE",
            2,
            1,
        ),
    ],
)
def test_what_level_1_cannot_express(snippet: str, rule: str, line: int, column: int) -> None:
    converted = convert(read(in_function(snippet)), "ssa")
    found = [(d.rule, d.location.line - FIRST_LINE + 1, d.location.column) for d in converted.diagnostics]
    assert (converted.text, found) == (None, [(rule, line, column)])
    assert convert(read(in_function(snippet)), "sync").text is not None


def test_records_of_a_merge_are_results_at_level_1() -> None:
    tile, wide = "!pto.tile_buf<vec, 1x64xf32>", "!pto.tile_buf<vec, 1x128xf32>"
    head = f"func.func @f(%a: {tile}, %b: {tile}) {{\n"
    lines = (
        f"%d = pto.alloc_tile : {wide}\n%w = pto.alloc_tile : {wide}\n%e = arith.constant dense<0> : vector<4xi16>\n"
        f"pto.tmrgsort ins(%a, %b, %w {{exhausted = false}} : {tile}, {tile}, {wide}) outs(%d, %e : {wide}, "
        "vector<4xi16>)\n"
    )
    module = read(f"{head}{lines}return\n}}\n")
    text = convert(module, "ssa").text or ""
    assert "%d, %e = pto.tmrgsort %a, %b, %w {exhausted = false} : " in text
    assert "arith.constant" not in text
    assert convert(read(text), "ssa").text == text
    synced = convert(module, "sync").text or ""
    assert "    tmrgsort ins(%a, %b, %w" in synced
    assert convert(read(synced), "sync").text == synced
    used = "%x = builtin.unrealized_conversion_cast %e : vector<4xi16> to i64\n"  # the record is read: no value has it
    converted = convert(read(f"{head}{lines}{used}return\n}}\n"), "ssa")
    assert [(d.rule, d.location.line) for d in converted.diagnostics] == [("CONVERT-FORM", 5)]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_merge_may_leave_its_scratch_tile_out(count: int) -> None:
    """It has the type of the result, which no source has."""
    narrow, wide = "!pto.tile<1x64xf32>", f"!pto.tile<1x{64 * count}xf32>"
    names = ["%a", "%b", "%c", "%d"][:count]
    results = f"({wide}, vector<4xi16>)"
    without = f"%r, %e = tmrgsort {', '.join(names)} : ({', '.join([narrow] * count)}) -> {results}"
    given = f"%r, %e = tmrgsort {', '.join(names)}, %w : ({', '.join([narrow] * count + [wide])}) -> {results}"
    for text in (without, given):
        (merge,) = [op for op in body(read(text)).ops if op.name == "pto.tmrgsort"]
        assert [merge[f"src{k}"].name for k in range(count)] == [name[1:] for name in names]
        assert merge["tmp"].type == merge["dst"].type
        assert (merge["tmp"].name == "w") == (text is given)
        assert str(merge["executed"].type) == "vector<4xi16>"
    wrong = f"%r, %e = tmrgsort {', '.join(names)} : ({', '.join([narrow] * count)}) -> ({wide}, {wide})"
    assert errors(wrong) == [("TEXT-TYPE", 1, 10)]


SHIFT = f"""func.func @shift(%p: !pto.ptr<f32>, %q: !pto.ptr<f32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %one = arith.constant 1.0 : f32
  %x = pto.make_tensor_view %p, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<16x16xf32>
  %y = pto.make_tensor_view %q, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<16x16xf32>
  %xp = pto.partition_view %x, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<16x16xf32> -> {V}
  %yp = pto.partition_view %y, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<16x16xf32> -> {V}
  %t = pto.tload %xp : {V} -> {S}
  %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %t, %b = %t) -> ({S}, {S}) {{
    %d = pto.tadds %a, %one : ({S}, f32) -> {S}
    scf.yield %d, %a : {S}, {S}
  }}
  %s = pto.tsub %r#0, %r#1 : ({S}, {S}) -> {S}
  pto.tstore %s, %yp : ({S}, {V}) -> ()
  return
}}
"""


def test_a_carried_tile_is_not_the_one_the_next_turn_writes() -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    compile_program(parse_module(SHIFT, target=A5).module, A5).launch([x, y], 1)
    assert np.array_equal(y, np.ones(256, np.float32))  # (x + 4) - (x + 3)


@pytest.mark.parametrize(
    ("rows", "valid", "whole"),
    [("?", "4x8", False), ("3", "4x8", False), ("4", "4x8", True), ("4", "4x32", False)],
)
@pytest.mark.parametrize("kind", ["", " attributes {pto.kernel_kind = #pto.kernel_kind<vector>}"])
def test_a_comparison_keeps_the_rest_of_its_mask(kind: str, rows: str, valid: str, whole: bool) -> None:
    """The library compares the valid rows of src, whatever those of dst are (TCmps.hpp): no whole result of level 1.

    Nor are 64 bits the whole of a row of 32 bytes that held something else.
    """
    mask = f"!pto.tile_buf<vec, 4x32xui8, valid={valid}>"
    src = f"!pto.tile_buf<vec, 16x64xf32, valid={rows}x64>"
    text = f"""func.func @f(%n: index, %s: f32){kind} {{
  %w = pto.alloc_tile : {mask}
  %t = pto.alloc_tile : {mask}
  %u = pto.alloc_tile {"valid_row = %n " * (rows == "?")}: {src}
  pto.tnot ins(%w : {mask}) outs(%t : {mask})
  pto.tcmps ins(%u, %s {{cmpMode = #pto<cmp gt>}} : {src}, f32) outs(%t : {mask})
  pto.tnot ins(%t : {mask}) outs(%t : {mask})
  return
}}
"""
    converted = convert(parse_module(text, target=A5).module, "ssa")
    found = [(d.rule, d.location.line) for d in converted.diagnostics]
    assert found == ([] if whole else [("CONVERT-PARTIAL", 6)])
    assert (converted.text is not None) is whole
