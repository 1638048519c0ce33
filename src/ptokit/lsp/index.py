"""What an editor asks of a text: its findings, and what stands at a place."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from ptokit.asm.lexer import EOF, Tokens
from ptokit.asm.module import parse_with
from ptokit.asm.parser import Parser
from ptokit.diagnostics import Diagnostics, Location
from ptokit.ir import Function, Module, Value
from ptokit.ir.facts import Facts
from ptokit.ir.sound import sound_functions
from ptokit.ir.stated import stated_target
from ptokit.ir.verify import verify
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.targets import Target

_OPERATION = re.compile(r'"?(?:pto\.)?([a-z]\w*(?:\.\w+)*)"?\Z')


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
    _facts: dict[Value, Facts] | None = None

    def token_at(self, line: int, column: int) -> int | None:
        """The token at a place, or the one that ends there; lines and columns from 1. None between tokens."""
        text = self.tokens.text
        start = 0
        for _ in range(line - 1):
            start = text.find("\n", start) + 1
            if start == 0:
                return None
        offset = start + column - 1
        at = bisect_right(self.tokens.starts, offset) - 1
        texts = self.tokens.texts
        touching = [i for i in (at, at - 1) if i >= 0 and offset <= self.tokens.end(i) and texts[i] is not EOF]
        named = [i for i in touching if texts[i][0] in "%@!#" or texts[i][0].isalpha()]
        return next(iter(named or touching), None)

    def location(self, token: int) -> Location:
        """Place of a token."""
        start = self.tokens.starts[token]
        return Location(self.module.file, *self.tokens.position(start), self.tokens.end(token) - start)

    def instruction(self, token: int) -> Instr | None:
        """The instruction a token names, as ``pto.tload``, ``tload`` or ``"pto.tload"``."""
        named = _OPERATION.match(self.tokens.texts[token])
        return BY_TEXT.get(named[1]) if named else None

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
            function = self.module.function(text[1:].strip('"'))
            return function.location if function is not None else None
        if text[0] in "!#":
            texts = self.tokens.texts
            places = (i for i, other in enumerate(texts[:-1]) if other == text and texts[i + 1] == "=")
            first = next(places, None)
            return self.location(first) if first is not None else None
        return None

    def references(self, token: int) -> list[Location]:
        """Every place that names the value, function or alias a token names, in the order of the text."""
        texts = self.tokens.texts
        wanted = self.values.get(token)
        if wanted is not None:
            return [self.location(i) for i in sorted(self.values) if self.values[i] is wanted]
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
    if "pto.target_arch" in index.module.attrs:
        index.target = stated_target(index.module)
    elif default is not None:
        index = _read(text, file, default)  # the target decides the layout of left tiles
    if index.target is not None:
        readable = sound_functions(index.module, index.diagnostics)
        for diagnostic in verify(index.module, index.target, functions=readable):
            index.diagnostics.add(diagnostic)
    return index


def _read(text: str, file: str, target: Target | None) -> Index:
    values: dict[int, Value] = {}
    tokens = [Tokens("")]

    def watch(*args: object) -> Parser:
        parser = _Indexing(*args)  # type: ignore[arg-type]
        parser.named = values
        tokens.append(parser.tokens)
        return parser

    result = parse_with(watch, text, file, target)
    return Index(tokens[-1], result.module, result.diagnostics, target, values)
