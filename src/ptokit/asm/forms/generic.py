"""Operations outside the instruction table as generic form writes them: operands, attributes, regions (assembly 2, 11).

The reader and the printer of generic form both go by `SHAPES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ptokit.ir import Op, RawAttr
from ptokit.isa.scalar.arithmetic import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.types.values import I1, Type

from ..text import rules
from ..text.cursor import Cursor, is_string
from .arith import ROUNDINGS, constant_text, constant_value, flag_set, takes
from .attributes import Written, at_name, integers, quote, unquote
from .attributes import symbol as symbol_name

ANY = -1
"""Number of results or regions that the operation itself decides."""

SEGMENTS = "operandSegmentSizes"
_SHAPED = re.compile(r"\s*:\s*\w+<[^<>]*>\Z")
_DYNAMIC = -(1 << 63)  # a size that an operand gives


class Key(NamedTuple):
    """An attribute with a spelling of its own in generic form: its name there, its text, and back.

    ``read(parser, written, op)``: the value of what is written, for an operation whose results have types; None to
    leave it out.
    """

    name: str
    show: Callable[[Op, Any], str]
    read: Callable[[Cursor, Written, Op], Any]
    required: bool = True


class Shape(NamedTuple):
    """Operands in order: ``x``, a group ``x*``, and ``*`` for a group that stays empty.

    ``isolated``: what is inside sees the region's arguments only. ``spare``: the last region may be empty, which means
    that the operation does not have it. ``ends``: the terminator that own forms may leave out where it has no values.
    ``terminators``: all that its regions end with. ``several``: its regions may have several blocks.
    """

    operands: tuple[str, ...] = ()
    results: int = 1
    regions: int = 0
    segments: bool = False
    keys: Mapping[str, Key] = {}
    spare: bool = False
    isolated: bool = False
    ends: str = ""
    terminators: tuple[str, ...] = ("scf.yield",)
    several: bool = False
    successors: int = 0


def _constant(p: Cursor, written: Written, op: Op) -> Any:
    type: Type = op.results[0].type
    dense = written.text.startswith("dense")
    text = _SHAPED.sub("", written.text) if dense else written.text.partition(":")[0].strip()
    if text in ("true", "false") and type == I1:
        return text == "true"
    return constant_value(p, text, type, written.place)


def _predicate(known: tuple[str, ...]) -> Key:
    """A predicate by its number."""

    def read(p: Cursor, written: Written, op: Op) -> str:
        number = written.text.partition(":")[0].strip()
        if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number) < len(known)):
            p.fail(rules.TY_8, f"'{written.text[:40]}' is not a predicate of {op.name}", written.place)
        return known[int(number)]

    return Key("predicate", lambda op, value: f"{known.index(value)} : i64", read)


def _flags(flag: str) -> Key:
    """``overflow<nsw>``, here ``overflowFlags = #arith.overflow<nsw>``."""
    name = {"overflow": "overflowFlags"}.get(flag, flag)
    spelled = re.compile(rf"#arith(?:\.{flag}\s*|<\s*{flag}\s*)(<[^<>]*>)>?\Z")

    def read(p: Cursor, written: Written, op: Op) -> RawAttr | None:
        m = spelled.match(written.text)
        if m is None:
            p.fail(rules.ATTRIBUTE, f"'{name}' is written #arith.{flag}<..>, not '{written.text[:40]}'", written.place)
        return flag_set(p, op.name, flag, m[1], written.place)

    return Key(name, lambda op, value: f"#arith.{flag}{value}", read, required=False)


def _word(name: str) -> Key:
    """``exact``, here the unit attribute ``isExact``."""

    def read(p: Cursor, written: Written, op: Op) -> bool:
        if written.text != "unit":
            p.fail(rules.ATTRIBUTE, f"'{name}' has no value", written.place)
        return True

    return Key(name, lambda op, value: "unit", read, required=False)


