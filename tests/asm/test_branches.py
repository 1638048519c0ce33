"""Regions of several blocks, and the branches between them (assembly 2)."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module, print_generic, print_module
from ptokit.asm.convert import convert, format_text
from ptokit.diagnostics import Diagnostic
from ptokit.diagnostics.finding import Replacement, replacement

from ..cost import calls
from .interchange import names_elsewhere, read_elsewhere
from .reading import body, errors, errors_in, in_function, read, round_trip
from .same import assert_same

LOOP = """\
module {
  func.func @f(%n: index, %c: i1, %i: i32) {
    %c0 = arith.constant 0 : index
    cf.br ^head(%c0 : index)
  ^exit(%x: index):
    %z = arith.addi %k, %x : index
    return
  ^head(%a: index):
    %k = arith.addi %a, %n : index
    cf.cond_br %c, ^head(%k : index), ^both(%k, %i : index, i32)
  ^both(%b: index, %d: i32):
    cf.switch %d : i32, [default: ^exit(%b : index), -2: ^head(%k : index), 7: ^dead]
  ^dead:
    cf.assert %c, "say \\"why\\""
    cf.cond_br %c weights([1, 9]), ^exit(%k : index), ^exit(%n : index) {note = 1}
  }
}
"""
"""As it is printed. Uses of %k stand before its definition, which comes first on every way."""

INSIDE = """\
module {
  func.func @f(%n: index, %c: i1) {
    %r:2 = scf.execute_region -> (index, i1) {
      cf.cond_br %c, ^bb1, ^bb2(%n : index)
    ^bb1:
      %m = arith.addi %n, %n : index
      cf.br ^bb2(%m : index)
    ^bb2(%v: index):
      scf.yield %v, %c : index, i1
    }
    scf.if %r#1 {
      %q = scf.execute_region -> index {
        cf.br ^bb1
      ^bb1:
        scf.yield %r#0 : index
      }
    }
    return
  }
}
"""


@pytest.mark.parametrize("text", [LOOP, INSIDE])
def test_canonical_text_stays(text: str) -> None:
    module = read(text)
    assert round_trip(module) == text
    assert format_text(text).text == text


@pytest.mark.parametrize("text", [LOOP, INSIDE])
def test_generic_form_and_back(text: str) -> None:
    module = read(text)
    generic = print_generic(module)
    back = read(generic)
    assert_same(module, back)
    assert print_generic(back) == generic
    assert print_module(back) == text
    assert format_text(generic).text == generic
    assert "cf.cond_br" in names_elsewhere(read_elsewhere(generic))


@pytest.mark.parametrize("text", [LOOP, INSIDE])
def test_the_layout_is_found_again(text: str) -> None:
    squeezed = "\n".join(line.strip() for line in text.splitlines()).replace(":\n", ": ").replace("{\n", "{ ")
    assert format_text(squeezed).text == text


@pytest.mark.parametrize("text", [LOOP, INSIDE])
def test_other_forms(text: str) -> None:
    module = read(text)
    assert convert(module, "sync").text == text
    refused = convert(module, "ssa")
    assert refused.text is None
    lines = [
        k for k, line in enumerate(text.splitlines(), 1) if any(f"cf.{b}" in line for b in ("br", "cond", "switch"))
    ]
    assert [(d.rule, d.location.line) for d in refused.diagnostics] == [("CONVERT-BRANCH", line) for line in lines]


def test_tiles_keep_their_blocks_in_the_sync_form() -> None:
    text = in_function(
        """%k = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
        pto.tadd ins(%t, %u : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, 16x16xf32>)
          outs(%k : !pto.tile_buf<vec, 16x16xf32>)
        cf.br ^bb2
        ^bb2:
        pto.tabs ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%k : !pto.tile_buf<vec, 16x16xf32>)"""
    )
    sync = convert(read(text), "sync").text
    assert sync is not None
    again = convert(read(sync), "dps").text
    assert again is not None
    assert [line.strip() for line in again.splitlines() if "alloc" in line or "tabs" in line] == [
        "%k = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>",
        "pto.tabs ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%k : !pto.tile_buf<vec, 16x16xf32>)",
    ]


SPELLINGS = [
    ("cf.br ^bb1(%n : index, %i : i32)\n^bb1(%a: index, %b: i32):", "cf.br ^bb1(%n, %i : index, i32)"),
    ('"cf.br"(%n)[^bb1] : (index) -> ()\n^bb1(%a: index):', "cf.br ^bb1(%n : index)"),
    ('"cf.br"()[^bb1(%n : index)] : () -> ()\n^bb1(%a: index):', "cf.br ^bb1(%n : index)"),
    (
        '"cf.cond_br"(%c)[^bb1(%n : index), ^bb2] : (i1) -> ()\n^bb2:\nreturn\n^bb1(%a: index):',
        "cf.cond_br %c, ^bb1(%n : index), ^bb2",
    ),
    (
        '"cf.switch"(%i, %n)[^bb1, ^bb2] <{case_operand_segments = array<i32: 0>, case_values = dense<5> : '
        "tensor<1xi32>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32, index) -> ()\n"
        "^bb2:\nreturn\n^bb1(%a: index):",
        "cf.switch %i : i32, [default: ^bb1(%n : index), 5: ^bb2]",
    ),
    (
        '"cf.switch"(%i)[^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()\n^bb1:',
        "cf.switch %i : i32, [default: ^bb1]",
    ),
    ('"cf.assert"(%c) <{msg = "m"}> : (i1) -> ()', 'cf.assert %c, "m"'),
    ('cf.br ^bb1 loc("a":1:2)\n^bb1:', "cf.br ^bb1"),
    ('cf.br ^bb1(%n : index)\n^bb1(%a: index loc("a":1:2)):', "cf.br ^bb1(%n : index)"),
]


@pytest.mark.parametrize(("text", "line"), SPELLINGS)
def test_spellings(text: str, line: str) -> None:
    module = read(in_function(text))
    assert line in [written.strip() for written in round_trip(module).splitlines()]


def test_labels_are_made_unique() -> None:
    first = body(read(in_function("cf.br ^x\n^x:\ncf.br ^y\n^y:")))
    first.more[0].label = first.more[1].label = "same"
    first.more[1].ops[-1].attrs.clear()
    module = read(in_function(""))
    module.functions[0].body = first
    module.functions[0].params = first.args
    text = print_module(module)
    assert [line.strip() for line in text.splitlines() if "^" in line] == [
        "cf.br ^same",
        "^same:",
        "cf.br ^bb1",
        "^bb1:",
    ]


def test_a_value_of_an_inner_region_may_have_the_name_of_one_behind_it() -> None:
    text = in_function(
        "scf.if %c {\n%a = arith.addi %n, %n : index\n}\ncf.br ^bb1\n^bb1:\n%a = arith.addi %n, %n : index"
    )
    assert_same(read(text), read(print_module(read(text))), names=False)


R = "\nreturn\n"
ERRORS = [
    # labels
    ("cf.br ^bb2\n^bb1:", [("TEXT-LABEL", 1, 7)]),
    ("scf.execute_region {\ncf.br ^bb1\n}", [("TEXT-LABEL", 2, 7)]),
    ("cf.cond_br %c, ^bb3, ^bb4\n^bb1:", [("TEXT-LABEL", 1, 16), ("TEXT-LABEL", 1, 22)]),
    ("cf.br ^bb1\n^bb1:" + R + "^bb1:", [("TEXT-LABEL", 4, 1)]),
    ("cf.br ^bb1\n^bb1:\nscf.if %c {\ncf.br ^bb1\n}", [("TEXT-LABEL", 4, 7)]),
    ("cf.br ^a\n^a:\nscf.execute_region {\ncf.br ^b\n^b:\ncf.br ^a\n}", [("TEXT-LABEL", 6, 7)]),
    # blocks
    ("scf.if %c {\ncf.br ^bb1\n^bb1:\nscf.yield\n}", [("TEXT-BLOCKS", 3, 1)]),
    ('"scf.if"(%c) ({\n"cf.br"()[^bb1] : () -> ()\n^bb1:\nscf.yield\n}, {}) : (i1) -> ()', [("TEXT-BLOCKS", 3, 1)]),
    ("scf.if %c {\n^bb0(%k: index):\n}", [("TEXT-BLOCKS", 2, 1)]),
    ("scf.for %k = %n to %n step %n {\n^bb0(%m: index):\n}", [("TEXT-BLOCKS", 2, 1)]),
    # terminators
    ("cf.br ^bb1\n^bb1:\n%a = arith.addi %n, %n : index\n^bb2:", [("TEXT-TERMINATOR", 2, 1)]),
    ("%a = arith.addi %n, %n : index\n^bb1:", [("TEXT-TERMINATOR", 1, 1)]),
    ("cf.br ^bb1\ncf.br ^bb1\n^bb1:", [("TEXT-TERMINATOR", 1, 1)]),
    ("cf.br ^bb1\n^bb1:\nscf.yield\n^bb2:", [("TEXT-TERMINATOR", 3, 1)]),
    # what is passed
    ("cf.br ^bb1\n^bb1(%a: index):", [("TEXT-BRANCH", 1, 7)]),
    ("cf.br ^bb1(%n : index)\n^bb1:", [("TEXT-BRANCH", 1, 7)]),
    ("cf.br ^bb1(%i : i32)\n^bb1(%a: index):", [("TEXT-BRANCH", 1, 7)]),
    ("cf.br ^bb1(%i : index)\n^bb1(%a: index):", [("TY-9", 1, 12), ("TEXT-BRANCH", 1, 7)]),
    ('"cf.br"(%i)[^bb1] : (i32) -> ()\n^bb1(%a: index):', [("TEXT-BRANCH", 1, 13)]),
    ("cf.cond_br %n, ^bb1, ^bb1\n^bb1:", [("TY-9", 1, 12)]),
    ("cf.switch %n : index, [default: ^bb1]\n^bb1:", [("TEXT-TYPE", 1, 16)]),
    ("cf.switch %i : i32, [default: ^bb1, 1: ^bb1, 1: ^bb1]\n^bb1:", [("TEXT-CASE", 1, 46)]),
    ('"cf.br"()[^bb1, ^bb1] : () -> ()\n^bb1:', [("TEXT-UNEXPECTED", 1, 1)]),
    ('"arith.negf"(%x)[^bb1] : (f32) -> f32\ncf.br ^bb1\n^bb1:', [("TEXT-UNEXPECTED", 1, 1)]),
    ('"pto.get_block_idx"()[^bb1] : () -> i64\ncf.br ^bb1\n^bb1:', [("TEXT-UNEXPECTED", 1, 1)]),
    (
        '"cf.switch"(%i)[^bb1] <{case_values = dense<[1, 2]> : tensor<2xi32>}> : (i32) -> ()\n^bb1:',
        [("TEXT-UNEXPECTED", 1, 1)],
    ),
    ('"cf.assert"(%c) : (i1) -> ()', [("TEXT-ATTRIBUTE", 1, 1)]),
    ("cf.assert %c, m", [("TEXT-UNEXPECTED", 1, 15)]),
    # values
    ("cf.cond_br %c, ^a, ^b\n^a:\n%y = arith.addi %n, %n : index\ncf.br ^b\n^b:\n%w = arith.addi %y, %n : index",
     [("TEXT-DOMINANCE", 6, 17)]),
    ("cf.cond_br %c, ^a(%n : index), ^b\n^a(%y: index):\ncf.br ^b\n^b:\n%w = arith.addi %y, %n : index",
     [("TEXT-DOMINANCE", 5, 17)]),
    ("cf.br ^a\n^a:\n%w = arith.addi %y, %n : index\ncf.br ^b\n^b:\n%y = arith.addi %n, %n : index",
     [("TEXT-DOMINANCE", 3, 17)]),
    ("cf.br ^a\n^a:\n%w = arith.addi %y, %n : index\n%y = arith.addi %n, %n : index", [("TY-9", 3, 17)]),
    ("cf.cond_br %c, ^a, ^b\n^a:\n%y = arith.addi %n, %n : index\nreturn\n^b:\n%y = arith.addi %n, %n : index",
     [("TY-9", 6, 1)]),
    ("cf.cond_br %c, ^a, ^b\n^a:\n%y:2 = scf.if %c -> (index, index) {\nscf.yield %n, %n : index, index\n} else {\n"
     "scf.yield %n, %n : index, index\n}\nreturn\n^b:\nscf.if %c {\n%w = arith.addi %y#1, %n : index\n}",
     [("TEXT-DOMINANCE", 11, 17)]),
    ("cf.br ^a(%n : index)\n^a(%y: index):\n%y = arith.addi %n, %n : index", [("TY-9", 3, 1)]),
    # what follows from a wrong label is no further mistake
    ("cf.br ^hed\n^head:\n%y = arith.addi %n, %n : index\ncf.br ^tail\n^tail:\n%w = arith.addi %y, %n : index",
     [("TEXT-LABEL", 1, 7)]),
    ("cf.cond_br %c, ^a, ^x\n^b:\n%w = arith.addi %y, %n : index\ncf.br ^b\n^a:\n%y = arith.addi %n, %n : index",
     [("TEXT-LABEL", 1, 20)]),
    # going on
    ("cf.br ^a(\n^a:\n%y = arith.addq %n, %n : index\ncf.br ^b\n^b:\n%w = arith.addi %y, %i : index",
     [("TEXT-UNEXPECTED", 2, 1), ("TEXT-UNKNOWN-OP", 3, 6), ("TY-9", 6, 21)]),
    ("cf.br ^a\n^a(%y index):\n%w = arith.addi %n, %i : index", [("TEXT-UNEXPECTED", 2, 7), ("TY-9", 3, 21)]),
    ("cf.br ^a(%n : index)\n^a(%y: !pto.ptr<q>):\n%w = arith.addi %y, %n : index", [("TEXT-TYPE", 2, 17)]),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "found"), ERRORS)
def test_errors(snippet: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(snippet) == sorted(found, key=lambda f: f[1:])


def diagnostic(snippet: str) -> Diagnostic:
    (found,) = parse_module(in_function(snippet), "t.pto").diagnostics
    return found


def test_hints_and_second_places() -> None:
    wrong = diagnostic("cf.br ^lop\n^loop:")
    assert wrong.hint == "did you mean '^loop'?"
    change = replacement(wrong, lambda file: in_function("cf.br ^lop\n^loop:").split("\n"))
    assert change == Replacement("t.pto", wrong.location.line, 6, 10, "^loop")
    twice = diagnostic("cf.br ^a\n^a:\nreturn\n^a:")
    assert [(n.message, n.location.line, n.location.column) for n in twice.notes] == [("first defined here", 4, 1)]
    passed = diagnostic("cf.br ^a(%i : i32)\n^a(%k: index):")
    assert passed.message == "%i of type i32 is passed for %k of type index"
    assert [n.location.line for n in passed.notes] == [4]
    count = diagnostic("cf.br ^a(%i : i32)\n^a:")
    assert count.message == "^a takes 0 arguments, not 1"
    later = diagnostic("%a = arith.addi %b, %n : index\n%b = arith.addi %n, %n : index")
    assert later.message == "value %b is used before it is defined"
    assert [(n.location.line, n.location.column) for n in later.notes] == [(4, 1)]
    branch = diagnostic(DOMINATED)
    assert branch.message == "value %y is used where it may not have been defined"
    assert [(n.location.line, n.location.column) for n in branch.notes] == [(5, 1)]


@pytest.mark.parametrize(("most", "hint"), [(2, "did you mean '^loop'?"), (1, None)])
def test_a_wrong_label_is_compared_with_some(most: int, hint: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptokit.asm.reading.ops.forms._MAX_NAMES", most)
    assert diagnostic("cf.br ^lop\n^loop:\nreturn\n^other:").hint == hint


DOMINATED = "cf.cond_br %c, ^a, ^b\n^a:\n%y = arith.addi %n, %n : index\ncf.br ^b\n^b:\n%w = arith.addi %y, %n : index"


def test_the_first_block_cannot_be_reached_again() -> None:
    text = "func.func @f(%c: i1) {{\n{label}cf.cond_br %c, ^a, ^b\n^b:\nreturn\n}}\n"
    assert errors("func.func @f() {\n^a:\ncf.br ^a\n}\n") == [("TEXT-LABEL", 3, 7)]
    assert errors(text.format(label="")) == [("TEXT-LABEL", 2, 16)]
    assert errors('"func.func"() <{function_type = () -> (), sym_name = "f"}> ({\n^a:\n"cf.br"()[^a] : () -> ()\n'
                  '^b:\n"func.return"() : () -> ()\n}) : () -> ()') == [("TEXT-LABEL", 3, 11)]  # fmt: skip


def test_blocks_that_nothing_leads_to() -> None:
    """They are legal, and may use what any block defines."""
    text = in_function(
        "cf.br ^a\n^a:\n%y = arith.addi %n, %n : index\nreturn\n^b(%k: index):\n%w = arith.addi %y, %k : index\n"
        "cf.br ^c\n^c:\n%e = arith.addi %w, %k : index"
    )
    round_trip(read(text))
    assert errors_in("return\n^b:\n%w = arith.addi %none, %n : index") == [("TY-9", 3, 17)]


def test_results_and_returns_of_every_block() -> None:
    text = "func.func @f(%c: i1, %n: index) -> index {\ncf.cond_br %c, ^a, ^b\n^a:\nreturn %n : index\n^b:\nreturn\n}\n"
    assert errors(text) == [("TEXT-YIELD", 6, 1)]
    blocks = "cf.cond_br %c, ^a, ^b\n^a:\nscf.yield %n : index\n^b:\nscf.yield %c : i1"
    region = f"%r = scf.execute_region -> index {{\n{blocks}\n}}"
    assert errors_in(region) == [("TEXT-YIELD", 6, 1)]


COUNT = 6_000


def blocks(count: int, to: str) -> str:
    """A chain of blocks, each of which takes a value and uses another one of the first."""
    lines = ["module {", "func.func @f(%n: index, %c: i1) {", "%v = arith.addi %n, %n : index", "cf.br ^b0(%n : index)"]
    for k in range(count):
        lines += [f"^b{k}(%a{k}: index):", f"%x{k} = arith.addi %v, %a{k} : index"]
        last = k == count - 1
        lines.append("return" if last else to.format(next=f"^b{k + 1}(%x{k} : index)", k=k))
    return "\n".join([*lines, "}", "}", ""])


@pytest.mark.parametrize("to", ["cf.br {next}", "cf.cond_br %c, {next}, ^b0(%x{k} : index)"])
def test_many_blocks(to: str) -> None:
    """Neither depth of recursion nor work grows faster than the number of blocks."""
    assert len(body(read(blocks(600, to))).blocks) == 601
    assert calls(lambda: read(blocks(1200, to))) < 2.2 * calls(lambda: read(blocks(600, to)))
    text = print_module(read(blocks(COUNT, to)))
    assert text.count("\n^") + text.count("\n  ^") >= COUNT


def test_many_blocks_that_nothing_leads_to() -> None:
    """Each of them branches to the one before it."""

    def cost(count: int) -> int:
        chain = "".join(f"^b{k}:\ncf.br ^b{k - 1}\n" for k in range(1, count))
        return calls(lambda: read(f"func.func @f() {{\nreturn\n^b0:\nreturn\n{chain}}}\n"))

    assert cost(6000) < 17 * cost(400)


def test_many_wrong_labels() -> None:
    """Hints are not looked for among all of them."""
    text = blocks(COUNT, "cf.br {next}").replace("cf.br ^b1", "cf.br ^c1")
    assert errors(text)[-1][0] == "TEXT-LIMIT" or errors(text)[0][0] == "TEXT-LABEL"


def nested(depth: int) -> str:
    """Regions of two blocks inside each other."""
    opened = "scf.execute_region {\ncf.br ^a\n^a:\n" * depth
    return (
        f"func.func @f() {{\n{opened}{'scf.yield' + chr(10) + '}' + chr(10)}"
        + "scf.yield\n}\n" * (depth - 1)
        + "return\n}\n"
    )


def test_nesting() -> None:
    module = read(nested(198))
    for form in ("dps", "generic", "sync"):
        text = convert(module, form).text
        assert text is not None
        assert len(list(body(read(text)).walk())) == 3 * 198 + 1
    assert format_text(nested(198)).text is not None
    assert [rule for rule, *_ in errors(nested(200))] == ["TEXT-NESTING"]
    assert [rule for rule, *_ in errors(nested(5000))] == ["TEXT-NESTING"]


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("^a\n", ("TEXT-UNEXPECTED", 5, 1)),
        ("^a(%x: index\n", ("TEXT-UNEXPECTED", 5, 1)),
        ("^a(%n: index {\n}\n", ("TEXT-UNEXPECTED", 4, 14)),
    ],
)
def test_an_unfinished_label_at_the_start_of_a_region(label: str, found: tuple[str, int, int]) -> None:
    text = f"module {{\nfunc.func @f() {{\nscf.execute_region {{\n{label}scf.yield\n}}\nreturn\n}}\n}}\n"
    assert next(e for e in errors(text) if e[0] != "TEXT-BLOCKS") == found
    assert len(errors(text)) <= 3
    assert not {"TY-9", "TEXT-LIMIT", "TEXT-UNCLOSED"} & {rule for rule, *_ in errors(text)}
