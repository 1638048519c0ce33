"""The sync form: statements without ``pto.``, and listings of them (assembly 5)."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module, print_module
from ptokit.ir import Op
from ptokit.run import compile_program
from ptokit.targets import target

from .reading import body, canonical, errors, errors_in, read, round_trip

S = "!pto.tile<16x16xf32>"
T = "!pto.tile_buf<vec, 16x16xf32>"
G = "!pto.memref<f32, 2>"
V = "!pto.partition_tensor_view<16x16xf32>"
TV = "!pto.tensor_view<?x16xf32>"
ALLOC = f"%a = pto.alloc_tile : {T}"
C16 = "%0 = arith.constant 16 : index"


def part(name: str, at: str) -> str:
    return f"{name} = pto.partition_view %tv, offsets = {at}, sizes = [%0, %0] : {TV} -> {V}"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            f"%a = tload %tv[%n, %n] : ({TV}, index, index) -> {S}",
            [f"%a = pto.alloc_tile : {T}", C16, part("%1", "[%n, %n]"), f"pto.tload ins(%1 : {V}) outs(%a : {T})"],
        ),
        (
            f"%a = pto.tload %tv[%n, %n] : {TV} -> {S}",  # indices need no types
            [f"%a = pto.alloc_tile : {T}", C16, part("%1", "[%n, %n]"), f"pto.tload ins(%1 : {V}) outs(%a : {T})"],
        ),
        (
            f"%a = tload %tv[%n] : ({TV}, index) -> {S}",  # leading indices are 0
            [
                f"%a = pto.alloc_tile : {T}",
                C16,
                "%1 = arith.constant 0 : index",
                part("%2", "[%1, %n]"),
                f"pto.tload ins(%2 : {V}) outs(%a : {T})",
            ],
        ),
        ("tstore %t, %tv[%n, %n]", [C16, part("%1", "[%n, %n]"), f"pto.tstore ins(%t : {T}) outs(%1 : {V})"]),
        (
            "%e = tstore %t, %tv[%n, %n]\ntsync %t, %e",
            [
                C16,
                part("%e", "[%n, %n]"),
                f"pto.tstore ins(%t : {T}) outs(%e : {V})",
                f"pto.tsync ins(%t, %e : {T}, {V})",
            ],
        ),
        # without an arrow: the type of all tiles, or the one after those of the operands
        (f"%a = tadds %t, %x : {S}, f32", [ALLOC, f"pto.tadds ins(%t, %x : {T}, f32) outs(%a : {T})"]),
        (f"%a = tadd %t, %u : {S}, {S}", [ALLOC, f"pto.tadd ins(%t, %u : {T}, {T}) outs(%a : {T})"]),
        (f"%a = tdivs %x, %t : f32, {S}", [ALLOC, f"pto.tdivs ins(%x, %t : f32, {T}) outs(%a : {T})"]),
        (f"%a = texpands %x : f32, {S}", [ALLOC, f"pto.texpands ins(%x : f32) outs(%a : {T})"]),
        (f"%a = tci %i : {S}", [ALLOC, f"pto.tci ins(%i : i32) outs(%a : {T})"]),
        ("tsync %t : !pto.event<tload>", [f"pto.tsync ins(%t : {T})"]),
        (
            "tstore %t, %v #atomic=add",
            [f"pto.tstore ins(%t : {T}) outs(%v : {V}) {{atomicType = #pto<atomic_type atomic_add>}}"],
        ),
        (
            "tstore %t, %v #phase=relu",
            [f"pto.tstore ins(%t : {T}) outs(%v : {V}) {{reluPreMode = #pto<relu_pre_mode normal_relu>}}"],
        ),
        ("tstore.fp %t, %u, %v", [f"pto.tstore ins(%t : {T} fp %u : {T}) outs(%v : {V})"]),
        ("pto.tstore.fp %t, %u, %v", [f"pto.tstore ins(%t : {T} fp %u : {T}) outs(%v : {V})"]),
        ("mscatter %t, %v, %u", [f"pto.mscatter ins(%t, %u : {T}, {T}) outs(%v : {V})"]),
        ("mscatter %t, %u, %v", [f"pto.mscatter ins(%t, %u : {T}, {T}) outs(%v : {V})"]),
        (f"tadd %t, %u, %t : {T}", [f"pto.tadd ins(%u, %t : {T}, {T}) outs(%t : {T})"]),
        (f"tadd ins(%u, %t : {T}, {T}) outs(%t : {T})", [f"pto.tadd ins(%u, %t : {T}, {T}) outs(%t : {T})"]),
        (
            f"tadds %t, %u, 2 : {T}",
            ["%0 = arith.constant 2.0 : f32", f"pto.tadds ins(%u, %0 : {T}, f32) outs(%t : {T})"],
        ),
        (
            f"%a = tcmp %t, %u #cmp=gt : {S}",
            [
                f"%a = pto.alloc_tile : {T}",
                f"pto.tcmp ins(%t, %u {{cmpMode = #pto<cmp gt>}} : {T}, {T}) outs(%a : {T})",
            ],
        ),
        (
            f"%a = textract %t[%n, %n] : ({T}, index, index) -> {S}",
            [
                f"%a = pto.alloc_tile : {T}",
                f"pto.textract ins(%t, %n, %n : {T}, index, index) outs(%a : {T})",
            ],
        ),
        (
            f"tassign %t, %l\ntassign %t, 64\n%a = tabs %t : {S}",
            [
                f"%t.1 = pto.tassign %t, %l : {T} -> {T}",
                "%0 = arith.constant 64 : i64",
                f"%t.2 = pto.tassign %t.1, %0 : {T} -> {T}",
                f"%a = pto.alloc_tile : {T}",
                f"pto.tabs ins(%t.2 : {T}) outs(%a : {T})",
            ],
        ),
        (
            f"pto.tassign %t, @tile(0x1000) : {T}",
            ["%0 = arith.constant 4096 : i64", f"%t.1 = pto.tassign %t, %0 : {T} -> {T}"],
        ),
        (
            f"scf.if %c {{\n tassign %t, 0\n}}\ntabs %u, %t : {T}",  # the name is the first tile's again
            [
                "scf.if %c {",
                "  %0 = arith.constant 0 : i64",
                f"  %t.1 = pto.tassign %t, %0 : {T} -> {T}",
                "}",
                f"pto.tabs ins(%t : {T}) outs(%u : {T})",
            ],
        ),
    ],
)
def test_statements(text: str, lines: list[str]) -> None:
    assert canonical(text) == lines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"%a = tload %tv[%n, %n, %n] : {TV} -> {S}", [("TEXT-OPERANDS", 1, 12)]),
        (f"%a = tload %tv[%x, %n] : {TV} -> {S}", [("TY-9", 1, 16)]),
        (f"%a = tload %tv[%n, %n] : ({TV}, index, f32) -> {S}", [("TY-9", 1, 20)]),
        (f"%a = tload %tv[%n, %n : {TV} -> {S}", [("TEXT-UNEXPECTED", 1, 23)]),
        (f"%a = tload %v[%n, %n] : {V} -> {S}", [("TEXT-OPERANDS", 1, 12)]),
        ("tstore %t, %w[%n, %n]", [("TY-9", 1, 12)]),
        ("tstore %t", [("TEXT-OPERANDS", 1, 1)]),
        ("tstore %v, %t", [("TEXT-OPERANDS", 1, 1)]),
        ("%a = tstore %t, %v, %v", [("TEXT-OPERANDS", 1, 6)]),
        ("tstore %t, %v #atomic=sub", [("TY-8", 1, 23)]),
        ("tstore %t, %v #atomik=add", [("TEXT-ATTRIBUTE", 1, 15)]),
        ("tstore %t, %v #atomic=add #atomic=add", [("TEXT-ATTRIBUTE", 1, 27)]),
        ("%a = tload %v", [("TEXT-UNEXPECTED", 1, 6)]),
        ("%a = tadd %t, %u", [("TEXT-UNEXPECTED", 1, 6)]),
        ("tassign %t", [("TEXT-OPERANDS", 1, 1)]),
        ("tassign %t, 1.5", [("TEXT-OPERANDS", 1, 13)]),
        ("tassign %n, 0", [("TEXT-OPERANDS", 1, 9)]),
        ("tassign %t, %i", [("TY-9", 1, 13)]),
        ("tassign %t, @tile(-1)", [("TEXT-NUMBER", 1, 19)]),
        ("tassign %t, @tail(1)", [("TEXT-UNEXPECTED", 1, 13)]),
        ("tassign %t[%n], 0", [("TEXT-OPERANDS", 1, 1)]),
        ("tsync 7", [("TEXT-UNEXPECTED", 1, 7)]),
        ("tsync %t, 7", [("TEXT-OPERANDS", 1, 11)]),
        (f"# no comment here\n%a = tabs %t : {S}", [("TEXT-UNEXPECTED", 1, 1)]),
    ],
)
def test_errors(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(text) == found


# ------------------------------------------------------------------- listings


LISTING = f"""# A listing; 'quotes" and brackets ( in comments do no harm.
  # It loads, adds and stores.
