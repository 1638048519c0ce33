"""Operations whose written form is one line of the notation, and attributes as the manual writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, ClassVar, NamedTuple

from ptokit.diagnostics.finding import suggest
from ptokit.ir import Op, Operands, Value
from ptokit.ir.pipe_rules import hides
from ptokit.isa.table import TABLE, Attr, Instr, Kind
from ptokit.types.tile import TileSpec
from ptokit.types.values import I1, I64, INDEX, Group, MemRef, Opaque, Ptr, Scalar, Type

from ..forms.attributes import (
    CARRIED,
    WORDS,
    Dictionary,
    Written,
    declared_value,
    plain_value,
    read_dictionary,
    unquote,
)
from ..forms.operands import Element, Form, compile_form, placed_attributes
from ..text import rules
from ..text.cursor import is_string
from .parser import Parser

# Attributes as the manual writes them: ``#atomic=add``, ``rnd = "rz"`` (assembly 4).


_KEYS = {"rnd": "rmode", "cmp": "cmp", "cmpMode": "cmp", "relu": "relu", "phase": "phase", "atomic": "atomic"}
_WORDS = {  # (attribute, word) -> the assembler's word
    ("rmode", "rne"): "RINT",
    ("rmode", "rz"): "TRUNC",
    ("rmode", "rp"): "CEIL",
    ("rmode", "rm"): "FLOOR",
    ("phase", "relu"): "normal_relu",
    ("relu", "relu"): "normal_relu",
}


def manual_key(instr: Instr, key: str, word: str) -> Attr | None:
    """The attribute that a manual's key means; ``phase=relu`` is the relu mode of a store."""
    name = "relu" if (key, word) == ("phase", "relu") else _KEYS.get(key, key)
    return next((a for a in instr.text_attrs.values() if name in (a.name, a.key)), None)


def manual_value(attr: Attr, key: str, word: str) -> Any:
    """The value of a word in any of its spellings; None if there is none."""
    name = _KEYS.get(key, key)
    for spelled in (word, word.lower(), _WORDS.get((name, word), ""), f"{attr.mnemonic.split('_')[0]}_{word}"):
        try:
            return attr.parse(spelled)
        except (KeyError, ValueError):
            continue
    return None


def hash_attribute(p: Parser, instr: Instr, key: str, word: str, place: int, attrs: dict[str, Any]) -> None:
    """Put ``#key=word`` at token `place` among the attributes (TEXT-ATTRIBUTE, TY-8)."""
    attr = manual_key(instr, key, word)
    if attr is None:
        p.error(
            rules.ATTRIBUTE, f"pto.{instr.text} has no attribute '{key}'", place, hint=suggest(key, instr.text_attrs)
        )
    elif attr.name in attrs:
        p.error(rules.ATTRIBUTE, f"attribute '{key}' is written twice", place)
    elif (value := manual_value(attr, key, word)) is None:
        p.error(rules.TY_8, f"'{word}' is not a value of {key}", place + 2)
    else:
        attrs[attr.name] = value


# Operations whose written form is one line of a small notation (`notation`), read and printed from it.


Infer = Callable[[Parser, dict[str, Any], dict[str, Any]], Type]

INFERRED: dict[str, Infer] = {}
"""Results whose types are not written, by the word after ``R=``."""

_LAUNCH = re.compile(r"<<<\s*(%[\w$.\-#]+)\s*,\s*(%[\w$.\-#]+)\s*,\s*(%[\w$.\-#]+)\s*>>>\Z", re.ASCII)
IMPLIED: dict[str, Scalar] = {"index": INDEX, "i64": I64, "i1": I1}
RESULTS: dict[str, tuple[type, ...]] = {"tile": (TileSpec, MemRef, Opaque), "group": (Group, Opaque)}
"""Types of results by the word after ``R:``; what is wrong, lowered or of another dialect is opaque."""


# -------------------------------------------------------------------- reading


class _Plan(NamedTuple):
    """What reading an instruction by its forms needs to know of it, found once."""

    name: str  # in full
    forms: tuple[Form, ...]
    attrs: dict[str, Attr]
    order: tuple[str, ...]  # its operands as in the table
    pointers: bool  # some point into a memory of their own
    results: bool


