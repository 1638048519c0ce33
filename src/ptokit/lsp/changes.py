"""Changes of the text that an editor offers: new names, and what findings propose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from lsprotocol import types as lsp

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import Edit, edited

from .index import Index
from .positions import EditorPositions, lines_of
from .processes import Mended

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


def proposals(found: Iterable[Mended], places: EditorPositions, wanted: lsp.Range, uri: str) -> list[lsp.CodeAction]:
    """The changes that mend findings in a range; where several findings have one, also all of them together."""
    fixes = {fix: finding for finding, fix in found if fix is not None}
    out = []
    for fix, finding in fixes.items():
        at = places.range(finding.location)
        if at.start <= wanted.end and wanted.start <= at.end:
            out.append(_action(fix.text, fix.edits, places, uri, preferred=True))
    if out and len(fixes) > 1:
        edits = [edit for fix in fixes for edit in fix.edits]
        out.append(_action(f"make all {len(fixes)} changes that findings propose", edits, places, uri, preferred=False))
    return out


def _action(text: str, edits: Iterable[Edit], places: EditorPositions, uri: str, *, preferred: bool) -> lsp.CodeAction:
    change = lsp.WorkspaceEdit({uri: [_difference(places, edited(places.text, edits))]})
    title = text[:1].upper() + text[1:]
    return lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, is_preferred=preferred or None, edit=change)


def _difference(places: EditorPositions, text: str) -> lsp.TextEdit:
    """The change that makes another text of this one: the lines that differ, of one line the characters."""
    old, new = places.lines, lines_of(text)
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    removed, added = old[first : len(old) - last], new[first : len(new) - last]
    if len(removed) == len(added) == 1:
        start = _common(removed[0], added[0])
        end = _common(removed[0][start:][::-1], added[0][start:][::-1])
        span = places.span(first + 1, start, len(removed[0]) - end)
        return lsp.TextEdit(span, added[0][start : len(added[0]) - end])
    whole = lsp.Range(lsp.Position(first, 0), lsp.Position(first + len(removed), 0))
    return lsp.TextEdit(whole, "".join(added))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many first characters, or lines, are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))
