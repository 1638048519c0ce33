"""Printing of tile instructions as statements: ``%d = pto.tadd %a, %b {attributes} : (T, T) -> T`` (assembly 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ptokit.ir import Op, Value
from ptokit.isa.table import Instr, Kind, Operand, Role

from .forms import attribute_dictionary
from .ops_isa import operands_of

NO_PARTS: Mapping[Value, tuple[Value, Sequence[Value]]] = {}


def written_order(instr: Instr, *, destinations: bool) -> list[Operand]:
    """Operands in the order of a statement: tiles written (in place, or all: `destinations`), sources, views."""
    ins, outs, _ = operands_of(instr.name)
    tiles = [o for o in outs if o.kind is Kind.TILE and (destinations or o.role is Role.INOUT)]
    views = [o for o in outs if o.kind is Kind.VIEW]
    return [*(tiles if not views else ()), *ins, *views]


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
    placed = frozenset(("scalar_first",)) if instr.syntax == "dps-either" else frozenset[str]()
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
