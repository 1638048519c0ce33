"""What an editor asks of a text: its findings, what is at a place, and positions of the protocol."""

from __future__ import annotations

import re
from ast import FunctionDef
from bisect import bisect_right
from contextlib import suppress
from dataclasses import field

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec, TextDocument

from ptokit.api.program import CPP, PYTHON, kernels_in
from ptokit.asm.reading.blocks import FUNCTION_WORDS
from ptokit.asm.reading.module import parse_with
from ptokit.asm.reading.parser import Parser
from ptokit.asm.reading.scope import NO_LABELS, Labels
from ptokit.asm.text.lexer import EOF, Tokens
from ptokit.diagnostics import Diagnostics, Location
from ptokit.ir import Function, Module, Value
from ptokit.ir.facts import Facts
from ptokit.ir.functions import ARCH, readable_functions, stated_target
from ptokit.ir.verify import verify
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.values import Type

# What an editor asks of a text: its findings, and what stands at a place.


_LONGEST = 300  # tokens of an operation to look back for its name
_OPERATION = re.compile(r'"?(?:pto\.)?([a-z]\w*(?:\.\w+)*)"?\Z')


def is_python(uri: str) -> bool:
    """True for a Python file, by its name."""
    return uri.endswith(PYTHON)


def is_cpp(uri: str) -> bool:
    """True for a file of C++, by its name."""
    return uri.endswith(CPP)


def is_compiled(uri: str) -> bool:
    """True for a file whose kernels are looked at as they are on disk, once it is saved: in Python or C++."""
    return is_python(uri) or is_cpp(uri)


def kernels(text: str) -> dict[str, Location]:
    """The kernels at the top level of a Python text, by name, with the places of their names; none where it is none."""
    found: list[FunctionDef] = []
    if "ptokit" in text:
        with suppress(SyntaxError):
            found = kernels_in(text)
    return {f.name: Location(None, f.lineno, 1, len(f"def {f.name}")) for f in found}


class _Indexing(Parser):
    """Remembers which value each token names."""

    __slots__ = ("named",)

    named: dict[int, Value]

    def value(self) -> Value:
        index = self.i
        value = self.named[index] = super().value()
        return value

    def bind(self, token: str, value: Value, index: int) -> None:
        super().bind(token, value, index)
        if self.texts[index][0] == "%":
            self.named[index] = self.scope.values.get(token, value)


@dataclass
class Index:
    """A text that has been read and, where a target is known, checked."""

    tokens: Tokens
    module: Module
    diagnostics: Diagnostics
    target: Target | None
    values: dict[int, Value] = field(default_factory=dict)  # by the token that names them
    types: dict[str, Type] = field(default_factory=dict)  # by their text, aliases among them
    labels: Labels = NO_LABELS
    _facts: dict[Value, Facts] | None = None

    @property
    def kernels(self) -> dict[str, Location]:
        """The functions that can be run, by name."""
        return {function.name: function.location for function in self.module.entries()}

    def token_at(self, line: int, column: int) -> int | None:
        """The token at a place, or the one that ends there; lines and columns from 1. None between tokens."""
        text = self.tokens.text
        start = 0
        for _ in range(line - 1):
            start = text.find("\n", start) + 1
            if start == 0:
                return None
        offset = start + column - 1
        texts, ends = self.tokens.texts, self.tokens.ends
        at = bisect_right(ends, offset)
        if at == len(ends) or self.tokens.start(at) > offset:
            at -= 1
        touching = [i for i in (at, at - 1) if i >= 0 and offset <= ends[i] and texts[i] is not EOF]
        named = [i for i in touching if texts[i][0] in "%@!#^" or texts[i][0].isalpha()]
        return next(iter(named or touching), None)

    def location(self, token: int) -> Location:
        """Place of a token."""
        return Location(self.module.file, *self.tokens.place(token, token))

    def instruction(self, token: int) -> Instr | None:
        """The instruction a token names, as ``pto.tload``, ``tload`` or ``"pto.tload"``."""
        named = _OPERATION.match(self.tokens.texts[token])
        return BY_TEXT.get(named[1]) if named else None

    def operation_of(self, token: int) -> Instr | None:
        """The instruction in whose operands and attributes a token stands."""
        texts = self.tokens.texts
        for i in range(token - 1, max(-1, token - _LONGEST), -1):
            found = self.instruction(i)
            if found is not None and texts[i - 1] not in ("{", ","):  # no key of a dictionary
                return found
            if found is None and texts[i][0].isalpha() and ("." in texts[i] or texts[i] == "return"):
                return None  # another operation
        return None

    def function_around(self, token: int) -> tuple[int, int]:
        """The tokens of the function a token stands in, half open."""
        texts = self.tokens.texts
        heads = [0, *(i for i, text in enumerate(texts) if text in FUNCTION_WORDS), len(texts)]
        k = bisect_right(heads, token)
        return heads[k - 1], heads[k] if k < len(heads) else len(texts)

    def grouped(self, token: int) -> bool:
        """True if the value a token names is one of a group, ``%a:2``, or is used as one, ``%a#1``."""
        base = self.tokens.texts[token].partition("#")[0]
        first, end = self.function_around(token)
        texts = self.tokens.texts[first:end]
        pairs = zip(texts, texts[1:], texts[2:])
        return any(
            t.startswith(f"{base}#") or (t == base and colon == ":" and size.isdecimal()) for t, colon, size in pairs
        )

    def _label_places(self, token: int) -> list[int]:
        """The tokens of a block label in the region it belongs to, where the block begins first."""
        texts, labels = self.tokens.texts, self.labels
        for opening in sorted(labels.regions, reverse=True):
            end = labels.ends.get(opening, len(texts))
            heads = [i for i in labels.regions[opening] if texts[i] == texts[token]]
            if opening < token < end and heads:
                return [heads[0], *(i for i in range(opening, end) if texts[i] == texts[token] and i != heads[0])]
        return []

    def facts(self, value: Value) -> Facts | None:
        """What is known in the function a value belongs to."""
        if self._facts is None:
            self._facts = {}
            for function in self.module.functions:
                known = Facts(function)
                self._facts.update(dict.fromkeys(_values_of(function), known))
        return self._facts.get(value)

    def definition(self, token: int) -> Location | None:
        """Where the value, function or alias that a token names is defined."""
        text = self.tokens.texts[token]
        if text[0] == "%":
            value = self.values.get(token)
            return value.location if value is not None and value.location.line else None
        if text[0] == "@":
            return self._function_name(text)
        if text[0] == "^":
            labels = self._label_places(token)
            return self.location(labels[0]) if labels else None
        if text[0] in "!#":
            texts = self.tokens.texts
            places = (i for i, other in enumerate(texts[:-1]) if other == text and texts[i + 1] == "=")
            first = next(places, None)
            return self.location(first) if first is not None else None
        return None

    def _function_name(self, name: str) -> Location | None:
        """Where a function's name stands in its head; in generic form, the head."""
        texts = self.tokens.texts
        for i, text in enumerate(texts):
            if text == name and "func.func" in texts[max(0, i - 2) : i]:
                return self.location(i)
        function = self.module.function(name[1:].strip('"'))
        return function.location if function is not None else None

    def references(self, token: int) -> list[Location]:
        """Every place that names the value, function or alias a token names, in the order of the text."""
        texts = self.tokens.texts
        wanted = self.values.get(token)
        if wanted is not None:
            return [self.location(i) for i in sorted(self.values) if self.values[i] is wanted]
        if texts[token][0] == "^":
            return [self.location(i) for i in sorted(self._label_places(token))]
        if texts[token][0] in "@!#" and self.definition(token) is not None:
            return [self.location(i) for i, text in enumerate(texts) if text == texts[token]]
        return []


