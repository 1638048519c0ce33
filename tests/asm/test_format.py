"""Canonical layout: what the printer writes, with comments, and never another meaning."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptokit.asm import parse_module, print_module
from ptokit.asm.convert import format_text
from ptokit.ir import Module

from .reading import CORPUS, DATA, errors, read
from .same import assert_same
from .test_generated import modules

EXAMPLES = [p for p in sorted((DATA.parents[1] / "examples" / "pto").glob("*.pto")) if p.stem != "faulty"]
FILES = CORPUS + EXAMPLES
T = "!pto.tile_buf<vec, 16x16xf32>"


def laid_out(text: str) -> str:
    """The layout of `text`, which is stable, keeps every comment and means the same."""
    formatted = format_text(text, "t.pto")
    assert formatted.text is not None, "\n".join(map(str, formatted.diagnostics))
    assert format_text(formatted.text).text == formatted.text
    assert_same(read(text), read(formatted.text))
    end = "\r\n" if "\r\n" in formatted.text else "\n"
    assert [line for line in formatted.text.split(end) if line != line.rstrip() or "\n" in line] == []
    return formatted.text


def comments(text: str) -> list[str]:
    """All comments of a text without strings, in order."""
    return [part.strip() for line in text.splitlines() for part in re.findall("//(.*)", line)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    out = laid_out(text)
    assert out.split() == text.split()
    assert comments(out) == comments(text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_examples_are_laid_out(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert laid_out(text) == text.replace(")\n      attributes", ") attributes")  # the printer breaks no heads


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_printer_writes_this_layout(path: Path) -> None:
    printed = print_module(read(path.read_text(encoding="utf-8")))
    assert laid_out(printed) == printed
    assert laid_out(" ".join(printed.split())) == printed
    apart = re.sub(r'("[^"]*")|\s+(?!\w*>)', lambda m: m[1] or "\n", printed)  # an attribute keeps its blanks
    assert laid_out(apart) == printed


@given(modules())
@settings(max_examples=60)
def test_generated_programs(module: Module) -> None:
    printed = print_module(module)
    assert laid_out(printed) == printed


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_comments_and_line_ends_anywhere(path: Path, random: object) -> None:
    count = 0

    def other(found: re.Match[str]) -> str:
        nonlocal count
        if found[0].startswith('"'):
            return found[0]
        count += 1
        ends = (" ", "\t ", "\n", "\r\n\n\n", f" // {count}\n", f"\n// {count}\n", f"//{count}\n \n//{count}.\n")
        return ends[random.choice((0, 0, 0, 1, 2, 3, 4, 5, 6))]  # type: ignore[attr-defined]

    text = re.sub(r'"[^"]*"|(?<![x,])[ \n](?![^<\n]*>)', other, re.sub("//.*", "", path.read_text(encoding="utf-8")))
    assert sorted(w for c in comments(laid_out(text)) for w in c.replace("//", " ").split()) == sorted(
        w for c in comments(text) for w in c.replace("//", " ").split()
    )


def test_comments_and_blank_lines() -> None:
    text = f"""

// About the file.
//   Indented by hand.


  !t={T}   // a short name
module{{// all of it

   // before the function
 func.func   @f( %a:!t ,%n :index ){{

      %c0=arith.constant 0:index// zero


      // two lines
          // of comment

      %c1 = arith.constant 1 : index %c2 = arith.constant 2 : index // two
      scf.for %i=%c0 to %n   step %c1
      // inside the head
      {{ // body
         pto.tadd ins(%a, // left
             // the right one
             %a:!t,!t) outs( %a : !t )

         // at its end
      }}
      return }}

 }}   // done
 // the end
"""
    assert (
        laid_out(text)
        == f"""// About the file.
//   Indented by hand.

