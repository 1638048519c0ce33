"""Which operands of an instruction a statement writes, and in which order (assembly 5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ptokit.ir import Operands, Value
from ptokit.isa.table import ALSO, LEVEL1, Instr, Kind, Operand, Role
from ptokit.types.tile import TileSpec
from ptokit.types.values import MemRef, PartitionView, Scalar, Type

from .operands import align_forms, operands_of


@cache
def operand_groups(name: str) -> tuple[list[Operand], list[Operand], list[Operand]]:
    """Operands of ``ins``; tiles and records, and views, of ``outs``."""
    ins, outs, _ = operands_of(name)
    return list(ins), [o for o in outs if o.kind in RESULTS], [o for o in outs if o.kind is Kind.VIEW]


def first_source(instr: Instr, operands: Operands, kind: Kind = Kind.TILE) -> Value | None:
    """The first tile, or other operand of a `kind`, that an instruction reads."""
    for operand in instr.ins:
        value = operands.get(operand.name)
        if operand.kind is kind and operand.role is Role.IN and isinstance(value, Value):
            return value
    return None


def orders(instr: Instr, valued: bool) -> list[list[Operand]]:
    """The sequences of operands that the written ones may stand for; ``valued``: what it writes is not among them."""
    ins, destinations, stores = operand_groups(instr.name)
    if stores:
        also = instr.in_order(ALSO)
        return [instr.in_order(LEVEL1) or [*ins, *stores], *([also] if also else ())]
    if not valued:
        return [[*destinations, *ins]]
    kept = [o for o in destinations if o.role is Role.INOUT]
    return [[*kept, *ins], ins] if kept else [ins]


def fit(
    instr: Instr, ordered: list[list[Operand]], types: Sequence[Type]
) -> tuple[list[Operand], list[int], bool] | None:
    """The sequence that values of these types stand for, how many each operand takes, and whether the last two change
    places; None if there is none."""
    attempts = [(order, types) for order in ordered]
    if instr.form.syntax == "dps-either":
        scalars = [k for k, type in enumerate(types) if isinstance(type, Scalar)]
        if scalars and scalars[0] == len(types) - 2:
            attempts.append((ordered[0], [*types[:-2], types[-1], types[-2]]))
    for order, written in attempts:
        counts = align_forms(instr, order, written)
        if counts is not None and _apart(order, counts, written):
            return order, counts, written is not types
    return None


def _apart(order: Sequence[Operand], counts: Sequence[int], given: Sequence[Type]) -> bool:
    """True if tiles stand for tiles and views for views: `align` takes both for both, as level 2 does."""
    position = 0
    for operand, count in zip(order, counts):
        for type in given[position : position + count]:
            if (
                operand.kind is Kind.TILE
                and Kind.VIEW not in operand.also
                and isinstance(type, (MemRef, PartitionView))
            ):
                return False
            if operand.kind is Kind.VIEW and Kind.TILE not in operand.also and isinstance(type, TileSpec):
                return False
        position += count
    return True


RESULTS = (Kind.TILE, Kind.RECORD)
"""What a statement can have as its results."""
