"""``tassign`` and ``tsync`` of the sync form, ``subview`` of the manual (assembly 5, rules 7 and 11, and table)."""

from __future__ import annotations

from ptokit.ir import Op, Value
from ptokit.types.tile import TileSpec
from ptokit.types.values import I64, INDEX, Scalar

from . import rules
from .forms import INFERRED
from .parser import Expansion, Parser
from .registry import READERS
from .ssa_items import constant, is_event, read_statement, value_of
from .types import FREE, POISON


def read_tassign(p: Parser, at: int) -> Op:
    """``tassign %t, %addr``, ``tassign %t, 4096`` or ``tassign %t, @tile(0x1000)``, with types or without."""
    e = p.expansion = Expansion()
    first = p.i
    statement = read_statement(p)
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
        p.match(addr.value, I64, addr.index)
        address = addr.value
    name, _, last = value.name.partition(".")
    k = int(last) + 1 if last.isdecimal() and len(last) < 9 else 1
    while f"%{name}.{k}" in p.scope.values:
        k += 1
    op = Op("pto.tassign", {"tile": value, "addr": address}, {}, [Value(value.type, f"{name}.{k}")])
    op.results[0].location = p.location(tile.index)
    p.scope.define(f"%{name}.{k}", op.results[0])
    p.scope.replace(p.texts[tile.index], op.results[0])
    return op


def read_tsync(p: Parser, at: int) -> Op:
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
    e = p.expansion = Expansion()
    s = read_statement(p)
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
    return Op("pto.subset", {"source": tile, "offsets": list(offsets)}, {"sizes": sizes}, [Value(result)])


READERS.update({"pto.subview": read_subview, "subview": read_subview})