!t = {T} // a short name
module {{ // all of it
  // before the function
  func.func @f(%a: !t, %n: index) {{
    %c0 = arith.constant 0 : index // zero

    // two lines
    // of comment

    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index // two
    // inside the head
    scf.for %i = %c0 to %n step %c1 {{ // body
      // the right one
      pto.tadd ins(%a, %a : !t, !t) outs(%a : !t) // left

      // at its end
    }}
    return
  }}
}} // done
// the end
"""
    )


def test_regions() -> None:
    text = f"""func.func @f(%c: i1, %n: index) {{
  %r:2 = scf.if %c -> (index, index) {{
    scf.yield %n, %n : index, index
  }} else {{
    scf.yield %n, %n : index, index
  }}
  %w = scf.while (%x = %r#0) : (index) -> (index) {{
    %d = arith.cmpi slt, %x, %n : index
    scf.condition(%d) %x : index
  }} do {{
  ^bb0(%y: index):
    scf.yield %y : index
  }} {{a = 1 : i32}}
  %t = pto.alloc_tile : {T}
  pto.section.vector {{
  }}
  return
}}
"""
    assert laid_out(text) == text
    assert laid_out(" ".join(text.split())) == text


def test_aliases() -> None:
    text = """#one = 1
#two = 2 : i64
!p = !pto.ptr<f32>
module {
  !q = !p
  func.func @f(%p: !q) attributes {a = #one, b = #two} {
    return
  } loc(unknown)
}
#l = loc(unknown)
"""
    assert laid_out(text) == text
    assert laid_out(" ".join(text.split())) == text
    assert not list(parse_module(text).diagnostics)


def test_other_forms_stay_as_they_are_written() -> None:
    text = f"""func.func @f(%a: {T}, %v: !pto.partition_tensor_view<16x16xf32>) {{
  %b = pto.tadd %a, %a : {T}, {T} -> {T}
  %c = tadd %a, %b : {T}
  tsync %b, %c
  tstore %b, %v #atomic=add
  return
}}
"""
    assert laid_out(text) == text
    assert laid_out(" ".join(text.split())) == text


def test_a_listing_and_its_comments() -> None:
    text = f"   # what it does\n\n%b = tadd   %a,%a :{T}\n  # again // and again\n tadd %b, %b, %b : {T} // twice"
    out = f"# what it does\n\n%b = tadd %a, %a : {T}\n# again // and again\ntadd %b, %b, %b : {T} // twice\n"
    assert laid_out(text) == out


def test_raw_attributes_keep_their_text() -> None:
    text = 'func.func @f() attributes {a = [1,2 ,  3], b = #x.y<1,  2>, c=!z<1,  2>, "c d"="  // "} {return}'
    assert 'attributes {a = [1,2 , 3], b = #x.y<1,  2>, c = !z<1,  2>, "c d" = "  // "} {\n' in laid_out(text)


def test_nothing_but_comments_or_nothing() -> None:
    assert laid_out("") == ""
    assert laid_out("\n\n // so\n\n\n") == "// so\n"


@pytest.mark.parametrize("text", ["module {", "func.func @f() {\n  %a = pto.tadd\n  return\n}\n", "a\0b", "module { %"])
def test_a_text_with_errors_is_left_alone(text: str) -> None:
    formatted = format_text(text, "t.pto")
    assert formatted.text is None
    assert [(d.rule, d.location.line, d.location.column) for d in formatted.diagnostics] == errors(text) != []


_WORD = re.compile(r"\b(?:f32|f16|i32|i64|index)\b|%\w+|(?<=[x<])\d+(?=x)")


def mutated(text: str, rng: random.Random) -> str:
    """The text with another element type, size or value in one place."""
    words = list(_WORD.finditer(text))
    old = rng.choice(words)
    values = [word[0] for word in words if word[0].startswith("%")]
    new = rng.choice(values if old[0].startswith("%") else ["17"] if old[0].isdecimal() else ["f32", "bf16", "index"])
    return text[: old.start()] + new + text[old.end() :]


def lay_out_mutants(count: int, seed: int) -> int:
    """How many of the mutants that can be read have errors; each of them is laid out as the text before was."""
    rng, wrong = random.Random(seed), 0
    texts = [format_text(path.read_text()).text or "" for path in EXAMPLES]
    for _ in range(count):
        mutant = mutated(rng.choice(texts), rng)
        formatted = format_text(mutant)
        unread = any(error.rule.startswith("TEXT-") for error in formatted.diagnostics.errors)
        assert (formatted.text is None) == unread
        if not unread:
            assert formatted.text == mutant
            wrong += bool(formatted.diagnostics.errors)
    return wrong


def test_a_text_with_errors_of_types_is_laid_out() -> None:
    assert lay_out_mutants(30, 1) > 10


@pytest.mark.campaign
def test_many_texts_with_errors_of_types_are_laid_out() -> None:
    assert lay_out_mutants(3000, 2) > 1000
