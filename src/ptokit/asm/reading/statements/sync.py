"""Statements of the sync form and of the manual that are no instructions of the table (assembly 5, rules 7 and 10).

| written | read as |
|---|---|
| ``tassign %t, %addr``, ``pto.tassign ins(%t, %addr : T, i64)`` | ``pto.tassign``; %t names its result from then on |
| ``subview %t, %row, %col : (T, i16, i16) -> T2``, also with ``ins`` and ``outs`` | ``pto.subset`` |
| ``pto.treshape ins(%t : T) outs(%u : T2)``, also ``talias`` | ``pto.treshape``; %u names its result from then on |
| ``tsync %a, %b`` | ``pto.tsync`` |
| ``tsync.op #pto.op<TADD>``, ``pto.barrier(TADD)`` | ``pto.barrier`` on the pipe of that instruction |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from ptokit.diagnostics.finding import suggest
from ptokit.ir import Op, RawAttr, Value
from ptokit.isa.order.sync_rules import TAG_PIPE, tag_pipe
from ptokit.isa.table import TABLE
from ptokit.records import dataclass
from ptokit.types.enums import Pipe
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import I64, INDEX, Scalar, Type

from ...forms.attributes import Dictionary, enum_word, generic_attrs, read_dictionary
from ...text import rules
from ...types.parse import FREE, POISON
from ..parser import READERS, Expansion, Parser, Reader
from ..written import INFERRED, read_form

# Statements of level 1 and of the sync form: items, attributes, types (assembly 5).


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
    """What follows the name of an instruction. No list of types or results: None."""

    items: list[Item] = field(default_factory=list)
    written: Dictionary = field(default_factory=dict)
    hashes: list[tuple[str, str, int]] = field(default_factory=list)  # ``#key=word`` and its token
    types: list[Type] | None = None
    results: list[Type] | None = None


def read_statement(p: Parser) -> Statement:
    """``item, .. {attributes} #key=word : types -> types``; the cursor is after the name."""
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


# Statements of the sync form and the manual that are no instructions of the table (assembly 5, rules 7 and 11; 8).


def read_tassign(p: Parser, name: str, at: int) -> Op:
    """``tassign %t, %addr``, ``tassign %t, 4096`` or ``tassign %t, @tile(0x1000)``, with types or without."""
    e = p.expansion = Expansion()
    first = p.i
    statement = _statement(p)
    if len(statement.items) != 2 or any(item.indices is not None for item in statement.items):
        p.fail(rules.OPERANDS, "tassign takes a tile and an address", at)
    tile, addr = statement.items
    types = statement.types or []
    if types and len(types) > 2:
        p.fail(rules.OPERANDS, f"tassign takes a tile and an address, but {len(types)} types are written", at)
    if types:
        p.match(value_of(p, tile), types[0], tile.index)
    value = value_of(p, tile)
    if not (isinstance(value.type, TileSpec) or value.type is POISON):
        if value.type is FREE:
            value.type = POISON
        p.fail(rules.OPERANDS, f"tassign takes a tile and an address: %{value.name} is no tile of known type", first)
    if isinstance(addr.number, float):
        p.fail(rules.OPERANDS, f"{addr.number} is no address", addr.index)
    if addr.value is None:
        address = constant(e, addr.number, I64)
    else:
        address = _address(p, e, addr.value, types[1:], addr.index)
    result = _renamed(p, tile.index, value)
    return Op("pto.tassign", {"tile": value, "addr": address}, {}, [result])


def _address(p: Parser, e: Expansion, value: Value, stated: list[Type], index: int) -> Value:
    """The address, as an i64; the manual has an index as well."""
    if stated:
        p.match(value, stated[0], index)
    if value.type != INDEX:
        p.match(value, I64, index)
        return value
    e.before.append(Op("arith.index_cast", {"in": value}, {}, [Value(I64)]))
    return e.before[-1].result


def _statement(p: Parser) -> Statement:
    """A statement, or ``ins(..) outs(..)``, whose destinations are then the results."""
    if p.texts[p.i] != "ins":
        return read_statement(p)
    p.i += 1
    p.expect("(")
    statement = read_statement(p)
    p.expect(")")
    return statement


def _renamed(p: Parser, index: int, old: Value) -> Value:
    """A value of the same type that the name at token `index` means from now on."""
    name, _, last = old.name.partition(".")
    k = int(last) + 1 if last.isdecimal() and len(last) < 9 else 1
    while f"%{name}.{k}" in p.scope.values:
        k += 1
    value = Value(old.type, f"{name}.{k}", None, p.location(index))
    p.scope.define(f"%{name}.{k}", value)
    p.scope.replace(p.texts[index], value)
    return value


def _destination(p: Parser) -> tuple[int, Value]:
    """``outs(%t : T)``: the token of the name, and the tile."""
    p.expect("outs")
    p.expect("(")
    index = p.i
    tile = p.value()
    p.expect(":")
    p.match(tile, p.type(), index)
    p.expect(")")
    if not (isinstance(tile.type, TileSpec) or tile.type is POISON):
        p.fail(rules.TYPE, f"the destination is a tile, not {tile.type}", index)
    return index, tile


