"""Colours, folding and the form of an instruction while it is written; findings of Python files."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from lsprotocol import types as lsp
from pygls.workspace import TextDocument

import ptokit
from ptokit.lsp.changes import signature
from ptokit.lsp.hover import KINDS, coloured, folds, words
from ptokit.lsp.index import EditorPositions, build

from .test_session import TEXT, URI, Editor, session

LINES = TEXT.split("\n")


def named(text: str) -> list[tuple[str, str, bool]]:
    lines = text.split("\n")
    return [
        (lines[line - 1][column - 1 : column - 1 + length], kind, own)
        for line, column, length, kind, own in words(build(text, URI))
    ]


def test_words_have_kinds() -> None:
    found = named(TEXT)
    assert ("%x", "parameter", True) in found
    assert ("%t", "variable", True) in found
    assert found.count(("%t", "variable", False)) == 3
    assert ("pto.tadd", "function", False) in found
    assert ("arith.constant", "function", False) in found
    assert ("@double", "function", False) in found
    assert ("func.func", "keyword", False) in found
    assert ("0", "number", False) in found
    assert ("// a comment with wide characters: 𝛼𝛽", "comment", False) in found
    assert ('"a5"', "string", False) in found
    assert found.count(("!pto.tile_buf<vec, 16x64xf32>", "type", False)) == 4


def test_a_comment_sign_in_a_string_is_none() -> None:
    found = named('module attributes {note = "a // b"} {} // c\n')
    assert [text for text, kind, _ in found if kind == "comment"] == ["// c"]
    assert ('"a // b"', "string", False) in found


def test_colours_are_relative_and_count_as_the_editor_counts() -> None:
    index, places = build(TEXT, URI), EditorPositions(TextDocument(URI, TEXT))
    numbers = coloured(index, places)
    line = character = 0
    got = []
    for at in range(0, len(numbers), 5):
        down, ahead, length, kind, own = numbers[at : at + 5]
        line, character = line + down, ahead if down else character + ahead
        got.append((line + 1, character + 1, length, KINDS[kind], bool(own)))
    expected = [
        (*place, len(LINES[line - 1][column - 1 : column - 1 + length].encode("utf-16-le")) // 2, kind, own)
        for place, (line, column, length, kind, own) in zip([w[:2] for w in words(index)], words(index))
    ]
    assert got == expected


@pytest.mark.parametrize("text", ["", "%", '"', "}" * 50, "{" * 50, "module {\n", "// a\n// b", "\0\n!", "func.func @"])
def test_broken_texts_have_colours_and_folds(text: str) -> None:
    index, places = build(text, URI), EditorPositions(TextDocument(URI, text))
    assert len(coloured(index, places)) % 5 == 0
    folds(index)
    for column in range(len(text) + 1):
        signature(places, lsp.Position(0, column))


def test_folds() -> None:
    found = folds(build("// one\n// two\n" + TEXT, URI))
    assert [(fold.start_line, fold.end_line, fold.kind) for fold in found] == [
        (0, 1, lsp.FoldingRangeKind.Comment),
        (2, 10, lsp.FoldingRangeKind.Region),
        (3, 9, lsp.FoldingRangeKind.Region),
    ]


def shown(line: str) -> tuple[str, str | None] | None:
    """The form at the end of a line, and its active operand."""
    text = line + "\n"
    places = EditorPositions(TextDocument(URI, text))
    found = signature(places, lsp.Position(0, len(line)))
    if found is None:
        return None
    (form,) = found.signatures
    assert form.parameters is not None
    if found.active_parameter is None:
        return form.label, None
    start, end = form.parameters[found.active_parameter].label
    assert isinstance(start, int)
    return form.label, form.label[start:end]


@pytest.mark.parametrize(
    ("line", "active"),
    [
        ("pto.tadd ", "%src0"),
        ("  pto.tadd ins(", "%src0"),
        ("  pto.tadd ins(%a, ", "%src1"),
        ("  pto.tadd ins(%a, %b : !t, !t) outs(", "%dst"),
        ("  pto.tadd ins(%a, %b, ", None),
    ],
)
def test_the_form_of_an_instruction(line: str, active: str | None) -> None:
    found = shown(line)
    assert found is not None
    assert found[0].startswith("pto.tadd ins(%src0, %src1 : ")
    assert found[1] == active


@pytest.mark.parametrize("line", ["", "// pto.tadd ins(", "%c = arith.constant 0", "pto.nothing ins("])
def test_no_form_elsewhere(line: str) -> None:
    assert shown(line) is None


# --- in a session -----------------------------------------------------------------------------------------------------


def test_an_editor_gets_them() -> None:
    async def body(it: Editor) -> None:
        await it.open(TEXT)
        tokens = await it.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(it.document))
        assert tokens is not None
        assert len(tokens.data) > 50
        found = await it.client.text_document_folding_range_async(lsp.FoldingRangeParams(it.document))
        assert [(fold.start_line, fold.end_line) for fold in found or []] == [(0, 8), (1, 7)]
        at = lsp.Position(5, LINES[5].index("%t") + 3)
        help = await it.client.text_document_signature_help_async(lsp.SignatureHelpParams(it.document, at))
        assert help is not None
        assert help.signatures[0].label.startswith("pto.tadd")

    session(body)


KERNELS = """\
import ptokit as pto

