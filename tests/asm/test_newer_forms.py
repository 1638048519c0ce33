"""Operations and types that the reference has had since the summer of 2026: printed as read, and checked."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module, print_module
from ptokit.asm.convert import convert
from ptokit.ir.verify import verify
from ptokit.targets import target

from .reading import FIRST_LINE, in_function, ops, read, round_trip
from .test_operations import canonical

T, V, D = "!pto.tile_buf<vec, 16x16xf32>", "!pto.partition_tensor_view<16x16xf32>", "!pto.tensor_view<?x16xf32>"
SLOTS = f"!pto.multi_tile_buf<{T}, count=2>"
ARRAY, STRUCT = "!pto.local_array<4x2xi32>", "!pto.struct<i32, !pto.struct<f16, i8>>"
OPEN = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
HALF = "!pto.tile_buf<vec, 8x16xf32>"
PIPE = "{dir_mask = 1, slot_size = 64, slot_num = 8} (%i : i32) -> !pto.pipe"

SAME = [
    f"%a = pto.subview %t[%n, %n] sizes [8, 16] : {T} -> {HALF}",
    f"%a = pto.subview %t[%n, %n] sizes [8, 16] valid [%n, %n] : {T} -> {OPEN}",
    f"%a, %b = pto.get_validshape %t : {T}",
    f"%a = pto.tile_valid_rows %t : {T} -> index",
    "%a = pto.get_tensor_view_stride %tv, %n : !pto.tensor_view<?x16xf32> -> index",
    "%a = pto.ptrtoint %p : !pto.ptr<f32> -> i64",
    "%a = pto.inttoptr %l : i64 -> !pto.ptr<f32>",
    f"%a = pto.alloc_multi_tile addr = %l : {SLOTS}",
    f"%a = pto.declare_local_array -> {ARRAY}",
    f"%a = pto.declare_struct -> {STRUCT}",
    f"%a = pto.declare_global -> {D}",
    "pto.fence.barrier_all #pto.fence_scope<gm>",
    "pto.cmo.cacheinvalid all #pto.address_space<gm>",
    "pto.cmo.cacheinvalid %p single_cache_line : !pto.ptr<f32>",
    "pto.set_intra_block #pto.pipe<PIPE_MTE3>, 3",
    "pto.wait_cross_block #pto.pipe<PIPE_V>, %n",
    "pto.get_buf_dyn [#pto.pipe<PIPE_V>, %n, 0]",
    "pto.set_quant_scalar(%x : f32) {id = 1}",
    "pto.aiv_initialize_pipe {id = 1, dir_mask = 1, slot_size = 64, slot_num = 8} (c2v_consumer_buf = %i : i32)",
    "pto.aiv_initialize_pipe {dir_mask = 1, slot_size = 64} (gm_slot_tensor = %tv : !pto.tensor_view<?x16xf32>)",
    f"pto.tpush_to_aic(%t : {T}) {{id = 2, split = 1}} aiv_subblockid(%l)",
    f"%a = pto.talloc_to_aiv {{id = 1, split = 0}} -> {D}",
    "pto.tfree_from_aic(%tv : !pto.tensor_view<?x16xf32>) {split = 0}",
    f"pto.tfree(%t, %i : {T}, i32) {{split = 0}}",
    "pto.comm.tnotify(%v, %i : !pto.partition_tensor_view<16x16xf32>, i32) {notifyOp = #pto<notify_op atomic_add>}",
    f"pto.comm.tput(%v, %v, buf(%t) : {V}, {V}, {T})",
    f"pto.comm.tget(%v, %v, buf(%t, %u) : {V}, {V}, {T}, {T})",
    f"pto.comm.tbroadcast(%v, recv(%t), group(%v, %v) : {V}, {T}, {V}, {V}) {{root = 0 : i32}}",
    f"pto.comm.treduce(%v, %t, recv(%t, %u), group(%v) : {V}, {T}, {T}, {T}, {V}) "
    "{reduceOp = #pto<reduce_op sum>, root = 0 : i32}",
]


@pytest.mark.parametrize("line", SAME)
def test_canonical_forms_stay(line: str) -> None:
    assert canonical(line) == [line]
    module = read(in_function(line))
    generic = convert(module, "generic").text
    assert generic is not None
    assert convert(read(generic), "dps").text == convert(module, "dps").text


OTHER = {
    f"%a = pto.subview %t[%n, %n] sizes [8, 16] : {T}": f"%a = pto.subview %t[%n, %n] sizes [8, 16] : {T} -> {HALF}",
    f"%a = pto.subview %t[%n, %n] sizes [8, 16] valid [%n, %n] : {T}": SAME[1],
    "%a = pto.alloc_multi_tile : !pto.multi_tile_buf<vec, 16x16xf32, count=2>": f"%a = pto.alloc_multi_tile : {SLOTS}",
    "%a = pto.castptr %l : i64 -> !pto.ptr<f16, vec>": "%a = pto.castptr %l : i64 -> !pto.ptr<f16, ub>",
    "pto.aiv_initialize_pipe {slot_size = 64, dir_mask = 1, id = 2} ()": (
        "pto.aiv_initialize_pipe {id = 2, dir_mask = 1, slot_size = 64} ()"
    ),
    "%a = pto.declare_global -> !pto.tensor_view<4xf8E8M0FNU>": (
        "%a = pto.declare_global -> !pto.tensor_view<4x!pto.f8E8M0>"
    ),
    "%a = pto.declare_global -> !pto.tensor_view<4x!pto.f4E2M1x2>": (
        "%a = pto.declare_global -> !pto.tensor_view<4x!pto.f4E2M1x2>"
    ),
}


@pytest.mark.parametrize("text", OTHER)
def test_other_spellings_become_canonical(text: str) -> None:
    assert canonical(text) == [OTHER[text]]


@pytest.mark.parametrize(
    "line",
    [
        "pto.aiv_initialize_pipe {dir_mask = 1} ()",
        "pto.aiv_initialize_pipe {dir_mask = 1, slot_size = 64, dir_mask = 1} ()",
        "pto.aiv_initialize_pipe {dir_mask = 1, slot_size = 64, slots = 1} ()",
        "pto.aiv_initialize_pipe {dir_mask = 1, slot_size = 64, } ()",
    ],
)
def test_clauses_are_known_required_and_written_once(line: str) -> None:
    found = list(parse_module(in_function(line), "t.pto").diagnostics)
    assert [(d.rule, d.location.line) for d in found[:1]] == [("TEXT-UNEXPECTED", FIRST_LINE)]


@pytest.mark.parametrize(
    "type",
    [
        "!pto.multi_tile_buf<vec, 16x16xf32, count=1>",
        "!pto.multi_tile_buf<vec, 16x16xf32>",
        "!pto.multi_tile_buf<!pto.ptr<f32>, count=2>",
        "!pto.local_array<4x0xi32>",
        "!pto.local_array<?xi32>",
        "!pto.local_array<4xindex>",
        "!pto.struct<>",
        "!pto.struct<i1>",
        "!pto.struct<i32, !pto.local_array<4xi32>>",
    ],
)
def test_wrong_types(type: str) -> None:
    found = list(parse_module(f"func.func @f(%a: {type}) {{ return }}", "t.pto").diagnostics)
    assert [d.rule for d in found] == ["TEXT-TYPE"]


NZ = "!pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>"
C = "%c0 = arith.constant 0 : index\n%c8 = arith.constant 8 : index\n%c17 = arith.constant 17 : index\n"
RULES = [
    ("SV-1", f"%a = pto.subview %t[%c0, %c0] sizes [8, 16] : {T} -> {HALF}", f"{T} -> {T}", f"{T} -> {HALF}"),
    ("SV-2", f"%a = pto.subview %t[%c0, %c0] sizes [8, 16] : {T} -> {HALF}", OPEN, HALF),
    ("SV-2", f"%a = pto.subview %t[%c0, %c0] sizes [8, 16] valid [%c8, %n] : {T}", "%c17", "%c8"),
    (
        "SV-3",
        f"%m = pto.alloc_tile : {NZ}\n%a = pto.subview %m[%c0, %c0] sizes [16, 64] : {NZ}",
        "sizes [8, 64]",
        "sizes [16, 64]",
    ),
    ("MT-1", f"%m = pto.alloc_multi_tile : {SLOTS}\n%a = pto.multi_tile_get %m[%c0] : {SLOTS} -> {T}", "%c8", "%c0"),
    (
        "LA-1",
        f"%m = pto.declare_local_array -> {ARRAY}\n%a = pto.local_array_get %m[%c0, %n] : {ARRAY} -> i32",
        "[%c0]",
        "[%c0, %n]",
    ),
    (
        "LA-1",
        f"%m = pto.declare_local_array -> {ARRAY}\npto.local_array_set %m[%c0, %n], %i : {ARRAY}, i32",
        "%x",
        "%i",
    ),
    ("STRUCT-1", f"%m = pto.declare_struct -> {STRUCT}\n%a = pto.struct_get %m[0] : {STRUCT} -> i32", "[1]", "[0]"),
    ("STRUCT-1", f"%m = pto.declare_struct -> {STRUCT}\npto.struct_set %m[0], %i : {STRUCT}, i32", "[2]", "[0]"),
]


@pytest.mark.parametrize(("rule", "lines", "wrong", "right"), RULES)
def test_rules(rule: str, lines: str, wrong: str, right: str) -> None:
    def found(text: str) -> list[tuple[str, int]]:
        parsed = parse_module(in_function(C + text), "t.pto")
        assert [d.rule for d in parsed.diagnostics] in ([], ["TY-9"])  # a value of another type
        checked = verify(parsed.module, target("a5"), assembler=True)
        return [(d.rule, d.location.line - FIRST_LINE - 2) for d in checked]

    assert found(lines) == []
    place = lines.rindex(right)
    broken = lines[:place] + wrong + lines[place + len(right) :]
    if wrong == "%x":  # the type follows the value
        broken = broken.replace(", i32", ", f32")
    assert set(found(broken)) == {(rule, len(lines.splitlines()))}


def test_a_window_keeps_its_valid_sizes() -> None:
    made = ops(
        f"%a = pto.subview %t[%n, %n] sizes [8, 16] valid [%n, %n] : {T}\npto.tneg ins(%a : {OPEN}) outs(%a : {OPEN})"
    )
    assert [op.name for op in made] == ["pto.subview", "pto.tneg"]
    round_trip(read(in_function(f"%a = pto.subview %t[%n, %n] sizes [8, 16] valid [%n, %n] : {T}")))


A, F, M = "!pto.tile_buf<acc, 32x32xi32>", "!pto.tile_buf<scaling, 1x32xui64>", "!pto.tile_buf<mat, 16x16xi8>"


@pytest.mark.parametrize("name", ["textract", "tinsert"])
def test_old_names_of_moves_with_words_per_column(name: str) -> None:
    """``textract_fp`` is printed as the ``textract`` with a word, and stays that."""
    text = f"func.func @f(%a: {A}, %f: {F}, %m: {M}, %n: index) {{\nOP\nreturn\n}}"
    new = f"pto.{name} ins(%a, %n, %n : {A}, index, index fp %f : {F}) outs(%m : {M})"
    for old in (f"{name}_fp", f"{name}.fp"):
        line = f"pto.{old} ins(%a, %f, %n, %n : {A}, {F}, index, index) outs(%m : {M})"
        assert new in (printed := print_module(read(text.replace("OP", line))))
        assert print_module(read(printed)) == printed
