"""Memrefs and conversions between type systems, which lowered text holds (assembly 11)."""

from __future__ import annotations

from typing import Any

from ptokit.ir import Op, RawAttr, Value

from .attributes import generic_attrs, read_dictionary
from .parser import Parser
from .registry import READERS


def read_alloc(p: Parser, name: str, at: int) -> Op:
    """``memref.alloc(%n, ..) : M``."""
    p.expect("(")
    sizes = p.values(")")
    p.expect(")")
    attrs = generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {}
    p.expect(":")
    return Op(name, {"sizes": list(sizes)}, attrs, [Value(p.type())])


def read_dealloc(p: Parser, name: str, at: int) -> Op:
    """``memref.dealloc %m : M``."""
    first = p.i
    value = p.value()
    p.expect(":")
    p.match(value, p.type(), first)
    return Op(name, {"in": value})


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
        p.expect("[")
        values: list[Value] = []
        shown: list[str] = []
        while not p.accept("]"):
            if shown:
                p.expect(",")
            if p.texts[p.i][0] == "%":
                values.append(p.value())
                shown.append("?")
            else:
                shown.append(str(p.integer("a value or an integer")))
        operands[key] = values
        attrs[key] = RawAttr("[" + ", ".join(shown) + "]")
    attrs.update(generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {})
    p.expect(":")
    p.match(source, p.type(), first)
    p.expect("to")
    return Op(name, operands, attrs, [Value(p.type())])


def read_unrealized(p: Parser, name: str, at: int) -> Op:
    """``%a, .. : T, .. to T, ..``; without operands ``to T, ..``."""
    first = p.i
    values: list[Value] = []
    if p.texts[p.i] != "to":
        values = p.values(":")
        p.expect(":")
        p.typed(values, first)
    p.expect("to")
    results = [Value(p.type())]
    while p.accept(","):
        results.append(Value(p.type()))
    attrs = generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {}
    return Op(name, {"in": list(values)}, attrs, results)


READERS.update(
    {
        "memref.alloc": read_alloc,
        "memref.alloca": read_alloc,
        "memref.dealloc": read_dealloc,
        "memref.reinterpret_cast": read_reinterpret_cast,
        "builtin.unrealized_conversion_cast": read_unrealized,
    }
)
