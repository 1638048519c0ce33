"""Sequences of operations: results, dispatch by name, where operands are written, and going on after an error.

Only findings ask for it, so reading remembers nothing: the operation is read once more, alone, with every use of a
value as a value of its own that is located at this use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate

from ptokit.diagnostics import Diagnostics, Location
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Op, Value
from ptokit.ir.control import BRANCHES, CONTROL, SEVERAL, TERMINATORS
from ptokit.ir.core import Place, Places
from ptokit.isa.table import BY_OPERATION, BY_TEXT, Instr
from ptokit.types.values import Type

from ..forms.operands import DPS_WORDS
from ..text import rules
from ..text.cursor import LimitError, OperationError
from ..text.lexer import EOF, Tokens
from . import result_types as _inferred_types  # fills the table of inferred types
from .ops.forms import Kind, read_blocks, read_head
from .ops.micro import read_micro
from .ops.tile import read_dps
from .parser import QUOTED, READERS, Parser, reader_of
from .scope import NO_LABELS, Region
from .statements.instructions import read_ssa
from .statements.sync import STATEMENTS
from .written import read_form

# Going on after an operation that could not be read: where the next one starts.


_DOTTED = re.compile(r"(?:pto|arith|scf|func|memref|builtin|cf|math|affine|vector)\.[A-Za-z]", re.ASCII)
FUNCTION_WORDS = frozenset(("func.func", '"func.func"'))
_BARE = frozenset(("return", "module", "call"))


def starts_operation(p: Parser, i: int) -> bool:
    """True if an operation seems to start at token `i`.

    At the start of a line a name or a result list is enough; elsewhere ``%x = dialect.name`` or a dotted name.
    """
    texts = p.texts
    token = texts[i]
    if token is EOF:
        return False
    following = texts[i + 1]
    if token[0] == "%":
        if following == "=":
            return bool(_DOTTED.match(texts[i + 2])) or p.tokens.starts_line(i)
        return following in (":", ",") and p.tokens.starts_line(i) and _result_list(p, i)
    if token[0] == '"':
        return following == "(" and p.tokens.starts_line(i)
    if following in ("=", ",", "}", ")", ":"):  # a key, a word in a list
        return token in _BARE and p.tokens.starts_line(i) and following == "}"
    return bool(_DOTTED.match(token)) or ((token in _BARE or token in BY_TEXT) and p.tokens.starts_line(i))


def _result_list(p: Parser, i: int) -> bool:
    """True if ``%a, %b:2, .. =`` stands at token `i`."""
    texts = p.texts
    for k in range(i, min(i + 64, len(texts))):
        token = texts[k]
        if token == "=":
            return True
        if not (token[0] == "%" or token in (",", ":") or token.isdecimal()):
            return False
    return False


def recover(p: Parser, start: int, names: Sequence[int], read_ops: Callable[[Parser, Block], None]) -> None:
    """Skip the rest of an operation that began at token `start`.

    Its results become poisoned values. A region that belongs to it is still read, with the unknown names of its head
    poisoned, so that errors inside are found.
    """
    texts = p.texts
    for index in names:
        if texts[index] not in p.scope.values:
            p.poison(index)
    p.i = start if texts[start] == "{" else max(p.i, start + 1)
    while True:
        token = texts[p.i]
        if token is EOF or token == "}" or token in FUNCTION_WORDS or (token[0] == "^" and p.i in p.labels.places):
            return
        if token == "{":
            if texts[p.i + 1][0] == "^" or starts_operation(p, p.i + 1):
                _region(p, start, read_ops)
            else:
                _braces(p)
        elif starts_operation(p, p.i):
            return
        else:
            p.i += 1


def _region(p: Parser, start: int, read_ops: Callable[[Parser, Block], None]) -> None:
    """Read the region at the brace for its errors only."""
    p.scope.enter()
    for index in range(start, p.i):
        token = p.texts[index]
        if token[0] == "%" and token not in p.scope.values:
            p.poison(index)
    opening = p.expect("{")
    p.enter()
    read_ops(p, Block())
    p.leave()
    p.scope.leave()
    with suppress(OperationError):
        p.closed(opening)


def _braces(p: Parser) -> None:
    """Step over ``{ .. }``, or up to an operation at the start of a line: then a brace is missing."""
    depth = 0
    while True:
        token = p.texts[p.i]
        if token is EOF:
            return
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                p.i += 1
                return
        elif depth == 1 and p.tokens.starts_line(p.i) and starts_operation(p, p.i):
            return
        p.i += 1


# Operations of other dialects that the reference assembler takes and ptokit does not read.


KNOWN_FOREIGN = frozenset("scf.parallel scf.forall scf.reduce memref.load memref.store memref.cast".split())
"""Operations of other dialects the reference assembler takes and ptokit does not (assembly 11)."""


# Sequences of operations: results, dispatch by name, and going on after an error.


Names = list[tuple[int, int]]
"""Result names: token index, and size of the group (0: a name of its own)."""


def read_region(p: Parser, args: Sequence[tuple[int, Type]], kind: Kind) -> Block:
    """Read ``{ ... }`` with arguments named by tokens; their names and those defined inside end with it."""
    opening = p.expect("{")
    block = Block()
    p.scope.enter()
    p.enter()
    outer = p.region
    p.region = None if p.labels is NO_LABELS else Region(block, opening, outer=outer)
    for index, type in args:
        value = p.define(index, type)
        value.owner = block
        block.args.append(value)
    if p.texts[p.i][0] == "^" or p.labels.several(opening):
        _labelled(p, block, opening, kind)
    else:
        read_ops(p, block)
    p.region = outer
    p.leave()
    p.scope.leave()
    p.closed(opening)
    for last in (b.ops[-1] for b in block.blocks if b.ops):
        if last.name in TERMINATORS and last.name not in kind.ends and last.name not in BRANCHES:
            p.misplaced.append((last, _ending(kind)))
    return block


def _ending(kind: Kind) -> str:
    return f"it ends with {' or '.join(kind.ends)}" if kind.ends else "it has no terminator"


def _labelled(p: Parser, block: Block, opening: int, kind: Kind) -> None:
    """Read a region whose blocks have labels. TEXT-BLOCKS for blocks and arguments that it cannot have."""
    region = p.region
    assert region is not None
    named = len(block.args)
    label = p.i
    if p.labels.several(opening):
        if not kind.several:
            further = next(i for i in p.labels.regions[opening] if i > label)
            p.error(rules.BLOCKS, "this region is a single block", further, hint=f"use {SEVERAL}")
        read_blocks(p, region, read_ops)
    else:
        region.blocks[p.texts[label]] = block
        region.tokens[id(block)] = label
        block.label = p.texts[label][1:]
        read_head(p, region, block)
        read_ops(p, block)
    if p.texts[label][0] == "^" and not kind.labelled and (named or block.args):
        message = "the arguments of this region are named in front of it" if named else "this region has no arguments"
        p.error(rules.BLOCKS, message, label)


def read_ops(p: Parser, block: Block) -> None:
    """Read operations up to the closing brace or the end of the file."""
    texts, ops = p.texts, block.ops
    depth, level = p.depth, p.scope.level
    while True:
        token = texts[p.i]
        if token == "}" or token is EOF or token in FUNCTION_WORDS or (token[0] == "^" and p.i in p.labels.places):
            break
        start = p.i
        names: Names = []
        try:
            if token[0] == "%":
                names = result_names(p)
            at = p.i
            op = read_operation(p, names)
            op.location = p.location(at)
            if p.expansion is not None:
                _expand(p, op, names, ops)
            elif names or op.results:
                _name_results(p, op, names)
            if texts[p.i] == "loc":
                p.skip_location()
            if texts[p.i] == ";":
                p.i += 1
            ops.append(op)
        except OperationError:
            p.expansion = None
            p.depth = depth
            p.broken.add(block)
            p.scope.unwind(level)
            recover(p, start, [index for index, _ in names], read_ops)
    for op in ops[:-1]:
        if op.name in TERMINATORS:
            p.error(rules.TERMINATOR, f"{op.name} is not the last operation of its block", op.location)


def read_operation(p: Parser, names: Names) -> Op:
    """Read one operation after the names of its results; what belongs in front of it is left in ``p.expansion``."""
    at, token = p.i, p.texts[p.i]
    p.i += 1
    reader = reader_of(token)
    return reader(p, token, at) if reader is not None else _table_operation(p, token, at, names)


def result_names(p: Parser) -> Names:
    """Step over ``%a, %b:2 =``."""
    out: Names = []
    if p.texts[p.i + 1] == "=":
        p.i += 2
        return [(p.i - 2, 0)]
    while True:
        index = p.name()
        size = 0
        if p.accept(":"):
            size = p.integer("the number of results")
            if not 1 <= size <= 1000:
                p.fail(rules.RESULTS, "a group has 1 to 1000 results", index)
        out.append((index, size))
        if p.accept("="):
            return out
        if not p.accept(","):
            p.unexpected("'='")


def _name_results(p: Parser, op: Op, names: Names) -> None:
    results = op.results
    if len(names) == len(results) == 1 and not names[0][1]:
        index, value = names[0][0], results[0]
        token = p.texts[index]
        value.location, value.name = p.location(index), token[1:]
        p.bind(token, value, index)
        return
    count = sum(size or 1 for _, size in names)
    if names and count != len(results):
        p.error(rules.RESULTS, f"{op.name} has {len(results)} results, but {count} are named", names[0][0])
        for index, _ in names:
            p.poison(index)
        return
    if not names:
        for value in results:
            value.location = value.location if value.name else op.location
        return
    position = 0
    for index, size in names:
        token = p.texts[index]
        location = p.location(index)
        for k in range(size or 1):
            value = results[position]
            value.location = location
            name = token if size <= 1 else f"{token}#{k}"
            value.name = name[1:]
            p.bind(name, value, index)
            if size > 1 and k == 0:
                p.scope.define(token, value)
            position += 1


def _expand(p: Parser, op: Op, names: Names, ops: list[Op]) -> None:
    """Put what a statement means in front of it, and give its results their names."""
    expansion, p.expansion = p.expansion, None
    assert expansion is not None
    for before in expansion.before:
        before.location = op.location
        for value in before.results:
            value.location = op.location
    ops += expansion.before
    if op.results:
        _name_results(p, op, names)
        return
    if any(size for _, size in names):
        p.fail(rules.RESULTS, f"{op.name} has single results, no group", names[0][0])
    for (index, _), value in zip(names, expansion.results):
        if not value.name and isinstance(value.owner, Op) and value.owner in expansion.before:
            value.name, value.location = p.texts[index][1:], p.location(index)
        p.bind(p.texts[index], value, index)


def _table_operation(p: Parser, token: str, at: int, names: Names) -> Op:
    """Read an operation of the instruction table after its name; in the sync form that has no ``pto.``."""
    if token[0] == '"':
        return READERS[QUOTED](p, token, at)
    instr = BY_TEXT.get(token.removeprefix("pto."))
    if instr is None:
        _unknown(p, token, at)
        raise OperationError
    special = STATEMENTS.get(instr.text)
    if special is not None and (read := special(p, bool(names))) is not None:
        return read(p, instr.text, at)
    if p.texts[p.i] == "(" and (called := _called(instr.text)) is not None:
        instr = called
    if instr.form.grammar:
        return read_form(p, instr, instr.form.grammar)
    if instr.form.syntax == "micro":
        return read_micro(p, instr, at, len(names))
    if instr.form.syntax not in DPS_WORDS:
        p.fail(rules.UNIMPLEMENTED, f"instruction not implemented yet: pto.{instr.text}", at)
    if p.texts[p.i] != "ins" and instr.ins:
        return read_ssa(p, instr, at, len(names))
    return read_dps(p, instr, at)


@cache
def _called(text: str) -> Instr | None:
    """What is written under this name with parentheses, if that is another instruction."""
    own = BY_TEXT[text]
    renamed = (i for i in BY_TEXT.imported() if i.form.newest == own.text)
    found = (i for i in renamed if i.form.grammar and i.form.grammar[0].startswith("~("))
    return None if own.form.grammar else next(found, None)


def _unknown(p: Parser, token: str, at: int) -> None:
    if token in KNOWN_FOREIGN:
        p.error(rules.UNIMPLEMENTED, f"instruction not implemented yet: {token}", at)
    elif token[0].isalpha() and not token.endswith(">"):
        known = [f"pto.{name}" for name in BY_TEXT] + [*READERS, *CONTROL]
        p.error(rules.UNKNOWN_OP, f"unknown operation '{token[:60]}'", at, hint=suggest(token, known))
    else:
        p.i = at
        p.unexpected("an operation")


del _inferred_types


# Where the operands of an operation are written.


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
        """Where the type of the next value that has this one is written; one may be for several values."""
        for k, (known, location) in enumerate(self.left):
            if known == type:
                del self.left[k]
                self.taken[type] = location
                return location
        return self.taken.get(type)


def _places(given: list[Value]) -> list[Place]:
    return [Place(use.location, use.typed) for use in given if isinstance(use, _Use)]