def _values_of(function: Function) -> list[Value]:
    out = list(function.params)
    out += [arg for block in function.body.more for arg in block.args] if function.body is not None else []
    for op in function.body.walk() if function.body is not None else ():
        out += op.results
        for region in op.regions:
            out += [arg for block in region.blocks for arg in block.args]
    return out


def build(text: str, file: str, default: Target | None = None) -> Index:
    """Read a text and check it for the target it states (``pto.target_arch``), else for `default`.

    Never raises for bad input: what is wrong is among the diagnostics. Without a target only the text is checked.
    """
    index = _read(text, file, None)
    if ARCH in index.module.attrs:
        index.target = stated_target(index.module)
    elif default is not None:
        index = _read(text, file, default)  # the target decides the layout of left tiles
    if index.target is not None:
        readable = readable_functions(index.module, index.diagnostics)
        for diagnostic in verify(index.module, index.target, functions=readable):
            index.diagnostics.add(diagnostic)
    return index


def _read(text: str, file: str, target: Target | None) -> Index:
    values: dict[int, Value] = {}
    parsers: list[Parser] = []

    def watch(*args: object) -> Parser:
        parser = _Indexing(*args)  # type: ignore[arg-type]
        parser.named = values
        parsers.append(parser)
        return parser

    result = parse_with(watch, text, file, target)
    if not parsers:
        return Index(Tokens(""), result.module, result.diagnostics, target)
    p = parsers[0]
    return Index(p.tokens, result.module, result.diagnostics, target, values, p.types, p.labels)


# Positions of the protocol against ours.


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends."""
    return _LINE.findall(text)[: -1 if text.endswith(("\r", "\n")) or not text else None]


class EditorPositions:
    """Positions of the editor (lines from 0, its own units) against ours (lines and characters from 1).

    A line ends where the protocol says, which is where it ends for the lexer.
    """

    def __init__(self, document: TextDocument) -> None:
        self.text = document.source
        self.lines = lines_of(self.text)
        self.codec: PositionCodec = document.position_codec

    def ours(self, position: lsp.Position) -> tuple[int, int]:
        """Line and column."""
        place = self.codec.position_from_client_units(self.lines, position)
        return place.line + 1, place.character + 1

    def before(self, position: lsp.Position) -> str:
        """The part of the line in front of a position."""
        line, column = self.ours(position)
        return self.lines[line - 1][: column - 1] if line <= len(self.lines) else ""

    def back(self, position: lsp.Position, characters: int) -> lsp.Range:
        """The range of that many characters before a position."""
        line, column = self.ours(position)
        return self.span(line, column - 1 - characters, column - 1)

    def span(self, line: int, start: int, end: int) -> lsp.Range:
        """Characters ``start`` to ``end`` (from 0, half open) of a line (from 1)."""
        ends = (lsp.Position(line - 1, start), lsp.Position(line - 1, end))
        return lsp.Range(*(self.codec.position_to_client_units(self.lines, end) for end in ends))

    def range(self, location: Location) -> lsp.Range:
        """The range of a location; one character where it has no extent."""
        line, start = max(1, location.line), max(0, location.column - 1)
        here = len(self.lines[line - 1].rstrip("\r\n")) if line <= len(self.lines) else 0
        return self.span(line, start, min(start + location.length, max(here, start + 1)))

    def whole(self) -> lsp.Range:
        """The whole text."""
        return lsp.Range(lsp.Position(0, 0), lsp.Position(len(self.lines) + 1, 0))
