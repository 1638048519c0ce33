"""Words to define operations of threads with (PTOAS e32488c9, micro-isa 17)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics.rules import merged
from ptokit.types.enums import Pipe

from ..meaning.expressions import Expr
from ..meaning.words import Lane, Meaning, Write
from ..table import Attr, Instr, Kind, Operand, Role, grammar, instruction, listed
from .meaning import OfThreads
from .rules import VERIFIED

SOURCE = "PTOAS e32488c9, micro-isa 17"


def value(name: str, type: str = "") -> Operand:
    """A number, or a short vector of them."""
    return Operand(name, Role.IN, Kind.SCALAR, type=type, also=(Kind.PTR,))


def pointer(role: Role = Role.IN) -> Operand:
    """A pointer to global memory or the unified buffer."""
    return Operand("ptr", role, Kind.PTR)


def word(name: str, *words: str) -> Attr:
    """A bare word of the form."""
    return Attr(name, str, None, name, words=words)


def simt(
    text: str,
    summary: str,
    operands: tuple[Operand, ...],
    written: str,
    meaning: Meaning,
    *attrs: Attr,
    results: int = 1,
    **more: Any,
) -> Instr:
    """An operation of threads, written after a form."""
    produces = (Operand("result", Role.OUT, Kind.SCALAR, also=(Kind.PTR,)),)[:results]
    more = {
        "per_block": bool(results),
        "pipe": Pipe.S,
        "source": SOURCE,
        "rules": merged(VERIFIED.get(text, ())),
        "threaded": True,
        **more,
    }
    more = {"produces": produces, "form": grammar(written), "meaning": meaning, **more}
    instr = Instr(text, text, summary, operands, attrs, **more)
    return instruction(instr, OfThreads)


def thread(value: Expr) -> Lane:
    """The result of each thread."""
    return Lane((Write("result", value),))


def condition(value: Expr) -> Lane:
    """The result of each thread, where that is a condition."""
    return Lane((Write("result", value, packed=True),))


def plain(text: str, summary: str, names: str, meaning: Meaning, *attrs: Attr, types: str = "", **more: Any) -> Instr:
    """Operands with commas between, a dictionary, all types."""
    kinds = (types.split() + [""] * 9)[: len(names.split())]
    operands = tuple(value(n, "" if t == "-" else t) for n, t in zip(names.split(), kinds))
    written = f"{listed(names)} {{}} : {listed(names, 'T({})')} -> R"
    return simt(text, summary, operands, written, meaning, *attrs, **more)
