"""Tile instructions: ``pto.name ins(...) outs(...) {attributes}``, after the instruction table (assembly 5, 6).

The reference assembler reads both and makes nothing of them (assembly 6.1, 6.3); here they are carried and not run.

| syntax word | what is particular |
|---|---|
| ``dps`` | all operands of a group, then all their types |
| ``dps-attrs-in`` | the attributes stand inside ``ins``, before the colon |
| ``dps-comma`` | the same after a comma; with two destinations the attributes follow ``outs`` |
| ``dps-typed`` | each operand is followed by its type |
| ``dps-either`` | a tile and a scalar in either order; the attribute ``scalar_first`` keeps it |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, NoReturn

from ptokit.ir import Op, Operands, Value
from ptokit.isa.move.move import SUFFIX, suffix_mismatch
from ptokit.isa.table import ALSO, TABLE, Attr, Instr, Operand
from ptokit.types.values import INDEX, Group, Opaque, Scalar, Type

from ...forms.attributes import Dictionary, Written, declared_value, read_dictionary
from ...forms.operands import (
    NOTHING_BESIDE,
    Beside,
    Takes,
    align,
    beside_values,
    keys_of,
    operands_of,
    taken,
    takes,
    told_apart,
)
from ...text import rules
from ...text.cursor import OperationError
from ...text.lexer import EOF
from ...types.parse import POISON
from ..parser import Parser
from ..written import dictionary_attrs

# What follows the operands and attributes of level 2: ``key = value`` in a fixed order, a tensor as result.


_TENSOR = re.compile(r"tensor<(?!\s*\*)")


def read_trailing(p: Parser, instr: Instr, operands: Operands, attrs: dict[str, Any]) -> None:
    """Read ``pad_mode = <PadValue> pad_value = %v : f32 ..``, each at most once and in the order of the table."""
    keys = keys_of(instr.name)
    last = -1
    while (key := p.texts[p.i]) in keys and p.texts[p.i + 1] == "=":
        place = list(keys).index(key)
        if place <= last or keys[key].name in attrs:
            again = keys[key].name in attrs or keys[key].name in operands
            found = "is written twice" if again else f"follows '{list(keys)[last]}'"
            p.fail(rules.UNEXPECTED, f"'{key}' {found}", hint=f"the order is {', '.join(keys)}, each at most once")
        last = place
        p.i += 2
        entry = keys[key]
        if isinstance(entry, Operand):
            _value(p, entry, operands)
        else:
            _attribute(p, entry, attrs)


def _value(p: Parser, entry: Operand, operands: Operands) -> None:
    index = p.i
    value = p.value()
    p.expect(":")
    place = p.i
    type = p.type()
    p.match(value, type, index)
    check_type(p, entry, type, place)
    operands[entry.name] = value


def check_type(p: Parser, entry: Operand, type: Type, place: int) -> None:
    """TEXT-TYPE if a trailing operand has another type than its own; most take any."""
    if entry.type == "index" and type not in (INDEX, POISON):
        p.error(rules.TYPE, f"'{entry.name}' is of type index, not {type}", place)


def _attribute(p: Parser, entry: Attr, attrs: dict[str, Any]) -> None:
    index, token = p.i, p.texts[p.i]
    if not (token[0] in '#<"' if entry.mnemonic else token[0].isalnum()) or token == "<":
        p.unexpected(f"the value of '{entry.name}'")
    p.check_string()
    p.i += 1
    value = declared_value(p, entry, Written(p.expand(token), index))
    if value is not None:
        attrs[entry.name] = value


def read_result(p: Parser, instr: Instr, at: int) -> list[Value]:
    """The result after ``->``, if there is one; token `at` is the name of the instruction."""
    if not p.accept("->"):
        return []
    if not instr.form.tensor:
        p.fail(rules.RESULTS, f"pto.{instr.text} has no result: it writes what stands in outs", at)
    index = p.i
    type = p.type()
    check_result(p, instr, type, index)
    return [Value(type)]


def check_result(p: Parser, instr: Instr, type: Type, index: int) -> None:
    """TEXT-TYPE unless the result of an instruction of level 2 is a ranked tensor."""
    if type is not POISON and not (isinstance(type, Opaque) and _TENSOR.match(str(type))):
        p.fail(rules.TYPE, f"the result of pto.{instr.text} is a tensor of known rank, not {type}", index)


# Tile instructions: ``pto.name ins(...) outs(...) {attributes}``, after the instruction table (assembly 5, 6).


def read_dps(p: Parser, instr: Instr, name: int) -> Op:
    """Read a tile instruction after its name; token `name` is the name."""
    written: Dictionary = {}
    named: Operands = {}
    words = beside_values(instr.name)
    p.expect("ins")
    ins = _group(p, written if instr.form.syntax in ("dps-attrs-in", "dps-comma") else None, words, named)
    outs: list[Value] = []
    if p.accept("outs"):
        outs = _group(p, None)
    if named and (variant := words.variant) is not None:
        instr = variant
    if p.texts[p.i] == "{":
        read_dictionary(p, written)
    elif instr.form.syntax == "dps-comma" and p.texts[p.i] in (a.key for a in instr.attrs):  # old form of tgather
        key = p.texts[p.i]
        p.i += 1
        at = p.expect("=") + 1
        p.check_string()
        if p.texts[at] is EOF:
            p.unexpected(f"the value of '{key}'")
        written[key] = Written(p.texts[at], at)
        p.i += 1
    if ins and isinstance(ins[0].type, Group):
        instr = told_apart(instr, ins[0].type)
    plan = _plan(instr.name)
    attrs: dict[str, Any] = {}
    if instr.form.syntax == "dps-either" and ins and isinstance(ins[0].type, Scalar):
        ins.reverse()
        attrs["scalar_first"] = True
    if written:
        dictionary_attrs(p, instr, written, attrs)
    extra: Operands = {}
    if p.texts[p.i] in keys_of(instr.name):
        read_trailing(p, instr, extra, attrs)
    results = read_result(p, instr, name) if p.texts[p.i] == "->" else []
    got: Operands | None = None
    counts = len(ins), len(outs)
    for wanted, operands in plan.takes:
        if got is None and counts == wanted and not (named and any(key in named for key, _ in operands)):
            got = taken(operands, (*ins, *outs))
    if got is None and instr.form.choices:
        _in_no_form(p, instr, ins, name)
    if got is None:
        wanted_ins, wanted_outs, _ = operands_of(instr.name)
        if named:
            wanted_ins = tuple(o for o in wanted_ins if o.name not in named)
        elif ALSO in instr.form.orders and align(wanted_ins, [v.type for v in ins]) is None:
            wanted_ins = tuple(instr.in_order(ALSO))
        fitting = _assign(p, instr, "ins", wanted_ins, ins, name), _assign(p, instr, "outs", wanted_outs, outs, name)
        if None in fitting:
            raise OperationError
        got = {key: value for part in fitting if part is not None for key, value in part.items()}
    if instr.form.spellings and (wrong := suffix_mismatch(p.texts[name], got.get("src"), got.get("dst"))):
        p.error(SUFFIX.id, wrong, name)
    if named:
        got.update({key: value for key, value in named.items() if value is not None})
    ordered: Operands = {key: got[key] for key in plan.order if key in got}
    ordered.update(extra)
    return Op(plan.name, ordered, attrs, results)


class _Plan(NamedTuple):
    """What reading a tile instruction needs to know of it, found once."""

    name: str  # in full
    takes: tuple[tuple[tuple[int, int], Takes], ...]  # how many operands ``ins`` and ``outs`` have, and which they are
    order: tuple[str, ...]  # operands as in the table


@cache
def _plan(name: str) -> _Plan:
    """The plan of the instruction with this name in the table."""
    instr = TABLE[name]
    ins, outs, plain = operands_of(name)
    groups = [(instr.chosen(form, ins), instr.chosen(form, outs)) for form in instr.form.choices]
    if plain and not instr.form.choices:
        groups = [(list(ins), list(outs))]
    return _Plan(
        f"pto.{instr.text}",
        tuple(((len(a), len(b)), takes((*a, *b))) for a, b in groups),
        tuple(o.name for o in instr.operands),
    )


def _in_no_form(p: Parser, instr: Instr, ins: list[Value], name: int) -> NoReturn:
    """The operands are those of none of the instruction's forms (TEXT-OPERANDS)."""
    known = []
    for form in instr.form.choices:
        inside, outside = instr.chosen(form, instr.ins), instr.chosen(form, instr.outs)
        known.append(f"ins({', '.join(o.name for o in inside)}) outs({', '.join(o.name for o in outside)})")
    types = ", ".join(str(v.type) for v in ins)
    rule = instr.form.misfits.get("", rules.OPERANDS)
    p.error(rule, f"pto.{instr.text} takes {' or '.join(known)}, not ins({types})", name)
    raise OperationError


