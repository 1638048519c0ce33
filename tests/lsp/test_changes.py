"""New names, proposals and completions, without the protocol around them."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types as lsp
from pygls.workspace import TextDocument

from ptokit.diagnostics.finding import proposed
from ptokit.lsp.changes import RenameError, complete, new_name, proposals, renamable, synchronise, synchronising
from ptokit.lsp.hover import hover
from ptokit.lsp.index import EditorPositions, Index, build

TEXT = """\
!rows = !pto.tile_buf<vec, 16x64xf32>
#less = #pto<cmp lt>
module attributes {pto.target_arch = "a5"} {
  func.func private @helper(%n: index) {
    return
  }
  func.func @main(%n: index, %c: i1) {
    %t = pto.alloc_tile : !rows
    %m = pto.alloc_tile : !pto.tile_buf<vec, 16x64xi8>
    pto.tcmp ins(%t, %t {cmpMode = #less} : !rows, !rows) outs(%m : !pto.tile_buf<vec, 16x64xi8>)
    %r:2 = scf.if %c -> (index, index) {
      scf.yield %n, %n : index, index
    } else {
      scf.yield %n, %n : index, index
    }
    func.call @helper(%r#1) : (index) -> ()
    cf.cond_br %c, ^one, ^two(%n : index)
  ^one:
    cf.br ^two(%n : index)
  ^two(%k: index):
    return
  }
}
"""
URI = "file:///k.pto"


def token(index: Index, mark: str, inside: int = 0) -> int:
    """The token at the character `inside` a part of the text that occurs once."""
    assert TEXT.count(mark) == 1
    offset = TEXT.index(mark) + inside
    found = index.token_at(TEXT.count("\n", 0, offset) + 1, offset - TEXT.rfind("\n", 0, offset))
    assert found is not None
    return found


def renamed(mark: str, inside: int, name: str) -> str:
    """The text with another name at a place."""
    index = build(TEXT, URI)
    assert list(index.diagnostics) == []
    at = token(index, mark, inside)
    places = renamable(index, at)
    new = new_name(index, at, name)
    lines = TEXT.split("\n")
    for place in sorted(places, reverse=True):
        line = lines[place.line - 1]
        lines[place.line - 1] = line[: place.column - 1] + new + line[place.column - 1 + place.length :]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("mark", "inside", "name", "old", "count"),
    [
        ("ins(%t", 4, "tile", "%t", 3),
        ("ins(%t", 4, "%0", "%t", 3),
        ("main(%n", 5, "%size", "%n", 7),
        ("call @helper", 6, "aid", "@helper", 2),
        ("alloc_tile : !rows", 14, "!tile", "!rows", 4),
        ("^one:", 0, "first", "^one", 2),
        ("br ^two", 4, "^second", "^two", 3),
    ],
)
def test_a_name_changes_everywhere(mark: str, inside: int, name: str, old: str, count: int) -> None:
    text = renamed(mark, inside, name)
    assert list(build(text, URI).diagnostics) == []
    new = name if name[0] == old[0] else old[0] + name
    changed = [(a, b) for a, b in zip(TEXT.split("\n"), text.split("\n"), strict=True) if a != b]
    assert sum(b.count(new) - a.count(new) for a, b in changed) == count
    assert "private @helper(%n: index)" in text.replace("@aid", "@helper")  # another function's %n is another value


@pytest.mark.parametrize(
    ("mark", "inside", "name", "why"),
    [
        ("ins(%t", 4, "m", "%m is a name already"),
        ("ins(%t", 4, "a b", "is not a name"),
        ("ins(%t", 4, "", "is not a name"),
        ("call @helper", 6, "main", "@main is a name already"),
        ("%r#1", 1, "x", "group of results"),
        ("%r:2", 1, "x", "group of results"),
        ("pto.tcmp", 2, "x", "only values"),
        ("cf.br", 2, "x", "only values"),
    ],
)
def test_what_cannot_be_renamed(mark: str, inside: int, name: str, why: str) -> None:
    with pytest.raises(RenameError, match=why):
        renamed(mark, inside, name)


def test_a_name_inside_of_another_token_is_not_changed_by_halves() -> None:
    text = '#less = #pto<cmp lt>\nfunc.func @f() { "pto.tcmp"() <{cmpMode = #less}> : () -> () return }'
    index = build(text, URI)
    with pytest.raises(RenameError, match="also stands inside"):
        renamable(index, index.tokens.texts.index("#less"))


def labels(typed: str, text: str = TEXT) -> list[str]:
    """What completes `typed`, written at the end of the last function."""
    text = text.replace("    return\n  }\n}", f"    return\n    {typed}\n  }}\n}}")
    line = text.split("\n").index(f"    {typed}")
    places = EditorPositions(TextDocument(URI, text))
    items = complete(places, lsp.Position(line, 4 + len(typed)), None)
    for item in items:
        assert isinstance(item.text_edit, lsp.TextEdit)
        start = item.text_edit.range.start.character - 4
        assert typed[start : start + 1] in (item.label[0], "")  # the word is replaced from its first character on
    return [item.label for item in items]


def test_completions_in_broken_text() -> None:
    assert {"pto.tload", "pto.vlds", "pto.barrier"} <= set(labels("pto.tl"))
    assert {"pto.tload", "pto.vlds"} <= set(labels("%x = pto."))
    assert labels("pto.tadd ins(%") == ["%n", "%c", "%t", "%m", "%r", "%k"]
    assert labels("func.call @") == ["@helper", "@main"]
    assert labels("cf.br ^") == ["^one", "^two"]
    assert labels("%x = pto.alloc_tile : !")[0] == "!rows"
    assert labels("pto.tcmp ins(%t, %t {cmpMode = #") == ["#less"]
    assert {"PIPE_V", "EVENT_ID7"} <= set(labels("pto.set_flag[<PIPE_V>, <"))
    assert {"arith.addi", "arith.constant"} <= set(labels("%x = arith."))
    for nothing in ("// pto.", "%", "x", "", "tload", '"text // pto" // %'):
        assert nothing == "%" or labels(nothing) == []


def test_completions_tell_types_of_values() -> None:
    index = build(TEXT, URI)
    places = EditorPositions(TextDocument(URI, TEXT.replace("ins(%t,", "ins(%,")))
    line = next(k for k, text in enumerate(places.lines) if "ins(%," in text)
    items = complete(places, lsp.Position(line, places.lines[line].index("%,") + 1), index)
    assert {item.label: item.detail for item in items}["%t"] == "!pto.tile_buf<vec, 16x64xf32>"


def test_proposals_are_those_of_the_range() -> None:
    text = "func.func @f() {\n  pto.tlaod ins()\n  pto.tsotre ins()\n  return\n}\n"
    index, places = build(text, URI), EditorPositions(TextDocument(URI, text))
    asked = lsp.Range(lsp.Position(2, 4), lsp.Position(2, 4))
    found = [(d, proposed(d, lambda file: text.split("\n"))) for d in index.diagnostics]
    together = "Make all 2 changes that findings propose"
    actions = proposals(found, places, asked, URI)
    assert [action.title for action in actions] == ["Write pto.tstore", together]
    (edit,) = actions[0].edit.changes[URI]
    assert (edit.range, edit.new_text) == (lsp.Range(lsp.Position(2, 8), lsp.Position(2, 10)), "to")
    everything = proposals(found, places, places.whole(), URI)
    assert [action.title for action in everything] == ["Write pto.tload", "Write pto.tstore", together]
    (edit,) = everything[2].edit.changes[URI]
    assert (edit.range, edit.new_text) == (
        lsp.Range(lsp.Position(1, 0), lsp.Position(3, 0)),
        "  pto.tload ins()\n  pto.tstore ins()\n",
    )


@pytest.mark.parametrize(
    ("mark", "inside", "page"),
    [
        ("alloc_tile : !rows", 14, "!rows = !pto.tile_buf<vec, 16x64xf32>"),
        ("alloc_tile : !rows", 14, "4096 bytes of UB; a5 has 262144"),
        ("%m = pto.alloc_tile : !pto", 24, "vec 16x64xi8 ND, 1024 bytes"),
        ("cmpMode", 3, "**cmpMode** of `pto.tcmp`\n\nvalues: eq, ne, lt, le, gt, ge  \ndefault: eq"),
        ("call @helper", 6, "func.func @helper(%n: index)"),
    ],
)
def test_pages_of_types_attributes_and_functions(mark: str, inside: int, page: str) -> None:
    index = build(TEXT, URI)
    shown = hover(index, token(index, mark, inside))
    assert shown is not None
    assert page in shown


@pytest.mark.parametrize("mark", ["attributes", "cf.cond_br", "index, index) {", "scf.if"])
def test_what_has_no_page(mark: str) -> None:
    index = build(TEXT, URI)
    assert hover(index, token(index, mark, 1)) is None


TILE = "!pto.tile_buf<vec, 16x64xf32>"
LOAD = f"""\
module attributes {{pto.target_arch = "a5"}} {{
  func.func @k(%x: !pto.ptr<f32>) {{
    %c0 = arith.constant 0 : i64
    %z = arith.constant 0 : index
    %o = arith.constant 1 : index
    %h = arith.constant 16 : index
    %w = arith.constant 64 : index
    %t = pto.alloc_tile addr = %c0 : {TILE}
    %v = pto.make_tensor_view %x, shape = [%h, %w], strides = [%w, %o] : !pto.tensor_view<?x?xf32>
    %p = pto.partition_view %v, offsets = [%z, %z], sizes = [%h, %w] :
      !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
    pto.tload ins(%p : !pto.partition_tensor_view<16x64xf32>) outs(%t : {TILE})
    pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%t : {TILE})
    return
  }}
}}
"""


def test_a_kernel_can_be_synchronised_unless_the_editor_asks_for_other_actions() -> None:
    places = EditorPositions(TextDocument(URI, LOAD))
    at = lsp.Range(lsp.Position(8, 0), lsp.Position(8, 0))

    def offered(*only: str) -> list[lsp.Command | None]:
        asked = lsp.CodeActionContext([], list(only) if only else None)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(URI), at, asked)
        return [action.command for action in synchronising(build(LOAD, URI), places, params)]

    (command,) = offered()
    assert command == lsp.Command("Insert the flags that k lacks", "ptokit.synchronise", arguments=[URI, "k"])
    assert (offered("source"), offered("quickfix")) == ([command], [])


@pytest.mark.campaign
def test_a_text_gets_its_flags_if_they_are_proved() -> None:
    pytest.importorskip("z3")
    made, said = asyncio.run(synchronise(LOAD, "k", ""))
    assert made is not None
    assert made.count("_flag[<PIPE_MTE2>, <PIPE_V>") == 2
    assert said.startswith("k on a5: 1 flag; proved")
    assert asyncio.run(synchronise(made, "k", ""))[0] is None
    wrong, why = asyncio.run(synchronise(LOAD.replace("%c0 :", "%c7 :"), "k", ""))
    assert wrong is None
    assert "error" in why
