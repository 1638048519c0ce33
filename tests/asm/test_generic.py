"""Generic form (assembly 2): the same operations as in their own form."""

from __future__ import annotations

import pytest

from .reading import body, canonical, errors, errors_in, read

T = "!pto.tile_buf<vec, 16x16xf32>"
V = "!pto.partition_tensor_view<16x16xf32>"
TV = "!pto.tensor_view<?x16xf32>"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'"pto.tadd"(%t, %u, %t) : ({T}, {T}, {T}) -> ()', f"pto.tadd ins(%t, %u : {T}, {T}) outs(%t : {T})"),
        (f'"pto.tload"(%v, %t) <{{}}> : ({V}, {T}) -> ()', f"pto.tload ins(%v : {V}) outs(%t : {T})"),
        (
            f'"pto.tmov"(%t, %u, %l) <{{operandSegmentSizes = array<i32: 1, 1, 0, 1>}}> : ({T}, {T}, i64) -> ()',
            f"pto.tmov ins(%t : {T}, %l : i64) outs(%u : {T})",
        ),
        (
            f'"pto.tmov"(%t, %u, %t) {{operandSegmentSizes = array<i32: 1, 1, 1, 0>}} : ({T}, {T}, {T}) -> ()',
            f"pto.tmov ins(%t : {T}, %t : {T}) outs(%u : {T})",
        ),
        (
            f'"pto.tstore"(%t, %v) <{{atomicType = #pto<atomic_type atomic_add>, operandSegmentSizes = '
            f"dense<[1, 1, 0]> : vector<3xi32>}}> {{a.b = 7 : i32}} : ({T}, {V}) -> ()",
            f"pto.tstore ins(%t : {T}) outs(%v : {V}) {{atomicType = #pto<atomic_type atomic_add>, a.b = 7 : i32}}",
        ),
        (
            f'"pto.tinsert"(%t, %n, %n, %u, %l) <{{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}}> : '
            f"({T}, index, index, {T}, i64) -> ()",
            f"pto.tinsert ins(%t, %n, %n : {T}, index, index pre_quant %l : i64) outs(%u : {T})",
        ),
        (f'"pto.tdivs"(%x, %t, %u) : (f32, {T}, {T}) -> ()', f"pto.tdivs ins(%x, %t : f32, {T}) outs(%u : {T})"),
        (f'"pto.trowsum"(%t, %u, %t) : ({T}, {T}, {T}) -> ()', f"pto.trowsum ins(%t, %u : {T}, {T}) outs(%t : {T})"),
        (
            f'"pto.tcmp"(%t, %u, %t) {{cmpMode = #pto<cmp lt>}} : ({T}, {T}, {T}) -> ()',
            f"pto.tcmp ins(%t, %u {{cmpMode = #pto<cmp lt>}} : {T}, {T}) outs(%t : {T})",
        ),
        (
            '"pto.set_flag"() {src_pipe = #pto.pipe<PIPE_MTE2>, dst_pipe = #pto.pipe<PIPE_V>, '
            "event_id = #pto.event<EVENT_ID3>} : () -> ()",
            "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]",
        ),
        (
            f'%a = "pto.partition_view"(%tv, %n, %n, %n, %n) <{{operandSegmentSizes = array<i32: 1, 2, 2>}}> : '
            f"({TV}, index, index, index, index) -> {V}",
            f"%a = pto.partition_view %tv, offsets = [%n, %n], sizes = [%n, %n] : {TV} -> {V}",
        ),
        (f'%a = "pto.alloc_tile"() : () -> {T}', f"%a = pto.alloc_tile : {T}"),
        (
            f'%a = "pto.alloc_tile"(%l) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (i64) -> ({T})',
            f"%a = pto.alloc_tile addr = %l : {T}",
        ),
        ('%a = "arith.addi"(%n, %n) : (index, index) -> index', "%a = arith.addi %n, %n : index"),
        ('%a = "arith.index_cast"(%n) : (index) -> i64', "%a = arith.index_cast %n : index to i64"),
        ('%a = "arith.constant"() <{value = 7 : index}> : () -> index', "%a = arith.constant 7 : index"),
        ('%a = "arith.constant"() {value = 0.5 : f32} : () -> f32', "%a = arith.constant 0.5 : f32"),
        ('%a = "arith.constant"() {value = true} : () -> i1', "%a = arith.constant true"),
        (
            '%a = "arith.cmpi"(%n, %n) <{predicate = 2 : i64}> : (index, index) -> i1',
            "%a = arith.cmpi slt, %n, %n : index",
        ),
        (
            '%a = "arith.select"(%c, %n, %n) : (i1, index, index) -> index',
            "%a = arith.select %c, %n, %n : index",
        ),
    ],
)
def test_forms(text: str, line: str) -> None:
    assert canonical(text) == [line]


