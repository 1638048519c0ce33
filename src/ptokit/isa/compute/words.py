"""Words to define vector instructions with: one call per instruction says all that distinguishes it.

A word supplies operands, text name, pipe V, the family's rules, and semantics made from a value function of
`ptokit.isa.numerics.arith`. Operands are read in dst's valid region (compute-elementwise 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ptokit.diagnostics import Rule

from ..machine import Machine, TileOperand
from ..numerics.scalars import element
from ..site import Site
from ..table import Access, Instr, Operand, domain_footprint, dst, inout, instruction, scalar, src
from ..typesets import Types
from .vector_rules import COMMON, EW_07

ValueFunction = Callable[..., Any]


def store(tile: TileOperand, fn: ValueFunction, *operands: Any) -> None:
    """Set dst's valid region to ``fn(*operands)``, in place where the storage is an array."""
    rows, cols = tile.vr, tile.vc
    out = tile.out(rows, cols)
    if out is None:
        tile.write(fn(*operands), rows, cols)
    else:
        fn(*operands, out=out)


def _pick(fn: ValueFunction, machine: Machine, per_target: bool) -> ValueFunction:
    return partial(fn, target=machine.target.name) if per_target else fn


def tiles_semantics(fn: ValueFunction, count: int, per_target: bool = False) -> Callable[..., None]:
    """``dst = fn(src0, src1, …)`` with `count` sources."""

    def run(machine: Machine, dst: TileOperand, *operands: Any, **_: Any) -> None:
        values = [t.read(dst.vr, dst.vc) for t in operands[:count]]
        store(dst, _pick(fn, machine, per_target), *values)

    return run


def scalar_semantics(fn: ValueFunction, per_target: bool = False) -> Callable[..., None]:
    """``dst = fn(src, scalar)``, the scalar in the type of src."""

    def run(machine: Machine, dst: TileOperand, src: TileOperand, scalar: Any, *_: Any, **__: Any) -> None:
        a, s = src.read(dst.vr, dst.vc), element(src.spec.dtype, scalar)
        store(dst, _pick(fn, machine, per_target), a, s)

    return run


def remainder_footprint(o: Site) -> Iterator[Access]:
    """As `domain_footprint`; on a2a3 the i32 remainder converts its sources in place (compute-elementwise 6)."""
    yield from domain_footprint(o)
    if o.target.name == "a2a3" and o.dst.dtype.name == "i32":
        for name, _ in o.sources:
            yield Access(name, True, o.dst.vr, o.dst.vc)


def vector(
    name: str,
    summary: str,
    operands: tuple[Operand, ...],
    types: Types,
    run: Callable[..., None],
    *rules: Rule,
    common: tuple[Rule, ...] = COMMON,
    **more: Any,
) -> Instr:
    """An instruction of the vector pipe whose text name is its lower-case name.

    ``rules``: those of its own. One with the id of a common rule stands in its place: the same sentence, checked as
    this instruction needs it.
    """
    more.setdefault("source", "compute-elementwise 3")
    own = {rule.id: rule for rule in rules}
    bound = [own.pop(rule.id, rule) for rule in common]
    return instruction(
        Instr(name, name.lower(), summary, operands, types=types, run=run, rules=(*bound, *own.values()), **more)
    )


def binary(
    name: str, fn: ValueFunction, summary: str, types: Types, *rules: Rule, scratch: Operand | None = None, **more: Any
) -> Instr:
    """Two source tiles, and a scratch tile where one is given."""
    operands = (dst(), src("src0"), src("src1"), *([scratch] if scratch else []))
    run = tiles_semantics(fn, 2, more.pop("per_target", False))
    more.setdefault("footprint", domain_footprint)
    return vector(name, summary, operands, types, run, *rules, **more)


def unary(name: str, fn: ValueFunction, summary: str, types: Types, *rules: Rule, **more: Any) -> Instr:
    """One source tile."""
    operands = more.pop("operands", (dst(), src()))
    more.setdefault("footprint", domain_footprint)
    return vector(name, summary, operands, types, tiles_semantics(fn, 1), *rules, **more)


def tile_scalar(
    name: str, fn: ValueFunction, summary: str, types: Types, *rules: Rule, scratch: Operand | None = None, **more: Any
) -> Instr:
    """A source tile and a scalar."""
    operands = (dst(), src(), more.pop("operand", scalar()), *([scratch] if scratch else []))
    run = more.pop("run", None) or scalar_semantics(fn, more.pop("per_target", False))
    more.setdefault("footprint", domain_footprint)
    return vector(name, summary, operands, types, run, EW_07, *rules, **more)


def accumulate(name: str, fn: ValueFunction, summary: str, types: Types, **more: Any) -> Instr:
    """Two source tiles and the old destination: ``dst = fn(src0, src1, dst)``."""

    def run(machine: Machine, dst: TileOperand, a: TileOperand, b: TileOperand, **_: Any) -> None:
        store(dst, fn, a.read(dst.vr, dst.vc), b.read(dst.vr, dst.vc), dst.read())

    more.setdefault("footprint", domain_footprint)
    return vector(name, summary, (inout(), src("src0"), src("src1")), types, run, **more)
