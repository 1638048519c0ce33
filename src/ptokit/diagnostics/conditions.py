"""Conditions of rules, written as they must hold.

    rule("EW-A5-04", "…Tile(Vec, i8, 16, {256|320})…", evidence="device")(
        "TSEL of 1-byte elements has at most 256 valid columns on a5.",
        "dst.vc <= 256 if dst.dtype.size == 1",
        "{dst} has {dst.vc} valid columns of {dst.dtype}; a5 reads a wrong mask beyond 256",
    )

A condition is text, and behind it stands the message. Names are those of operands and attributes of the instruction, of
the fields of its site (``instr``, ``target``; ``o`` is the site itself), of `WORDS` (`isa.checks.compiling`), and of
the module of the rule. It is Python, compiled when the first site asks (`isa.checks.compiling`):

- What only the run knows breaks nothing: ``dst.vc <= 256`` becomes ``dst.vc > 256``, which is false of unknown sizes.
- A condition about an operand that is absent, or that the instruction does not have, holds.
- Behind ``if`` stands what must be known to be so. ``for t in data`` asks the same of several tiles: ``data`` are
  destinations and sources, ``sources`` the latter, ``tiles`` also scratch; ``for t in (src0, src1)`` names them.
- ``lanes = 256 // src.dtype.size`` before a condition names an expression for those that follow, and their messages;
  ``if known(src.vc)`` is what must be known to be so for all that follow, functions too, up to the next such line.

Messages show values in braces. ``{dst}`` is the name of an operand, ``{%dst}`` that of the value in its place; the
finding is about the operands that are so named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ptokit.records import dataclass

Found = str | tuple[str, str] | bool | None
Check = Callable[[Any], Found]


@dataclass(frozen=True, eq=False)
class Need:
    """A condition that must hold, and the message where it is known to be broken; where ``doubt`` holds, a warning.

    The message may be left out, or begin with a semicolon, where the condition is one comparison: then it says first
    what was seen. ``need("src.vr == dst.vr")`` says "src has 16 valid rows, dst has 8", ``need("src.cols <= 64")``
    "src has 128 columns, more than 64".
    """

    condition: str
    message: str = ""
    hint: str = ""
    doubt: str = ""
    where: tuple[tuple[str, str], ...] = ()  # what further names stand for, which the rule states before
    asked: str = ""  # what it states before that must be known, too


@dataclass(frozen=True, eq=False)
class When:
    """A function of a site that is asked only where ``asked`` is known to hold."""

    check: Check
    where: tuple[tuple[str, str], ...]
    asked: str


need = Need
Part = str | Need | Check


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a rule looks at, one after the other; what is found first is reported. ``module`` has the names."""

    parts: tuple[Need | When | Check, ...]
    module: Mapping[str, Any]
    sentence: str = ""  # of rules that are made of them

    def __call__(self, o: Any) -> Any:
        return o.find(self)


def first(*parts: Part) -> Conditions:
    """Checks one after the other: conditions, each before its message, what `need` makes, and functions of a site."""
    return conditions(parts, sys._getframe(1).f_globals)


def shared(sentence: str, *parts: Part) -> Conditions:
    """The same for several rules, with their sentence."""
    return replace(conditions(parts, sys._getframe(1).f_globals), sentence=sentence)


def conditions(parts: tuple[Part, ...], module: Mapping[str, Any]) -> Conditions:
    """Checks that a module states; it has what conditions name beside the site."""
    return Conditions(tuple(_paired(parts)), module)


def _paired(parts: tuple[Part, ...]) -> Iterator[Need | When | Check]:
    where: tuple[tuple[str, str], ...] = ()
    asked = ""
    rest = iter(parts)
    for part in rest:
        if isinstance(part, str):
            name, defines, expression = part.partition(" = ")
            if defines and name.isidentifier():
                where += ((name, expression),)
            elif part.startswith("if "):
                asked = part.removeprefix("if ")
            else:
                yield Need(part, str(next(rest)), where=where, asked=asked)
        elif isinstance(part, Need):
            yield replace(part, where=where, asked=asked)
        else:
            yield When(part, where, asked) if asked else part
