"""Types and flags of `arith` operations, as MLIR's documentation of the dialect states them (assembly 11).

Integers may have a sign (``ui8``): Python kernels use such types, and their text keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ptokit.ir import Op
from ptokit.isa.scalar.arithmetic import ARITHMETIC, FLOATS, INDICES, INTEGERS, NUMBERS, Arithmetic
from ptokit.types.values import I1, INDEX, Opaque, Scalar, Type

from ..forms.arith import BITS, FLAGS, ROUNDINGS, WORDS, bits_of, flag_set, takes
from ..text import rules
from ..types.parse import FREE, POISON
from .parser import Parser

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