print("this must not reach the editor")

@pto.kernel(target="a5")
def f(x: pto.Ptr[pto.f32]):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 8, {width})
    pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
"""


def test_python_files_are_checked_when_they_are_saved(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS.format(width=3))

    async def body(it: Editor) -> None:
        it.published = it.inboxes[file.as_uri()] = it.inboxes.pop(it.uri)
        it.uri, it.document = file.as_uri(), lsp.TextDocumentIdentifier(file.as_uri())
        found = await it.open(KERNELS.format(width=3))
        assert [d.code for d in found] == ["TILE-05", "LOAD-A5-05"]
        assert found[0].range.start.line == 6
        file.write_text(KERNELS.format(width=64))
        await it.change(KERNELS.format(width=64))
        it.client.text_document_did_save(lsp.DidSaveTextDocumentParams(it.document))
        assert await it.findings() == []
        assert await it.hover(0, 0) == ""
        assert await it.completion(6, 8) == []
        assert await it.formatted() is None

    session(body)


WRONG = """\
import ptokit as pto

@pto.kernel(target="a5")
def f(x: pto.Ptr[pto.f32]):
    t, u = (pto.Tile(pto.TileType.Vec, pto.f32, 8, 64) for _ in range(2))
    pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
    pto.TADDD(u, t, t)
"""
RACY = """\
import ptokit as pto

@pto.kernel(target="a5")
def f(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
    t, u = (pto.Tile(pto.TileType.Vec, pto.f32, 8, 64) for _ in range(2))
    pto.TASSIGN(t, 0)
    pto.TASSIGN(u, 8192)
    pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
    pto.TADD(u, t, t)
    pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
    pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
    pto.TSTORE(pto.GlobalTensor(y, (8, 64)), u)
"""


def renamed(it: Editor, file: Path) -> None:
    it.published = it.inboxes[file.as_uri()] = it.inboxes.pop(it.uri)
    it.uri, it.document = file.as_uri(), lsp.TextDocumentIdentifier(file.as_uri())


async def actions(it: Editor, line: int) -> list[lsp.CodeAction]:
    wanted = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 99))
    params = lsp.CodeActionParams(it.document, wanted, lsp.CodeActionContext([], [lsp.CodeActionKind.QuickFix]))
    found = await it.client.text_document_code_action_async(params)
    assert found is not None
    return [action for action in found if isinstance(action, lsp.CodeAction)]


def with_edits(text: str, action: lsp.CodeAction, uri: str) -> str:
    """A text in which the changes of an action are made."""
    assert action.edit is not None
    assert action.edit.changes is not None
    lines = text.splitlines(keepends=True)
    for edit in action.edit.changes[uri]:  # one
        first, last = edit.range.start, edit.range.end
        rest = "".join(lines[last.line :])[last.character :]
        text = "".join(lines[: first.line]) + lines[first.line][: first.character] + edit.new_text + rest
    return text


def test_findings_in_python_files_have_quick_fixes(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(WRONG)

    async def body(it: Editor) -> None:
        renamed(it, file)
        (found,) = await it.open(WRONG)
        (action,) = await actions(it, found.range.start.line)
        assert action.title == "Write TADD"
        assert with_edits(WRONG, action, it.uri) == WRONG.replace("TADDD", "TADD") == ptokit.check(str(file)).fix(WRONG)
        assert await actions(it, 3) == []
        await it.change(f"# {WRONG}")  # which nobody has checked
        assert await actions(it, found.range.start.line) == []

    session(body)


@pytest.mark.parametrize("python", [True, False])
def test_a_kernel_is_sanitized_from_the_editor(python: bool, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(RACY)
    text = RACY if python else to_pto(file)
    lines = text.splitlines()
    load, add = (next(i for i, line in enumerate(lines) if word in line.lower()) for word in ("tload", "tadd"))

    async def body(it: Editor) -> None:
        if python:
            renamed(it, file)
        assert await it.open(text) == []
        (lens,) = await it.client.text_document_code_lens_async(lsp.CodeLensParams(it.document)) or []
        assert lens.command is not None
        assert lens.command.title == "Sanitize f"
        asked = lsp.ExecuteCommandParams(lens.command.command, lens.command.arguments)
        await it.client.workspace_execute_command_async(asked)
        found = await it.findings()
        assert [(d.code, d.range.start.line) for d in found] == [("RACE-RAW", add)]
        assert [r.location.range.start.line for r in found[0].related_information or []] == [load]
        (action,) = await actions(it, add)
        mended = with_edits(text, action, it.uri)
        if python:
            file.write_text(mended)
        mended_text = str(file) if python else mended
        assert ptokit.sanitize(mended_text).errors == []
        await it.change(mended)
        it.client.text_document_did_save(lsp.DidSaveTextDocumentParams(it.document))
        assert await it.findings() == []

    session(body)


def to_pto(file: Path) -> str:
    kernel = ModuleType("kernels")
    exec(compile(file.read_text(), str(file), "exec"), kernel.__dict__)
    text: str = kernel.f.to_pto()
    return text
