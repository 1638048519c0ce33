"""Operations that only the ISA manual has (assembly 6.1, 8): every spelling it shows, and what is wrong about one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import convert
from ptokit.diagnostics import DiagnosticError
from ptokit.isa.table import SHARED
from ptokit.run import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

from .interchange import read_elsewhere
from .reading import body, errors, read

S, T, V = "!pto.tile<16x16xf32>", "!pto.tile_buf<vec, 16x16xf32>", "memref<?x?xf32>"
I = "!pto.tile_buf<vec, 16x16xi32>"
M, G, F = "!pto.memref<f32, 2>", "!pto.group<8>", "!pto.fmatrix_config"

SPELLINGS = {
    # between devices
    f"tput %m, %n : ({M}, {M})": f"pto.tput ins(%n : {V}) outs(%m : {V})",
    f"tget %m, %n : ({M}, {M})": f"pto.tget ins(%n : {V}) outs(%m : {V})",
    f"tbroadcast %g, %m : ({G}, {M})": f"pto.tbroadcast ins(%g, %m : {G}, {V})",
    f"pto.tbroadcast %g, %t : ({G}, {S})": f"pto.tbroadcast ins(%g, %t : {G}, {T})",
    f"%r = pto.tbroadcast %g, %t\n : ({G}, {S}) -> {S}": f"pto.tbroadcast ins(%g, %t : {G}, {T}) outs(%r : {T})",
    f"tgather %g, %m : ({G}, {M})": f"pto.tgather ins(%g : {G}) outs(%m : {V})",
    f"tscatter %g, %m : ({G}, {M})": f"pto.tscatter ins(%g, %m : {G}, {V})",
    f"treduce %g, %m {{op = #pto.reduce_op<Sum>}} : ({G}, {M})": (
        f"pto.treduce ins(%g : {G}) outs(%m : {V}) {{op = #pto.reduce_op<sum>}}"
    ),
    f'pto.treduce %g, %t, %u : ({G}, {S}, {S}) {{op = "max"}}': (
        f"pto.treduce ins(%g, %t : {G}, {T}) outs(%u : {T}) {{op = #pto.reduce_op<max>}}"
    ),
    f'%g = "pto.make_group"(%m, %n) : ({M}, !pto.memref<f32, 16x?>) -> !pto.group<2>': (
        f"%g = pto.make_group %m, %n : ({V}, memref<16x?xf32>) -> !pto.group<2>"
    ),
    "tnotify %s, %v {op = #pto.notify_op<AtomicAdd>} : (!pto.memref<i32>, i32)": (
        "pto.comm.tnotify(%s, %v : memref<i32>, i32) {notifyOp = #pto<notify_op atomic_add>}"
    ),
    "%r = ttest %s, %v {cmp = #pto.cmp<GE>} : (!pto.memref<i32, 4x4>, i32) -> i1": (
        "%r = pto.comm.ttest(%s, %v : memref<4x4xi32>, i32) {cmp = #pto<wait_cmp ge>} -> i1"
    ),
    "twait %s, %v {cmp = #pto.cmp<EQ>} : (!pto.memref<i32>, i32)": (
        "pto.comm.twait(%s, %v : memref<i32>, i32) {cmp = #pto<wait_cmp eq>}"
    ),
    # convolution and rounding
    f"%r = tpow %t, %u, %w : {S}": f"pto.tpow ins(%t, %u, %w : {T}, {T}, {T}) outs(%r : {T})",
    f"%r = pto.tpow %t, %u : ({S}, {S}) -> {S}": f"pto.tpow ins(%t, %u : {T}, {T}) outs(%r : {T})",
    f"%r = tpows %t, %x : {S}, f32 -> {S}": f"pto.tpows ins(%t, %x : {T}, f32) outs(%r : {T})",
    f"pto.tpows ins(%t, %x, %w : {T}, f32, {T}) outs(%u : {T})": (
        f"pto.tpows ins(%t, %x, %w : {T}, f32, {T}) outs(%u : {T})"
    ),
    f"%r = pto.timg2col %t : {S} -> {S}": f"pto.timg2col ins(%t : {T}) outs(%r : {T})",
    f"pto.SETFMATRIX %c : {F} -> ()": f"pto.setfmatrix ins(%c : {F})",
    f"pto.SETFMATRIX ins(%c : {F}) outs()": f"pto.setfmatrix ins(%c : {F})",
    f"pto.setfmatrix %t : {S}": f"pto.setfmatrix ins(%t : {T})",
    f"pto.set_img2col_rpt %c : {F} -> ()": f"pto.set_img2col_rpt ins(%c : {F})",
    f"pto.set_img2col_padding ins(%c : {F}) outs()": f"pto.set_img2col_padding ins(%c : {F})",
    'pto.sethf32mode {enable = true, mode = "CAST_RINT"}': 'pto.sethf32mode {enable = true, mode = "CAST_RINT"}',
    'pto.settf32mode ins({enable = false, mode = "CAST_RINT"}) outs()': (
        'pto.settf32mode {enable = false, mode = "CAST_RINT"}'
    ),
    # two results
    f"%a, %b = tcolargmax %t : {S} -> {S}, {S}": None,
    f"%a, %b = pto.tcolargmin %t, %w : ({S}, {S}) -> ({S}, {S})": (
        f"pto.tcolargmin ins(%t, %w : {T}, {T}) outs(%a, %b : {T}, {T})"
    ),
    f"pto.tcolargmax ins(%t, %w : {T}, {T}) outs(%u, %v : {T}, {T})": (
        f"pto.tcolargmax ins(%t, %w : {T}, {T}) outs(%u, %v : {T}, {T})"
    ),
    f"%r = tcolargmin %t : {S} -> {S}": None,
    # other names of a tile
    f"%r = pto.talias %t : {S} -> !pto.tile<16x16xi32>": f"%r = pto.treshape %t : {T} -> {I}",
    f"pto.talias ins(%t : {T}) outs(%u : {I})": f"%u.1 = pto.treshape %t : {T} -> {I}",
    f"pto.treshape ins(%t : {T}) outs(%u : {I})": f"%u.1 = pto.treshape %t : {T} -> {I}",
    f"pto.tassign ins(%t, %l : {T}, i64)": f"%t.1 = pto.tassign %t, %l : {T} -> {T}",
    f"tassign %t, %l : {S}, index": f"%t.1 = pto.tassign %t, %0 : {T} -> {T}",
    f"pto.subview ins(%t, %i, %j : {T}, i16, i16) outs(%u : !pto.tile_buf<vec, 8x8xf32>)": (
        f"%u.1 = pto.subset %t[%0, %1] sizes [8, 8] : {T}"
    ),
    # barriers
    "tsync.op #pto.op<TADD>": "pto.barrier <PIPE_V>",
    "pto.tsync.op #pto<op TLOAD>": "pto.barrier <PIPE_MTE2>",
    "pto.barrier(TMATMUL)": "pto.barrier <PIPE_M>",
    "pto.barrier(#pto.pipe<PIPE_MTE3>)": "pto.barrier <PIPE_MTE3>",
    "pto.barrier(PIPE_ALL)": "pto.barrier <PIPE_ALL>",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_spellings(text: str) -> None:
    """A listing of the one statement is read as what stands beside it, and every form of it is a fixed point."""
    module = read(text)
    printed = convert(module, "dps").text or ""
    wanted = SPELLINGS[text]
    assert wanted is None or wanted in [line.strip() for line in printed.splitlines()]
    for form in ("dps", "sync", "generic", "ssa"):
        converted = convert(module, form).text
        if converted is None:
            assert form == "ssa"
            continue
        assert convert(read(converted), form).text == converted
        if form == "generic":
            read_elsewhere(converted)


@pytest.mark.parametrize(
    ("text", "rule"),  # the error is at the bar
    [
        (f"|tbroadcast %t, %m : ({S}, {M})", "TEXT-OPERANDS"),
        (f"|tbroadcast %g, %m : ({G}, {M}, {M})", "TEXT-OPERANDS"),
        (f"treduce %g, %m {{op = |#pto.reduce_op<Mean>}} : ({G}, {M})", "TY-8"),
        (f"tbroadcast %g, %m : (!pto.group<|x>, {M})", "TEXT-TYPE"),
        (f"%g = pto.make_group %m : ({M}) -> |i32", "TEXT-TYPE"),
        (f'%g = |"pto.make_group"(%m) : ({M}) -> i32', "TEXT-TYPE"),
        ("tsync.op |#pto.op<TADQ>", "TY-8"),
        ("pto.barrier(|TSTORE)", "TY-8"),  # on one of two pipes
        ("pto.barrier(|3)", "TEXT-UNEXPECTED"),
        (f"pto.talias ins(%t : {T}) outs(|%u : f32)", "TEXT-TYPE"),
        (f"pto.treshape ins(%t : {T})|", "TEXT-UNEXPECTED"),
        (f"tassign %t, |%l : {S}, f32", "TY-9"),
    ],
)
def test_errors(text: str, rule: str) -> None:
    before, _, after = text.partition("|")
    assert errors(before + after)[:1] == [(rule, 1, len(before) + 1)]


def test_a_name_is_told_by_the_type_of_the_first_operand() -> None:
    assert {name: instr.name for name, instr in SHARED.items()} == {
        "tgather": "GROUP_GATHER",
        "tscatter": "GROUP_SCATTER",
    }
    texts = (f"tscatter %g, %m : ({G}, {M})", f"tscatter %u, %t, %i : ({S}, {S}, {S})")
    names = [body(read(text)).ops[-2].name for text in texts]
    assert names == ["pto.tscatter.group", "pto.tscatter"]
    for line in (f"pto.tscatter ins(%g, %m : {G}, {V})", f'"pto.tscatter"(%g, %m) : ({G}, {V}) -> ()'):
        assert body(read(line)).ops[0].name == "pto.tscatter.group"


@pytest.mark.parametrize("name", ["tput", "tget"])
def test_a_part_of_memory_keeps_its_line_where_a_tile_says_nothing_of_its_size(name: str) -> None:
    view, part = "!pto.tensor_view<16x16xf32>", "!pto.partition_tensor_view<16x16xf32>"
    head = "%k = arith.constant 16 : index\n%p = pto.partition_view %g, offsets = [%i, %i], sizes = [%k, %k] : "
    head += f"{view} -> {part}"
    for line in (f"pto.{name} ins(%p : {part}) outs(%t : {T})", f"pto.{name} ins(%t : {T}) outs(%p : {part})"):
        module = read(f"{head}\n{line}")
        text = convert(module, "sync").text or ""
        assert "pto.partition_view %g" in text
        assert convert(read(text), "dps").text == convert(module, "dps").text


P = "memref<4x8xf32>"
WHOLE = "memref<8x8xf32>"
GROUP = f"%g = pto.make_group %a, %b : ({P}, {P}) -> !pto.group<2>\n"


@pytest.mark.parametrize(
    ("line", "sizes", "wanted"),
    [
        (f"pto.tput ins(%b : {P}) outs(%a : {P})", (4, 4, 8), lambda a, b, w: (b, b, w)),
        (f"pto.tget ins(%b : {P}) outs(%a : {P})", (4, 4, 8), lambda a, b, w: (b, b, w)),
        (f"{GROUP}pto.tgather ins(%g : !pto.group<2>) outs(%w : {WHOLE})", (4, 4, 8), lambda a, b, w: (a, b, (*a, *b))),
        (f"{GROUP}pto.tscatter ins(%g, %w : !pto.group<2>, {WHOLE})", (4, 4, 8), lambda a, b, w: (w[:4], w[4:], w)),
        (f"{GROUP}pto.tbroadcast ins(%g, %w : !pto.group<2>, {P})", (4, 4, 4), lambda a, b, w: (w, w, w)),
        (
            f"{GROUP}pto.treduce ins(%g : !pto.group<2>) outs(%w : {P}) {{op = #pto.reduce_op<max>}}",
            (4, 4, 4),
            lambda a, b, w: (a, b, np.maximum(a, b)),
        ),
    ],
)
def test_transfers_without_stages_run(line: str, sizes: tuple[int, ...], wanted: Callable[..., Any]) -> None:
    types = [WHOLE if n == 8 else P for n in sizes]
    params = ", ".join(f"%{name}: {type}" for name, type in zip("abw", types))
    module = parse_module(f"func.func @k({params}) {{\n{line}\nreturn\n}}", target=target("a5"))
    module.diagnostics.raise_if_errors()
    rng = np.random.default_rng(1)
    args = [rng.integers(-9, 9, (n, 8)).astype(np.float32) for n in sizes]
    expected = [np.array(each) for each in wanted(*(arg.copy() for arg in args))]
    compile_program(module.module, target("a5")).launch(args)
    assert all((arg == each).all() for arg, each in zip(args, expected, strict=True))
    assert sanitize(module.module, "a5", args).clean


def test_a_reduction_has_no_source_beside_its_group() -> None:
    line = f"pto.treduce ins(%g, %w : !pto.group<2>, {P}) outs(%a : {P})"
    text = f"func.func @k(%a: {P}, %b: {P}, %w: {P}) {{\n{GROUP}{line}\nreturn\n}}"
    program = compile_program(parse_module(text, target=target("a5")).module, target("a5"))
    with pytest.raises(DiagnosticError) as error:
        program.launch([np.zeros((4, 8), np.float32) for _ in "abw"])
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [("COMM-02", 3)]


@pytest.mark.parametrize("name", ["tcolargmax", "tcolargmin", "trowargmax", "trowargmin"])
def test_the_extreme_stands_before_its_index(name: str) -> None:
    """Two destinations are value and index, one is the index."""
    for text in (
        f"%a, %b = {name} %t : {S} -> {S}, {S}",
        f"%a, %b = pto.{name} %t, %w : ({S}, {S}) -> ({S}, {S})",
        f"pto.{name} ins(%t, %w : {T}, {T}) outs(%a, %b : {T}, {T})",
        f'"pto.{name}"(%t, %w, %a, %b) <{{operandSegmentSizes = array<i32: 1, 1, 1, 1>}}> : ({T}, {T}, {T}, {T}) -> ()',
    ):
        (op,) = [op for op in body(read(text)).ops if op.name == f"pto.{name}"]
        assert (op["dst_val"].name, op["dst"].name, op["src"].name) == ("a", "b", "t")
    for text in (f"%a = {name} %t : {S}", f"pto.{name} ins(%t, %w : {T}, {T}) outs(%a : {T})"):
        (op,) = [op for op in body(read(text)).ops if op.name == f"pto.{name}"]
        assert (op.get("dst_val"), op["dst"].name) == (None, "a")


def test_parts_of_extremes_are_values_and_then_indices() -> None:
    tiles = ", ".join([S] * 4)
    op = body(read(f"%a, %b = pto.tpartargmax %v, %w, %i, %j : ({tiles}) -> ({S}, {S})")).ops[-2]
    assert [value.name for value in op.values] == ["a", "v", "w", "b", "i", "j"]
