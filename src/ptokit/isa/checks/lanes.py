"""Checks of registers and logical vectors that rules are bound with: types that belong together, elements, numbers.

Each function takes names of operands and results and gives a check: ``same_shape("src0 src1 dst")``. Integer
types are compared with their sign, where text says one: ``si32``, ``ui32`` and ``i32`` are three types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ptokit.diagnostics import Rule
from ptokit.diagnostics.conditions import Check
from ptokit.types.values import element_text

from ..site import Info, LoweredInfo, PtrInfo, ScalarInfo, Site, VectorInfo, ViewInfo, VregInfo
from .compiling import Message

Lanes = VregInfo | VectorInfo


def bound(rule: Rule, check: Check) -> Rule:
    """The rule for an instruction whose operands `check` knows."""
    return replace(rule, check=check)


def vectors(o: Site, names: Sequence[str]) -> Iterator[Lanes]:
    """The registers and logical vectors among operands and results with these names."""
    for name in names:
        info = o.operands.get(name)
        if isinstance(info, Lanes):
            yield info


_MEMREF = re.compile(r"memref<(?:(?:\?|\d+)x)*([!\w.]+)[,>]")
_SPACE = re.compile(r"#pto(?:\.|<)address_space ?<?(\w+)>|, (\d)(?: : i64)?>\Z")
_NUMBERED: dict[int, str] = dict(enumerate("gm gm l1 l0a l0b l0c ub bt fb".split()))
_SPACES = {"vec": "ub", "mat": "l1", "left": "l0a", "right": "l0b", "acc": "l0c", "bias": "bt", "scaling": "fb"}


class Memory(NamedTuple):
    """Where a pointer or memref lies: element type as text has it, and the space, ``gm`` or ``ub`` …; empty if open."""

    element: str
    space: str


def memory_of(info: Info | None) -> Memory | None:
    """What is known of a memory; None for other operands."""
    match info:
        case PtrInfo():
            return Memory(element(info), info.space)
        case ViewInfo():
            return Memory(info.dtype.text, "gm")
        case LoweredInfo():
            return Memory(info.dtype.text, _SPACES.get(info.loc.name.lower(), ""))
        case ScalarInfo() if (m := _MEMREF.match(info.type)) is not None:
            space = _SPACE.search(info.type)
            if space is None:
                return Memory(m[1], "")
            return Memory(m[1], _NUMBERED.get(int(space[2]), "") if space[2] else _SPACES.get(space[1], space[1]))
    return None


def element(info: Lanes | PtrInfo) -> str:
    """The element type as text has it."""
    return element_text(info.dtype, info.signed)


def same_shape(names: str, *, lanes: bool = True, elements: bool = True) -> Callable[[Site], Message]:
    """All have the same number of lanes and the same element type."""
    listed = names.split()

    def check(o: Site) -> Message:
        found = list(vectors(o, listed))
        for info in found[1:]:
            first = found[0]
            if lanes and info.lanes != first.lanes:
                return f"{info.name} has {info.lanes} lanes, {first.name} {first.lanes}"
            if elements and element(info) != element(first):
                return f"{info.name} has elements of {element(info)}, {first.name} of {element(first)}"
        return None

    return check


def kinds(info: Lanes | PtrInfo) -> set[str]:
    """What an element type counts as.

    ``int``, ``i32``: of any sign; ``si32``: text says signed; ``ui32``: it does not; ``n32``: it says nothing;
    ``float``: any but pairs of bf16; and the name of floats.
    """
    kind, bits = info.dtype.kind, info.dtype.bits
    if kind == "f":
        return {info.dtype.name, *([] if info.dtype.name == "bf16x2" else ["float"])}
    found = {"int", f"i{bits}", f"si{bits}" if info.signed else f"ui{bits}"}
    if kind == "i" and not info.signed:
        found.add(f"n{bits}")
    return found


def elements(names: str, allowed: str) -> Callable[[Site], Message]:
    """Their elements are one of the words `allowed` (`kinds`)."""
    listed, words = names.split(), set(allowed.split())

    def check(o: Site) -> Message:
        for info in vectors(o, listed):
            if words.isdisjoint(kinds(info)):
                taken = allowed.replace(" ", ", ")
                return f"{info.name} has elements of {element(info)}; {o.instr.text} takes {taken}"
        return None

    return check


def number_like(name: str, data: str, *, open_sign: bool = False) -> Callable[[Site], Message]:
    """The number `name` has the element type of `data`; ``open_sign``: or an integer of its width without a sign."""

    def check(o: Site) -> Message:
        number = o.operands.get(name)
        for vector in vectors(o, [data]):
            if not isinstance(number, ScalarInfo):
                continue
            wanted = element(vector)
            fits = {wanted, f"i{vector.dtype.bits}"} if open_sign and vector.dtype.is_integer else {wanted}
            if number.shown not in fits:
                return f"{number.name} is {number.shown}, the elements of {vector.name} are {wanted}"
        return None

    return check


def worded(**allowed: str) -> Callable[[Site], Message]:
    """Attributes are one of these words, which have blanks between."""

    def check(o: Site) -> Message:
        for key, words in allowed.items():
            value = o.attrs.get(key)
            if value is not None and value not in words.split():
                return f"{key} is '{value}'; {o.instr.text} takes {words.replace(' ', ', ') or 'none'}"
        return None

    return check
