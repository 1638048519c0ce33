"""Words to define operations on logical vectors with (PTOAS e32488c9, vmi-isa).

An operand or result is a word: its name, a colon, and what it is.

| | |
|---|---|
| ``v``, ``m`` | a logical vector, a logical predicate |
| ``b`` | either of them |
| ``p`` | a pointer |
| ``o`` | the offset in brackets behind the pointer before it, in elements |
| ``s``, ``i32`` | a number of any type, of this type; its type is written |
| ``x``, ``y`` | an index, a number of 16 bits; its type is not written |

A question mark behind it: it may be missing; a star: a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptokit.diagnostics import Rule
from ptokit.diagnostics.rules import merged
from ptokit.types.enums import Pipe

from ..table import Attr, Instr, Kind, Operand, Role, instruction

SOURCE = "PTOAS e32488c9, vmi-isa"
_KINDS = {"v": Kind.VECTOR, "m": Kind.LANES, "b": Kind.PART, "p": Kind.PTR}


def _operand(word: str, role: Role) -> Operand:
    name, _, kind = word.rstrip("?*").partition(":")
    optional = word.endswith("?")
    if kind == "o":
        return Operand(name, role, Kind.SCALAR, True, type="index", offset=True)
    if kind in ("x", "y"):
        return Operand(name, role, Kind.SCALAR, optional, type={"x": "index", "y": "i16"}[kind], implied=True)
    if kind not in _KINDS:
        return Operand(name, role, Kind.SCALAR, optional, type="" if kind == "s" else kind, or_vreg=kind == "s")
    return Operand(name, role, _KINDS[kind], optional, word.endswith("*"), or_view=kind == "p")


def number(name: str) -> Attr:
    """A whole number in the dictionary."""
    return Attr(name, int, None, name, long=True)


def text(name: str, *words: str) -> Attr:
    """A string in the dictionary."""
    return Attr(name, str, None, name, words=words)


def token(name: str, before: str = "") -> Attr:
    """A string among the operands."""
    return Attr(name, str, None, name, token=True, before=before)


def unit(name: str) -> Attr:
    """A word of the dictionary that stands alone."""
    return Attr(name, bool, None, name)


PMODE = text("pmode", "merge", "zero")
GROUP = number("group")
GROUPS = number("num_groups")
ROUNDING = text("rounding")
SATURATE = text("saturate")


def operations(bound: Mapping[str, tuple[Rule, ...]]) -> Callable[..., Instr]:
    """`vmi` for operations whose rules are in a table by name. Raises `KeyError` for one that has no entry."""

    def define(name: str, *args: Any, **more: Any) -> Instr:
        return vmi(name, *args, rules=merged(bound[name]), **more)

    return define


def vmi(
    name: str,
    summary: str,
    operands: str,
    results: str = "",
    *attrs: Attr,
    several: bool = False,
    run: Callable[..., Any],
    **more: Any,
) -> Instr:
    """An operation on logical vectors. ``several``: its results are as many as the text has."""
    stores = bool(operands) and not results and not several
    produces: Sequence[Operand] = [_operand(word, Role.OUT) for word in results.split()]
    taken = [_operand(w, Role.OUT if stores and w.split(":")[1] == "p" else Role.IN) for w in operands.split()]
    more = {"syntax": "micro", "misfit": "VMI-02", "source": SOURCE, **more}
    return instruction(
        Instr(
            f"vmi.{name}",
            f"vmi.{name}",
            summary,
            tuple(taken),
            attrs,
            pipe=Pipe.V,
            run=run,
            typed=True,
            static_rules=True,
            results=-1 if several else len(produces),
            produces=tuple(produces),
            **more,
        )
    )