@cache
def _plan(name: str, forms: tuple[str, ...]) -> _Plan:
    """The plan of the instruction with this name in the table."""
    instr = TABLE[name]
    return _Plan(
        f"pto.{instr.text}",
        tuple(map(compile_form, forms)),
        {a.name: a for a in reversed(instr.attrs)},
        tuple(o.name for o in instr.operands),
        any(o.space for o in instr.operands),
        bool(instr.results),
    )


Read = Callable[[Any, Element], None]
Steps = dict[int, list[tuple[Read | None, Element]]]
"""The elements of a form with what reads each (None for words as they are), by the id of the form, which
`compile_form` keeps."""


class Reading:
    """What has been read of one operation."""

    __slots__ = ("p", "instr", "known", "operands", "first", "attrs", "written", "results")

    def __init__(self, p: Parser, instr: Instr | None, known: dict[str, Attr]) -> None:
        self.p, self.instr, self.known = p, instr, known
        self.operands: dict[str, Value | list[Value]] = {}
        self.first: dict[str, Any] = {}  # the token of a value; of values among numbers, those of all
        self.attrs: dict[str, Any] = {}
        self.written: Dictionary = {}
        self.results: list[Type] = []

    def read(self, form: Form) -> None:
        p, texts = self.p, self.p.texts
        steps = self.STEPS.get(id(form))
        if steps is None:
            steps = self.STEPS[id(form)] = [(None if e.kind == "=" else self.reader(e), e) for e in form]
        for read, e in steps:
            if read is not None:
                read(self, e)
            elif texts[p.i] == e.name:
                p.i += 1
            else:
                p.unexpected(f"'{e.name}'")

    @classmethod
    def reader(cls, e: Element) -> Read:
        """What reads an element."""
        return Reading._single if e.kind == "%" and not (e.flag or e.more) else cls.READERS[e.kind]

    def _single(self, e: Element) -> None:
        p = self.p
        self.first[e.name] = p.i
        self.operands[e.name] = p.value()

    def _dictionary(self, e: Element) -> None:
        if self.p.texts[self.p.i] == "{":
            read_dictionary(self.p, self.written)

    def _optional(self, e: Element) -> None:
        if self._written(e):
            self.read(e.group)

    def _sizes(self, e: Element) -> None:
        p = self.p
        m = _LAUNCH.match(p.texts[p.i])
        if m is None:
            p.unexpected("'<<<%x, %y, %z>>>'")
        found = [p.scope.values.get(name) for name in m.groups()]
        if None in found:
            p.fail(rules.TY_9, f"value {m.groups()[found.index(None)]} is not defined")
        self.operands[e.name] = [v for v in found if v is not None]
        p.i += 1

    def _clauses(self, e: Element) -> None:
        """Clauses in any order with commas between; TEXT-UNEXPECTED if one is unknown, missing or written twice."""
        p = self.p
        left = {clause.group[0].name: clause for clause in e.group}
        while (clause := left.pop(p.texts[p.i], None)) is not None:
            self.read(clause.group)
            if p.texts[p.i] != ",":
                break
            p.i += 1
            if p.texts[p.i] not in left:
                p.unexpected(" or ".join(f"'{word}'" for word in left) or "no further clause")
        for word, clause in left.items():
            if clause.flag:
                p.unexpected(f"'{word}'")
        for name in placed_attributes(e.group):
            if name in self.attrs:
                self.attrs[name] = self.attrs.pop(name)

    def _written(self, optional: Element) -> bool:
        """True if an optional group follows: by its first token, by the second too where that is a comma.

        The types of operands follow if the operands have been written.
        """
        p, group = self.p, optional.group
        first = group[0]
        if first.flag == "*":
            return p.texts[p.i][0] == "%" and p.texts[p.i + 1] != "="  # it is no result of the next operation
        if optional.flag:
            return all(e.kind != "T" or e.name in self.operands for e in group)
        if first.kind == "W":
            return p.texts[p.i] in self._words(first)
        if first.name == "," and len(group) > 1 and group[1].kind in "=W":
            if p.texts[p.i] != ",":
                return False
            second, token = group[1], p.texts[p.i + 1]
            return token == second.name if second.kind == "=" else token in self._words(second)
        if first.kind == "%" and not first.flag and len(group) > 1 and group[1].name == ",":
            return p.texts[p.i][0] == "%" and p.texts[p.i + 1] == ","
        return _begins(first, p)

    def _words(self, e: Element) -> frozenset[str]:
        attr = self.known[e.name]
        return WORDS.get(attr.mnemonic) or frozenset(attr.words)

    def _operand(self, e: Element) -> None:
        p = self.p
        start = self.first[e.name] = p.i
        implied = IMPLIED[e.more] if e.more else None
        if not e.flag:
            value = self.operands[e.name] = p.value()
            if implied is not None and value.type is not implied:
                p.match(value, implied, start)
            return
        texts = p.texts
        values: list[Value] = []
        if texts[p.i][0] == "%":
            values.append(p.value())
            while texts[p.i] == "," and (texts[p.i + 1][0] == "%" or self.instr is None):
                p.i += 1
                values.append(p.value())
        self.operands[e.name] = values
        if implied is not None:
            for k, value in enumerate(values):
                if value.type is not implied:
                    p.match(value, implied, start + 2 * k)

    def _types(self, e: Element) -> None:
        p, value = self.p, self.operands[e.name]
        if e.flag == "?" and not p.accept(","):
            return
        if isinstance(value, list):
            p.typed(value, self.first[e.name])
            return
        type = p.type(stripped="ptr" if e.flag == "~" else "")
        p.match(value, type, self.first[e.name])
        assert self.instr is not None
        if isinstance(type, (Scalar, Ptr)) and self.instr.operand(e.name).kind in (Kind.TILE, Kind.VIEW):
            p.fail(rules.OPERANDS, f"operand '{e.name}' cannot be {type}", self.first[e.name])

    def _result(self, e: Element) -> None:
        if e.flag == "*":
            self.results.append(self.p.type())
            while self.p.accept(","):
                self.results.append(self.p.type())
        elif not e.more or (e.flag == ">" and self.p.accept("->")):
            index = self.p.i
            result = self.p.type(stripped="ptr" if e.flag == "~" else "")
            if e.name and not isinstance(result, RESULTS[e.name]):
                self.p.fail(rules.TYPE, f"the result is a {e.name}, not {result}", index)
            self.results.append(result)
        elif e.more in IMPLIED:
            self.results.append(IMPLIED[e.more])
        else:
            self.results.append(INFERRED[e.more](self.p, self.operands, self.attrs))

    def _numbers(self, e: Element) -> None:
        p = self.p
        self.attrs[e.name] = [p.integer()]
        while p.accept(","):
            self.attrs[e.name].append(p.integer())

    def _bare(self, e: Element) -> None:
        index = self.p.i
        token = self.p.word(f"a {self.known[e.name].mnemonic}")
        self._declared(e, f'"{token}"', index)

    def _word(self, e: Element) -> None:
        p, token, known = self.p, self.p.texts[self.p.i], self._words(e)
        if token not in known and (known or not token[0].isalpha()):
            p.unexpected(" or ".join(f"'{w}'" for w in sorted(known)) or f"a {e.name}")
        self.attrs[e.name] = token
        p.i += 1

    def _value(self, e: Element) -> None:
        """A, N. Flags repeat the same few spellings."""
        p, attr = self.p, self.known[e.name]
        token = p.texts[p.i]
        value = p.attributes.get((id(attr), e.kind, token))
        if value is not None:
            self.attrs[e.name] = value
            p.i += 1
            return
        if e.kind == "A" and (token[0] not in '#<"' or token == "<"):
            p.unexpected(f"a {attr.mnemonic}")
        p.check_string()
        if e.kind == "N" and not (token[0].isalnum() or token[0] in '-"@'):
            p.unexpected(f"the value of '{e.name}'")
        p.i += 1
        self._declared(e, token, p.i - 1)

    def _declared(self, e: Element, token: str, index: int) -> None:
        p = self.p
        attr = self.known[e.name]
        value = declared_value(p, attr, Written(p.expand(token), index))
        if value is not None:
            self.attrs[e.name] = p.attributes[id(attr), e.kind, token] = value

    STEPS: ClassVar[Steps] = {}
    READERS: ClassVar[dict[str, Read]] = {
        "%": _operand,
        "T": _types,
        "A": _value,
        "N": _value,
        "L": _numbers,
        "W": _word,
        "B": _bare,
        "D": _sizes,
        "R": _result,
        "{": _dictionary,
        "?": _optional,
        "&": _clauses,
    }


