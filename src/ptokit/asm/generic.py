"""Generic form: ``"pto.tadd"(%a, %b, %d) <{properties}> {attributes} : (T, T, T) -> ()`` (assembly 2).

Read for instructions, arithmetic and terminators; control flow, which has regions, is read in its own form only.
Operands of tile instructions stand in the order of ``ins`` and ``outs``; tmov and tstore have what is optional last
(assembly 6.3). ``operandSegmentSizes`` says which are there; without it their types do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ptokit.diagnostics import Diagnostics
from ptokit.ir import Op, Operands, Value
from ptokit.ir.structure import ARITH_BINARY, ARITH_CASTS, FLOAT_PREDICATES, INTEGER_PREDICATES
from ptokit.isa.table import BY_TEXT, Instr, Operand, Role
from ptokit.types.tile import TileSpec
from ptokit.types.values import I1, Scalar, Type

from . import ops_sync, ops_views, rules
from .attributes import Dictionary, Written, plain_value, read_dictionary
from .cursor import Cursor, LimitError, OperationError, whole
from .faults import suggest
from .forms import IMPLIED, Form, compile_form, dictionary_attrs
from .lexer import EOF, Tokens
from .ops_arith import constant_value
from .ops_isa import DPS_WORDS, align, align_forms, operands_of
from .parser import Parser

SEGMENTS = "operandSegmentSizes"
_ARRAY = re.compile(r"array<\s*i32\s*:\s*([\d,\s]*)>\Z|dense<\[([\d,\s]*)\]>\s*:\s*vector<\w+>\Z", re.ASCII)
_OPTIONAL_LAST = frozenset(("tmov", "tstore"))
_VALUES = frozenset(("func.return", "scf.yield"))
_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(ARITH_BINARY, ("lhs", "rhs")),
    **dict.fromkeys(ARITH_CASTS, ("in",)),
    "arith.cmpi": ("lhs", "rhs"),
    "arith.cmpf": ("lhs", "rhs"),
    "arith.select": ("condition", "true", "false"),
    "arith.constant": (),
}


def read_generic(p: Parser, name: str, at: int) -> Op:
    """Read an operation behind its quoted name, token `at`; `name` is without the quotes."""
    instr = BY_TEXT.get(name[4:]) if name.startswith("pto.") else None
    if instr is None and name not in _NAMES and name not in _VALUES:
        known = [f"pto.{text}" for text in BY_TEXT] + [*_NAMES, *_VALUES]
        p.fail(
            rules.UNIMPLEMENTED,
            f"generic form of {name[:60] or 'nothing'} is not implemented yet",
            at,
            hint=suggest(name, known),
        )
    p.expect("(")
    first = p.i
    values = p.values(")")
    p.expect(")")
    written: Dictionary = {}
    if p.texts[p.i].startswith("<{"):
        _properties(p, written)
    if p.texts[p.i] == "(":
        p.fail(rules.UNIMPLEMENTED, f"generic form with regions is not implemented yet: {name}", at)
    if p.texts[p.i] == "{":
        read_dictionary(p, written)
    p.expect(":")
    types = p.type_list()
    if len(types) != len(values):
        p.fail(rules.OPERANDS, f"{len(values)} operands are written, but {len(types)} types", at)
    for k, (value, type) in enumerate(zip(values, types)):
        p.match(value, type, first + 2 * k)
    p.expect("->")
    results = p.type_list() if p.texts[p.i] == "(" else [p.type()]
    if instr is not None:
        return _instruction(p, instr, at, values, results, written)
    return _other(p, name, at, values, results, written)


def _properties(p: Parser, into: Dictionary) -> None:
    """``<{...}>``, which is one token: its entries, all with that token's place."""
    index, text = p.i, p.texts[p.i]
    p.i += 1
    inner = Cursor(Tokens(p.expand(text[1:-1])), p.file, Diagnostics())
    inside: Dictionary = {}
    with suppress(OperationError, LimitError):  # what they report is among the diagnostics
        read_dictionary(inner, inside)
    found = list(inner.diagnostics)
    if found or inner.texts[inner.i] is not EOF:
        message = found[0].message if found else f"{inner.found()} stands behind the properties"
        p.fail(rules.ATTRIBUTE, message, index)
    into.update((key, Written(value.text, index)) for key, value in inside.items())


def _instruction(p: Parser, instr: Instr, at: int, values: list[Value], results: list[Type], written: Dictionary) -> Op:
    segments = _segments(p, written.pop(SEGMENTS, None))
    attrs: dict[str, Any] = {}
    order = _order(instr)
    given = values
    types = [v.type for v in values]
    if segments is not None and len(segments) == len(order):
        counts: Sequence[int] | None = _stated(order, segments, len(values))
    else:
        counts = align_forms(instr, order, types)
    if counts is None and instr.syntax == "dps-either" and types and isinstance(types[0], Scalar):
        given = [values[1], values[0], *values[2:]]
        counts = align(order, [v.type for v in given])
        attrs["scalar_first"] = True
    if counts is None:
        listed = ", ".join(f"[{o.name}]" if o.optional else o.name for o in order)
        shown = ", ".join(map(str, types))
        p.fail(rules.OPERANDS, f"pto.{instr.text} takes ({listed}), not ({shown})", at)
    if len(results) != (instr.results if instr.syntax not in DPS_WORDS else 0):
        p.fail(rules.RESULTS, f"pto.{instr.text} has {instr.results} results, not {len(results)}", at)
    got: Operands = {}
    position = 0
    for operand, count in zip(order, counts):
        part = given[position : position + count]
        position += count
        if operand.variadic:
            got[operand.name] = list(part)
        elif part:
            got[operand.name] = part[0]
    dictionary_attrs(p, instr, written, attrs)
    operands: Operands = {o.name: got[o.name] for o in instr.operands if o.name in got}
    op = Op(f"pto.{instr.text}", operands, attrs, [Value(t) for t in results])
    forms = ops_views.FORMS.get(instr.syntax) or ops_sync.FORMS.get(instr.text) or ops_sync.FORMS.get(instr.syntax)
    if forms is not None:
        _agree(p, op, compile_form(forms[0]), at)
    return op


