"""Words to define vector instructions with: one call per instruction says all that distinguishes it.

A word supplies operands, text name, pipe V and the family's rules; the meaning is an expression of elements. Operands
are read in dst's valid region (compute-elementwise 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ptokit.diagnostics import Rule
from ptokit.targets import A2A3

from ..meaning.expressions import Element, Expr, Scalar, apply, greater, maximum, select
from ..meaning.sentence import sentence
from ..meaning.words import Lane, lane
from ..site import Site
from ..table import Access, Instr, Meaning, Operand, derived_footprint, dst, inout, instruction, scalar, src
from ..typesets import Types
from .vector_rules import COMMON, EW_07

Value = Expr | Callable[[Site], Expr | None]
"""The expression of an element of dst, or a function that chooses it; None where that takes an unknown size."""

SRC0, SRC1, SRC, DST = (Element(name) for name in ("src0", "src1", "src", "dst"))
SCALAR = Scalar("scalar", "src")
"""The number, in the element type of src."""


def relu(e: Expr) -> Expr:
    """max(e, 0): negative values and -0 give +0, NaN stays (4.4)."""
    return maximum(e, 0)


def leaky(e: Expr, slope: Expr) -> Expr:
    """``e > 0 ? e : e * slope``; zeros take the product (4.4)."""
    return select(greater(e, 0), e, e * slope)


def power_of(base: Expr, exponent: Expr) -> Callable[[Site], Expr]:
    """``base ** exponent`` with the special cases of the target (4.5)."""
    return lambda o: apply("pow_a2a3" if o.target.is_a(A2A3) else "pow", base, exponent)


def remainder_footprint(o: Site) -> Iterator[Access]:
    """As the meaning says; on a2a3 the i32 remainder converts its sources in place (compute-elementwise 6)."""
    yield from derived_footprint(o)
    if o.target.is_a(A2A3) and o.dst.dtype.name == "i32":
        for name, _ in o.sources:
            yield Access(name, True, o.dst.vr, o.dst.vc)


def vector(
    name: str,
    summary: str,
    operands: tuple[Operand, ...],
    types: Types,
    meaning: Meaning,
    *rules: Rule,
    common: tuple[Rule, ...] = COMMON,
    **more: Any,
) -> Instr:
    """An instruction of the vector pipe whose text name is its lower-case name.

    ``rules``: those of its own. One with the id of a common rule stands in its place: the same sentence, checked as
    this instruction needs it. An empty summary is the meaning in words.
    """
    more.setdefault("source", "compute-elementwise 3")
    own = {rule.id: rule for rule in rules}
    bound = [own.pop(rule.id, rule) for rule in common]
    return instruction(
        Instr(
            name, name.lower(), summary, operands, types=types, meaning=meaning, rules=(*bound, *own.values()), **more
        )
    )


def computed(
    name: str, value: Value, operands: tuple[Operand, ...], types: Types, *rules: Rule, note: str = "", **more: Any
) -> Instr:
    """``dst = value`` over the valid region of dst; `note` is said behind the formula.

    A function of the site in place of an expression chooses one; then `summary` has the sentence.
    """
    if isinstance(value, Expr):
        word = lane(value)
        return vector(name, sentence(word) + f", {note}" * bool(note), operands, types, word, *rules, **more)
    choose = value

    def meaning(o: Site) -> Lane | None:
        chosen = choose(o)
        return None if chosen is None else lane(chosen)

    return vector(name, more.pop("summary"), operands, types, meaning, *rules, **more)


def binary(name: str, value: Value, types: Types, *rules: Rule, scratch: Operand | None = None, **more: Any) -> Instr:
    """An instruction with two source tiles, and a scratch tile where one is given."""
    operands = (dst(), src("src0"), src("src1"), *([scratch] if scratch else []))
    return computed(name, value, operands, types, *rules, **more)


def unary(name: str, value: Value, types: Types, *rules: Rule, **more: Any) -> Instr:
    """An instruction with one source tile."""
    return computed(name, value, more.pop("operands", (dst(), src())), types, *rules, **more)


def tile_scalar(
    name: str, value: Value, types: Types, *rules: Rule, scratch: Operand | None = None, **more: Any
) -> Instr:
    """A source tile and a scalar."""
    operands = (dst(), src(), more.pop("operand", scalar()), *([scratch] if scratch else []))
    return computed(name, value, operands, types, EW_07, *rules, **more)


def accumulate(name: str, value: Value, types: Types) -> Instr:
    """An instruction that reads two source tiles and the destination."""
    return computed(name, value, (inout(), src("src0"), src("src1")), types)
