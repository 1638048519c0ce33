"""One mistake gives one finding: what follows it is read as if it had not been made."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module

from .reading import errors, errors_in, in_function, read

DEEP = "(" * 60

CASES = {
    "broken operations inside brackets": (
        "\n".join(f"  %r{k} = builtin.unrealized_conversion_cast %n : {DEEP}oops" for k in range(6)),
        [("TEXT-UNEXPECTED", k + 1) for k in range(6)],
    ),
    "a strict scope without its brace": (
        "pto.strict_vecscope(%n) oops\npto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>",
        [("TEXT-UNEXPECTED", 1)],
    ),
    "the same in generic form": (
        '"pto.strict_vecscope"(%n) (oops) : (index) -> ()\n%a = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>',
        [("TEXT-UNEXPECTED", 1)],
    ),
    "an unknown name in two regions": (
        "scf.if %c {\n%a = arith.addi %oops, %n : index\n} else {\n%b = arith.addi %n, %oops : index\n}\n"
        "%d = arith.addi %oops, %oops : index",
        [("TY-9", 2)],
    ),
    "a yield that cannot be read": (
        "%r = scf.if %c -> (index) {\nscf.yield %n : oops\n} else {\nscf.yield %n : index\n}\n"
        "%s = arith.addi %r, %r : index",
        [("TEXT-UNEXPECTED", 2)],
    ),
    "a block whose last operation cannot be read": (
        "cf.br ^a\n^a:\n%r = arith.addi %n %n : index\n^b:",
        [("TEXT-UNEXPECTED", 3)],
    ),
    "a name that three blocks define": (
        "%r = arith.addi %n, %n : index\ncf.br ^a\n^a:\n%r = arith.addi %n, %n : index\ncf.br ^b\n"
        "^b:\n%r = arith.addi %n, %n : index",
        [("TY-9", 4), ("TY-9", 7)],
    ),
    "braces in braces of what cannot be read": (
        "pto.oops {a {b\n%a1 = arith.addi %n, %n : index\n}\n}\n%b1 = arith.addi %n, %n : index",
        [("TEXT-UNKNOWN-OP", 1)],
    ),
    "a name with two types": (
        "%r = arith.addi %n, %n : index\n%r = arith.addi %l, %l : i64\n%s = arith.addi %r, %n : index",
        [("TY-9", 2)],
    ),
    "a block whose label cannot be read": (
        "cf.cond_br %c, ^a(%n : index), ^a(%n : index)\n^a(%r: oops):\n%s = arith.addi %r, %n : index",
        [("TEXT-UNEXPECTED", 2)],
    ),
    "a branch to a block that is not there": (
        "cf.cond_br %c, ^b, ^oops\n^a:\n%r = arith.addi %n, %n : index\ncf.br ^b\n^b:\n%s = arith.addi %r, %r : index",
        [("TEXT-LABEL", 1)],
    ),
    "a dictionary over several lines in what cannot be read": (
        "pto.oops ins(%t : !pto.tile_buf<vec, 16x16xf32>) {\n  mode = {a = 1,\n  b = 2},\n  return = 3\n}\n"
        "%r = arith.addi %n, %n : index",
        [("TEXT-UNKNOWN-OP", 1)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_in_a_function(case: str) -> None:
    text, expected = CASES[case]
    assert [(rule, line) for rule, line, _ in errors_in(text)] == expected


def test_a_function_without_return_after_an_error() -> None:
    text = "module {\nfunc.func @f(%n: index) {\n%a = arith.addi %n %n : index\n}\n}\n"
    assert [(rule, line) for rule, line, _ in errors(text)] == [("TEXT-UNEXPECTED", 3)]


def test_a_module_whose_head_cannot_be_read() -> None:
    text = "module attributes oops {\nfunc.func @f(%n: index) {\nreturn\n}\n}\n"
    assert [(rule, line) for rule, line, _ in errors(text)] == [("TEXT-UNEXPECTED", 1)]


def test_a_call_of_a_function_that_is_defined_twice() -> None:
    """The first definition counts; the second one is reported where it stands."""
    text = """module {
      func.func @f(%n: index) {
        return
      }
      func.func @f(%n: i64) {
        return
      }
      func.func @k(%n: index) {
        func.call @f(%n) : (index) -> ()
        return
      }
    }"""
    assert [(rule, line) for rule, line, _ in errors(text)] == [("TY-9", 5)]


@pytest.mark.parametrize(("around", "note"), [("{}", True), ("scf.if %c {{\n{}\n}}", False)])
def test_a_later_definition_is_named_if_it_could_be_meant(around: str, note: bool) -> None:
    later = around.format("%a = arith.constant 1 : index")
    (found,) = parse_module(in_function(f"%b = arith.addi %a, %n : index\n{later}"), "t.pto").diagnostics
    assert found.rule == "TY-9"
    assert any("defined here" in n.message for n in found.notes) is note


def test_blocks_inside_an_operation_are_none_of_the_region_around_it() -> None:
    """Both regions have a block ^c; the branch to the inner one leads to no outer block."""
    read(
        in_function(
            """
            scf.execute_region {
              cf.br ^c
            ^c:
              scf.yield
            }
            cf.br ^a
            ^a:
              %a = arith.addi %n, %n : index
              cf.br ^c
            ^c:
              %b = arith.addi %a, %n : index
            """
        )
    )


def test_one_label_and_a_first_block_without_one() -> None:
    module = read(in_function("%a = arith.addi %n, %n : index\ncf.br ^a\n^a:\n%b = arith.addi %a, %n : index"))
    body = module.functions[0].body
    assert body is not None
    assert [len(block.ops) for block in body.blocks] == [2, 2]


def test_a_pointer_without_its_word_is_one_only_where_a_pointer_is_meant() -> None:
    """``<f32>`` is short for ``!pto.ptr<f32>`` in operations on pointers, not in those around them."""
    text = "%a1 = pto.addptr %p, %n : <f32> -> <f32>\n"
    assert errors_in(text) == []
    found = errors_in(text + "%b1 = arith.select %c, %a1, %p : <f32>")
    assert [(rule, line) for rule, line, _ in found] == [("TEXT-UNEXPECTED", 2)]
