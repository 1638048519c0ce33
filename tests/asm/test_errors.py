"""All errors of a text are found, each at its place, and none causes another."""

from __future__ import annotations

from ptokit.asm import parse_module
from ptokit.asm.text.cursor import MAX_DEPTH, MAX_ERRORS
from ptokit.diagnostics import CATALOGUE, Diagnostic, Scope
from tests.each import each

from .reading import body, errors, errors_in, in_function, read, round_trip

T = "!pto.tile_buf<vec, 16x16xf32>"
H = "!pto.tile_buf<vec, 16x16xf16>"
V = "!pto.partition_tensor_view<16x16xf32>"
W = "!pto.tensor_view<?x16xf32>"


def first(text: str) -> Diagnostic:
    """The first finding in a snippet."""
    return next(iter(parse_module(in_function(text), "t.pto").diagnostics))


@each("snippet, found", [
        # values
        (f"pto.tadd ins(%t, %w : {T}, {T}) outs(%u : {T})", [("TY-9", 1, 18)]),
        ("%a = arith.addi %n, %b : index\n%b = arith.addi %a, %a : index", [("TY-9", 1, 21)]),
        ("%a = arith.addi %n, %n : index\n%a = arith.muli %n, %n : index", [("TY-9", 2, 1)]),
        ("%n = arith.addi %i, %i : i32", [("TY-9", 1, 1)]),
        ("scf.if %c {\n%n = arith.addi %i, %i : i32\n}", [("TY-9", 2, 1)]),
        ("scf.if %c {\n%a = arith.addi %i, %i : i32\n}\n%b = arith.addi %a, %i : i32", [("TY-9", 4, 17)]),
        (f"pto.tadd ins(%t, %u : {T}, {H}) outs(%u : {T})", [("TY-9", 1, 18)]),
        (f"pto.tadd ins(%t, %u : {T}, {T}) outs(%u : {H})", [("TY-9", 1, 90)]),
        ("%a = arith.addi %n, %i : index", [("TY-9", 1, 21)]),
        (f"%a = pto.alloc_tile addr = %n : {T}", [("TY-9", 1, 28)]),
        (f"%a = pto.partition_view %tv, offsets = [%n, %i], sizes = [] : {W} -> {V}", [("TY-9", 1, 45)]),
        ("scf.if %n {\n}", [("TY-9", 1, 8)]),
        ("scf.for %k = %n to %i step %n {\n}", [("TY-9", 1, 20)]),
        # enumerations
        ("pto.set_flag[<PIPE_W>, <PIPE_V>, <EVENT_ID8>]", [("TY-8", 1, 14), ("TY-8", 1, 34)]),
        ("pto.barrier <PIPE_MTE6>", [("TY-8", 1, 13)]),
        ("%a = arith.cmpi lt, %n, %n : index", [("TY-8", 1, 17)]),
        (f"pto.tcvt ins(%t {{rmode = #pto<round_mode RIMT>}} : {T}) outs(%u : {T})", [("TY-8", 1, 26)]),
        (
            "%a = pto.make_tensor_view %p, shape = [%n], strides = [%n] {layout = #pto.layout<xy>} : "
            "!pto.tensor_view<?xf32>",
            [("TY-8", 1, 70)],
        ),
        # attributes
        ("pto.barrier #pto.event<EVENT_ID0>", [("TEXT-ATTRIBUTE", 1, 13)]),
        (f"pto.tload ins(%v : {V}) outs(%t : {T}) {{a.b = 1, a.b = 2}}", [("TEXT-ATTRIBUTE", 1, 110)]),
        (f"pto.tcolsum ins(%t {{isBinary = 3}} : {T}) outs(%u : {T})", [("TEXT-ATTRIBUTE", 1, 32)]),
        # grammar
        ("%a = arith.addi %n %n : index", [("TEXT-UNEXPECTED", 1, 20)]),
        (f"pto.tadd ins(%t, %u : {T}) outs(%u : {T})", [("TEXT-UNEXPECTED", 1, 52)]),
        (f"pto.tadd ins(%t, %u) outs(%u : {T})", [("TEXT-UNEXPECTED", 1, 20)]),
        ("scf.for %k = %n two %n step %n {\n}", [("TEXT-UNEXPECTED", 1, 17)]),
        ("%a %b = arith.addi %n, %n : index", [("TEXT-UNEXPECTED", 1, 4)]),
        ("pto.barrier `", [("TEXT-CHARACTER", 1, 13)]),
        ('%a = pto.import_reserved_buffer {name = "x, peer_func = @f} -> i32', [("TEXT-STRING", 1, 41)]),
        ("pto.set_flag[<PIPE_V, <PIPE_S>, <EVENT_ID0>]", [("TEXT-UNCLOSED", 1, 14)]),
        # numbers
        ("%a = arith.constant 300 : i8", [("TEXT-NUMBER", 1, 21)]),
        ("%a = arith.constant 2 : f32", [("TEXT-NUMBER", 1, 21)]),
        ("%a = arith.constant 0x1FFFF : f16", [("TEXT-NUMBER", 1, 21)]),
        ("pto.sync.wait <PIPE_V>, 99999999999999999999", [("TEXT-NUMBER", 1, 25)]),
        # operands and results
        (f"pto.tadd ins(%t : {T}) outs(%u : {T})", [("TEXT-OPERANDS", 1, 1)]),
        (f"pto.tadd ins(%t, %u, %t : {T}, {T}, {T}) outs(%u : {T})", [("TEXT-OPERANDS", 1, 1)]),
        (f"pto.tadd ins(%t, %x : {T}, f32) outs(%u : {T})", [("TEXT-OPERANDS", 1, 1)]),
        ("%a = pto.treshape %x : f32 -> f32", [("TEXT-OPERANDS", 1, 19)]),
        (f"%a = pto.treshape %t : {T} -> f32", [("TEXT-TYPE", 1, 57)]),
        (f"%a = pto.tadd ins(%t, %u : {T}, {T}) outs(%u : {T})", [("TEXT-RESULTS", 1, 1)]),
        ("%a, %b = arith.addi %n, %n : index", [("TEXT-RESULTS", 1, 1)]),
        ("%a:2 = arith.addi %n, %n : index", [("TEXT-RESULTS", 1, 1)]),
        # operations
        ("pto.tadq ins()", [("TEXT-UNKNOWN-OP", 1, 1)]),
        ("math.exp %x : f32", [("TEXT-UNKNOWN-OP", 1, 1)]),
        (f"%a = pto.subview %t, %i, %i : ({T}, i32, i32) -> f32", [("TEXT-TYPE", 1, 6)]),
        (f"%a = pto.subview %t, %x, %i : ({T}, f32, i32) -> {T}", [("TEXT-OPERANDS", 1, 22)]),
        (f"%a = pto.subview %t, %i : ({T}, i32) -> {T}", [("TEXT-OPERANDS", 1, 6)]),
        ("%a = memref.load %n", [("TEXT-UNIMPLEMENTED", 1, 6)]),
        ('"scf.for"(%n, %n, %n) ({}) : (index, index, index) -> ()', [("TEXT-YIELD", 1, 1)]),
        (f"tadd %t, %u : {T}", [("TEXT-OPERANDS", 1, 1)]),
        (f"tpows2 %t, %u : {T}", [("TEXT-UNKNOWN-OP", 1, 1)]),
        # blocks
        ("scf.yield\n%a = arith.addi %n, %n : index", [("TEXT-TERMINATOR", 1, 1)]),
        ("%a = scf.if %c -> (index) {\nscf.yield %n : index\n}", [("TEXT-YIELD", 1, 6)]),
        ("%a = scf.if %c -> (index) {\nscf.yield %i : i32\n} else {\nscf.yield %n : index\n}", [("TEXT-YIELD", 2, 1)]),
        ("%a = scf.for %k = %n to %n step %n iter_args(%m = %n) -> (index) {\n}", [("TEXT-YIELD", 1, 6)]),
        (
            "%a = scf.while (%k = %n) : (index) -> (index) {\n} do {\n^bb0(%k: index):\nscf.yield %k : index\n}",
            [("TEXT-YIELD", 1, 6)],
        ),
        # calls
        ("func.call @g() : () -> ()", [("TEXT-CALL", 1, 11)]),
        ("func.call @f(%n) : (index) -> ()", [("TEXT-CALL", 1, 11)]),
    ])  # fmt: skip
