"""What becomes of the lanes that a predicate leaves out, said from the meaning of an instruction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ptokit.targets import TARGETS
from ptokit.types.dtypes import DTYPES, DType

from .meaning.expressions import Apply, Before, Bit, Const, Convert, Counted, Element, Expr, Fetched, Folded, children
from .meaning.words import Lane, Word, Write
from .site import MaskInfo, PtrInfo, ScalarInfo, Site, VregInfo
from .table import Instr, Kind

_REGISTER_BYTES = 256


def inactive(instr: Instr) -> str:
    """What inactive lanes hold, take part in or write; empty where no predicate chooses lanes."""
    masks = {o.name for o in instr.operands if o.kind is Kind.MASK and o.name in ("mask", "seed")}
    if not masks or not any(o.kind is Kind.VREG for o in (*instr.operands, *instr.produces)):
        return ""
    found: dict[str, None] = {}
    for word in _words(instr):
        if isinstance(word, Lane):
            for write in word.writes:
                found |= dict.fromkeys(_said(instr, word, write, masks))
    return "; ".join(found)


def _words(instr: Instr) -> Iterator[Word | None]:
    """The meaning with all attributes as they are by default, for the element types that the instruction has."""
    if not callable(instr.meaning):
        yield instr.meaning if isinstance(instr.meaning, Lane) else None
        return
    attrs = {a.name: a.words[0] if a.default is None and a.words else a.default for a in instr.attrs}
    for types in _types(instr):
        operands: dict[str, Any] = {}
        for o in (*instr.operands, *instr.produces):
            dtype = types.get(o.name) or types.get(o.like) or next(iter(types.values()))
            if o.kind is Kind.VREG:
                operands[o.name] = VregInfo(o.name, dtype, _REGISTER_BYTES // dtype.size)
            elif o.kind is Kind.MASK:
                operands[o.name] = MaskInfo(o.name, dtype.bits)
            elif o.kind is Kind.PTR:
                operands[o.name] = PtrInfo(o.name, dtype, "ub")
            elif o.kind is Kind.SCALAR and not o.optional:
                operands[o.name] = ScalarInfo(o.name, dtype.name)
        with suppress(AttributeError, KeyError, ValueError, TypeError, IndexError, AssertionError):
            yield instr.meaning_at(Site(instr, TARGETS["a5"], operands, attrs))


def _types(instr: Instr) -> Iterator[dict[str, DType]]:
    """Element types by operand."""
    if instr.together is not None:
        for row in sorted(instr.together.types.get("a5", ()), key=str):
            yield dict(zip(instr.together.operands, row))
        return
    kinds = sorted(instr.types.get("a5", ()), key=lambda d: d.name) or [DTYPES["f32"]]
    names = [o.name for o in (*instr.operands, *instr.produces) if o.kind in (Kind.VREG, Kind.PTR)]
    for kind in kinds:
        yield dict.fromkeys(names, kind)


def _said(instr: Instr, word: Lane, write: Write, masks: set[str]) -> Iterator[str]:
    """What one write says of lanes that are left out."""
    if word.mask in masks:
        to_memory = any(o.name == write.name and o.kind is Kind.PTR for o in instr.operands)
        yield "are not written" if to_memory else f"are 0 in {write.name}"
    elif write.where is not None and _asks(write.where, masks):
        to_memory = any(o.name == write.name and o.kind is Kind.PTR for o in instr.operands)
        yield "are not written" if to_memory else f"are left out of {write.name}"
    else:
        yield from _of_value(write.value, write, masks)


def _of_value(e: Expr, write: Write, masks: set[str]) -> Iterator[str]:
    """What the value of a lane says of it."""
    match e:
        case Convert(value):
            yield from _of_value(value, write, masks)
        case Apply("select", (condition, _, Const(0))) if _asks(condition, masks):
            yield f"are 0 in {write.name}"
        case Apply("select", (condition, _, Element(other))) if _asks(condition, masks):
            yield f"have {other} in {write.name}"
        case Fetched(_, _, _, where) if where is not None and _asks(where, masks):
            yield f"are 0 in {write.name}"
        case Apply("and") if write.packed and _asks(e, masks):
            yield f"are 0 in {write.name}"
        case _:
            yield from _inside(e, masks)


def _inside(e: Expr, masks: set[str]) -> Iterator[str]:
    """What the parts of a value say of lanes that are left out."""
    match e:
        case Folded(_, _, where) | Counted(_, _, where) if where is not None and _asks(where, masks):
            yield "take no part"
        case Before(condition) if _asks(condition, masks):
            yield "do not count"
        case Apply("select", (condition, _, Const(0))) if _asks(condition, masks):
            yield "count as 0"
        case _:
            for child in children(e):
                yield from _inside(child, masks)


def _asks(e: Expr, masks: set[str]) -> bool:
    """True if a condition is a bit of a predicate, or needs one."""
    if isinstance(e, Apply) and e.op == "and":
        return any(_asks(arg, masks) for arg in e.args)
    return isinstance(e, Bit) and e.name in masks
