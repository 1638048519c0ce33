"""Values, regions and functions put together wrongly: one finding for one mistake, where it is (assembly 2, 11, 16)."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.ir.verify import verify
from ptokit.targets import A5

from .reading import canonical, errors, errors_in, in_function

T = "!pto.tile_buf<vec, 16x16xf32>"
TWO = "scf.yield %n, %n : index, index"
PAIR = f"%r:2 = scf.if %c -> (index, index) {{\n{TWO}\n}} else {{\n{TWO}\n}}\n"
LOOP = "%r = scf.for %k = %n to %n step %n iter_args(%a = %n) -> (index) {\n"
WHILE = "%r = scf.while (%a = %n) : (index) -> (index) {\n"
AFTER = "} do {\n^bb0(%b: index):\nscf.yield %b : index\n}"
M = "%m = memref.alloc() : memref<4xf32>\n"
CAST = "%q = memref.reinterpret_cast %m to "

VALUES = [
    ("%a = arith.addi %a, %n : index", [("TY-9", 1, 17)]),
    ("%a = arith.addi %e, %n : index\n%b = arith.addi %e, %e : index", [("TY-9", 1, 17)]),
    (
        "scf.if %c {\n%a = arith.addi %e, %n : index\n} else {\n%b = arith.addi %e, %n : index\n}\n"
        "%d = arith.addi %e, %n : index",
        [("TY-9", 2, 17)],
    ),
    (
        "%a = arith.addi %e, %n : index\n%b = arith.addi %i, %n : index\n%d = arith.addq %n : index",
        [("TY-9", 1, 17), ("TY-9", 2, 17), ("TEXT-UNKNOWN-OP", 3, 6)],
    ),
    # names of inner and outer regions
    ("scf.for %n = %n to %n step %n {\n}", [("TY-9", 1, 9)]),
    ("scf.for %k = %n to %n step %n {\n}\n%a = arith.addi %k, %n : index", [("TY-9", 3, 17)]),
    ("scf.for %k = %n to %n step %n {\n}\nscf.for %k = %n to %n step %n {\n}", []),
    (f"{LOOP}%b = arith.addi %r, %n : index\nscf.yield %b : index\n}}", [("TY-9", 2, 17)]),
    (f"{LOOP}%a = arith.addi %n, %n : index\nscf.yield %a : index\n}}", [("TY-9", 2, 1)]),
    ("scf.if %c {\n%a = arith.addi %n, %n : index\n} else {\n%a = arith.addi %n, %n : index\n}", []),
    ("pto.vecscope {\n%a = arith.addi %n, %n : index\n}\n%b = arith.addi %a, %n : index", [("TY-9", 4, 17)]),
    # groups of results
    (f"{PAIR}%a = arith.addi %r#0, %r#1 : index", []),
    (f"{PAIR}%a = arith.addi %r#2, %n : index", [("TY-9", 6, 17)]),
    (PAIR.replace("%r:2", "%r:3"), [("TEXT-RESULTS", 1, 1)]),
    (PAIR.replace("%r:2", "%r") + "%a = arith.addi %r, %n : index", [("TEXT-RESULTS", 1, 1)]),
    (PAIR.replace("%r:2", "%r, %n"), [("TY-9", 1, 5)]),
    ("%a = arith.addi %n, %n : index\n%b = arith.addi %a#1, %n : index", [("TY-9", 2, 17)]),
]

YIELDS = [
    (f"{LOOP}}}", [("TEXT-YIELD", 1, 6)]),
    (f"{LOOP}scf.yield %n, %n : index, index\n}}", [("TEXT-YIELD", 2, 1)]),
    (f"{LOOP}scf.yield %i : i32\n}}", [("TEXT-YIELD", 2, 1)]),
    (f"{LOOP}scf.yield %i : index\n}}", [("TY-9", 2, 11), ("TEXT-YIELD", 2, 1)]),
    (f"{LOOP}scf.yield %e : index\n}}", [("TY-9", 2, 11)]),
    (f"{LOOP}scf.yield %n index\n}}", [("TEXT-UNEXPECTED", 2, 14)]),
    ("scf.if %c {\nscf.yield %n : index\n}", [("TEXT-YIELD", 2, 1)]),
    ("%r = scf.if %c -> (index) {\nscf.yield %n : index\n}", [("TEXT-YIELD", 1, 6)]),
    (f"%r = scf.if %c -> ({T}) {{\nscf.yield %t : {T}\n}} else {{\nscf.yield %u : {T}\n}}", []),
    (f"%r = scf.if %c -> ({T}) {{\nscf.yield %t : {T}\n}} else {{\nscf.yield %n : index\n}}", [("TEXT-YIELD", 4, 1)]),
    (
        "%r = scf.if %c -> (!pto.tensor_view<?x16xf32>) {\nscf.yield %tv : !pto.tensor_view<?x16xf32>\n} else {\n"
        "scf.yield %tv : !pto.tensor_view<?x16xf32>\n}",
        [],
    ),
    # terminators of other operations
    ("scf.if %c {\nreturn\n}", [("TEXT-TERMINATOR", 2, 1)]),
    ("scf.for %k = %n to %n step %n {\nfunc.return\n}", [("TEXT-TERMINATOR", 2, 1)]),
    ("scf.for %k = %n to %n step %n {\nscf.condition(%c)\n}", [("TEXT-TERMINATOR", 2, 1)]),
    ("pto.section.vector {\nreturn\n}", [("TEXT-TERMINATOR", 2, 1)]),
    ("pto.vecscope {\nscf.yield\n}", [("TEXT-TERMINATOR", 2, 1)]),
    ('"scf.if"(%c) ({\n"func.return"() : () -> ()\n}, {}) : (i1) -> ()', [("TEXT-TERMINATOR", 2, 1)]),
    ("scf.if %c {\nscf.yield\nscf.yield\n}", [("TEXT-TERMINATOR", 2, 1)]),
    (f"{WHILE}scf.yield %a : index\n{AFTER}", [("TEXT-TERMINATOR", 2, 1)]),
    (f"{WHILE}{AFTER}", [("TEXT-YIELD", 1, 6)]),
    (f"{WHILE}scf.condition(%c) %i : i32\n{AFTER}", [("TEXT-YIELD", 2, 1)]),
    (f"{WHILE}scf.condition(%n) %a : index\n{AFTER}", [("TY-9", 2, 15)]),
    (f"{WHILE}scf.condition(%c) %a : index\n{AFTER.replace('^bb0(%b: index)', '^bb0(%b: i32)')}",
     [("TEXT-YIELD", 1, 6), ("TY-9", 5, 11), ("TEXT-YIELD", 5, 1)]),
    ("scf.index_switch %i\ndefault {\nscf.yield\n}", [("TY-9", 1, 18)]),
    ("scf.index_switch %n\ncase 1 {\nscf.yield\n}", [("TEXT-UNEXPECTED", 5, 1)]),
    ("scf.for %k = %x to %x step %x : f32 {\n}", [("TEXT-TYPE", 1, 37)]),
    ("%r = scf.for %k = %n to %n step %n iter_args(%a = %n, %b = %n) -> (index) {\nscf.yield %a : index\n}",
     [("TEXT-OPERANDS", 1, 67)]),
]  # fmt: skip

MEMREFS = [
    ("%m = memref.alloc() : memref<?xf32>", [("TEXT-OPERANDS", 1, 23)]),
    ("%m = memref.alloc(%n) : memref<4xf32>", [("TEXT-OPERANDS", 1, 25)]),
    ("%m = memref.alloc() : index", [("TEXT-TYPE", 1, 23)]),
    ("%m = memref.alloc(%i) : memref<?xf32>", [("TY-9", 1, 19)]),
    ('%m = "memref.alloc"() : () -> memref<?xf32>', [("TEXT-OPERANDS", 1, 6)]),
    ("memref.dealloc %n : index", [("TEXT-TYPE", 1, 21)]),
    (f"{M}memref.dealloc %m : memref<8xf32>", [("TY-9", 2, 16)]),
    (f"{M}{CAST}offset: [0], sizes: [2], strides: [1] : memref<4xf32> to memref<2xf32>", []),
    (f"{M}{CAST}offset: [%n], sizes: [%n], strides: [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 4>>", []),
    (f"{M}{CAST}offset: [0], sizes: [3], strides: [1] : memref<4xf32> to memref<2xf32>", [("TEXT-TYPE", 2, 76)]),
    (f"{M}{CAST}offset: [1], sizes: [2], strides: [1] : memref<4xf32> to memref<2xf32>", [("TEXT-TYPE", 2, 76)]),
    (f"{M}{CAST}offset: [0], sizes: [2], strides: [2] : memref<4xf32> to memref<2xf32>", [("TEXT-TYPE", 2, 76)]),
    (f"{M}{CAST}offset: [0], sizes: [2], strides: [] : memref<4xf32> to memref<2xf32>", [("TEXT-OPERANDS", 2, 75)]),
    (f"{M}{CAST}offset: [0], sizes: [4], strides: [1] : memref<4xf32> to memref<4xi32>", [("TEXT-TYPE", 2, 76)]),
    (f"{M}{CAST}offset: [%i], sizes: [4], strides: [1] : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>",
     [("TY-9", 2, 45)]),
    ("%q = memref.reinterpret_cast %n to offset: [0], sizes: [4], strides: [1] : index to memref<4xf32>",
     [("TEXT-TYPE", 1, 76)]),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "found"), VALUES + YIELDS + MEMREFS)
def test_snippets(snippet: str, found: list[tuple[str, int, int]]) -> None:
    assert sorted(errors_in(snippet)) == sorted(found)


G = "func.func private @g(%b: i32) {\nreturn\n}\n"
FUNCTIONS = [
    # what belongs to another function
    ("func.func @g(%z: index) {\n%q = arith.addi %z, %z : index\nreturn\n}\nfunc.func @f(%n: index) {\n"
     "%a = arith.addi %q, %n : index\n%b = arith.addi %z, %n : index\nreturn\n}\n", [("TY-9", 6, 17), ("TY-9", 7, 17)]),
    ("func.func @f(%n: index) {\n%a = arith.addi %q, %n : index\nreturn\n}\nfunc.func @g(%z: index) {\n"
     "%q = arith.addi %z, %z : index\nreturn\n}\n", [("TY-9", 2, 17)]),
    ("func.func @f(%a: index, %a: index) {\nreturn\n}\n", [("TY-9", 1, 25)]),
    ("func.func @f(%a: index) {\n%a = arith.addi %a, %a : index\nreturn\n}\nfunc.func @g(%a: i32) {\nreturn\n}\n",
     [("TY-9", 2, 1)]),
    # returns
    ("func.func @f() {\n}\n", [("TEXT-TERMINATOR", 1, 1)]),
    ("func.func @f() {\nscf.yield\n}\n", [("TEXT-TERMINATOR", 2, 1)]),
    ("func.func private @f(%n: index) -> i32 {\nreturn %n : index\n}\n", [("TEXT-YIELD", 2, 1)]),
    ("func.func private @f(%n: index) -> (i32, i32) {\nreturn\n}\n", [("TEXT-YIELD", 2, 1)]),
    ("func.func private @f(%n: index) {\nreturn %n : index\n}\n", [("TEXT-YIELD", 2, 1)]),
    ("func.func private @f(%n: index) -> i32 {\n%a = arith.addi %e, %n : index\nreturn %n : index\n}\n",
     [("TY-9", 2, 17), ("TEXT-YIELD", 3, 1)]),
    ("func.func @f(%n: index) {\nreturn\n%a = arith.addi %n, %n : index\n}\n", [("TEXT-TERMINATOR", 2, 1)]),
    ("func.func @f(%n: index) {\n^bb0(%a: index):\nreturn\n}\n", [("TEXT-BLOCKS", 2, 1)]),
    ("func.func @f() {\n^bb0(%a: index):\nreturn\n}\n", [("TEXT-BLOCKS", 2, 1)]),
    ("func.func @f() {\n^bb0:\nreturn\n}\n", []),
    # calls
    ("func.func @f() {\nfunc.call @gg() : () -> ()\nreturn\n}\n" + G, [("TEXT-CALL", 2, 11)]),
    ("func.func @f(%n: index) {\nfunc.call @g(%n) : (index) -> ()\nreturn\n}\n" + G, [("TEXT-CALL", 2, 11)]),
    ("func.func @f(%n: i32) {\n%r = func.call @g(%n) : (i32) -> i32\nreturn\n}\n" + G, [("TEXT-CALL", 2, 16)]),
    ("func.func @f(%n: i32) {\nfunc.call @g(%n) : (i32, i32) -> ()\nreturn\n}\n" + G, [("TEXT-OPERANDS", 2, 20)]),
    ("func.func @g() {\nreturn\n}\nfunc.func @g() {\nreturn\n}\n", [("TY-9", 4, 11)]),
    # a brace that is missing, and nothing that follows from it
    ("func.func @f(%c: i1) {\nscf.if %c {\nreturn\n}\nfunc.func @g() {\nreturn\n}\n", [("TEXT-UNCLOSED", 1, 22)]),
    ("module {\nfunc.func @f() {\nfunc.func @g() {\nreturn\n}\nreturn\n}\n}\n", [("TEXT-UNCLOSED", 2, 16)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), FUNCTIONS)
def test_functions(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors(text) == sorted(found, key=lambda f: f[1:])


def checked(text: str) -> list[tuple[str, int, int]]:
    parsed = parse_module(text, "t.pto")
    assert list(parsed.diagnostics) == []
    return [(d.rule, d.location.line, d.location.column) for d in verify(parsed.module, A5).errors]


def test_declarations_and_recursion() -> None:
    assert checked(
        "func.func @f(%i: i32) {\nfunc.call @g(%i) : (i32) -> ()\nreturn\n}\nfunc.func private @g(i32)\n"
    ) == [("FN-CALL", 2, 1)]
    call = "func.func @{}() {} {{\nfunc.call @{}() : () -> ()\nreturn\n}}\n"
    entry = "attributes {pto.entry}"
    assert [rule for rule, *_ in checked(call.format("a", "", "a"))] == ["FN-3"]
    text = call.format("a", entry, "b") + call.format("b", "", "c") + call.format("c", "", "b")
    assert [rule for rule, *_ in checked(text)] == ["FN-3"]


NESTED = "pto.section.vector {\nscf.for %k = %n to %n step %n {\npto.section.cube {\n}\n}\n}"
KIND = "func.func @f(%c: i1) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{\n{}\nreturn\n}}\n"


def test_sections() -> None:
    assert checked(in_function(NESTED)) == [("SYS-05-NESTED", 5, 1)]
    assert checked(in_function("pto.section.vector {\n}\npto.section.cube {\n}")) == []
    assert checked(KIND.format("pto.section.vector {\n}")) == []
    other = parse_module(KIND.format("pto.section.cube {\n}"), "t.pto").module
    assert [d.rule for d in verify(other, A5)] == ["SYS-05"]
    assert checked(KIND.format("cf.br ^a\n^a:")) == []
    assert checked(KIND.format("scf.execute_region {\ncf.br ^a\n^a:\nscf.yield\n}")) == []
    assert checked(KIND.format("").replace("(%c", "private @h(%c").replace("@f", "")) == []


@pytest.mark.parametrize(
    "line",
    [
        "%a = builtin.unrealized_conversion_cast to i64",
        "%a:2 = builtin.unrealized_conversion_cast %n, %i : index, i32 to i64, f32 {note = 1}",
        "memref.dealloc %m : memref<4xf32>",
    ],
)
def test_forms(line: str) -> None:
    assert canonical(M + line)[1:] == [line]