def _begins(e: Element, p: Parser) -> bool:
    """True if the next token can begin the element."""
    token = p.texts[p.i]
    if e.kind == "=":
        return token == e.name
    if e.kind == "%":
        return token[0] == "%"
    return e.kind == "N" and (token[0].isdigit() or token[0] in '-"')


def _goes_on(form: Form, p: Parser) -> bool:
    """False where an operand begins the form, but it is the result of the next operation: no attribute follows it."""
    return len(form) < 2 or form[1].kind != "N" or p.texts[p.i + 1][0] in '"@0123456789'


def dictionary_attrs(p: Parser, instr: Instr, written: Dictionary, into: dict[str, Any]) -> None:
    """Put the values of a dictionary into the attributes, by the names of the table; unknown ones as they are.

    Strings may be the manual's: ``rnd = "rz"``, ``atomic = "add"`` (assembly 4).
    """
    declared = _attrs_by_key(instr.name) if written else {}
    for key, value in written.items():
        attr = declared.get(key)
        word = unquote(value.text) if is_string(value.text) else ""
        attr = manual_key(instr, key, word) if attr is None and word else attr
        known = manual_value(attr, key, word) if attr is not None and word and issubclass(attr.kind, Enum) else None
        if attr is None:
            into[key] = plain_value(value.text)
            named = "." not in key and not hides(f"pto.{instr.text}", key)  # others are those of other dialects
            if named and key not in CARRIED:
                hint = suggest(key, declared) or "remove it"
                at = value.place - 2 if p.texts[value.place - 1] == "=" else value.place
                p.warning(rules.UNKNOWN_ATTRIBUTE, f"pto.{instr.text} has no attribute '{key}'", at, hint=hint)
        elif attr.name in into:
            p.error(rules.ATTRIBUTE, f"attribute '{key}' is written twice", value.place)
        elif (v := known if known is not None else _declared(p, attr, value)) is not None:
            into[attr.name] = v


