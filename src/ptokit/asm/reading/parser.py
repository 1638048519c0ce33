"""The parser's state: position, types seen, visible values, target; and who reads which operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from ptokit.diagnostics import Diagnostics, Note
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Op, Value
from ptokit.ir.control import CONTROL
from ptokit.ir.core import SHALLOW, make_room
from ptokit.ir.functions import target_named
from ptokit.records import dataclass
from ptokit.targets import A2A3, TARGET_NAMES, Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import I1, I64, INDEX, FunctionType, Type

from ..text import rules
from ..text.cursor import MAX_DEPTH, Cursor
from ..text.lexer import Tokens
from ..text.rules import TypeFaultError
from ..types.parse import BUILTINS, FREE, POISON, parse_type
from .scope import NO_LABELS, Definitions, Labels, Region, Scope

# The parser's state: position, types seen, visible values, target.


@dataclass(slots=True)
class Expansion:
    """What a statement of level 1 or the sync form means beside its instruction."""

    before: list[Op] = field(default_factory=list)  # operations in front of it
    results: list[Value] = field(default_factory=list)  # what the names of its results mean


class Parser(Cursor):
    """Reads types and values; the operations are read by the modules ``ops_*``."""

    __slots__ = (
        "scope",
        "types",
        "_canonical",
        "target",
        "_fixed_target",
        "depth",
        "calls",
        "aliases",
        "attributes",
        "properties",
        "expansion",
        "free",
        "ssa",
        "region",
        "broken",
        "misplaced",
        "fitting",
        "repeated",
        "definitions",
        "_labels",
    )

    def __init__(self, tokens: Tokens, file: str | None, diagnostics: Diagnostics, target: Target | None) -> None:
        super().__init__(tokens, file, diagnostics)
        self.scope = Scope()
        self.types: dict[str, Type] = {}
        self._canonical: dict[Type, Type] = {t: t for t in (INDEX, I1, I64)}  # readers ask if it is one
        self._fixed_target = target is not None
        self.target = target or A2A3
        self.depth = 0
        self.calls: list[tuple[Op, int]] = []
        self.attributes: dict[tuple[int, str, str], Any] = {}
        self.properties: dict[str, list[tuple[str, str]]] = {}
        self.expansion: Expansion | None = None
        self.free: dict[str, Value] | None = None  # in a listing: values that it uses and does not define
        self.ssa = False  # a statement of level 1 has been read
        self.region: Region | None = None  # the innermost one, if its blocks have labels
        self.broken: set[Block] = set()  # an operation of them could not be read
        self.repeated: set[str] = set()  # names that were reported as defined twice
        self.misplaced: list[tuple[Op, str]] = []  # terminators of other regions than theirs, and how theirs end
        self.fitting: dict[tuple[str, int, int], tuple[Type, Type]] = {}  # operations and types that were compared
        self.definitions = Definitions(self)
        self._labels: Labels | None = None

    def state_target(self, arch: object, place: int | None = None) -> None:
        """Take the module's ``pto.target_arch`` unless the caller chose a target.

        `place` is the token that the word begins with: TEXT-ARCH there if it names no target.
        """
        if self._fixed_target:
            return
        self.target = target_named(arch)
        for name, type in self.types.items():  # aliases stand in front of the module
            self.types[name] = self._laid_out(type)
        if place is not None and str(arch).lower() not in TARGET_NAMES:
            message = f"there is no target '{arch}': read with the rules of a2a3"
            self.warning(rules.ARCH, message, place, hint=suggest(str(arch), TARGET_NAMES))

    def report_misplaced(self) -> None:
        """At the end of a function: TEXT-TERMINATOR for terminators of other operations, unless a brace is missing."""
        for op, hint in () if self.truncated else self.misplaced:
            self.error(rules.TERMINATOR, f"{op.name} does not end this region", op.location, hint=hint)
        self.misplaced = []

    # ---------------------------------------------------------------- types

    def type(self, *, stripped: str = "") -> Type:
        """Step over a type. With `stripped` (``ptr``) its angle part alone will do. A wrong type gives `POISON`."""
        token = self.texts[self.i]
        known = self.types.get(token)
        if known is not None:
            self.i += 1
            return known
        if token == "(":
            return self._function_type()
        index, spelled = self.i, token
        if token[0] == "<" and stripped:
            spelled = f"!pto.{stripped}{token}"
        spelled = self.expand(spelled)
        shift = len(spelled) - len(token)
        try:
            parsed = None
            if spelled[0] == "!" or spelled[0].isalpha():
                parsed = parse_type(spelled)
        except TypeFaultError as fault:
            if self.texts[index + 1] == "<":
                self.i += 1
                self.unexpected("a type")
            inside = max(0, fault.offset - shift)
            place = self.location(index)
            if inside < len(token):  # else what is missing would follow it
                place = self.place(self.tokens.start(index) + inside, fault.length)
            hint = suggest(token, [name for name in self.types if "<" not in name]) if token[0] == "!" else None
            self.error(fault.rule, str(fault), place, hint=hint or fault.hint)
            self.i += 1
            return POISON
        if parsed is None:
            hint = suggest(token, BUILTINS) if token[0].isalpha() else None
            if hint is None:
                self.unexpected("a type")
            self.error(rules.UNEXPECTED, f"expected a type, found {self.found()}", hint=hint)
            self.i += 1
            return POISON
        parsed = self._laid_out(parsed)
        self.i += 1
        parsed = self._canonical.setdefault(parsed, parsed)
        if token[0] != "<":
            self.types[token] = parsed
        return parsed

    def _laid_out(self, type: Type) -> Type:
        """The type; if of a left tile, with the block layout of the target, which decides it (assembly 3.3)."""
        if isinstance(type, TileSpec) and type.loc is TileType.Left and type.blayout != self.target.left_blayout:
            return replace(type, blayout=self.target.left_blayout)
        return type

    @property
    def labels(self) -> Labels:
        """The labels of blocks in the text."""
        if self._labels is None:
            self._labels = Labels(self.texts) if "^" in self.tokens.text else NO_LABELS
        return self._labels

    def inside(self, text: str) -> Parser:
        """A parser of text that stands inside a token, with the types and aliases of this one."""
        inner = Parser(Tokens(text), self.file, Diagnostics(), self.target)
        inner.types = self.types
        return inner

    def _function_type(self) -> Type:
        inputs = self.type_list()
        self.expect("->")
        return FunctionType(tuple(inputs), tuple(self.result_types()))

    def result_types(self) -> list[Type]:
        """``T`` or ``(T, T)``."""
        return self.type_list() if self.texts[self.i] == "(" else [self.type()]

    def type_list(self) -> list[Type]:
        """``(T, T)``, possibly empty."""
        self.expect("(")
        out: list[Type] = []
        if self.texts[self.i] == ")":
            self.i += 1
            return out
        self.enter()
        out.append(self.type())
        while self.texts[self.i] == ",":
            self.i += 1
            out.append(self.type())
        self.expect(")")
        self.leave()
        return out

    def enter(self) -> None:
        """Enter a level of nesting; TEXT-NESTING beyond 200."""
        self.depth += 1
        if self.depth > SHALLOW:
            make_room()
        if self.depth > MAX_DEPTH:
            self.stop(rules.NESTING, f"nested more than {MAX_DEPTH} deep")

    def leave(self) -> None:
        """Leave a level of nesting."""
        self.depth -= 1

    # --------------------------------------------------------------- values

    def value(self) -> Value:
        """Step over the use of a value. An undefined one is TY-9 and then known as a poisoned value."""
        token = self.texts[self.i]
        value = self.scope.values.get(token)
        if value is None:
            value = self._unknown(token)
        self.i += 1
        return value

    def _unknown(self, token: str) -> Value:
        if token[0] != "%":
            self.unexpected("a value")
        if token.endswith("#0") and token[:-2] in self.scope.values:
            return self.scope.values[token[:-2]]
        base = token.partition("#")[0]
        group = self.scope.values.get(base)
        if group is not None and group.type is POISON:
            return group
        if self.free is not None and "#" not in token:
            value = self.free[token] = Value(FREE, token[1:], None, self.location())
            self.scope.values[token] = value  # to the end of the listing, whatever region this is
            return value
        if token in self.scope.hidden:
            hint = "pass it to the scope and give its block an argument"
            self.error(rules.VEC_A5_18, f"{token} is defined outside of this strict vector scope", hint=hint)
            return self.poison(self.i)
        found = self.definitions.hidden(base, self.labels, self.region)
        if found is not None:
            rule, message, note = found
            if rule is not None:
                self.error(rule, f"value {token} {message}", notes=(note,))
        else:
            self.error(rules.TY_9, f"value {token} is not defined", hint=self.scope.hint(token))
        value = Value(POISON, token[1:], None, self.location())
        self.scope.define_for_function(token, value)  # one mistake, however often the name is used
        return value

    def poison(self, index: int) -> Value:
        """Define a value that fits everywhere at a token that names one."""
        token = self.texts[index]
        value = Value(POISON, token[1:], None, self.location(index))
        self.scope.define(token, value)
        return value

    def values(self, end: str) -> list[Value]:
        """Values with commas between, up to but without the token `end`; possibly none."""
        out: list[Value] = []
        if self.texts[self.i] == end:
            return out
        out.append(self.value())
        while self.accept(","):
            out.append(self.value())
        return out

    def define(self, index: int, type: Type, name: str | None = None) -> Value:
        """Define the value a token names, or its part `name` of a group. A second definition is TY-9."""
        token = name or self.texts[index]
        location = self.location(index)
        value = Value(type, token[1:], None, location)
        self.bind(token, value, index)
        return value

    def bind(self, token: str, value: Value, index: int) -> None:
        """Make a value visible under a name; `index` is the token to blame if the name is taken (TY-9)."""
        old = self.scope.values.get(token)
        if old is not None and old.type is not POISON:
            self.repeated.add(token)
            self.error(
                rules.TY_9, f"value {token} is defined twice", index, notes=(Note("first defined here", old.location),)
            )
            if old.type != value.type:  # either may be meant by the uses
                value = Value(POISON, token[1:], None, value.location)
        self.scope.define(token, value)

    def match(self, value: Value, type: Type, index: int) -> None:
        """TY-9 at token `index` unless `value` was defined with `type`."""
        if value.type is FREE:
            value.type = type
            return
        if value.type is type or value.type is POISON or type is POISON or value.type == type:
            return
        self.error(
            rules.TY_9,
            f"%{value.name} is used as {type} but is {value.type}",
            index,
            notes=(Note("defined here", value.location),),
        )

    def typed(self, values: list[Value], places: int | list[int]) -> None:
        """Read the types of `values`, with commas between, and compare; `places`: their tokens, or the first one's."""
        for k, value in enumerate(values):
            if k:
                self.expect(",")
            self.match(value, self.type(), places + 2 * k if isinstance(places, int) else places[k])

    def typed_list(
        self, values: Sequence[Value], places: Sequence[int] | int, what: str, *, single: bool = False
    ) -> list[Type]:
        """Read ``(T, ..)`` or, if a ``single`` one may stand there, ``T``, and compare with the types of `values`.

        TEXT-OPERANDS if there are more or fewer; `what` is done with the values: ``passed``.
        """
        at = self.i
        types = self.result_types() if single else self.type_list()
        if len(types) != len(values):
            message = f"{len(values)} values are {what}, but {len(types)} types are written"
            self.fail(rules.OPERANDS, message, at)
        for k, (value, type) in enumerate(zip(values, types)):
            self.match(value, type, places + 2 * k if isinstance(places, int) else places[k])
        return types

    def name(self) -> int:
        """Step over the name of a value that is being defined and return the token's index."""
        if self.texts[self.i][0] != "%":
            self.unexpected("a value name")
        self.i += 1
        return self.i - 1

    def skip_location(self) -> None:
        """Step over ``loc(...)`` if it is there; it says nothing about the program."""
        if self.texts[self.i] == "loc" and self.texts[self.i + 1] == "(":
            self.i += 2
            while not self.accept(")"):
                if self.texts[self.i] == ",":
                    self.i += 1
                self.skip_value()


# Which function reads an operation that is not in the instruction table.


Reader = Callable[[Parser, str, int], Op]
"""``reader(parser, name, index)`` with the cursor after the name, which is token `index`; returns the operation.

Its results have types; names and places are given afterwards.
"""

READERS: dict[str, Reader] = {}
"""By full name; the modules of `ops` put theirs in.

`QUOTED` reads generic form, in which the name is quoted, and `FLOW` the operations of control flow.
"""

QUOTED, FLOW = '"', "control flow"


def reader_of(name: str) -> Reader | None:
    """What reads an operation after its name; None for instructions of the table, and what is none."""
    return READERS.get(name) or (READERS[FLOW] if name in CONTROL else None)
