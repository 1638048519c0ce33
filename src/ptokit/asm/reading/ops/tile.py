"""Tile instructions: ``pto.name ins(...) outs(...) {attributes}``, after the instruction table (assembly 5, 6).

| syntax word | what is particular |
|---|---|
| ``dps`` | all operands of a group, then all their types |
| ``dps-attrs-in`` | the attributes stand inside ``ins``, before the colon |
| ``dps-comma`` | the same behind a comma; with two destinations the attributes stand behind ``outs`` |
| ``dps-typed`` | each operand is followed by its type |
| ``dps-either`` | a tile and a scalar in either order; the attribute ``scalar_first`` keeps it |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, NoReturn

from ptokit.ir import Op, Operands, Value
from ptokit.isa.move.move_suffix import SUFFIX, suffix_mismatch
from ptokit.isa.table import SHARED, TABLE, Attr, Instr, Kind, Operand
from ptokit.types.tile import TileSpec
from ptokit.types.values import (
    Align,
    Group,
    LogicalMask,
    LogicalVector,
    Mask,
    MemRef,
    Opaque,
    PartitionView,
    Ptr,
    Scalar,
    TensorView,
    Type,
    VReg,
)

from ...forms.attributes import Dictionary, Written, read_dictionary
from ...forms.trailing import keys_of, print_trailing, read_result, read_trailing
from ...forms.written import attribute_dictionary, dictionary_attrs
from ...text import rules
from ...text.cursor import OperationError
from ...text.lexer import EOF
from ...types.parse import POISON
from ..parser import Parser

Takes = tuple[tuple[str, tuple[type, ...]], ...]
"""Operands by name, and the types they can have."""

DPS_WORDS = frozenset(("dps", "dps-attrs-in", "dps-comma", "dps-typed", "dps-either"))

_DATA = (TileSpec, PartitionView, TensorView, MemRef, Opaque)
_KINDS: dict[Kind, tuple[type, ...]] = {
    Kind.TILE: _DATA,
    Kind.VIEW: _DATA,
    Kind.SCALAR: (Scalar,),
    Kind.PTR: (Ptr, MemRef, Opaque),
    Kind.RECORD: (Opaque,),
    Kind.VREG: (VReg,),
    Kind.MASK: (Mask,),
    Kind.ALIGN: (Align,),
    Kind.GROUP: (Group,),
    Kind.VECTOR: (LogicalVector,),
    Kind.LANES: (LogicalMask,),
    Kind.PART: (VReg, Mask, LogicalVector, LogicalMask),
}


def fits(operand: Operand, type: Type) -> bool:
    """True if a value of this type can stand there (assembly 6): tiles, views and memrefs are told apart by rules."""
    return isinstance(type, _KINDS[operand.kind]) or type is POISON


def told_apart(instr: Instr, first: Type | None) -> Instr:
    """The instruction that a text name stands for where the first operand is of this type."""
    return SHARED.get(instr.text, instr) if isinstance(first, Group) else instr


def read_dps(p: Parser, instr: Instr, name: int) -> Op:
    """Read a tile instruction behind its name; token `name` is the name."""
    written: Dictionary = {}
    named: Operands = {}
    words = _words(instr.name)
    p.expect("ins")
    ins = _group(p, written if instr.syntax in ("dps-attrs-in", "dps-comma") else None, words, named)
    outs: list[Value] = []
    if p.accept("outs"):
        outs = _group(p, None)
    if named and (variant := words.variant) is not None:
        instr = variant
    if p.texts[p.i] == "{":
        read_dictionary(p, written)
    elif instr.syntax == "dps-comma" and p.texts[p.i] in (a.key for a in instr.attrs):  # old form of tgather
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
    if instr.syntax == "dps-either" and ins and isinstance(ins[0].type, Scalar):
        ins.reverse()
        attrs["scalar_first"] = True
    if written:
        dictionary_attrs(p, instr, written, attrs)
    extra: Operands = {}
    if instr.trailing and p.texts[p.i] in keys_of(instr.name):
        read_trailing(p, instr, extra, attrs)
    results = read_result(p, instr, name) if p.texts[p.i] == "->" else []
    got: Operands | None = None
    counts = len(ins), len(outs)
    for wanted, operands in plan.takes:
        if got is None and counts == wanted and not (named and any(key in named for key, _ in operands)):
            got = taken(operands, (*ins, *outs))
    if got is None and instr.forms:
        _in_no_form(p, instr, ins, name)
    if got is None:
        wanted_ins, wanted_outs, _ = operands_of(instr.name)
        if named:
            wanted_ins = tuple(o for o in wanted_ins if o.name not in named)
        elif instr.orders and align(wanted_ins, [v.type for v in ins]) is None:
            wanted_ins = tuple(instr.operand(key) for key in instr.orders[0])
        fitting = _assign(p, instr, "ins", wanted_ins, ins, name), _assign(p, instr, "outs", wanted_outs, outs, name)
        if None in fitting:
            raise OperationError
        got = {key: value for part in fitting if part is not None for key, value in part.items()}
    if instr.spellings and (wrong := suffix_mismatch(p.texts[name], got.get("src"), got.get("dst"))):
        p.error(SUFFIX.id, wrong, name)
    if named:
        got.update({key: value for key, value in named.items() if value is not None})
    ordered: Operands = {key: got[key] for key in plan.order if key in got}
    ordered.update(extra)
    return Op(plan.name, ordered, attrs, results)


class _Words(NamedTuple):
    """What may stand in ``ins`` beside values and their types."""

    operands: dict[str, Operand]  # that stand behind a word
    absent: dict[str, Operand]  # that a word says are not there
    beside: Attr | None  # a string behind the types
    variant: Instr | None  # what the instruction is with such an operand, if it has none itself


_NO_WORDS = _Words({}, {}, None, None)


@cache
def _words(name: str) -> _Words:
    instr = TABLE[name]
    own = any(o.word for o in instr.operands)
    others = (i for i in TABLE.values() if i.newest == instr.text and any(o.word for o in i.operands))
    variant = None if own else next(others, None)
    listed = (*instr.operands, *(variant.operands if variant is not None else ()))
    beside = next((a for a in instr.attrs if a.beside), None)
    return _Words({o.word: o for o in listed if o.word}, {o.absent: o for o in listed if o.absent}, beside, variant)


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
    groups = [(instr.chosen(form, ins), instr.chosen(form, outs)) for form in instr.forms]
    if plain and not instr.forms:
        groups = [(list(ins), list(outs))]
    return _Plan(
        f"pto.{instr.text}",
        tuple(((len(a), len(b)), takes((*a, *b))) for a, b in groups),
        tuple(o.name for o in instr.operands),
    )


def _in_no_form(p: Parser, instr: Instr, ins: list[Value], name: int) -> NoReturn:
    """The operands are those of none of the instruction's forms (TEXT-OPERANDS)."""
    known = []
    for form in instr.forms:
        inside, outside = instr.chosen(form, instr.ins), instr.chosen(form, instr.outs)
        known.append(f"ins({', '.join(o.name for o in inside)}) outs({', '.join(o.name for o in outside)})")
    types = ", ".join(str(v.type) for v in ins)
    rule = instr.misfit or rules.OPERANDS
    p.error(rule, f"pto.{instr.text} takes {' or '.join(known)}, not ins({types})", name)
    raise OperationError


