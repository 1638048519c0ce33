"""How C++ calls an instruction: the form that the instruction table states, and what fills it in at one place.

A form is written as a call, with options in the template arguments:

| written | is |
|---|---|
| ``name`` | an operand or an attribute |
| ``name?`` | left out where the operand is absent, or the attribute has its default |
| ``^name`` | the type of an operand |
| ``!name`` | a template argument that is always stated; others only where it or a later one is not the default |
| ``name:Enum`` | an attribute, as an enumerator of another enumeration; ``:int`` as a number |
| ``&name`` | the address of a tile |
| ``Type{a b}`` | a variable of that type, made of these operands |
| ``name: CALL(...)`` | the form where that attribute is true |
| ``without a b`` | attributes of text that choose nothing in C++ |

Several forms follow each other with ``|``: the first that has room for all that is given is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

from ptokit.ir import Op
from ptokit.isa.table import Attr, Instr, Operand
from ptokit.records import dataclass

from ..lift.library import enumerations

_FORM = re.compile(r"(?:(\w+):\s*)?([\w:]+)(?:<(.*)>)?\((.*?)\)(?:\s*without\s+(.*))?\Z", re.DOTALL)
_WORD = re.compile(r"([!&^]?)(\w+)(?::(\w+))?(?:\{([\w ?]*)\})?(\??)\Z")


@dataclass(frozen=True, slots=True)
class Word:
    """One argument of a form. ``mark``: ``^``, ``!``, ``&`` or nothing; ``of``: an enumeration, or operands."""

    mark: str
    name: str
    of: str = ""
    parts: tuple[str, ...] | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One way to call an instruction."""

    name: str
    options: tuple[Word, ...]
    arguments: tuple[Word, ...]
    where: str = ""
    without: tuple[str, ...] = ()

    def names(self) -> Iterator[str]:
        """The operands and attributes that it has room for."""
        for word in (*self.options, *self.arguments):
            yield from (word.name,) if word.parts is None else word.parts
        yield from (*self.without, *([self.where] if self.where else []))


def _words(text: str) -> tuple[Word, ...]:
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _WORD.match(part)
        if match is None:
            raise ValueError(f"{part!r} is no argument of a call")
        mark, name, of, parts, optional = match.groups()
        found.append(Word(mark, name, of or "", None if parts is None else tuple(parts.split()), bool(optional)))
    return tuple(found)


@cache
def forms(instr: Instr) -> tuple[Form, ...]:
    """The forms of an instruction; none where C++ has no such call."""
    named = instr.name if instr.name.isidentifier() and instr.name.isupper() else ""
    stated = named if instr.cpp is None else instr.cpp
    found = []
    for text in filter(None, (part.strip() for part in stated.split("|"))):
        if "(" not in text:
            text += f"({', '.join(o.name + '?' * o.optional for o in instr.operands)})"
        match = _FORM.match(text)
        if match is None:
            raise ValueError(f"{instr.name}: {text!r} is no call")
        where, name, options, arguments, without = match.groups()
        found.append(Form(name, _words(options or ""), _words(arguments), where or "", tuple((without or "").split())))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Call:
    """A form chosen for an operation: which options are stated, and which arguments."""

    form: Form
    options: tuple[Word, ...]
    arguments: tuple[Word, ...]


def chosen(instr: Instr, op: Op) -> Call | str:
    """How to call the instruction as an operation has it; else what no form has room for."""
    known = forms(instr)
    if not known:
        return "C++ has no call of it"
    reasons = []
    for form in known:
        found = _fitting(form, instr, op)
        if isinstance(found, Call):
            return found
        reasons.append(found)
    return reasons[0] if len(reasons) == 1 else min(reasons, key=len)


def _fitting(form: Form, instr: Instr, op: Op) -> Call | str:
    operands: Mapping[str, Operand] = {o.name: o for o in instr.operands}
    attrs: Mapping[str, Attr] = {a.name: a for a in instr.attrs}
    given = {name for name in operands if op.operands.get(name) is not None}
    changed = {name for name, attr in attrs.items() if _changed(attr, op.attrs.get(name, attr.default))}
    room = set(form.names())
    extra = [name for name in (*operands, *attrs) if name in (given | changed) - room]
    if form.where and form.where not in changed:
        return f"{form.where} is not set"
    if extra:
        return f"the call has no room for {' and '.join(extra)}"

    def present(word: Word) -> bool:
        if word.parts is not None:
            return any(part in given for part in word.parts) or not word.optional
        if word.name in operands:
            return word.name in given
        return not word.optional or word.name in changed

    arguments = tuple(word for word in form.arguments if present(word))
    missing = [w.name for w in form.arguments if w.name in operands and not w.optional and w.name not in given]
    if missing:
        return f"the call needs {' and '.join(missing)}"
    options: list[Word] = []
    stated = False
    for word in reversed(form.options):
        if word.mark == "^":
            keep = stated and (word.name in given or not word.optional)
        else:
            keep = word.mark == "!" or word.name in changed or (stated and not word.optional)
            stated = stated or keep
        if keep:
            options.append(word)
    for word in (*arguments, *options):
        if word.name in attrs and word.mark != "^" and _value(attrs[word.name], op) is None:
            return f"the call needs {word.name}"
    return Call(form, tuple(reversed(options)), arguments)


def _changed(attr: Attr, value: Any) -> bool:
    return value is not None and value != attr.default


def _value(attr: Attr, op: Op) -> Any:
    value = op.attrs.get(attr.name)
    value = attr.default if value is None else value
    return False if value is None and attr.kind is bool else value


def option(instr: Instr, op: Op, word: Word) -> str:
    """An attribute as C++ writes it. Raises `KeyError` where no enumerator is its value."""
    attr = next(a for a in instr.attrs if a.name == word.name)
    value = _value(attr, op)
    if word.of == "int" or isinstance(value, bool):
        return str(int(value)) if word.of == "int" else str(value).lower()
    if word.of or isinstance(value, Enum):
        return enumerator(word.of or type(value).__name__, value)
    return str(value)


def enumerator(enumeration: str, value: Any) -> str:
    """``CmpMode::LT``. Raises `KeyError`."""
    known = enumerations()[enumeration]
    for name, (_, meant) in known.items():
        if meant is value or (meant == value and type(meant) is type(value)):
            return f"{enumeration}::{name}"
    return f"{enumeration}::{next(n for n in known if n == f'CAST_{value.name}')}"  # a rounding with two names in text


def parts_of(word: Word) -> Sequence[str]:
    """The operands that a variable is made of."""
    return word.parts or ()