%t0 = tload %sv[%c0, %c0] : ({G}, index, index) -> {S}
%t1 = tadd %t0, %t0 : {S}   // not at the start of a line: no comment with a hash
#
tsync %t0, %t1
tstore %t1, %sv_out[%c0, %c0] : ({S}, {G}, index, index) -> ()
"""


def test_a_listing_is_a_function_of_what_it_does_not_define() -> None:
    module = read(LISTING)
    (function,) = module.functions
    assert [(p.name, str(p.type)) for p in function.params] == [
        ("sv", "memref<?x?xf32>"),
        ("c0", "index"),
        ("sv_out", "memref<?x?xf32>"),
    ]
    assert (function.params[0].location.line, function.params[0].location.column) == (3, 13)
    assert [op.name for op in body(module).ops if isinstance(op, Op) and op.name.startswith("pto.t")] == [
        "pto.tload",
        "pto.tadd",
        "pto.tsync",
        "pto.tstore",
    ]
    assert round_trip(module).startswith("module {\n  func.func @listing(%sv: memref<?x?xf32>, %c0: index,")


@pytest.mark.parametrize("arch", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("offset", [0, 16])
def test_a_listing_runs(arch: str, offset: int) -> None:
    x, y = np.arange(2048, dtype=np.float32).reshape(32, 64), np.zeros((40, 48), np.float32)
    program = compile_program(read(LISTING, target(arch)), target(arch))
    program.launch([x, offset, y])
    wanted = np.zeros_like(y)
    wanted[offset:, offset:][:16, :16] = 2 * x[offset:, offset:][:16, :16]
    assert np.array_equal(y, wanted)


def test_a_listing_checks_where_it_reads() -> None:
    from ptokit.diagnostics import DiagnosticError

    with pytest.raises(DiagnosticError) as error:
        compile_program(read(LISTING), target("a5")).launch([np.zeros((8, 64), np.float32), 0, np.zeros((16, 16), "f")])
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [("GM-OOB", 3)]


def test_listings_may_use_every_level() -> None:
    text = f"""%a = pto.alloc_tile : {T}