def takes(operands: Sequence[Operand]) -> Takes:
    """Names of operands, and the types they can have."""
    return tuple((o.name, _KINDS[o.kind]) for o in operands)


def taken(takes: Takes, given: Sequence[Value]) -> Operands | None:
    """Operands and values one by one; None if one does not fit."""
    got: Operands = {}
    for (name, types), value in zip(takes, given):
        if not isinstance(value.type, types) and value.type is not POISON:
            return None
        got[name] = value
    return got


@cache
def operands_of(name: str) -> tuple[tuple[Operand, ...], tuple[Operand, ...], bool]:
    """Operands in ``ins`` and in ``outs``, and whether none of them is a list."""
    instr = TABLE[name]
    return tuple(instr.ins), tuple(instr.outs), not any(o.variadic for o in instr.operands)


def _behind(p: Parser, words: _Words, attrs: Dictionary | None, named: Operands) -> None:
    """What stands behind the types of ``ins``: ``fp %x : T``, ``, "row"``."""
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
    p: Parser, attrs: Dictionary | None, words: _Words = _NO_WORDS, named: Operands | None = None
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
                _behind(p, words, attrs, named)
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


def align_forms(instr: Instr, wanted: Sequence[Operand], types: Sequence[Type]) -> list[int] | None:
    """As `align`; of an instruction with forms the operands of one of them must be there, and no others."""
    if not instr.forms:
        return align(wanted, types)
    for form in instr.forms:
        chosen = instr.chosen(form, wanted)
        if align(chosen, types) is not None:
            names = {o.name for o in chosen}
            return [int(o.name in names) for o in wanted]
    return None


