"""Hints that propose another word: following them mends the text."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic
from ptokit.diagnostics.finding import Proposal, replacement
from ptokit.diagnostics.render import sarif
from tests.each import each

T, M = "!pto.tile_buf<vec, 16x64xf32>", "!pto.tile_buf<vec, 16x64xi8>"
TEXT = f"""\
!alias = {T}
module attributes {{pto.target_arch = "a5"}} {{
  func.func private @helper(%p: !pto.ptr<f32>) {{
    return
  }}
  func.func @main(%total: !pto.ptr<f32>, %count: index) attributes {{pto.entry}} {{
    %one = arith.constant 1 : index
    %less = arith.cmpi slt, %one, %count : index
    %tile = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf32, blayout=row_major, slayout=none_box>
    %same = pto.alloc_tile : !alias
    %mask = pto.alloc_tile : {M}
    %view = pto.make_tensor_view %total, shape = [%one, %count], strides = [%count, %one]
      {{layout = #pto.layout<nd>}} : !pto.tensor_view<?x?xf32>
    pto.tcmp ins(%tile, %tile {{cmpMode = #pto<cmp lt>}} : {T}, {T}) outs(%mask : {M})
    pto.tci ins(%one {{descending = true}} : index) outs(%mask : {M})
    "pto.tadd"(%tile, %same, %tile) : ({T}, {T}, {T}) -> ()
    "pto.tcmp"(%tile, %tile, %mask) <{{cmpMode = #pto<cmp lt>}}> : ({T}, {T}, {M}) -> ()
    %sum = pto.tadd %tile, %tile : ({T}, {T}) -> {T}
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    func.call @helper(%total) : (!pto.ptr<f32>) -> ()
    return
  }}
}}
"""
FREE = {"pto.target_arch", "pto.entry", "main", "a5", "p", "pto", "sum", "view", "less"}
"""Names that may be anything, or that nothing else names."""
NO_WORD = {"x64xf32", "x64xi8", "xf32", "e", "outs"}
"""Dimensions; and the ``outs`` group as a whole, which a hint about its name does not bring back."""


def findings(text: str) -> list[Diagnostic]:
    return list(parse_module(text, "k.pto").diagnostics)


def words() -> list[tuple[int, str]]:
    """The last place of every word: where it is used, not where it is defined."""
    found = {m[0]: m.start() for m in re.finditer(r"[A-Za-z_][\w.]*", TEXT)}
    return [(at, word) for word, at in found.items() if word not in FREE | NO_WORD and len(word) > 2]


@pytest.mark.parametrize(("at", "word"), words(), ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("kind", ["one letter less", "one letter more", "two letters swapped"])
def test_a_misspelled_word(at: int, word: str, kind: str) -> None:
    assert findings(TEXT) == []
    middle = max(1, len(word) * 2 // 3)
    wrong = {
        "one letter less": word[:middle] + word[middle + 1 :],
        "one letter more": f"{word[:middle]}z{word[middle:]}",
        "two letters swapped": word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
        if middle < len(word)
        else f"{word}{word[-1]}",
    }[kind]
    text = TEXT[:at] + wrong + TEXT[at + len(word) :]
    before = findings(text)
    if wrong == word or not before:  # the letters were equal; a word that is as good
        return
    followed = 0
    for finding in before:
        lines = text.split("\n")
        line = lines[finding.location.line - 1]
        edit = replacement(finding, lambda file, lines=lines: lines)
        assert (edit is not None) == ("did you mean" in (finding.hint or "")), finding
        if edit is not None:
            lines[finding.location.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
            after = findings("\n".join(lines))
            assert finding not in after
            followed += len(after) < len(before)
    assert followed, before[0]


@each(
    "text, hint",
    [
        ("modul {}", "module"),
        ("module attribute {} {}", "attributes"),
        ("func.func privat @f()", "private"),
        ("func.func @f() attribute {} { return }", "attributes"),
        ("func.func @f(%a: inde) { return }", "index"),
        ("func.func @f(%a: !pto.pt<f32>) { return }", "!pto.ptr"),
        ("func.func @f(%a: !ptoptr<f32>) { return }", "!pto.ptr"),
        ("!tile = f32 func.func @f(%a: !tiles) { return }", "!tile"),
        ("func.func @f() { pto.add ins() return }", "pto.tadd"),
        ("func.func @f() { ptoz.tadd ins() return }", "pto.tadd"),
        ("func.func @first() { func.call @frist() : () -> () return }", "@first"),
    ],
)
def test_what_is_proposed(text: str, hint: str) -> None:
    assert findings(text)[0].hint == f"did you mean '{hint}'?"


def test_far_words_are_not_proposed() -> None:
    assert findings("func.func @f() { completely_else ins() return }")[0].hint is None
    assert findings("func.func @f(%a: whatever) { return }")[0].hint is None


def test_sarif_has_the_fix(tmp_path: Path) -> None:
    file = tmp_path / "k.pto"
    file.write_text("func.func @f() {\n  pto.tlaod ins()\n  return\n}\n")
    found = {"": parse_module(file.read_text(), str(file)).diagnostics}
    (result,) = sarif(found, "1.0", tmp_path)["runs"][0]["results"]
    (fix,) = result["fixes"]
    assert fix == {
        "description": {"text": "write pto.tload"},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": "k.pto"},
                "replacements": [
                    {
                        "deletedRegion": {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 12},
                        "insertedContent": {"text": "pto.tload"},
                    }
                ],
            }
        ],
    }


def test_hints_do_not_depend_on_the_order_of_sets() -> None:
    program = "from ptokit.asm import parse_module\nfor d in parse_module(%r).diagnostics: print(d.hint)"
    text = "func.func @k(%a: f32) {\n  %b = arith.addq %a, %a : f32\n  %c = math.sqr %a : f32\n  return\n}\n"
    said = {
        subprocess.run(
            [sys.executable, "-c", program % text],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(said) == 1
    assert "did you mean" in said.pop()


def test_a_suggestion_is_data_and_survives_pickling() -> None:
    (finding,) = (d for d in findings(TEXT.replace("pto.tcmp ins", "pto.tcnp ins")) if d.hint)
    kept = pickle.loads(pickle.dumps(finding))
    assert kept == finding
    for shown in (finding, kept):
        assert isinstance(shown.hint, Proposal)
        assert (shown.hint, shown.hint.wrong, shown.hint.right) == ("did you mean 'pto.tcmp'?", "pto.tcnp", "pto.tcmp")
        lines = TEXT.replace("tcmp ins", "tcnp ins").split("\n")
        line = lines[shown.location.line - 1]
        edit = replacement(shown, lambda file, lines=lines: lines)
        assert edit is not None
        assert line[: edit.start] + edit.text + line[edit.end :] == line.replace("tcnp", "tcmp")


def test_a_result_that_an_operation_does_not_have_is_replaced_as_a_whole() -> None:
    text = (
        "func.func @k(%n: index) {\n  %a = arith.addi %n, %n : index\n  %b = arith.addi %a#1, %n : index\n  return\n}\n"
    )
    (finding,) = findings(text)
    assert replacement(finding, lambda file: text.split("\n"))[1:] == (3, 18, 22, "%a")