def _agree(p: Parser, op: Op, form: Form, at: int) -> None:
    """What the operation's own form requires or implies without writing it: attributes, types."""
    for e in form:
        if e.kind == "?":
            if any(op.operands.get(inner.name) for inner in e.group if inner.kind == "%"):
                _agree(p, op, e.group, at)
        elif e.kind in "ANL" and op.attrs.get(e.name) is None:
            p.fail(rules.ATTRIBUTE, f"the attribute '{e.name}' of {op.name} is missing", at)
        elif e.kind == "L" and not isinstance(op.attrs[e.name], list):
            p.fail(rules.UNIMPLEMENTED, f"generic form of {op.name} is not implemented yet", at)
        elif e.kind == "%" and e.more:
            for value in op.group(e.name):
                p.match(value, IMPLIED[e.more], at)
        elif e.kind == "R" and e.more in IMPLIED and op.result.type != IMPLIED[e.more]:
            p.fail(rules.TYPE, f"the result of {op.name} is {IMPLIED[e.more]}, not {op.result.type}", at)
        elif e.kind == "R" and e.name and not isinstance(op.result.type, TileSpec):
            p.fail(rules.TYPE, f"the result of {op.name} is a tile, not {op.result.type}", at)


def _order(instr: Instr) -> list[Operand]:
    if instr.syntax not in DPS_WORDS:
        return list(instr.operands)
    ins, outs, _ = operands_of(instr.name)
    if instr.text in _OPTIONAL_LAST:
        optional = [o for o in ins if o.optional and o.role is Role.IN]
        return [*(o for o in ins if not o.optional), *outs, *optional]
    return [*ins, *outs]


def _segments(p: Parser, written: Written | None) -> list[int] | None:
    if written is None:
        return None
    m = _ARRAY.match(written.text)
    sizes = [] if m is None else [whole(n.strip()) for n in (m[1] or m[2] or "").split(",") if n.strip().isdigit()]
    if m is None or None in sizes:
        p.fail(rules.ATTRIBUTE, f"{SEGMENTS} is written array<i32: 1, ..>, not '{written.text[:40]}'", written.place)
    return [n for n in sizes if n is not None]


def _stated(order: Sequence[Operand], segments: list[int], total: int) -> list[int] | None:
    """The segment sizes, if the operands can have them."""
    fit = sum(segments) == total and all(
        o.variadic or n == 1 or (n == 0 and o.optional) for o, n in zip(order, segments)
    )
    return segments if fit else None


def _other(p: Parser, name: str, at: int, values: list[Value], results: list[Type], written: Dictionary) -> Op:
    """Arithmetic and terminators."""
    if name in _VALUES:
        if results:
            p.fail(rules.RESULTS, f"{name} has no results", at)
        return Op(name, {"values": list(values)})
    names = _NAMES[name]
    if len(values) != len(names) or len(results) != 1:
        p.fail(rules.OPERANDS, f"{name} takes ({', '.join(names)}) and gives one result", at)
    compared = name in ("arith.cmpi", "arith.cmpf")
    if name not in ARITH_CASTS:  # their own forms write one type
        like = values[-1].type if compared else results[0]
        for value in values:
            p.match(value, I1 if value is values[0] and name == "arith.select" else like, at)
    if compared and results[0] != I1:
        p.fail(rules.TYPE, f"the result of {name} is i1, not {results[0]}", at)
    attrs: dict[str, Any] = {}
    if name == "arith.constant":
        attrs["value"] = _constant(p, written.pop("value", None), results[0], at)
    elif compared:
        attrs["predicate"] = _predicate(p, name, written.pop("predicate", None), at)
    attrs.update((key, plain_value(value.text)) for key, value in written.items())
    return Op(name, dict(zip(names, values)), attrs, [Value(results[0])])


def _constant(p: Parser, written: Written | None, type: Type, at: int) -> Any:
    if written is None:
        p.fail(rules.ATTRIBUTE, "the attribute 'value' is missing", at)
    text = written.text if written.text.startswith("dense") else written.text.partition(":")[0].strip()
    if text in ("true", "false") and type == I1:
        return text == "true"
    return constant_value(p, text, type, written.place)


def _predicate(p: Parser, name: str, written: Written | None, at: int) -> str:
    """The predicate by its number, as the generic form writes it."""
    known = INTEGER_PREDICATES if name == "arith.cmpi" else FLOAT_PREDICATES
    if written is None:
        p.fail(rules.ATTRIBUTE, "the attribute 'predicate' is missing", at)
    number = written.text.partition(":")[0].strip()
    if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number) < len(known)):
        p.fail(rules.TY_8, f"'{written.text[:40]}' is not a predicate of {name}", written.place)
    return known[int(number)]
