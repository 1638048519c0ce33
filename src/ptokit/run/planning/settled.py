"""Tiles whose types leave the valid region open, while their allocation settles it: compilers write most of them so."""

from __future__ import annotations

from dataclasses import replace

from ptokit.ir.control import TERMINATORS, is_call
from ptokit.ir.core import Function, Value
from ptokit.ir.facts import Facts
from ptokit.types.tile import DYNAMIC, TileSpec

_CHANGING = frozenset(("pto.set_validshape", "builtin.unrealized_conversion_cast", *TERMINATORS))
"""What changes a valid region, or gives a tile another name by which that may happen, as calls and regions do."""


def settled_regions(function: Function, facts: Facts) -> dict[Value, TileSpec]:
    """The types with their valid regions, of the tiles that have the same one whenever something uses them."""
    assert function.body is not None
    found: dict[Value, TileSpec] = {}
    for op in function.body.walk():
        if op.name == "pto.alloc_tile" and isinstance(spec := op.result.type, TileSpec) and spec.dynamic:
            rows, cols = (
                stated if stated != DYNAMIC else facts.size(op.get(name))
                for stated, name in ((spec.valid_row, "valid_row"), (spec.valid_col, "valid_col"))
            )
            if isinstance(rows, int) and isinstance(cols, int) and 0 <= rows <= spec.rows and 0 <= cols <= spec.cols:
                found[op.result] = replace(spec, valid_row=rows, valid_col=cols)
    if found:
        for op in function.body.walk():
            if op.name in _CHANGING or op.regions or is_call(op):
                for value in op.values:
                    found.pop(value, None)
    return found
