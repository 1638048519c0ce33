"""The sentence of the reference that follows from a meaning."""

from __future__ import annotations

from .expressions import (
    COLUMN,
    OWN,
    ROW,
    TURNED,
    Apply,
    Bit,
    Code,
    Const,
    Convert,
    Element,
    Expr,
    Index,
    Reinterpret,
    Scalar,
    leaves,
)
from .primitives import PRIMITIVES
from .words import Fold, Lane, Search, Word

PLACES = {OWN: "[i,j]", COLUMN: "[i,0]", ROW: "[0,j]", TURNED: "[j,i]"}

_AXES = {"row": "[i,0]", "column": "[0,j]"}
_LETTER = {"row": "i", "column": "j"}
FOLDED = {"add": "sum", "mul": "product", "max": "maximum", "min": "minimum", "gt": "maximum", "lt": "minimum"}

_BINDS = (
    {"select": 0}
    | dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), 1)
    | dict.fromkeys(("and", "or", "xor", "shl", "shr"), 2)
    | dict.fromkeys(("add", "sub", "fma", "fmod", "floormod"), 3)
    | dict.fromkeys(("mul", "div", "recip", "rsqrt"), 4)
    | dict.fromkeys(("neg", "not", "sqrt", "log", "pow", "pow_a2a3"), 5)
)
"""How tightly the words of a primitive hold together; those not listed stand in parentheses of their own."""
_ALONE = 6


def sentence(word: Word) -> str:
    """``dst = src0 + src1``, with places where an operand is not read at its own; empty where the word does not say.

    Raises `TypeError` for values that depend on other lanes, on a machine or on threads: their summaries are written.
    """
    match word:
        case Lane(writes):
            return "; ".join(_write(w.name, w.value, w.at) for w in writes)
        case Fold(op, value, axis, dst=dst):
            of = "" if isinstance(value, Element) else f" of {words(value)}"
            return f"{dst}{_AXES[axis]} = {FOLDED[op]} of {axis} {_LETTER[axis]}{of}"
        case Search(op, _, axis, dst=dst):
            other = "column" if axis == "row" else "row"
            return f"{dst}{_AXES[axis]} = first {other} of the {FOLDED[op]} of {axis} {_LETTER[axis]}"
    return ""


def _write(name: str, value: Expr, at: Index) -> str:
    placed = any(isinstance(leaf, Element) and leaf.at != OWN for leaf in leaves(value))
    return f"{name}{PLACES[at] if placed else ''} = {words(value, placed)}"


def words(e: Expr, placed: bool = False, above: int = -1) -> str:
    """An expression in words; ``placed``: with the places of elements; ``above``: how tightly its parent binds."""
    match e:
        case Element(name, at):
            return f"{name}{PLACES[at]}" if placed else name
        case Bit(name):
            return f"{name} bit"
        case Scalar(name):
            return name
        case Const(value):
            return str(value)
        case Convert(value, to) | Reinterpret(value, to):
            return f"{to}({words(value, placed)})"
        case Code(bits):
            return hex(bits)
        case Apply(op, args):
            own = _BINDS.get(op, _ALONE)
            text = PRIMITIVES[op].words.format(*(words(a, placed, -1 if own == _ALONE else own) for a in args))
            return f"({text})" if own <= above else text
    raise TypeError(e)
