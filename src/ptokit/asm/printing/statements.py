"""Printing of tile instructions as statements: ``%d = pto.tadd %a, %b {attributes} : (T, T) -> T`` (assembly 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ptokit.ir import Op, Value
from ptokit.isa.table import LEVEL1, Instr, Kind, Operand, Role
from ptokit.types.tile import TileSpec

from ..forms.operands import operands_of, trailing_operands
from ..forms.statements import first_source, fit, orders
from .value_types import ValueTile
from .written import attribute_dictionary

NO_PARTS: Mapping[Value, tuple[Value, Sequence[Value]]] = {}


def written_order(instr: Instr, *, destinations: bool) -> list[Operand]:
    """Operands in the order of a statement: tiles written (in place, or all: `destinations`), sources, views."""
    ins, outs, _ = operands_of(instr.name)
    tiles = [o for o in outs if o.kind is Kind.TILE and (destinations or o.role is Role.INOUT)]
    views = [o for o in outs if o.kind is Kind.VIEW]
    return instr.in_order(LEVEL1) or [*(tiles if not views else ()), *ins, *views]


def lacks_scratch(op: Op, instr: Instr) -> bool:
    """True if reading a statement would supply a scratch tile that the operation does not have (rule 5)."""
    return instr.supplied is not None and op.get(instr.supplied.name) is None


def obstacle(op: Op, instr: Instr, *, destinations: bool) -> str:
    """Why reading the operation's statement would not give the same operation; empty if it would.

    A statement has no place for what stands behind ``outs`` in level 2, and tells operands by their types: a view where
    a tile belongs would be taken for another operand.
    """
    if op.results:
        return f"gives a result of type {op.result.type} beside what it writes"
    source = first_source(instr, op.operands)
    if lacks_scratch(op, instr) and source is not None and isinstance(source.type, TileSpec) and source.type.dynamic:
        return f"has no scratch tile, and %{source.name}, after which reading would supply one, has open valid sizes"
    for operand in trailing_operands(instr):
        if op.get(operand.name) is not None:
            return f"has {operand.name}"
    written = [(o.name, v) for o in written_order(instr, destinations=destinations) for v in op.group(o.name)]
    swapped = instr.form.syntax == "dps-either" and bool(op.attrs.get("scalar_first"))
    if swapped:
        written[-2:] = reversed(written[-2:])
    views = any(o.kind is Kind.VIEW for o in instr.outs)
    types = [v.type.spec if isinstance(v.type, ValueTile) else v.type for _, v in written]
    found = fit(instr, orders(instr, not destinations or views), types)
    names: list[str] = []
    if found is not None:
        names = [o.name for o, count in zip(*found[:2]) for _ in range(count)]
        if found[2]:
            names[-2:] = reversed(names[-2:])
    if names == [name for name, _ in written] and found is not None and found[2] == swapped:
        return ""
    return f"with ({', '.join(map(str, types))}) would be read as something else, or not at all"


def print_statement(
    op: Op,
    instr: Instr,
    name: Callable[[Value], str],
    *,
    destinations: bool = False,
    results: Sequence[Value] | None = None,
    parts: Mapping[Value, tuple[Value, Sequence[Value]]] = NO_PARTS,
) -> str:
    """The statement behind its name, with a blank in front.

    ``destinations``: the first operands are the tiles it writes, and it has no results. ``results``: other
    values than its own results. ``parts``: views that are written as a tensor and the place in it.
    """
    values = [v for o in written_order(instr, destinations=destinations) for v in op.group(o.name)]
    placed = frozenset(("scalar_first",)) if instr.form.syntax == "dps-either" else frozenset[str]()
    if placed and op.attrs.get("scalar_first"):
        values[-2:] = reversed(values[-2:])
    shown: list[str] = []
    types: list[str] = []
    for value in values:
        base, at = parts.get(value, (value, ()))
        shown.append(name(base) + (f"[{', '.join(map(name, at))}]" if at else ""))
        types += [str(base.type), *(str(i.type) for i in at)]
    attrs = attribute_dictionary(op, instr, placed)
    text = f" {', '.join(shown)}{' ' + attrs if attrs else ''} : ({', '.join(types)})"
    if destinations:
        return text
    made = [str(r.type) for r in (op.results if results is None else results)]
    return f"{text} -> {made[0]}" if len(made) == 1 else f"{text} -> ({', '.join(made)})"