def _after_types(p: Parser, words: Beside, attrs: Dictionary | None, named: Operands) -> None:
    """What follows the types of ``ins``: ``fp %x : T``, ``, "row"``."""
    while (operand := words.operands.get(p.texts[p.i])) is not None and operand.name not in named:
        p.i += 1
        at = p.i
        value = named[operand.name] = p.value()
        p.expect(":")
        p.match(value, p.type(), at)
    if words.beside is not None and attrs is not None and p.texts[p.i] == "," and p.texts[p.i + 1][0] == '"':
        p.i += 2
        p.check_string()
        attrs[words.beside.key] = Written(p.texts[p.i - 1], p.i - 1)


def _group(
    p: Parser, attrs: Dictionary | None, words: Beside = NOTHING_BESIDE, named: Operands | None = None
) -> list[Value]:
    """``(%a, %b {attrs} : T, T)`` or ``(%a : T, %b : T)``; both may mix."""
    texts = p.texts
    p.expect("(")
    values: list[Value] = []
    where: list[int] = []
    typed = 0
    if texts[p.i] == ")":
        p.i += 1
        return values
    while True:
        if texts[p.i] == "{" and attrs is not None and values:  # after a comma (mask form of tgather)
            read_dictionary(p, attrs)
        else:
            where.append(p.i)
            values.append(p.value())
        token = texts[p.i]
        if token in words.absent and named is not None:
            named[words.absent[token].name] = None
            p.i += 1
            token = texts[p.i]
        if token == "{" and attrs is not None:
            read_dictionary(p, attrs)
            token = texts[p.i]
        if token == ":" and typed < len(values):
            p.i += 1
            extra = p.accept("(")  # manual form of tgemv.mx
            while True:
                p.match(values[typed], p.type(), where[typed])
                typed += 1
                if typed == len(values):
                    break
                p.expect(",")
            if extra:
                p.expect(")")
            if named is not None and typed == len(values):
                _after_types(p, words, attrs, named)
            token = texts[p.i]
        if token == ",":
            p.i += 1
        elif token == ")":
            if typed != len(values):
                p.unexpected("':' and the types of the operands")
            p.i += 1
            return values
        else:
            p.unexpected("',' or ')'" if typed == len(values) else "',' or ':'")


def _assign(
    p: Parser, instr: Instr, group: str, wanted: Sequence[Operand], given: list[Value], name: int
) -> Operands | None:
    """Give the written values their names; which optional ones are missing is decided by their types.

    None if they do not fit (TEXT-OPERANDS).
    """
    chosen = align(wanted, [v.type for v in given])
    if chosen is None:
        listed = ", ".join(f"[{o.name}]" if o.optional else o.name for o in wanted)
        least = sum(not o.optional and not o.variadic for o in wanted)
        if least <= len(given) <= len(wanted):
            what = f"not ({', '.join(str(v.type) for v in given)})"
        else:
            what = f"but {len(given)} {'is' if len(given) == 1 else 'are'} written"
        p.error(rules.OPERANDS, f"pto.{instr.text} takes {group}({listed}), {what}", name)
        return None
    got: Operands = {}
    position = 0
    for operand, count in zip(wanted, chosen):
        if operand.variadic:
            got[operand.name] = given[position : position + count]
        elif count:
            got[operand.name] = given[position]
        position += count
    return got