@cache
def _attrs_by_key(name: str) -> dict[str, Attr]:
    """The attributes that text can give an instruction, by key and by name."""
    return {
        key: attr
        for attr in reversed(TABLE[name].text_attrs.values())
        for key in (attr.older, attr.key, attr.name)
        if key
    }


def _declared(p: Parser, attr: Attr, written: Written) -> Any:
    """`declared_value`, which is found once for the few spellings that a text repeats."""
    key = id(attr), "{}", written.text
    value = p.attributes.get(key)
    if value is None:
        value = declared_value(p, attr, written)
        if value is not None and not isinstance(value, list):
            p.attributes[key] = value
    return value


def read_form(p: Parser, instr: Instr, forms: tuple[str, ...]) -> Op:
    """Read an operation after its name. Of several forms the first that fits the next token is taken."""
    plan = _plan(instr.name, forms)
    chosen = plan.forms[-1]
    for form in plan.forms[:-1]:
        if _begins(form[0], p) and (form[0].kind != "%" or _goes_on(form, p)):
            chosen = form
            break
    reading = Reading(p, instr, plan.attrs)
    reading.read(chosen)
    if reading.written:
        dictionary_attrs(p, instr, reading.written, reading.attrs)
    got = reading.operands
    if plan.pointers:
        _check_pointers(p, instr, reading)
    operands: Operands = {name: got[name] for name in plan.order if name in got} if got else {}
    return Op(plan.name, operands, reading.attrs, list(map(Value, reading.results)) if plan.results else [])


def _check_pointers(p: Parser, instr: Instr, reading: Reading) -> None:
    """Pointers point into the memory that the operation works on; other operands are numbers (TEXT-OPERANDS)."""
    for operand in instr.operands:
        value = reading.operands.get(operand.name)
        if not isinstance(value, Value) or isinstance(value.type, Opaque):
            continue
        type = value.type
        if isinstance(type, Ptr):
            fits = Kind.PTR in operand.also or (operand.kind is Kind.PTR and (type.space or "gm") == operand.space)
        else:
            fits = operand.kind is Kind.SCALAR and isinstance(type, Scalar)
        if not fits and not (Kind.VIEW in operand.also and isinstance(type, MemRef)):
            wanted = f"a pointer to {operand.space}" if operand.kind is Kind.PTR else "a number"
            message = f"{operand.name} of pto.{instr.text} is {wanted}, not {type}"
            p.fail(rules.OPERANDS, message, reading.first[operand.name])


# ------------------------------------------------------------------- printing
