"""Generic form of operations with regions, functions and modules (assembly 2)."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings

from ptokit.asm import parse_module, print_generic, print_module
from ptokit.ir import Module
from tests.each import each

from .interchange import names_elsewhere, read_elsewhere
from .reading import CORPUS, body, canonical, errors, errors_in, in_function, read
from .same import assert_same
from .test_generated import PLAIN, modules

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "pto").glob("*.pto"))
T = "!pto.tile_buf<vec, 16x16xf32>"


def again(module: Module) -> str:
    """The generic form, read back and printed without a difference."""
    text = print_generic(module)
    back = read(text)
    assert print_generic(back) == text
    assert print_module(back) == print_module(module)
    return text


@each("path", [*CORPUS, *EXAMPLES], ids=lambda p: p.stem)
def test_files(path: Path) -> None:
    module = read(path.read_text())
    text = again(module)
    assert_same(module, read(text))
    found = names_elsewhere(read_elsewhere(text))
    assert [name for name in found if name not in ("func.func", "scf.yield")] == [
        op.name for f in module.functions if f.body for op in f.body.walk() if op.name != "scf.yield"
    ]


def test_a_reader_without_dialects() -> None:
    text = print_generic(read(CORPUS[0].read_text()))
    assert len(names_elsewhere(read_elsewhere(text, dialects=False))) == len(text.splitlines()) - 6


@given(modules())
@settings(max_examples=60)
def test_generated(module: Module) -> None:
    text = print_generic(module)
    back = read(text)
    assert_same(module, back, names=False)
    assert print_generic(back) == text


@given(modules(PLAIN))  # xDSL decodes escapes in keys, and characters beyond ASCII, as bytes
@settings(max_examples=40)
def test_generated_is_read_elsewhere(module: Module) -> None:
    text = print_generic(module)
    wanted = [op.name for f in module.functions if f.body for op in f.body.walk() if op.name != "scf.yield"]
    found = [n for n in names_elsewhere(read_elsewhere(text)) if n not in ("func.func", "scf.yield")]
    assert found == wanted


REGIONS = [
    (
        '"scf.for"(%n, %n, %n) ({\n^bb0(%k: index):\n  "scf.yield"() : () -> ()\n}) : (index, index, index) -> ()',
        ["scf.for %k = %n to %n step %n {", "}"],
    ),
    (
        '%r = "scf.for"(%n, %n, %n, %x) ({\n^bb0(%k: index, %m: f32):\n  "scf.yield"(%m) : (f32) -> ()\n}) {a} : '
        "(index, index, index, f32) -> f32",
        ["%r = scf.for %k = %n to %n step %n iter_args(%m = %x) -> (f32) {", "  scf.yield %m : f32", "} {a}"],
    ),
    (
        '"scf.for"(%i, %i, %i) ({\n^bb0(%k: i32):\n  "scf.yield"() : () -> ()\n}) : (i32, i32, i32) -> ()',
        ["scf.for %k = %i to %i step %i : i32 {", "}"],
    ),
    ('"scf.if"(%c) ({\n  "scf.yield"() : () -> ()\n}, {\n}) : (i1) -> ()', ["scf.if %c {", "}"]),
    (
        '"scf.if"(%c) ({\n  "pto.trap"() : () -> ()\n}, {\n  "pto.trap"() : () -> ()\n}) : (i1) -> ()'.replace(
            '"pto.trap"() : () -> ()', f'%q = "pto.declare_tile"() : () -> {T}'
        ),
        [
            "scf.if %c {",
            f"  %q = pto.declare_tile -> {T}",
            "} else {",
            f"  %q = pto.declare_tile -> {T}",
            "}",
        ],
    ),
    (
        '%r:2 = "scf.if"(%c) ({\n  "scf.yield"(%n, %x) : (index, f32) -> ()\n}, {\n'
        '  "scf.yield"(%n, %x) : (index, f32) -> ()\n}) : (i1) -> (index, f32)',
        [
            "%r:2 = scf.if %c -> (index, f32) {",
            "  scf.yield %n, %x : index, f32",
            "} else {",
            "  scf.yield %n, %x : index, f32",
            "}",
        ],
    ),
    (
        '%r = "scf.while"(%i) ({\n^bb0(%a: i32):\n  "scf.condition"(%c, %x) : (i1, f32) -> ()\n}, {\n'
        '^bb0(%b: f32):\n  "scf.yield"(%i) : (i32) -> ()\n}) : (i32) -> f32',
        [
            "%r = scf.while (%a = %i) : (i32) -> (f32) {",
            "  scf.condition(%c) %x : f32",
            "} do {",
            "^bb0(%b: f32):",
            "  scf.yield %i : i32",
            "}",
        ],
    ),
    (
        '%r = "scf.execute_region"() ({\n  "scf.yield"(%x) : (f32) -> ()\n}) : () -> f32',
        ["%r = scf.execute_region -> f32 {", "  scf.yield %x : f32", "}"],
    ),
    (
        '%r = "scf.index_switch"(%n) <{cases = array<i64: 2, -1>}> ({\n  "scf.yield"(%x) : (f32) -> ()\n}, {\n'
        '  "scf.yield"(%x) : (f32) -> ()\n}, {\n  "scf.yield"(%x) : (f32) -> ()\n}) : (index) -> f32',
        [
            "%r = scf.index_switch %n -> f32",
            "case 2 {",
            "  scf.yield %x : f32",
            "}",
            "case -1 {",
            "  scf.yield %x : f32",
            "}",
            "default {",
            "  scf.yield %x : f32",
            "}",
        ],
    ),
    (
        '%a = "arith.constant"() <{value = dense<[1, 2]> : vector<2xi16>}> : () -> vector<2xi16>',
        ["%a = arith.constant dense<[1, 2]> : vector<2xi16>"],
    ),
    ('"pto.section.vector"() ({\n}) {a = 1} : () -> ()', ["pto.section.vector {", "} {a = 1}"]),
    ('"pto.vecscope"() ({\n}) : () -> ()', ["pto.vecscope {", "}"]),
    ('%m = "memref.alloc"() : () -> memref<4xf32>', ["%m = memref.alloc() : memref<4xf32>"]),
    (
        '%m = "memref.alloc"(%n) <{operandSegmentSizes = array<i32: 1, 0>}> : (index) -> memref<?xf32>',
        ["%m = memref.alloc(%n) : memref<?xf32>"],
    ),
    (
        '%m = "memref.alloc"() : () -> memref<4xf32>\n'
        '%o = "memref.reinterpret_cast"(%m, %n) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>, static_offsets = '
        "array<i64: 0>, static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}> : "
        "(memref<4xf32>, index) -> memref<?xf32, strided<[1]>>",
        [
            "%m = memref.alloc() : memref<4xf32>",
            "%o = memref.reinterpret_cast %m to offset: [0], sizes: [%n], strides: [1] : "
            "memref<4xf32> to memref<?xf32, strided<[1]>>",
        ],
    ),
    (
        '%a, %b = "arith.addui_extended"(%i, %i) : (i32, i32) -> (i32, i1)',
        ["%a, %b = arith.addui_extended %i, %i : i32, i1"],
    ),
    ('%a:2 = "arith.mulsi_extended"(%i, %i) : (i32, i32) -> (i32, i32)', ["%a:2 = arith.mulsi_extended %i, %i : i32"]),
    (
        '%a = "arith.negf"(%x) <{fastmath = #arith.fastmath<fast>}> : (f32) -> f32',
        ["%a = arith.negf %x fastmath<fast> : f32"],
    ),
    (
        '%a = "arith.addi"(%i, %i) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32',
        ["%a = arith.addi %i, %i overflow<nsw> : i32"],
    ),
    (
        '%a = "arith.addi"(%i, %i) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32',
        ["%a = arith.addi %i, %i : i32"],
    ),
    (
        f'%a = "pto.subset"(%t, %n, %n) <{{sizes = [8, 8]}}> : ({T}, index, index) -> '
        "!pto.tile_buf<vec, 8x8xf32, valid=?x?>",
        [f"%a = pto.subset %t[%n, %n] sizes [8, 8] : {T}"],
    ),
]


@each("text, lines", REGIONS)
def test_both_forms_are_the_same(text: str, lines: list[str]) -> None:
    assert canonical(text) == lines
    module = read(in_function("\n".join(lines)))
    printed = again(module)
    assert_same(module, read(in_function(text)))
    read_elsewhere(printed)


FUNCTIONS = """
"builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = (f32) -> (i32, f32), res_attrs = [{a = 1}, {}], sym_name = "g",
                  sym_visibility = "private"}> ({
  }) : () -> () loc("x")
  "func.func"() <{arg_attrs = [{}, {a.b}], function_type = (f32, index) -> i32, sym_name = "f"}> ({
  ^bb0(%x: f32, %n: index):
    %r:2 = "func.call"(%x) <{callee = @g}> {z = true} : (f32) -> (i32, f32) loc("f.py":3:4)
    "func.return"(%r#0) : (i32) -> () loc(callsite("a" at fused<"p">["b", unknown]))
  }) {pto.aicore} : () -> () loc(unknown)
}) {pto.target_arch = "a5"} : () -> () loc(#loc)
"""


def test_functions_and_module() -> None:
    module = read("#loc = loc(unknown)\n" + FUNCTIONS)
    assert print_module(module) == (
        'module @m attributes {pto.target_arch = "a5"} {\n'
        "  func.func private @g(f32) -> (i32 {a = 1}, f32)\n"
        "  func.func @f(%x: f32, %n: index {a.b}) -> i32 attributes {pto.aicore} {\n"
        "    %r:2 = func.call @g(%x) {z = true} : (f32) -> (i32, f32)\n"
        "    return %r#0 : i32\n"
        "  }\n"
        "}\n"
    )
    assert_same(module, read(print_module(module)))
    assert names_elsewhere(read_elsewhere(again(module))) == ["func.func", "func.func", "func.call", "func.return"]


def test_the_target_behind_the_module_decides_how_left_tiles_are_read() -> None:
    text = (
        '"builtin.module"() ({ "func.func"() <{function_type = () -> (), sym_name = "f"}> ({ '
        '%t = "pto.declare_tile"() : () -> !pto.tile_buf<left, 16x16xf16> "func.return"() : () -> () '
        '}) : () -> () }) {pto.target_arch = "a5"} : () -> ()'
    )
    assert body(read(text)).ops[0].result.type.blayout.text == "col_major"  # type: ignore[union-attr]
    assert body(read(text.replace("a5", "a3"))).ops[0].result.type.blayout.text == "row_major"  # type: ignore[union-attr]


def test_generic_functions_in_a_module_and_listings() -> None:
    inner = '"func.func"() <{function_type = () -> (), sym_name = "f"}> ({ return }) : () -> ()'
    for text in (f"module {{ {inner} }}", inner, f"{inner}\nfunc.func @g() {{ return }}"):
        assert not parse_module(text).diagnostics.errors
    listing = read('%a = "arith.constant"() <{value = 1 : index}> : () -> index')
    assert [op.name for op in body(listing).ops] == ["arith.constant", "func.return"]


HEAD = '"func.func"() <{function_type = (index) -> (), sym_name = "f"}> ('


@each(
    "text, found",
    [
        ('"func.func"() ({}) : () -> ()', [("TEXT-ATTRIBUTE", 1, 15)]),
        ('"func.func"() <{sym_name = "f"}> ({}) : () -> ()', [("TEXT-ATTRIBUTE", 1, 15)]),
        ('"func.func"() <{function_type = 1, sym_name = "f"}> ({}) : () -> ()', [("TEXT-UNEXPECTED", 1, 15)]),
        ('"func.func"() <{function_type = f32, sym_name = "f"}> ({}) : () -> ()', [("TEXT-ATTRIBUTE", 1, 15)]),
        (
            '"func.func"() <{function_type = () -> !pto.ptr<x>, sym_name = "f"}> ({}) : () -> ()',
            [("TEXT-TYPE", 1, 15)],
        ),
        (
            '"func.func"() <{arg_attrs = 1, function_type = () -> (), sym_name = "f"}> ({}) : () -> ()',
            [("TEXT-ATTRIBUTE", 1, 15)],
        ),
        (f"{HEAD}{{\n^bb0(%x: f32):\n  return\n}}) : () -> ()", [("TEXT-YIELD", 1, 15)]),
        (f"{HEAD}{{\n^bb0(%x: index):\n}}) : () -> ()", [("TEXT-TERMINATOR", 1, 1)]),
        (f"{HEAD}{{\n^bb0(%x: index):\n  return\n", [("TEXT-UNCLOSED", 1, 66)]),
        (f"{HEAD}{{\n^bb0(%x: index):\n  return\n}}) : (index) -> ()", [("TEXT-UNEXPECTED", 4, 7)]),
        ('"builtin.module"() ({\n}) {a = } : () -> ()', [("TEXT-UNEXPECTED", 2, 9)]),
        ('"builtin.module"() ({\n  return\n}) : () -> ()', [("TEXT-TOPLEVEL", 2, 3)]),
        ('"builtin.module"() ({', [("TEXT-UNCLOSED", 1, 21)]),
    ],
)
def test_errors_of_functions(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors(text) == found


@each(
    "text, found",
    [
        ('"scf.if"(%c) ({}) : (i1) -> ()', [("TEXT-UNEXPECTED", 1, 1)]),
        ('"scf.if"(%n) ({}, {}) : (index) -> ()', [("TY-9", 1, 1)]),
        ('%a = "scf.if"(%c) ({}, {}) : (i1) -> index', [("TEXT-YIELD", 1, 6)]),
        ('"scf.if"(%c) ({\n^bb0(%q: index):\n}, {}) : (i1) -> ()', [("TEXT-YIELD", 1, 1)]),
        ('"scf.for"(%n, %n) ({}) : (index, index) -> ()', [("TEXT-OPERANDS", 1, 1)]),
        ('"scf.for"(%n, %n, %i) ({\n^bb0(%k: index):\n}) : (index, index, i32) -> ()', [("TY-9", 1, 1)]),
        ('"scf.for"(%x, %x, %x) ({\n^bb0(%k: f32):\n}) : (f32, f32, f32) -> ()', [("TEXT-TYPE", 1, 1)]),
        (
            '"scf.for"(%n, %n, %n, %x) ({\n^bb0(%k: index):\n}) : (index, index, index, f32) -> ()',
            [("TEXT-OPERANDS", 1, 1)],
        ),
        ('"scf.while"() ({}, {}) : () -> ()', [("TEXT-YIELD", 1, 1)]),
        ('"scf.while"() ({\n"scf.condition"(%n) : (index) -> ()\n}, {}) : () -> ()', [("TY-9", 2, 1)]),
        ('%a = "scf.execute_region"() ({}) : () -> index', [("TEXT-YIELD", 1, 6)]),
        ('"scf.index_switch"(%n) ({}) : (index) -> ()', [("TEXT-ATTRIBUTE", 1, 1)]),
        ('"scf.index_switch"(%n) <{cases = 2}> ({}) : (index) -> ()', [("TEXT-ATTRIBUTE", 1, 24)]),
        ('"scf.index_switch"(%n) <{cases = array<i64: 2>}> ({}) : (index) -> ()', [("TEXT-UNEXPECTED", 1, 1)]),
        (
            '"scf.index_switch"(%n) <{cases = array<i64: 2, 2>}> ({}, {}, {}) : (index) -> ()',
            [("TEXT-CASE", 1, 1)],
        ),
        ('"scf.index_switch"(%i) <{cases = array<i64>}> ({}) : (i32) -> ()', [("TY-9", 1, 1)]),
        ('%a, %b = "arith.addui_extended"(%i, %i) : (i32, i32) -> (i32, i32)', [("TEXT-TYPE", 1, 10)]),
        ('%a = "arith.mulsi_extended"(%i, %i) : (i32, i32) -> i32', [("TEXT-RESULTS", 1, 6)]),
        ('%a = "arith.addi"(%i, %i) {overflowFlags = 1} : (i32, i32) -> i32', [("TEXT-ATTRIBUTE", 1, 44)]),
        ('"func.call"() {callee = "f"} : () -> ()', [("TEXT-ATTRIBUTE", 1, 25)]),
        ('"func.call"() {callee = @nobody} : () -> ()', [("TEXT-CALL", 1, 1)]),
        (
            '%m = "memref.alloc"(%n) <{operandSegmentSizes = array<i32: 0, 1>}> : (index) -> memref<?xf32>',
            [("TEXT-OPERANDS", 1, 6)],
        ),
        ("scf.index_switch %n\ncase 1 {\n}\ncase 1 {\n}\ndefault {\n}", [("TEXT-CASE", 4, 6)]),
        ("scf.index_switch %n\ncase 1 {\n}", [("TEXT-UNEXPECTED", 4, 1)]),
        ("%a = scf.execute_region -> index {\n}", [("TEXT-YIELD", 1, 6)]),
        ("%a, %b = arith.addui_extended %i, %i : i32, i32", [("TEXT-TYPE", 1, 45)]),
        ("%a = arith.mului_extended %i, %i : i32", [("TEXT-RESULTS", 1, 1)]),
    ],
)
def test_errors_in_functions(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(text) == found


INSIDE = """\
module attributes {pto.target_arch = "a5"} {
  func.func @m() {
    return
  }
  module @one attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
    func.func @f(%a: index) {
      return
    }
    func.func @g() {
      return
    }
  }
  module {
    func.func @f(%a: index) {
      return
    }
  }
}
"""


def test_modules_inside() -> None:
    """Modules inside a module keep their names, their attributes and their functions."""
    written = print_generic(read(INSIDE))
    assert written.count("builtin.module") == 3
    module = read(written)
    assert print_module(module) == INSIDE
    assert print_generic(module) == written
    assert [f.module_kind is not None for f in module.functions] == [False, True, True, False]


def test_modules_inside_are_one_deep() -> None:
    inner = '"builtin.module"() ({ ^bb0: }) : () -> ()'
    text = f'"builtin.module"() ({{ "builtin.module"() ({{ {inner} }}) : () -> () }}) : () -> ()'
    assert [d[0] for d in errors(text)] == ["TEXT-TOPLEVEL"]