def align(wanted: Sequence[Operand], types: Sequence[Type]) -> list[int] | None:
    """How many of the values each operand takes (0 or 1; any number if variadic), or None if they do not fit."""
    if not wanted:
        return None if types else []
    first, rest = wanted[0], wanted[1:]
    counts: Sequence[int] = (1,)
    if first.variadic:
        counts = range(len(types), -1, -1)
    elif first.optional:
        counts = (1, 0)
    for count in counts:
        if count <= len(types) and all(fits(first, t) for t in types[:count]):
            tail = align(rest, types[count:])
            if tail is not None:
                return [count, *tail]
    return None


def print_dps(op: Op, instr: Instr, name: Callable[[Value], str]) -> str:
    """A tile instruction behind its name."""
    worded = [(o, v) for o in instr.ins if o.word for v in op.group(o.name)]
    ins = [v for o in instr.ins if not o.word for v in op.group(o.name)]
    outs = [v for o in instr.outs for v in op.group(o.name)]
    comma = instr.syntax == "dps-comma"
    inside = instr.syntax == "dps-attrs-in" or (comma and len(outs) == 1)
    placed = {"scalar_first"} if instr.syntax == "dps-either" else set[str]()
    placed.update(e.name for e in instr.trailing)
    if instr.syntax == "dps-either" and op.attrs.get("scalar_first"):
        ins.reverse()
    beside = _words(instr.name).beside
    string = op.attrs.get(beside.name) if beside is not None and op.attrs.get("mask") is not None else None
    if beside is not None and string is not None:
        placed.add(beside.name)
    attrs = attribute_dictionary(op, instr, placed)
    shown = f"{',' if comma else ''} {attrs}" if inside and attrs else ""
    for absent in _words(instr.name).absent.values():
        if len(ins) > 1 and op.get(absent.name) is None and _may_have(instr, absent, op):
            shown = f" {absent.absent}{shown}"
    text = f" ins({_printed(ins, instr, name, shown)}"
    text += "".join(f" {o.word} {name(v)} : {v.type}" for o, v in worded)
    text += ")" if string is None else f', "{string.text}")'
    if outs:
        text += f" outs({_printed(outs, instr, name, '')})"
    if attrs and not inside:
        text += f" {attrs}"
    return text + print_trailing(op, instr, name)


def _may_have(instr: Instr, operand: Operand, op: Op) -> bool:
    """True if a form of the instruction has the operation's operands and this one."""
    present = {key for key, value in op.operands.items() if value is not None}
    return any(present | {operand.name} == set(form.split()) for form in instr.forms)


def _printed(values: list[Value], instr: Instr, name: Callable[[Value], str], attrs: str) -> str:
    if instr.syntax == "dps-typed":
        return ", ".join(f"{name(v)} : {v.type}" for v in values)
    if not values:
        return ""
    named = ", ".join(map(name, values))
    return f"{named}{attrs} : {', '.join(str(v.type) for v in values)}"
