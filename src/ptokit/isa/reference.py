"""The facts of an instruction's page as rows of text, for the terminal and for editors."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ptokit.targets import TARGETS
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Pipe

from .table import Attr, Instr, Kind

Rows = list[tuple[str, ...]]

_REGISTERS = (Kind.VREG, Kind.MASK, Kind.ALIGN)


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
        "source": instr.source,
        "reading": instr.decision,
    }
    return {word: text for word, text in found.items() if text}


def _carried(instr: Instr) -> str:
    """What text may hold without a meaning."""
    words = [(e.key or e.name) if isinstance(e, Attr) else e.name for e in instr.form.trailing]
    words += ["a tensor as result"] * instr.form.tensor
    return f"{', '.join(words)}: read and printed behind outs, not run" if words else ""


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
    """Element types by target; a target without vector registers has none for operations on them."""
    on_registers = any(o.kind in _REGISTERS for o in (*instr.operands, *instr.produces))
    return [
        (target, " ".join(n for n, d in DTYPES.items() if d in dtypes) or "-")
        for target, dtypes in instr.types.items()
        if not on_registers or target not in TARGETS or TARGETS[target].vector_registers
    ]


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
