"""Accesses whose last result is the pointer, advanced: the form of them that text may ask for.

With that result the offset is the step: the access is at the pointer itself, and the step is made afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...meaning.words import Advance
from ...operands import Passing
from ...site import Site
from ...table import Kind, Operand, Role

UPDATED = "updated"


def updated(like: str, space: str = "ub") -> Operand:
    """The result: the pointer of operand `like`, advanced."""
    return Operand(
        UPDATED, Role.OUT, Kind.PTR, True, type=space, like=like, passing=Passing.ADVANCED, also=(Kind.VIEW,)
    )


def placed(o: Site, pointer: str) -> tuple[str, tuple[Advance, ...]]:
    """The operand that says how far behind the pointer an access is, and the pointer behind it where that is wanted."""
    if UPDATED in o.operands:
        return "", (Advance(UPDATED, pointer, "offset"),)
    return "offset", ()


def posting(run: Callable[..., Any], base: int, step: int) -> Callable[..., Any]:
    """The semantics `run` with that result; `base` and `step` are the places of both operands."""

    def posted(m: Any, *operands: Any, types: Mapping[str, Any], **attrs: Any) -> Any:
        if UPDATED not in types:
            return run(m, *operands, types=types, **attrs)
        pointer = operands[base].advance(operands[step])
        made = run(m, *operands[:step], 0, *operands[step + 1 :], types=types, **attrs)
        if made is None:
            return pointer
        return (*made, pointer) if isinstance(made, tuple) else (made, pointer)

    return posted