def read_alias(p: Parser, name: str, at: int) -> Op:
    """``ins(%t : T) outs(%u : T2)`` of an operation that gives a tile another type."""
    p.expect("ins")
    p.expect("(")
    first = p.i
    source = p.value()
    p.expect(":")
    p.match(source, p.type(), first)
    p.expect(")")
    index, tile = _destination(p)
    attrs = generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {}
    op = Op(f"pto.{name}", {"src": source}, attrs, [_renamed(p, index, tile)])
    if not isinstance(tile.type, TileSpec) or (tile.type.valid_row, tile.type.valid_col) != (DYNAMIC, DYNAMIC):
        return op
    e = p.expansion = Expansion()  # the destination keeps its valid region
    valid = Op("pto.get_validshape", {"source": tile}, {}, [Value(INDEX), Value(INDEX)])
    e.before += [valid, op]
    rows, cols = valid.results
    return Op("pto.set_validshape", {"tile": op.result, "valid_row": rows, "valid_col": cols})


def read_barrier_of(p: Parser, name: str, at: int) -> Op:
    """``tsync.op #pto.op<TADD>`` or ``pto.barrier(TADD)``: a barrier on the pipe of an instruction, or on a pipe."""
    bracket = p.accept("(")
    index = p.i
    token = p.texts[index]
    if token[0] not in '#<"' and not token[0].isalpha():
        p.unexpected("an instruction or a pipe")
    p.i += 1
    mnemonic, word = enum_word(token) or ("", token)
    try:
        pipe: Pipe | None = Pipe.from_text(word)
    except KeyError:
        pipe = tag_pipe(word)
    if pipe is None or mnemonic not in ("", "op", "pipe"):
        hint = suggest(word, [*TABLE, *TAG_PIPE, *(pipe.text for pipe in Pipe)])
        p.fail(rules.TY_8, f"'{word[:40]}' names no instruction with one pipe, and no pipe", index, hint=hint)
    if bracket:
        p.expect(")")
    return Op("pto.barrier", {}, {"pipe": pipe})


def read_tsync(p: Parser, name: str, at: int) -> Op:
    """``tsync %e0, %e1``, with types or without; the types of events are not compared (rule in the table of 5)."""
    statement = read_statement(p)
    events = []
    for k, item in enumerate(statement.items):
        value = value_of(p, item)
        if statement.types is not None and k < len(statement.types) and not is_event(statement.types[k]):
            p.match(value, statement.types[k], item.index)
        if value.type is FREE:
            value.type = POISON
            p.fail(rules.TY_9, f"%{value.name} names no instruction issued before", item.index)
        events.append(value)
    return Op("pto.tsync", {"events": list(events)})


def read_subview(p: Parser, name: str, at: int) -> Op:
    """``subview %t, %row, %col : (T, i16, i16) -> T2``: the subset of %t that is as large as T2."""
    if p.texts[p.i][0] == "%" and p.texts[p.i + 1] == "[":
        return read_form(p, SUBVIEW, SUBVIEW.form.grammar)
    e = p.expansion = Expansion()
    listed = p.texts[p.i] == "ins"
    s = _statement(p)
    place = None
    if listed:
        place, destination = _destination(p)
        s.results = [destination.type]
    if len(s.items) != 3 or any(item.indices is not None for item in s.items) or s.results is None:
        p.fail(rules.OPERANDS, "subview takes a tile, a row and a column, and gives a tile", at)
    tile = value_of(p, s.items[0])
    for item, type in zip(s.items, s.types or []):
        if item.value is not None:
            p.match(item.value, type, item.index)
    wanted = s.results[0] if len(s.results) == 1 else None
    if not isinstance(tile.type, TileSpec) or not isinstance(wanted, TileSpec):
        p.fail(rules.TYPE, "subview takes a tile and gives one", at)
    offsets = []
    for item in s.items[1:]:
        if item.value is None:
            offsets.append(constant(e, item.number, INDEX))
        elif item.value.type == INDEX:
            offsets.append(item.value)
        elif isinstance(item.value.type, Scalar) and item.value.type.is_integer:
            e.before.append(Op("arith.index_cast", {"in": item.value}, {}, [Value(INDEX)]))
            offsets.append(e.before[-1].result)
        else:
            p.fail(rules.OPERANDS, f"a row and a column are integers, not {item.value.type}", item.index)
    operands = {"source": tile, "offsets": offsets}
    sizes = [wanted.rows, wanted.cols]
    result = INFERRED["subset"](p, operands, {"sizes": sizes})
    if isinstance(result, TileSpec) and (result.loc, result.dtype) != (wanted.loc, wanted.dtype):
        p.fail(rules.TYPE, f"the part of {tile.type} cannot be {wanted}", at)
    made = Value(result)
    if place is not None:
        made = _renamed(p, place, destination)
        made.type = result
    return Op("pto.subset", {"source": tile, "offsets": list(offsets)}, {"sizes": sizes}, [made])


SUBVIEW = TABLE["SUBVIEW"]
READERS.update({"pto.subview": read_subview, "subview": read_subview})
READERS.update({"pto.tsync.op": read_barrier_of, "tsync.op": read_barrier_of})

STATEMENTS: dict[str, Callable[[Parser, bool], Reader | None]] = {
    "tassign": lambda p, named: None if named else read_tassign,
    "tsync": lambda p, named: read_tsync if p.texts[p.i][0] == "%" else None,
    "treshape": lambda p, named: read_alias if p.texts[p.i] == "ins" else None,
    "barrier": lambda p, named: read_barrier_of if p.texts[p.i] == "(" else None,
}
"""By text name: the reader of the statement after the name, if the operation's own form does not stand there."""
