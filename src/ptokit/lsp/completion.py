"""What may stand where the cursor is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from ptokit.asm.forms.attributes import WORDS
from ptokit.asm.reading.registry import READERS
from ptokit.asm.types.parse import WRITTEN_TYPES
from ptokit.isa.table import BY_TEXT, TABLE

from .index import Index
from .positions import EditorPositions

TRIGGERS = [".", "%", "@", "!", "#", "^", "<"]
_COMMENT = re.compile(r'^(?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*//')
_WORD = re.compile(r"(?:[%@!#^]|\b(?:[a-z]+\.)+|\b[A-Z]|<)[\w.$-]*\Z")
_FUNCTION = re.compile(r"\bfunc\.func\b")
_NAMED = re.compile(r"[%^@!#][A-Za-z_0-9$][\w$.-]*")
_ALIAS = re.compile(r"^\s*([!#][A-Za-z_]\w*)\s*=", re.MULTILINE)
_DEFINED = re.compile(r"func\.func\s+(?:(?:private|public|nested)\s+)?(@[\w$.]+)")
_KIND = lsp.CompletionItemKind


def complete(places: EditorPositions, position: lsp.Position, index: Index | None) -> list[lsp.CompletionItem]:
    """Names that go on from what is written. ``index``: of this text or an earlier one, for the types of values.

    The text itself may be broken: names are taken from it as words.
    """
    before = places.before(position)
    word = _WORD.search(before)
    if word is None or _COMMENT.match(before):
        return []
    typed = word[0].lstrip("<")
    range = places.back(position, len(typed))
    return [_item(*found, range) for found in _names(typed, word[0][0], places, position, index)]


def _item(label: str, kind: lsp.CompletionItemKind, detail: str | None, range: lsp.Range) -> lsp.CompletionItem:
    return lsp.CompletionItem(label, kind=kind, detail=detail, text_edit=lsp.TextEdit(range, label))


def _names(
    typed: str, first: str, places: EditorPositions, position: lsp.Position, index: Index | None
) -> Iterator[tuple[str, lsp.CompletionItemKind, str | None]]:
    """Label, kind and detail of every name."""
    if typed.startswith("pto."):
        yield from ((f"pto.{i.text}", _KIND.Function, i.signature) for i in TABLE.values())
        yield from _each(
            (name for name in READERS if name.startswith("pto.") and name[4:] not in BY_TEXT), _KIND.Function
        )
    elif first.islower():
        yield from _each((name for name in READERS if name.startswith(typed[: typed.index(".") + 1])), _KIND.Function)
    elif first == "!":
        yield from _each(_ALIAS.findall(places.text), _KIND.Struct, first)
        yield from _each(WRITTEN_TYPES, _KIND.Struct)
    elif first == "#":
        yield from _each(_ALIAS.findall(places.text), _KIND.Constant, first)
    elif first == "@":
        yield from _each(_DEFINED.findall(places.text), _KIND.Function)
    elif first in "%^":
        types = {} if index is None else {f"%{value.name}": str(value.type) for value in index.values.values()}
        for name in _each(_NAMED.findall(_function(places, position)), _KIND.Variable, first):
            yield (*name[:2], types.get(name[0]))
    else:
        yield from _each([*sorted(WORDS["pipe"]), *sorted(WORDS["event"])], _KIND.EnumMember)


def _each(
    names: Iterable[str], kind: lsp.CompletionItemKind, first: str = ""
) -> Iterator[tuple[str, lsp.CompletionItemKind, None]]:
    """The names that begin with a character, each once."""
    yield from ((name, kind, None) for name in dict.fromkeys(names) if name.startswith(first))


def _function(places: EditorPositions, position: lsp.Position) -> str:
    """The text of the function around a position, without the word at it."""
    line, _ = places.ours(position)
    start = next((k for k in range(min(line, len(places.lines)) - 1, -1, -1) if _FUNCTION.search(places.lines[k])), 0)
    rest = range(line, len(places.lines))
    end = next((k for k in rest if _FUNCTION.search(places.lines[k])), len(places.lines))
    before = re.sub(r"[%^][\w.$-]*\Z", "", places.before(position))
    return "".join([*places.lines[start : line - 1], before, "\n", *places.lines[line:end]])