def test_return() -> None:
    (op,) = body(read('func.func @f() { "func.return"() : () -> () }')).ops
    assert (op.name, op.operands) == ("func.return", {"values": []})
    assert errors('func.func @f() -> i32 {\n"func.return"() : () -> ()\n}') == [("TEXT-YIELD", 2, 1)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'"pto.tadd"(%t, %u) : ({T}, {T}) -> ()', [("TEXT-OPERANDS", 1, 1)]),
        (f'"pto.tadd"(%t, %u, %t) : ({T}, {T}) -> ()', [("TEXT-OPERANDS", 1, 1)]),
        (f'"pto.tadd"(%t, %u, %w) : ({T}, {T}, {T}) -> ()', [("TY-9", 1, 20)]),
        (f'"pto.tadd"(%t, %u, %x) : ({T}, {T}, {T}) -> ()', [("TEXT-OPERANDS", 1, 1), ("TY-9", 1, 20)]),
        (f'"pto.tadd"(%t, %u, %t) : ({T}, {T}, {T}) -> {T}', [("TEXT-RESULTS", 1, 1)]),
        (f'"pto.tadd"(%t, %u, %t) <{{a = }}> : ({T}, {T}, {T}) -> ()', [("TEXT-ATTRIBUTE", 1, 24)]),
        (f'"pto.tadd"(%t, %u, %t) <{{a = {"[" * 300}}}> : ({T}, {T}, {T}) -> ()', [("TEXT-ATTRIBUTE", 1, 24)]),
        (f'"pto.tadd"(%t, %u, %t) <{{a}} b> : ({T}, {T}, {T}) -> ()', [("TEXT-ATTRIBUTE", 1, 24)]),
        (f'"pto.tadd"(%t, %u, %t) ({T}, {T}, {T}) -> ()', [("TEXT-UNEXPECTED", 1, 25)]),
        (f'"pto.tadd"(%t, %u, %t) ({{}}) : ({T}, {T}, {T}) -> ()', [("TEXT-UNEXPECTED", 1, 1)]),
        ('"cf.brr"() [^bb1] : () -> ()', [("TEXT-UNIMPLEMENTED", 1, 1)]),
        (
            f'"pto.tmov"(%t, %u) <{{operandSegmentSizes = array<i32: 1, 1, 0, 1>}}> : ({T}, {T}) -> ()',
            [("TEXT-OPERANDS", 1, 1)],
        ),
        (
            f'"pto.tmov"(%t, %u) <{{operandSegmentSizes = 2}}> : ({T}, {T}) -> ()',
            [("TEXT-ATTRIBUTE", 1, 20)],
        ),
        (f'%a = "pto.alloc_tile"(%n) : (index) -> {T}', [("TY-9", 1, 6)]),
        ('%a = "pto.alloc_tile"() : () -> f32', [("TEXT-TYPE", 1, 6)]),
        ('%a = "pto.get_block_idx"() : () -> index', [("TEXT-TYPE", 1, 6)]),
        ('"pto.set_flag"() : () -> ()', [("TEXT-ATTRIBUTE", 1, 1)]),
        (
            f'%a = "pto.subset"(%t, %n, %n) {{sizes = [8, 8]}} : ({T}, index, index) -> {T}',
            [("TEXT-TYPE", 1, 6)],
        ),
        (f'%a = "pto.subset"(%t, %n, %n) {{sizes = 8}} : ({T}, index, index) -> {T}', [("TEXT-ATTRIBUTE", 1, 40)]),
        ('"pto.tadq"() : () -> ()', [("TEXT-UNIMPLEMENTED", 1, 1)]),
        ('"pto.tadd', [("TEXT-STRING", 1, 1)]),
        ('%a = "arith.constant"() : () -> index', [("TEXT-ATTRIBUTE", 1, 6)]),
        ('%a = "arith.constant"() {value = 300 : i8} : () -> i8', [("TEXT-NUMBER", 1, 34)]),
        ('%a = "arith.cmpi"(%n, %n) {predicate = 10 : i64} : (index, index) -> i1', [("TY-8", 1, 40)]),
        ('%a = "arith.addi"(%n, %n) : (index, index) -> i64', [("TY-9", 1, 6)]),
        ('%a = "arith.cmpi"(%n, %n) {predicate = 1 : i64} : (index, index) -> i8', [("TEXT-TYPE", 1, 6)]),
        ('%a = "arith.select"(%n, %l, %l) : (index, i64, i64) -> i64', [("TY-9", 1, 6)]),
        ('%a = "arith.constant"() {value = true} : () -> i8', [("TEXT-UNEXPECTED", 1, 34)]),
        ('%a = "arith.addi"(%n) : (index) -> index', [("TEXT-OPERANDS", 1, 6)]),
        ('"pto.tsubs"(%x) : (f32) -> ()', [("TEXT-OPERANDS", 1, 1)]),
    ],
)
def test_errors(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(text) == found