def _rounding(p: Cursor, written: Written, op: Op) -> str:
    number = written.text.partition(":")[0].strip()
    if number not in ("0", "1", "2", "3", "4"):
        p.fail(rules.TY_8, f"'{written.text[:40]}' is not the number of a rounding mode", written.place)
    return ROUNDINGS[int(number)]


def _callee(p: Cursor, written: Written, op: Op) -> str:
    if not written.text.startswith("@") or len(written.text) < 2:
        p.fail(rules.ATTRIBUTE, f"'callee' is a function name, not '{written.text[:40]}'", written.place)
    return symbol_name(written.text)


def numbers(p: Cursor, written: Written, name: str) -> list[int]:
    """The integers of ``array<i64: 1, 2>``."""
    found = integers(written.text)
    if found is None:
        p.fail(rules.ATTRIBUTE, f"'{name}' is written array<i64: 1, ..>, not '{written.text[:40]}'", written.place)
    return list(found)


def segments(p: Cursor, written: Written | None) -> list[int] | None:
    """The sizes of ``operandSegmentSizes``; None if it is not written."""
    if written is None:
        return None
    found = integers(written.text)
    if found is None or min(found, default=0) < 0:
        p.fail(rules.ATTRIBUTE, f"{SEGMENTS} is written array<i32: 1, ..>, not '{written.text[:40]}'", written.place)
    return list(found)


def number_list(values: list[int], element: str = "i64") -> str:
    """``array<i64: 1, 2>``."""
    return f"array<{element}: {', '.join(map(str, values))}>" if values else f"array<{element}>"


def _sizes(key: str, name: str) -> Key:
    """Numbers and question marks of reinterpret_cast: ``[?, 4]`` is kept, a number stands for the question mark."""

    def show(op: Op, value: Any) -> str:
        items = [s.strip() for s in str(value)[1:-1].split(",") if s.strip()]
        return number_list([_DYNAMIC if s == "?" else int(s) for s in items])

    def read(p: Cursor, written: Written, op: Op) -> RawAttr:
        found = numbers(p, written, name)
        if found.count(_DYNAMIC) != len(op.group(key)):
            p.fail(rules.OPERANDS, f"'{name}' leaves {found.count(_DYNAMIC)} sizes to operands", written.place)
        return RawAttr("[" + ", ".join("?" if n == _DYNAMIC else str(n) for n in found) + "]")

    return Key(name, show, read)


_ARITH_KEYS = {
    "rounding": Key("roundingmode", lambda op, value: f"{ROUNDINGS.index(value)} : i32", _rounding, required=False),
    "exact": _word("isExact"),
    "nneg": _word("nonNeg"),
    "overflow": _flags("overflow"),
    "fastmath": _flags("fastmath"),
}


def _arith(names: Iterable[str], *operands: str, results: int = 1, **keys: Key) -> dict[str, Shape]:
    """Shapes of `arith` operations with the flags that each may have."""
    flags = {n: {flag: key for flag, key in _ARITH_KEYS.items() if takes(n, flag)} for n in names}
    return {n: Shape(operands, results, keys={**keys, **flags[n]}) for n in flags}


_CASES = Key("cases", lambda op, value: number_list(value), lambda p, written, op: numbers(p, written, "cases"))


def _case_values(p: Cursor, written: Written, op: Op) -> list[int]:
    """``dense<[1, 2]> : tensor<2xi32>``, or ``dense<1>`` for equal ones."""
    splat = _SPLAT.match(written.text)
    if splat is not None:
        return [int(splat[1])] * max(0, len(splat[2]) < 6 and int(splat[2]))
    return numbers(p, written, "case_values")


def _show_values(op: Op, values: list[int]) -> str:
    return f"dense<[{', '.join(map(str, values))}]> : tensor<{len(values)}x{op['flag'].type}>"


def _message(p: Cursor, written: Written, op: Op) -> str:
    if not is_string(written.text):
        p.fail(rules.ATTRIBUTE, f"'msg' is a string, not '{written.text[:40]}'", written.place)
    return unquote(written.text)


