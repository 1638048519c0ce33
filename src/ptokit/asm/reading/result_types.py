"""Types that text leaves out: of results, of `arith` operations, and of those on memrefs (assembly 7.1, 10, 11).

Integers may have a sign (``ui8``): Python kernels use such types, and their text keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ptokit.ir import Op, Value
from ptokit.ir.facts import constant_of
from ptokit.isa.scalar.arithmetic import ARITHMETIC, FLOATS, INDICES, INTEGERS, NUMBERS, Arithmetic
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import I1, INDEX, MemRef, Opaque, PartitionView, Scalar, TensorView, Type, is_memref

from ..forms.operations import BITS, FLAGS, ROUNDINGS, WORDS, bits_of, flag_set, takes
from ..text import rules
from ..types.parse import FREE, POISON
from .parser import Parser
from .written import INFERRED

# Types and flags of `arith` operations, as MLIR's documentation of the dialect states them (assembly 11).


_SHAPED = re.compile(
    r"((?:vector|tensor)<(?:[\d?\[\]]+x)*)(index|[su]?i\d+|bf16|f16|f32|f64|tf32|f8E\w+|f4E\w+)>\Z", re.ASCII
)


class Lane(NamedTuple):
    """Type of an element, and what stands around it: nothing, or ``vector<4x``."""

    type: Scalar
    shape: str = ""

    def with_element(self, type: Scalar) -> Type:
        """The type of as many values of another type."""
        return Opaque(f"{self.shape}{type}>") if self.shape else type


def lane(type: Type) -> Lane | None:
    """A number, or a vector or tensor of numbers; None for other types."""
    if isinstance(type, Scalar):
        return Lane(type)
    m = _SHAPED.match(type.text.replace(" ", "")) if isinstance(type, Opaque) else None
    return Lane(Scalar(m[2]), m[1]) if m else None


def like(type: Type, element: Scalar) -> Type:
    """`element`, in a vector or tensor of the shape of `type` if that is one."""
    found = lane(type)
    return element if found is None else found.with_element(element)


def _is_float(t: Scalar) -> bool:
    return t.is_float or t.name == "tf32"


def _is_integer(t: Scalar) -> bool:
    return t != INDEX and not _is_float(t) and BITS.match(t.name) is not None


_KINDS: dict[str, Callable[[Scalar], bool]] = {
    INTEGERS: _is_integer,
    FLOATS: _is_float,
    INDICES: lambda t: t == INDEX or _is_integer(t),
    NUMBERS: lambda t: _is_integer(t) or _is_float(t),
}

_OPEN = (POISON, FREE)


def check_types(p: Parser, op: Op, at: int) -> None:
    """TEXT-TYPE at token `at` for types that an operation of `arith` does not take."""
    given = op["in"].type if "in" in op.operands else op["lhs"].type
    made = op.results[0].type
    key = op.name, id(given), id(made)  # few types, many times
    if key in p.fitting or given in _OPEN or made in _OPEN:
        return
    row = ARITHMETIC[op.name]
    if row.group == "cast":
        _cast(p, row, given, made, at)
    else:
        _of_kind(p, op.name, given, row.takes, at)
    p.fitting[key] = given, made


def _of_kind(p: Parser, name: str, type: Type, kind: str, at: int, what: str = "takes") -> Lane:
    found = lane(type)
    if found is None or not _KINDS[kind](found.type):
        p.fail(rules.TYPE, f"{name} {what} {kind}, not {type}", at)
    return found


def _cast(p: Parser, row: Arithmetic, given: Type, made: Type, at: int) -> None:
    name, order = f"arith.{row.name}", row.wider
    source = _of_kind(p, name, given, row.takes, at)
    result = _of_kind(p, name, made, row.gives, at, "gives")
    if source.shape != result.shape:
        p.fail(rules.TYPE, f"{name} keeps the shape, but {given} and {made} differ in it", at)
    if row.takes == INDICES and (source.type == INDEX) == (result.type == INDEX):
        p.fail(rules.TYPE, f"{name} converts between integers and index, not from {given} to {made}", at)
    more = bits_of(result.type) - bits_of(source.type)
    if order is not None and (more > 0) - (more < 0) != order:
        wanted = {1: "a type with more bits", -1: "a type with fewer bits", 0: "a type with as many bits"}[order]
        p.fail(rules.TYPE, f"{name} gives {wanted}, not {made} for {given}", at)


def check_select(p: Parser, op: Op, at: int) -> None:
    """The condition is i1, or one for each element."""
    condition, type = op["condition"].type, op.result.type
    if condition in _OPEN or condition == I1 or condition == like(type, I1):
        return
    p.match(op["condition"], I1, at)


# --------------------------------------------------------------------- flags


def read_flags(p: Parser, name: str) -> dict[str, Any]:
    """What stands between operands and types: a rounding mode, ``exact``, ``overflow<nsw>``, ``fastmath<fast>``."""
    attrs: dict[str, Any] = {}
    while True:
        token = p.texts[p.i]
        if token == ":":
            return attrs
        word = token.partition("<")[0]
        if token in ROUNDINGS and takes(name, "rounding") and "rounding" not in attrs:
            attrs["rounding"] = token
        elif token in WORDS and takes(name, token) and token not in attrs:
            attrs[token] = True
        elif word in FLAGS and "<" in token and word not in attrs:
            flags = flag_set(p, name, word, token[len(word) :], p.i)
            if flags is not None:
                attrs[word] = flags
        else:
            return attrs
        p.i += 1


# Types of results that text leaves out, by the word after ``R=`` in a form (assembly 7.1, 10).


def _subset(p: Parser, operands: dict[str, Any], attrs: dict[str, Any]) -> Type:
    """Result of subset: the source's loc, element and layout, with the written size.

    The source's valid size is taken as a period (a wide tile that holds several short ones): what is left of it
    after the offset is valid. It is dynamic where the offset is no constant, or the source's is.
    """
    source: Value = operands["source"]
    offsets, sizes = operands["offsets"], attrs.get("sizes", [])
    if source.type is POISON:
        return POISON
    if not isinstance(source.type, TileSpec) or len(sizes) != 2 or len(offsets) != 2 or min(sizes) < 0:
        p.fail(rules.OPERANDS, "subset takes a tile, two offsets and two sizes")
    valid = []
    for size, offset, period in zip(sizes, offsets, (source.type.valid_row, source.type.valid_col)):
        start = constant_of(offset)
        if period == DYNAMIC or start is None:
            valid.append(DYNAMIC)
        else:
            valid.append(min(size, period - start % period) if period else 0)
    return replace(source.type, rows=sizes[0], cols=sizes[1], valid_row=valid[0], valid_col=valid[1])


def _subview(p: Parser, operands: dict[str, Any], attrs: dict[str, Any]) -> Type:
    """Result of subview: the source's type with the written size, valid as far as the values say, or wholly."""
    source: Value = operands["source"]
    sizes = attrs.get("sizes", [])
    if source.type is POISON:
        return POISON
    if not isinstance(source.type, TileSpec) or len(sizes) != 2:
        p.fail(rules.OPERANDS, "subview takes a tile, two offsets and two sizes")
    valid = []
    for size, name in zip(sizes, ("valid_row", "valid_col")):
        given = operands.get(name)
        stated = size if given is None else constant_of(given)
        valid.append(DYNAMIC if stated is None else min(size, stated))
    return replace(source.type, rows=sizes[0], cols=sizes[1], valid_row=valid[0], valid_col=valid[1])


def _partition(p: Parser, operands: dict[str, Any], attrs: dict[str, Any]) -> Type:
    """Result of partition_view: the sizes that are constants, of the source's elements."""
    source: Value = operands["source"]
    if source.type is POISON:
        return POISON
    if not isinstance(source.type, TensorView) or len(operands["sizes"]) != len(source.type.dims):
        p.unexpected("'->' and the type of the slice")
    sizes = [constant_of(v) for v in operands["sizes"]]
    return PartitionView(tuple(DYNAMIC if n is None or n < 0 else n for n in sizes), source.type.dtype)


INFERRED["partition"] = _partition
INFERRED["subset"] = _subset
INFERRED["subview"] = _subview


# Types of operations on memrefs, which lowered text holds (assembly 11).


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


def check_dealloc(p: Parser, op: Op, at: int) -> None:
    """The operand is a memref."""
    _memref(p, op.name, op["in"].type, at)


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