def test_one_error(snippet: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(snippet) == found


@each("text, found", [
        ("func.func @f() {", [("TEXT-UNCLOSED", 1, 16)]),
        ("module {\nfunc.func @f() { return }", [("TEXT-UNCLOSED", 1, 8)]),
        ("module {\nfunc.func @f() {\nfunc.func @g() { return }\n}", [("TEXT-UNCLOSED", 2, 16)]),
        ("func.func @f() { }", [("TEXT-TERMINATOR", 1, 1)]),
        ("func.func @f() -> index { return }", [("TEXT-YIELD", 1, 27)]),
        ("func.func @f(%a: index) { return %a : index }", [("TEXT-YIELD", 1, 27)]),
        ("func.func @f() { return }\nfunc.func @f() { return }", [("TY-9", 2, 11)]),
        ("func.func @f(%a: index, %a: index) { return }", [("TY-9", 1, 25)]),
        ("func.func f() { return }", [("TEXT-UNEXPECTED", 1, 11)]),
        ("func.func @f() { return }\npto.barrier <PIPE_ALL>", [("TEXT-TOPLEVEL", 2, 1)]),
        ("hello", [("TEXT-TOPLEVEL", 1, 1)]),
        ("module {}\nmodule {}", [("TEXT-TOPLEVEL", 2, 1)]),
        ("module attributes {pto.target_arch = } {}", [("TEXT-UNEXPECTED", 1, 38)]),
        ("module attributes {pto.target_arch = \"a5} {}", [("TEXT-STRING", 1, 38)]),
        ("module attributes {pto.kernel_kind = #pto.kernel_kind<matrix>} {}", [("TY-8", 1, 38)]),
        ("module {\0}", [("TEXT-BINARY", 1, 1)]),
        ("#" * 3, [("TEXT-TOPLEVEL", 1, 1)]),
        ("#a =", [("TEXT-UNEXPECTED", 1, 5)]),
        ("#a = loc(", [("TEXT-UNEXPECTED", 1, 10)]),
        ("!a =", [("TEXT-UNEXPECTED", 1, 5)]),
        ("!a = !pto.vreg", [("TEXT-TYPE", 1, 6)]),
        ("!a = !pto.vreg<>", [("TEXT-TYPE", 1, 16)]),
        ("%a =", [("TEXT-UNEXPECTED", 1, 5)]),
        (f"pto.tgather ins(%a : {T}) outs(%b : {T}) maskPattern =", [("TEXT-UNEXPECTED", 1, 107)]),
        (f"pto.tgather ins(%a : {T}, {{}} : {T}) outs(%b : {T})", [("TEXT-UNEXPECTED", 1, 56)]),
        # listings of register operations
        ("%r = pto.vabs %a", [("TY-9", 1, 15)]),
        ("%r = pto.vadd %a, %a, %m", [("TY-9", 1, 15)]),
        ("%r = pto.vbr %n", [("TEXT-RESULTS", 1, 6)]),
        ("%r = pto.vdup %q", [("TEXT-RESULTS", 1, 6)]),
        ("func.func @f(%v: f32) { %r = pto.vbr %v : f32 return }", [("TEXT-RESULTS", 1, 30)]),
    ])  # fmt: skip
def test_errors_around_functions(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors(text) == found


def test_every_rule_of_reading_is_in_the_catalogue() -> None:
    rules = [r for r in CATALOGUE.values() if r.id.startswith(("TEXT-", "TY-"))]
    assert {f"TY-{n}" for n in range(1, 10)} < {r.id for r in rules}
    assert all(r.scope is Scope.TEXT and r.what for r in rules)


def test_several_errors_in_one_file() -> None:
    found = errors_in(
        f"%a = pto.aloc_tile : {T}\n"
        f"pto.tadd ins(%a, %u : {T}, {T}) outs(%w : {T})\n"
        "scf.for %k = %n upto %n step %n {\n"
        "  %m = arith.addi %k, %q : index\n"
        "  %l2 = arith.addi %m, %k : i32\n"
        "  scf.if %m {\n"
        "    pto.barrier <PIPE_X>\n"
        "  }\n"
        "}\n"
        f"pto.tadd ins(%t, %u : {T}, {T} outs(%w : {T})\n"
        "pto.set_flag[<PIPE_V>, <PIPE_S>]\n"
        f"pto.tload ins(%v : {V}) outs(%t : {T}) {{layout = #pto.layout<nd>\n"
        "%z = arith.constant 1 : f32\n"
    )
    assert found == [
        ("TEXT-UNKNOWN-OP", 1, 6),
        ("TY-9", 2, 90),
        ("TEXT-UNEXPECTED", 3, 17),
        ("TY-9", 4, 23),
        ("TY-9", 5, 20),
        ("TY-9", 6, 10),
        ("TY-8", 7, 17),
        ("TEXT-UNEXPECTED", 10, 84),
        ("TEXT-UNEXPECTED", 11, 32),
        ("TEXT-UNEXPECTED", 13, 1),
        ("TEXT-NUMBER", 13, 21),
    ]


def test_errors_of_several_functions() -> None:
    text = (
        "module {\n"
        "func.func @f(%a: !pto.ptr<q>) { return }\n"
        "func.func @g( { return }\n"
        "func.func @h() { pto.foo\n return }\n"
        "func.func @i() { return }\n"
        "}"
    )
    assert errors(text) == [("TEXT-TYPE", 2, 27), ("TEXT-UNEXPECTED", 3, 15), ("TEXT-UNKNOWN-OP", 4, 18)]
    assert [f.name for f in parse_module(text).module.functions] == ["f", "h", "i"]


def test_what_is_right_is_read_in_spite_of_errors() -> None:
    module = parse_module(in_function("%a = arith.addi %n, %n : index\npto.foo\n%b = arith.addi %a, %a : index")).module
    assert [op.name for op in body(module).ops] == ["arith.addi", "arith.addi", "func.return"]


def test_an_undefined_value_is_reported_once() -> None:
    found = errors_in("%a = arith.addi %m, %m : index\n%b = arith.addi %a, %m : index\n%d = arith.addi %m, %i : i32")
    assert found == [("TY-9", 1, 17)]


def test_results_of_a_failed_operation_cause_no_errors() -> None:
    found = errors_in(
        f"%a, %b:2 = pto.foo\n%d = arith.addi %a, %b#1 : index\npto.tadd ins(%b#0, %t : {T}, {T}) outs(%a : {H})"
    )
    assert found == [("TEXT-UNKNOWN-OP", 1, 12)]


def test_functions_behind_the_module_are_read() -> None:
    """A brace too many hides no errors, and the message leads to the brace that ends the module."""
    text = "module {\n  func.func @f() { return } }\n}\nfunc.func @g() {\n  pto.tadq\n  return\n}\n}\n"
    found = list(parse_module(text).diagnostics)
    assert [(d.rule, d.location.line, d.location.column) for d in found] == [
        ("TEXT-TOPLEVEL", 3, 1),
        ("TEXT-UNKNOWN-OP", 5, 3),
    ]
    assert [(n.message, n.location.line, n.location.column) for n in found[0].notes] == [
        ("the module ends here", 2, 29)
    ]


def test_a_misspelled_type_hides_no_errors_behind_it() -> None:
    text = "func.func @g(%a: inde) {\n  %x = arith.addi %a, %b : index\n  return\n}"
    assert [(d.rule, d.location.line, d.location.column) for d in parse_module(text).diagnostics] == [
        ("TEXT-UNEXPECTED", 1, 18),
        ("TY-9", 2, 23),
    ]


def test_hints_and_notes() -> None:
    undefined = first("%total = arith.addi %n, %n : index\n%b = arith.addi %totl, %n : index")
    assert undefined.hint == "did you mean '%total'?"
    twice = first("%a = arith.addi %n, %n : index\n\n%a = arith.addi %n, %n : index")
    assert [(n.message, n.location.line, n.location.column) for n in twice.notes] == [("first defined here", 3, 1)]
    mismatch = first("%a = arith.addi %n, %n : index\n%b = arith.addi %a, %a : i32")
    assert mismatch.message == "%a is used as i32 but is index"
    assert [(n.location.line, n.location.column, n.location.length) for n in mismatch.notes] == [(3, 1, 2)]
    assert first("pto.tlaod ins()").hint == "did you mean 'pto.tload'?"
    assert first("pto.tadq ins()").hint == "did you mean 'pto.tadd'?"  # tand has as many letters in common
    assert first("pto.barrier <PIPE_FX>").hint == "did you mean 'PIPE_FIX'?"
    assert first("%a = arith.constant 2 : f32").hint == "write 2.0"
    assert first("%a = pto.alloc_tile : !pto.tile_buf<ver, 16x16xf32>").hint == "did you mean 'vec'?"


def test_the_place_covers_the_wrong_text() -> None:
    location = first("%a = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32, fractal=256>").location
    assert (location.column, location.length) == (61, 3)
    location = first("pto.tadq ins()").location
    assert (location.column, location.length) == (1, 8)


@each("name", ["c48-", "-", "a-b", "$.-", ".x", "7"])
def test_legal_names_are_printed_as_written(name: str) -> None:
    module = read(f"func.func @f(%{name}: index) {{ %r = arith.addi %{name}, %{name} : index return }}")
    assert f"(%{name}: index)" in round_trip(module)


def test_names_differ_between_sibling_regions() -> None:
    assert errors_in("scf.if %c {\n%a = arith.addi %n, %n : index\n} else {\n%a = arith.addi %i, %i : i32\n}") == []


def test_depth_is_limited() -> None:
    def nested(depth: int) -> str:
        return in_function("scf.if %c {\n" * depth + "}\n" * depth)

    round_trip(read(nested(MAX_DEPTH - 1)))
    assert [rule for rule, *_ in errors(nested(MAX_DEPTH))] == ["TEXT-NESTING"]


@each("opening", ["(", "[", "{", "[ ", "{a = ", "<", "!pto.tile_buf<"])
def test_open_brackets_without_end(opening: str) -> None:
    for head in ("", "module attributes {a = ", "func.func @f(", in_function("").removesuffix("\nreturn\n  }\n}\n")):
        assert errors(head + opening * 100_000)


def test_reading_stops_after_many_errors() -> None:
    found = errors_in("pto.foo\n" * (2 * MAX_ERRORS))
    assert len(found) == MAX_ERRORS + 1
    assert found[-1][0] == "TEXT-LIMIT" or ("TEXT-LIMIT", MAX_ERRORS, 1) in found


def test_instructions_without_implementation_are_named() -> None:
    d = first("memref.load ins()")
    assert (d.rule, d.message) == ("TEXT-UNIMPLEMENTED", "instruction not implemented yet: memref.load")


def test_a_dictionary_where_an_operation_belongs() -> None:
    """Its closing brace is not that of the function."""
    found = errors_in("%r = arith.addi %n, %n : index\n{a = 1 : i32, b}\n%sum = arith.addi %r, %zz : index")
    assert found == [("TEXT-UNEXPECTED", 2, 1), ("TY-9", 3, 23)]


def test_a_call_and_a_stack_slot_without_the_types_of_their_operands() -> None:
    found = errors_in("%m = llvm.alloca %i x f32 : () -> !llvm.ptr\nfunc.call @f(%i) : () -> ()")
    assert found == [("TEXT-UNEXPECTED", 1, 30), ("TEXT-OPERANDS", 2, 20)]
