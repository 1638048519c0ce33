"""Where the operands of an operation are written.

Only findings ask for it, so reading remembers nothing: the operation is read once more, alone, with every use of a
value as a value of its own that is located at this use.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import accumulate

from ptokit.diagnostics import Diagnostics, Location
from ptokit.ir import Op, Value
from ptokit.ir.core import Place, Places
from ptokit.isa.table import BY_OPERATION
from ptokit.types.values import Type

from ..text.cursor import LimitError, OperationError
from ..text.lexer import Tokens
from .blocks import read_operation, result_names
from .parser import Parser

_FIRST, _LONGEST = 1000, 1 << 16  # characters that are looked at first, and at most
_NAMES = re.compile(r"%[^\s,=]+(?:\s*,\s*%[^\s,=]+)*\s*=\s*\Z")
_LONGEST_NAMES = 400


class OperandPlaces:
    """Where operands are written in the text that a parser has read."""

    def __init__(self, parser: Parser) -> None:
        self.text = parser.tokens.text
        self.file, self.target = parser.file, parser.target
        self.types, self.aliases = parser.types, parser.aliases
        self._lines: list[int] | None = None
        self._found: dict[Op, Places] = {}

    def __call__(self, op: Op) -> Places:
        """The places of the operands and results of an operation of the text, as far as they can be told."""
        if op not in self._found:
            self._found[op] = {} if op.regions or not op.location.line else self._read(op)
        return self._found[op]

    def __deepcopy__(self, memo: object) -> OperandPlaces:
        return self  # copies of a module have the same text

    def start(self, line: int) -> int:
        """The offset of a line."""
        if self._lines is None:
            self._lines = [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]
        return self._lines[line - 1]

    def _read(self, op: Op) -> Places:
        at = op.location
        name = self.start(at.line) + at.column - 1
        before = _NAMES.search(self.text, max(0, name - _LONGEST_NAMES), name)
        first = name if before is None else before.start()
        size = _FIRST
        while True:
            p = _Reading(self, first, first + size, at.line - self.text.count("\n", first, name))
            found = p.places(op)
            if p.i < len(p.texts) - 2 or first + size >= len(self.text) or size > _LONGEST:
                return found
            size *= 8  # the end of the operation may have been cut off


class _Use(Value):
    """A value as one place uses it."""

    __slots__ = ("typed",)

    def __init__(self, value: Value, location: Location) -> None:
        super().__init__(value.type, value.name, value.owner, location)
        self.typed: Location | None = None


class _Reading(Parser):
    """Reads a single operation and remembers where it uses values and writes their types."""

    __slots__ = ("line", "column", "left", "taken")

    def __init__(self, text: OperandPlaces, first: int, end: int, line: int) -> None:
        super().__init__(Tokens(text.text[first:end]), text.file, Diagnostics(), text.target)
        self.types, self.aliases, self.free = text.types, text.aliases, {}
        self.line, self.column = line, first - text.start(line)
        self.left: list[tuple[Type, Location]] = []  # types that no value has taken
        self.taken: dict[Type, Location] = {}

    def places(self, op: Op) -> Places:
        """The places of the operands of `op`, which begins here; none if it cannot be read alone."""
        for value in op.values:
            self.scope.define(f"%{value.name}", value)
        with suppress(OperationError, LimitError):
            names = result_names(self) if self.texts[0][0] == "%" else []
            read = read_operation(self, names)
            implied = [] if self.expansion is None else self.expansion.before
            read = next((one for one in implied if one.name == op.name), read)
            found = {name: _places([v] if isinstance(v, Value) else v) for name, v in read.operands.items() if v}
            instr = BY_OPERATION.get(op.name)
            produced = [operand.name for operand in instr.produces] if instr is not None else []
            for k, (result, again) in enumerate(zip(op.results, read.results)):
                found[f"%{result.name}"] = [Place(result.location, self._type_of(again.type))]
                if k < len(produced):
                    found[produced[k]] = found[f"%{result.name}"]
            return found
        return {}

    def location(self, index: int | None = None, end: int | None = None) -> Location:
        at = super().location(index, end)
        return at._replace(line=at.line + self.line - 1, column=at.column + (self.column if at.line == 1 else 0))

    def value(self) -> Value:
        at = self.location()
        return _Use(super().value(), at)

    def type(self, *, stripped: str = "") -> Type:
        first = self.i
        type = super().type(stripped=stripped)
        self.left.append((type, self.location(first, self.i)))
        return type

    def match(self, value: Value, type: Type, index: int) -> None:
        written = self._type_of(type)
        if isinstance(value, _Use):
            value.typed = written
        super().match(value, type, index)

    def _type_of(self, type: Type) -> Location | None:
        """Where the type of the next value that has this one is written; one may stand for several values."""
        for k, (known, location) in enumerate(self.left):
            if known == type:
                del self.left[k]
                self.taken[type] = location
                return location
        return self.taken.get(type)


def _places(given: list[Value]) -> list[Place]:
    return [Place(use.location, use.typed) for use in given if isinstance(use, _Use)]
