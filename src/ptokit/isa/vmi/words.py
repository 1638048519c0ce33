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
from ptokit.types.dtypes import dtype, f32, i64
from ptokit.types.enums import Pipe

from ..meaning.expressions import OWN, Convert, Element, Expr, Index, Reinterpret, Scalar, lane
from ..meaning.rows import Rows
from ..meaning.words import Lane, Meaning, Write
from ..site import Site, VectorInfo
from ..table import Attr, Instr, Kind, Operand, OperandForm, Role, TextForm, instruction

SOURCE = "PTOAS e32488c9, vmi-isa"
_MISFITS = {"": "VMI-02"}
IN_GENERIC_FORM = TextForm("generic", misfits=_MISFITS)
OPEN_RESULTS = TextForm("generic-results", misfits=_MISFITS)
_KINDS = {"v": Kind.VECTOR, "m": Kind.LANES, "b": Kind.LOGICAL, "r": Kind.PART, "p": Kind.PTR}


def _operand(word: str, role: Role) -> Operand:
    name, _, kind = word.rstrip("?*").partition(":")
    optional = word.endswith("?")
    if kind == "o":
        return Operand(name, role, Kind.SCALAR, True, type="index", form=OperandForm(offset=True))
    if kind in ("x", "y"):
        return Operand(
            name, role, Kind.SCALAR, optional, type={"x": "index", "y": "i16"}[kind], form=OperandForm(implied=True)
        )
    if kind == "s":
        return Operand(name, role, Kind.SCALAR, optional, also=(Kind.VREG,))
    if kind not in _KINDS:
        return Operand(name, role, Kind.SCALAR, optional, type=kind)
    return Operand(name, role, _KINDS[kind], optional, word.endswith("*"), also=(Kind.VIEW,) if kind == "p" else ())


def number(name: str, *, required: bool = False) -> Attr:
    """A whole number in the dictionary."""
    return Attr(name, int, None, name, long=True, required=required)


def text(name: str, *words: str, required: bool = False) -> Attr:
    """A string in the dictionary."""
    return Attr(name, str, None, name, words=words, required=required)


def token(name: str, before: str = "") -> Attr:
    """A string among the operands, which is required."""
    return Attr(name, str, None, name, token=True, before=before, required=True)


def unit(name: str) -> Attr:
    """A word of the dictionary that stands alone."""
    return Attr(name, bool, None, name)


PMODE = text("pmode", "merge", "zero")
GROUP = number("group")
GROUPS = number("num_groups", required=True)
ROUNDING = text("rounding")
SATURATE = text("saturate")


def groups_of(o: Site) -> int:
    """How many groups of lanes there are."""
    return o.attrs.get("group") or o.attrs.get("num_groups") or 1


def operations(bound: Mapping[str, tuple[Rule, ...]]) -> Callable[..., Instr]:
    """`vmi` for operations whose rules are in a table by name. Raises `KeyError` for one that has no entry."""

    def define(name: str, *args: Any, **more: Any) -> Instr:
        return vmi(name, *args, rules=merged(bound[name]), **more)

    return define


def over(value: Expr, mask: str = "", *, dst: str = "result", lanes: int = 0) -> Lane:
    """The meaning of an operation on vectors; lanes that the mask leaves out become 0."""
    return Lane((Write(dst, value),), over=dst, mask=mask, lanes=lanes)


def predicate(value: Expr, mask: str = "", *, lanes: int = 0) -> Lane:
    """The lanes that meet a condition and that a mask lets through."""
    return Lane((Write("result", value, packed=True),), over="result", mask=mask, lanes=lanes)


def elements(*names: str) -> list[Expr]:
    """The own lanes of vectors."""
    return [Element(name) for name in names]


def number_in(o: Site, name: str, like: str) -> Expr:
    """A number in the element type of a vector, or the lanes of one that has fewer, each for as many as it takes."""
    info, of = o.operands.get(name), o.operands[like]
    assert isinstance(of, VectorInfo)
    if isinstance(info, VectorInfo):
        found = Element(name, OWN if info.lanes == of.lanes else lane(over=max(1, of.lanes // info.lanes)))
        return found if info.dtype is of.dtype else Convert(found, of.dtype)
    if of.dtype.value is None or (of.dtype.bits == 8 and of.dtype.is_float):
        return Convert(Scalar(name, f32), of.dtype)
    return Scalar(name, of.dtype)


def unsigned(o: Site, name: str, at: Index = OWN) -> Expr:
    """The lanes of a vector of integers as numbers without a sign."""
    info = o.operands[name]
    assert isinstance(info, VectorInfo)
    return Convert(Reinterpret(Element(name, at), dtype(f"u{info.dtype.bits}")), i64)


def vmi(
    name: str,
    summary: str,
    operands: str,
    results: str = "",
    *attrs: Attr,
    meaning: Meaning | None = None,
    **more: Any,
) -> Instr:
    """An operation on logical vectors."""
    stores = bool(operands) and not results and more.get("form") is not OPEN_RESULTS
    produces: Sequence[Operand] = [_operand(word, Role.OUT) for word in results.split()]
    taken = [_operand(w, Role.OUT if stores and w.split(":")[1] == "p" else Role.IN) for w in operands.split()]
    more = {"form": TextForm("micro", misfits=_MISFITS), "source": SOURCE, **more}
    instr = Instr(
        f"vmi.{name}",
        f"vmi.{name}",
        summary,
        tuple(taken),
        attrs,
        pipe=Pipe.V,
        meaning=meaning,
        typed=True,
        produces=tuple(produces),
        **more,
    )
    return instruction(instr, Rows)
