"""Memrefs and conversions between type systems, which lowered text holds (assembly 11)."""

from __future__ import annotations

from typing import Any

from ptokit.ir import Op, RawAttr, Value
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import INDEX, MemRef, Type, is_memref

from ...forms.attributes import generic_attrs, read_dictionary
from ...text import rules
from ...types.parse import POISON
from ..parser import Parser
from ..registry import READERS


def read_alloc(p: Parser, name: str, at: int) -> Op:
    """``memref.alloc(%n, ..) : M``."""
    p.expect("(")
    first = p.i
    sizes = p.values(")")
    p.expect(")")
    attrs = _dictionary(p)
    p.expect(":")
    place = p.i
    op = Op(name, {"sizes": list(sizes)}, attrs, [Value(p.type())])
    for k, value in enumerate(sizes):
        p.match(value, INDEX, first + 2 * k)
    check_alloc(p, op, place)
    return op


def check_alloc(p: Parser, op: Op, at: int) -> None:
    """The result is a memref, and a value gives each size that its type leaves open."""
    type = op.result.type
    _memref(p, op.name, type, at)
    if isinstance(type, MemRef) and type.dims.count(DYNAMIC) != len(op.group("sizes")):
        wanted, given = type.dims.count(DYNAMIC), len(op.group("sizes"))
        p.fail(rules.OPERANDS, f"{type} leaves {wanted} sizes open, but {given} are given", at)


def _memref(p: Parser, name: str, type: Type, at: int) -> None:
    if type is not POISON and not is_memref(type):
        p.fail(rules.TYPE, f"{name} is for memrefs, not {type}", at)


def read_dealloc(p: Parser, name: str, at: int) -> Op:
    """``memref.dealloc %m : M``."""
    first = p.i
    value = p.value()
    attrs = _dictionary(p)
    p.expect(":")
    place = p.i
    p.match(value, p.type(), first)
    op = Op(name, {"in": value}, attrs)
    check_dealloc(p, op, place)
    return op


def check_dealloc(p: Parser, op: Op, at: int) -> None:
    """The operand is a memref."""
    _memref(p, op.name, op["in"].type, at)


def _dictionary(p: Parser) -> dict[str, Any]:
    return generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {}


def read_reinterpret_cast(p: Parser, name: str, at: int) -> Op:
    """``%m to offset: [..], sizes: [..], strides: [..] : M to M``; numbers stand in attributes, values in operands."""
    first = p.i
    source = p.value()
    p.expect("to")
    operands: dict[str, Any] = {"in": source}
    attrs: dict[str, Any] = {}
    for position, key in enumerate(("offset", "sizes", "strides")):
        if position:
            p.expect(",")
        p.expect(key)
        p.expect(":")
        _sizes(p, key, operands, attrs)
    op, place = _cast(p, name, operands, attrs, first)
    check_reinterpret_cast(p, op, place)
    return op


def _sizes(p: Parser, key: str, operands: dict[str, Any], attrs: dict[str, Any]) -> None:
    """``[%a, 4]``: numbers stand in attributes, with question marks for values."""
    p.expect("[")
    values: list[Value] = []
    shown: list[str] = []
    while not p.accept("]"):
        if shown:
            p.expect(",")
        if p.texts[p.i][0] == "%":
            index = p.i
            values.append(p.value())
            p.match(values[-1], INDEX, index)
            shown.append("?")
        else:
            shown.append(str(p.integer("a value or an integer")))
    operands[key] = values
    attrs[key] = RawAttr("[" + ", ".join(shown) + "]")


def _cast(p: Parser, name: str, operands: dict[str, Any], attrs: dict[str, Any], first: int) -> tuple[Op, int]:
    """``: M to M`` behind a dictionary, and its place; `first` is that of the source."""
    attrs.update(_dictionary(p))
    p.expect(":")
    place = p.i
    p.match(operands["in"], p.type(), first)
    p.expect("to")
    return Op(name, operands, attrs, [Value(p.type())]), place


def read_subview(p: Parser, name: str, at: int) -> Op:
    """``%m[..] [..] [..] : M to M``: offsets, sizes and strides."""
    first = p.i
    operands: dict[str, Any] = {"in": p.value()}
    attrs: dict[str, Any] = {}
    for key in ("offsets", "sizes", "strides"):
        _sizes(p, key, operands, attrs)
    op, place = _cast(p, name, operands, attrs, first)
    check_subview(p, op, place)
    return op


def check_subview(p: Parser, op: Op, at: int) -> None:
    """Both are memrefs, and there are as many offsets, sizes and strides."""
    _memref(p, op.name, op["in"].type, at)
    _memref(p, op.name, op.result.type, at)
    counts = {str(op.attrs[key]).count(",") for key in ("offsets", "sizes", "strides")}
    if len(counts) > 1:
        p.fail(rules.OPERANDS, f"{op.name} has different numbers of offsets, sizes and strides", at)


def check_reinterpret_cast(p: Parser, op: Op, at: int) -> None:
    """Both are memrefs of one element type, and what the result's type states is what is written."""
    source, result = op["in"].type, op.result.type
    _memref(p, op.name, source, at)
    _memref(p, op.name, result, at)
    if not isinstance(source, MemRef) or not isinstance(result, MemRef):
        return
    if source.dtype != result.dtype:
        p.fail(rules.TYPE, f"{op.name} keeps the element type; {source} and {result} differ in it", at)
    stated: dict[str, tuple[int, ...]] = {
        "offset": (result.offset,),
        "sizes": result.dims,
        "strides": result.strides_of(result.dims),
    }
    for key, numbers in stated.items():
        written = str(op.attrs[key])[1:-1].split(", ") if str(op.attrs[key]) != "[]" else []
        if len(written) != len(numbers):
            p.fail(rules.OPERANDS, f"{len(numbers)} {key} are wanted for {result}, but {len(written)} are written", at)
        for text, number in zip(written, numbers):
            if number != DYNAMIC and text not in ("?", str(number)):
                p.fail(rules.TYPE, f"{key} [{', '.join(written)}] do not make {result}", at)


def read_unrealized(p: Parser, name: str, at: int) -> Op:
    """``(%a, .. : T, ..)? to T, ..``."""
    values: list[Value] = []
    if p.texts[p.i] != "to":
        first = p.i
        values = p.values(":")
        p.expect(":")
        p.typed(values, first)
    p.expect("to")
    results = [Value(p.type())]
    while p.accept(","):
        results.append(Value(p.type()))
    return Op(name, {"in": list(values)}, _dictionary(p), results)


READERS.update(
    {
        "memref.alloc": read_alloc,
        "memref.alloca": read_alloc,
        "memref.dealloc": read_dealloc,
        "memref.reinterpret_cast": read_reinterpret_cast,
        "memref.subview": read_subview,
        "builtin.unrealized_conversion_cast": read_unrealized,
    }
)