_SPLAT = re.compile(r"dense<\s*(-?\d+)\s*>\s*:\s*tensor<\s*(\d+)\s*x\s*\w+\s*>\Z", re.ASCII)
_SWITCH = {
    "values": Key("case_values", _show_values, _case_values, required=False),
    "sizes": Key(
        "case_operand_segments",
        lambda op, value: number_list(value, "i32"),
        lambda p, written, op: numbers(p, written, "case_operand_segments"),
        required=False,
    ),
}

SHAPES: dict[str, Shape] = {
    "arith.constant": Shape(
        keys={"value": Key("value", lambda op, value: constant_text(value, op.results[0].type), _constant)}
    ),
    **_arith(("arith.cmpi",), "lhs", "rhs", predicate=_predicate(tuple(INTEGER_PREDICATES))),
    **_arith(("arith.cmpf",), "lhs", "rhs", predicate=_predicate(tuple(FLOAT_PREDICATES))),
    **_arith(("arith.select",), "condition", "true", "false"),
    **_arith(ARITH_BINARY, "lhs", "rhs"),
    **_arith(ARITH_UNARY, "in"),
    **_arith(ARITH_EXTENDED, "lhs", "rhs", results=2),
    **_arith(ARITH_CASTS, "in"),
    "scf.for": Shape(("lower", "upper", "step", "init*"), ANY, 1, ends="scf.yield"),
    "scf.if": Shape(("condition",), ANY, 2, spare=True, ends="scf.yield"),
    "scf.while": Shape(("init*",), ANY, 2, ends="scf.yield", terminators=("scf.condition", "scf.yield")),
    "scf.execute_region": Shape((), ANY, 1, ends="scf.yield", several=True),
    "scf.index_switch": Shape(("index",), ANY, ANY, keys={"cases": _CASES}, ends="scf.yield"),
    "scf.condition": Shape(("condition", "values*"), 0),
    "scf.yield": Shape(("values*",), 0),
    "func.return": Shape(("values*",), 0),
    "func.call": Shape(("args*",), ANY, keys={"callee": Key("callee", lambda op, value: at_name(value), _callee)}),
    "memref.alloc": Shape(("sizes*", "*"), segments=True),
    "memref.alloca": Shape(("sizes*", "*"), segments=True),
    "memref.dealloc": Shape(("in",), 0),
    "memref.reinterpret_cast": Shape(
        ("in", "offset*", "sizes*", "strides*"),
        segments=True,
        keys={
            "offset": _sizes("offset", "static_offsets"),
            "sizes": _sizes("sizes", "static_sizes"),
            "strides": _sizes("strides", "static_strides"),
        },
    ),
    "memref.subview": Shape(
        ("in", "offsets*", "sizes*", "strides*"),
        segments=True,
        keys={
            "offsets": _sizes("offsets", "static_offsets"),
            "sizes": _sizes("sizes", "static_sizes"),
            "strides": _sizes("strides", "static_strides"),
        },
    ),
    "builtin.unrealized_conversion_cast": Shape(("in*",), ANY),
    "cf.br": Shape(("args*",), 0, successors=1),
    "cf.cond_br": Shape(("condition", "true*", "false*"), 0, segments=True, successors=2),
    "cf.switch": Shape(("flag", "default*", "cases*"), 0, segments=True, successors=ANY, keys=_SWITCH),
    "cf.assert": Shape(("condition",), 0, keys={"msg": Key("msg", lambda op, value: quote(value), _message)}),
    "pto.section.cube": Shape((), 0, 1, terminators=()),
    "pto.section.vector": Shape((), 0, 1, terminators=()),
    "pto.section.simt": Shape((), 0, 1, terminators=()),
    "pto.vecscope": Shape((), 0, 1, terminators=()),
    "pto.strict_vecscope": Shape(("captured*",), 0, 1, isolated=True, terminators=()),
}
"""By full name."""
