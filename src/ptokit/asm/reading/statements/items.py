"""Statements of level 1 and of the sync form: items, attributes, types (assembly 5)."""

from __future__ import annotations

import re
from dataclasses import field

from ptokit.ir import Op, RawAttr, Value
from ptokit.records import dataclass
from ptokit.types.values import Type

from ...forms.attributes import Dictionary, read_dictionary
from ...text import rules
from ..parser import Expansion, Parser

_FLOAT = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?\Z", re.ASCII)
_LITERAL_TILE = "@tile"


@dataclass(slots=True)
class Item:
    """An operand as written, at token `index`: a value, perhaps with indices, or a number."""

    index: int
    value: Value | None = None
    number: int | float = 0
    indices: list[Value] | None = None


@dataclass(slots=True)
class Statement:
    """What stands behind the name of an instruction. No list of types or results: None."""

    items: list[Item] = field(default_factory=list)
    written: Dictionary = field(default_factory=dict)
    hashes: list[tuple[str, str, int]] = field(default_factory=list)  # ``#key=word`` and its token
    types: list[Type] | None = None
    results: list[Type] | None = None


def read_statement(p: Parser) -> Statement:
    """``item, .. {attributes} #key=word : types -> types``; the cursor is behind the name."""
    s = Statement()
    texts = p.texts
    while True:
        token = texts[p.i]
        if token == "{":
            read_dictionary(p, s.written)
        elif token[0] == "%":
            s.items.append(_value(p))
        elif token == _LITERAL_TILE:
            s.items.append(_literal(p))
        elif token[0].isdigit() or (token[0] == "-" and token[1:2].isdigit()):
            s.items.append(_number(p))
        else:
            p.unexpected("an operand" if s.items else "'ins' or an operand")
        if texts[p.i] == "{":
            read_dictionary(p, s.written)
        if not p.accept(","):
            break
    while texts[p.i][0] == "#" and texts[p.i + 1] == "=":
        key, place = texts[p.i][1:], p.i
        p.i += 2
        s.hashes.append((key, p.word("the value of an attribute"), place))
        p.accept(",")
    if p.accept(":"):
        s.types = _types(p)
        if p.accept("->"):
            s.results = _types(p)
        if texts[p.i] == "{":
            read_dictionary(p, s.written)
    return s


def _types(p: Parser) -> list[Type]:
    """``(T, ..)``, possibly empty, or ``T, ..``."""
    if p.texts[p.i] == "(":
        return p.type_list()
    out = [p.type()]
    while p.accept(","):
        out.append(p.type())
    return out


def _value(p: Parser) -> Item:
    item = Item(p.i, p.value())
    if p.accept("["):
        item.indices = p.values("]")
        p.expect("]")
    return item


def _number(p: Parser) -> Item:
    index, token = p.i, p.texts[p.i]
    if _FLOAT.match(token):
        p.i += 1
        return Item(index, number=float(token))
    return Item(index, number=p.integer("a number"))


def _literal(p: Parser) -> Item:
    """``@tile(0x1000)``: a byte address (rule 7)."""
    index = p.i
    p.i += 1
    p.expect("(")
    place = p.i
    address = p.integer("an address")
    if address < 0:
        p.fail(rules.NUMBER, f"{address} is no address", place)
    p.expect(")")
    return Item(index, number=address)


def value_of(p: Parser, item: Item) -> Value:
    """The value of an item. TEXT-OPERANDS for a number."""
    if item.value is None:
        p.fail(rules.OPERANDS, "expected a value, not a number", item.index)
    return item.value


def is_event(type: Type) -> bool:
    """True for the type of tokens, which no value has: a load's result is its tile."""
    return str(type).startswith("!pto.event")


def constant(e: Expansion, value: int | float | RawAttr, type: Type) -> Value:
    """A constant in front of the instruction, one for all its uses there."""
    for known in e.before:
        same = known.name == "arith.constant" and known.result.type == type
        if same and known.attrs["value"] == value:
            return known.result
    op = Op("arith.constant", {}, {"value": value}, [Value(type)])
    e.before.append(op)
    return op.results[0]
