"""The facts of an instruction's page as rows of text, for the terminal and for editors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from typing import Any

from ptokit.diagnostics import Rule
from ptokit.targets import TARGETS
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from .checks.tiles import has
from .meaning.expressions import Apply, Before, Bit, Const, Convert, Counted, Element, Expr, Fetched, Folded, children
from .meaning.words import Lane, Word, Write
from .site import MaskInfo, PtrInfo, ScalarInfo, Site, VregInfo
from .table import Attr, Instr, Kind

# What becomes of the lanes that a predicate leaves out, said from the meaning of an instruction.


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


# The facts of an instruction's page as rows of text, for the terminal and for editors.


Rows = list[tuple[str, ...]]

_REGISTERS = (Kind.VREG, Kind.MASK, Kind.ALIGN)


def all_rules(instr: Instr) -> list[Rule]:
    """The rules of an instruction, and those that targets add to it."""
    added = (rule for target in TARGETS.values() for rule in target.own_rules(instr.name))
    return list(dict.fromkeys((*instr.rules, *added)))


def pipe_text(instr: Instr) -> str:
    """The pipe, or that it depends on the operands."""
    return instr.pipe.name if isinstance(instr.pipe, Pipe) else "by operands"


def facts(instr: Instr) -> dict[str, str]:
    """What there is to say in a word: pipe, further spellings, what is only carried, source, reading of open facts."""
    found = {
        "pipe": pipe_text(instr),
        "also": ", ".join(f"pto.{spelling}" for spelling in instr.form.spellings),
        "carried": _carried(instr),
        "not run": instr.unrun,
        "not on": ", ".join(name for name, target in TARGETS.items() if not has(instr, target)),
        "inactive": _inactive(instr),
        "source": instr.source,
        "reading": instr.decision,
    }
    return {word: text for word, text in found.items() if text}


def _inactive(instr: Instr) -> str:
    """What becomes of the lanes that the predicate leaves out."""
    said = inactive(instr)
    return f"lanes that the predicate leaves out {said}" if said else ""


def _carried(instr: Instr) -> str:
    """What text may hold without a meaning."""
    words = [(e.key or e.name) if isinstance(e, Attr) else e.name for e in instr.form.trailing]
    words += ["a tensor as result"] * instr.form.tensor
    return f"{', '.join(words)}: read and printed after outs, not run" if words else ""


def operand_rows(instr: Instr) -> Rows:
    """Name, direction, kind and remarks of every operand and result."""
    out: Rows = []
    for o in instr.operands:
        remarks = [word for word, true in (("optional", o.optional), ("list", o.variadic)) if true]
        out.append((o.name, str(o.role), str(o.kind), ", ".join(remarks)))
    out += [(o.name, "result", str(o.kind), "optional" if o.optional else "") for o in instr.produces]
    return out


def attr_rows(instr: Instr) -> Rows:
    """Name, text key, values and default of every attribute."""
    return [
        (a.name, a.key or a.name, " ".join(a.words) or _values(a.kind), _value_text(a.default)) for a in instr.attrs
    ]


def type_rows(instr: Instr) -> Rows:
    """Element types by target, of one that is like another where they differ.

    A target without vector registers has none for operations on them.
    """
    on_registers = any(o.kind in _REGISTERS for o in (*instr.operands, *instr.produces))
    columns = {
        name: dtypes
        for name, dtypes in instr.types.items()
        if not on_registers or name not in TARGETS or TARGETS[name].vector_registers
    }
    for name, target in TARGETS.items():
        inherited = target.of(columns)
        if inherited is not None and target.existing(inherited) != inherited and has(instr, target):
            columns[name] = target.existing(inherited)
    return [(name, " ".join(n for n, d in DTYPES.items() if d in dtypes) or "-") for name, dtypes in columns.items()]


def mode_rows(instr: Instr) -> dict[str, Rows]:
    """By attribute whose values say what they do: value and meaning."""
    return {a.name: list(zip(a.words, a.means, strict=True)) for a in instr.attrs if a.means}


def together_rows(instr: Instr) -> tuple[tuple[str, ...], Rows]:
    """Element types that operands may have together: headers, and rows with all types of the last operand.

    Targets that have the same row are in one.
    """
    if instr.together is None:
        return (), []
    found: dict[tuple[str, ...], list[str]] = {}
    for target, types in instr.together.types.items():
        for *others, last in sorted(types, key=lambda row: [_ORDER.get(dtype.name, len(_ORDER)) for dtype in row]):
            found.setdefault((target, *(dtype.name for dtype in others)), []).append(last.name)
    rows: dict[tuple[str, ...], list[str]] = {}
    for (target, *first), lasts in found.items():
        rows.setdefault((*first, " ".join(lasts)), []).append(target)
    return ("targets", *instr.together.operands), [(" ".join(targets), *row) for row, targets in rows.items()]


def drained_rows(instr: Instr) -> Rows:
    """What accumulators become on their way out: targets, element type, the operand with quantisation words, types."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for target, forms in instr.drained.items():
        found: dict[tuple[str, str], list[str]] = {}
        for form, types in forms.items():
            for name, allowed in types.items():
                listed = " ".join(sorted((t.name for t in allowed), key=lambda t: _ORDER[t]))
                if listed:
                    found.setdefault((name, listed), []).append(_WORDS_OF[form])
        for (name, listed), words in found.items():
            rows.setdefault((name, " or ".join(words), listed), []).append(target)
    return [(" ".join(targets), *row) for row, targets in rows.items()]


_WORDS_OF = {"cast": "none", "scalar": "quant", "vector": "fp"}
_ORDER = {name: place for place, name in enumerate(DTYPES)}

_SYMBOLS = {
    r"[RC]v": ("Rv, Cv", "valid rows and valid columns of the tile"),
    r"g[0-4]": ("g0 … g4", "the five sizes of the view, the outermost first; those that it does not have are 1"),
    r"t[0-4]": ("t0 … t4", "the strides of the view that belong to them, in elements"),
    r"C0": ("C0", "elements of a block of 32 bytes"),
}


def symbols(texts: Iterable[str]) -> dict[str, str]:
    """What the letters mean that these texts use for sizes."""
    text = "\n".join(texts)
    return dict(said for symbol, said in _SYMBOLS.items() if re.search(rf"\b{symbol}\b", text))


def _values(kind: type) -> str:
    if issubclass(kind, Enum):
        return ", ".join(member.name for member in kind)
    return "true, false" if kind is bool else kind.__name__


def _value_text(value: Any) -> str:
    if value in (None, ""):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return value.name if isinstance(value, Enum) else str(value)
