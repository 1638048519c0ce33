"""Changes of the text that an editor offers: new names, and the words that findings propose."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from ptokit.diagnostics import Location
from ptokit.diagnostics.suggestions import replacement

from .index import Index
from .positions import EditorPositions

_NAMES = {
    "%": r"%(?:\d+|[A-Za-z_$.-][\w$.-]*)",
    "@": r"@[A-Za-z_][\w$.]*",
    "!": r"![A-Za-z_]\w*",
    "#": r"#[A-Za-z_]\w*",
    "^": r"\^[\w$.-]+",
}


class RenameError(Exception):
    """Why a name cannot be changed."""


def renamable(index: Index, token: int) -> list[Location]:
    """The places of the name at a token. Raises `RenameError` if it cannot be changed everywhere."""
    text = index.tokens.texts[token]
    places = index.references(token) if text[0] in _NAMES else []
    if not places:
        raise RenameError("only values, functions, aliases and block labels have names to change")
    texts = index.tokens.texts
    if text[0] == "%" and index.grouped(token):
        raise RenameError(f"{text} names a group of results, which are used by number")
    whole = re.compile(rf"(?<![\w$.-]){re.escape(text)}(?![\w$.-])")
    if text[0] in "@!#" and sum(len(whole.findall(other)) for other in texts) != len(places):
        raise RenameError(f"{text} also stands inside of attributes or types")
    return places


def new_name(index: Index, token: int, name: str) -> str:
    """The new name with its first character. Raises `RenameError` if it is none, or taken."""
    text = index.tokens.texts[token]
    name = name if name[:1] == text[0] else text[0] + name
    if re.fullmatch(_NAMES[text[0]], name) is None:
        raise RenameError(f"'{name}' is not a name")
    first, end = (0, len(index.tokens.texts)) if text[0] in "@!#" else index.function_around(token)
    if name != text and name in {
        other.partition("#")[0] if name[0] == "%" else other for other in index.tokens.texts[first:end]
    }:
        raise RenameError(f"{name} is a name already")
    return name


def proposals(index: Index, places: EditorPositions, wanted: lsp.Range, uri: str) -> list[lsp.CodeAction]:
    """The words that findings in a range propose."""
    out = []
    for finding in index.diagnostics:
        at = places.range(finding.location)
        line = finding.location.line
        if not (0 < line <= len(places.lines)) or at.end < wanted.start or wanted.end < at.start:
            continue
        edit = replacement(finding, places.lines[line - 1].rstrip("\r\n"))
        if edit is not None:
            change = lsp.TextEdit(places.span(line, edit.start, edit.end), edit.text)
            title = f"Replace by {edit.text}"
            out.append(
                lsp.CodeAction(
                    title,
                    lsp.CodeActionKind.QuickFix,
                    is_preferred=True,
                    edit=lsp.WorkspaceEdit({uri: [change]}),
                )
            )
    return out
