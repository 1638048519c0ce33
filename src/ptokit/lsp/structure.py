"""What a text is made of, for an editor: kinds of words to colour, and regions to fold."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ptokit.asm.reading.blocks import FUNCTION_WORDS
from ptokit.asm.text.lexer import EOF, Tokens
from ptokit.isa.table import BY_TEXT

from .index import EditorPositions, Index

KINDS = ("comment", "function", "variable", "parameter", "type", "enumMember", "number", "string", "keyword", "label")
"""Kinds of words: the legend of the protocol. Instructions, operations and functions are ``function``."""

MODIFIERS = ("definition",)

_OPERATION = re.compile(r'"?[a-z]\w*(?:\.\w+)+"?\Z')
_NUMBER = re.compile(r"-?\d|0x")
_KEYWORDS = {*FUNCTION_WORDS, "module", "ins", "outs", "attributes", "return", "to", "step", "iter_args", "else", "do"}
_COMMENT = re.compile(r"//[^\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')

Word = tuple[int, int, int, str, bool]
"""Line and column from 1, length in characters, kind, and whether it is a definition."""


def words(index: Index) -> list[Word]:
    """The words of a text in order."""
    found = [*_words(index), *_comments(index.tokens)]
    return sorted(found, key=lambda word: word[:2])


def _words(index: Index) -> Iterator[Word]:
    tokens = index.tokens
    parameters = {id(value) for function in index.module.functions for value in function.params}
    for i, text in enumerate(tokens.texts):
        if text is EOF or "\n" in text:
            continue
        value = index.values.get(i)
        kind = _kind(tokens, i, text)
        if kind == "variable" and value is not None and id(value) in parameters:
            kind = "parameter"
        if kind:
            line, column, length = tokens.place(i, i)
            own = value is not None and (value.location.line, value.location.column) == (line, column)
            yield line, column, length, kind, own


def _kind(tokens: Tokens, i: int, text: str) -> str:
    first = text[0]
    if first in "%@!#^":
        return {"%": "variable", "@": "function", "!": "type", "#": "enumMember", "^": "label"}[first]
    if first == '"':
        named = _OPERATION.match(text)
        return "function" if named else "string"
    if _NUMBER.match(text):
        return "number"
    if text in _KEYWORDS:
        return "keyword"
    if _OPERATION.match(text) or (text in BY_TEXT and tokens.starts_line(i)):
        return "function"
    return ""


def _comments(tokens: Tokens) -> Iterator[Word]:
    for number, line in enumerate(tokens.text.split("\n"), 1):
        found = _COMMENT.search(_STRING.sub(lambda string: " " * len(string[0]), line))
        if found:
            yield number, found.start() + 1, len(found[0]), "comment", False


def coloured(index: Index, places: EditorPositions) -> list[int]:
    """The words as the protocol has them: five numbers each, places relative to the word before."""
    out: list[int] = []
    line, character = 0, 0
    for number, column, length, kind, own in words(index):
        span = places.span(number, column - 1, column - 1 + length)
        start, end = span.start, span.end
        ahead = start.character - (character if start.line == line else 0)
        out += [start.line - line, ahead, end.character - start.character, KINDS.index(kind), int(own)]
        line, character = start.line, start.character
    return out


def folds(index: Index) -> list[lsp.FoldingRange]:
    """Regions in braces and blocks of comments of several lines."""
    tokens = index.tokens
    out: list[lsp.FoldingRange] = []
    open: list[int] = []
    for i, text in enumerate(tokens.texts):
        if text == "{":
            open.append(tokens.place(i, i)[0])
        elif text == "}" and open:
            first, last = open.pop(), tokens.place(i, i)[0]
            if last - 1 > first:
                out.append(lsp.FoldingRange(first - 1, last - 2, kind=lsp.FoldingRangeKind.Region))
    return sorted([*out, *_comment_blocks(tokens)], key=lambda fold: fold.start_line)


def _comment_blocks(tokens: Tokens) -> Iterator[lsp.FoldingRange]:
    lines = [line.lstrip().startswith("//") for line in tokens.text.split("\n")]
    start = None
    for number, comment in enumerate([*lines, False]):
        if comment and start is None:
            start = number
        elif not comment and start is not None:
            if number - 1 > start:
                yield lsp.FoldingRange(start, number - 1, kind=lsp.FoldingRangeKind.Comment)
            start = None