pto.tload ins(%v : {V}) outs(%a : {T})
%b = pto.tabs %a : {S} -> {S}
%i = arith.addi %n, %n : index
scf.for %k = %n to %i step %n {{
  tadd %a, %b, %b : {T}
}}
tstore %a, %w : ({T}, {V}) -> ()
return
"""
    assert [p.name for p in read(text).functions[0].params] == ["v", "n", "w"]


def test_functions_may_follow() -> None:
    module = parse_module(f"%b = pto.tabs %a : {S} -> {S}\nfunc.func @g() {{ return }}").module
    assert [f.name for f in module.functions] == ["listing", "g"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tstore %t1, %sv_out[%c0, %c0]", [("TY-9", 1, 8), ("TY-9", 1, 13)]),
        (f"%t0 = tload %sv[%c0, %c0] : {S}", [("TEXT-OPERANDS", 1, 7)]),
        (f"%a = pto.tabs %b : {S} -> {S}\n%a = pto.tabs %b : {S} -> {S}", [("TY-9", 2, 1)]),
        (f"%a = pto.tabs %b : {S} -> {S}\n%b = pto.tabs %a : {S} -> {S}", [("TY-9", 2, 1)]),
        (f"%a = pto.tabs %b : {S} -> {S}\n}}", [("TEXT-TOPLEVEL", 2, 1)]),
        (f"%a = tabs %b : {S}\n%c = tadd %b : {S}\n%d = tabs %c : {S}\ntabs %e", [
            ("TEXT-OPERANDS", 2, 6), ("TEXT-OPERANDS", 4, 1), ("TY-9", 4, 6)]),
        ("%left = tmov.m2l %mat : !pto.tile<...> -> !pto.tile<...>", [("TEXT-TYPE", 1, 35), ("TEXT-TYPE", 1, 53)]),
        ("tsync %e0", [("TY-9", 1, 7)]),
        ("tassign %t, 0", [("TEXT-OPERANDS", 1, 9)]),
        (f"%d = tadd %a#1, %b : {S}", [("TY-9", 1, 11)]),
    ],
)  # fmt: skip
def test_errors_of_listings(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors(text) == found


def test_hash_comments_stand_in_listings_only() -> None:
    assert errors(f"# comment\n%a = pto.tabs %b : {S} -> {S}") == []
    assert errors("# comment\nfunc.func @f() { return }") == [("TEXT-TOPLEVEL", 1, 1)]


def test_alias_definitions_are_no_comments() -> None:
    text = f"#add = #pto<atomic_type atomic_add>\npto.tstore %t, %v {{atomicType = #add}} : ({S}, {V}) -> ()"
    assert "atomic_add" in print_module(read(text))
