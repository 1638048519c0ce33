"""Types of results that text leaves out, by the word behind ``R=`` in a form (assembly 7.1, 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptokit.ir import Value
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import PartitionView, TensorView, Type

from ..text import rules
from ..types.parse import POISON
from .parser import Parser
from .written import INFERRED


def _subset(p: Parser, operands: dict[str, Any], attrs: dict[str, Any]) -> Type:
    """Result of subset: the source's loc, element and layout, with the written size.

    The source's valid size is taken as a period (a wide tile that holds several short ones): what is left of it
    behind the offset is valid. It is dynamic where the offset is no constant, or the source's is.
    """
    source: Value = operands["source"]
    offsets, sizes = operands["offsets"], attrs.get("sizes", [])
    if source.type is POISON:
        return POISON
    if not isinstance(source.type, TileSpec) or len(sizes) != 2 or len(offsets) != 2 or min(sizes) < 0:
        p.fail(rules.OPERANDS, "subset takes a tile, two offsets and two sizes")
    valid = []
    for size, offset, period in zip(sizes, offsets, (source.type.valid_row, source.type.valid_col)):
        start = _constant(offset)
        if period == DYNAMIC or start is None:
            valid.append(DYNAMIC)
        else:
            valid.append(min(size, period - start % period) if period else 0)
    return replace(source.type, rows=sizes[0], cols=sizes[1], valid_row=valid[0], valid_col=valid[1])


def _constant(value: Value) -> int | None:
    """The integer a constant holds."""
    owner = value.owner
    found = getattr(owner, "attrs", {}).get("value") if getattr(owner, "name", "") == "arith.constant" else None
    return found if isinstance(found, int) else None


def _subview(p: Parser, operands: dict[str, Any], attrs: dict[str, Any]) -> Type:
    """Result of subview: the source's type with the written size, valid as far as the values say, or wholly."""
    source: Value = operands["source"]
    sizes = attrs.get("sizes", [])
    if source.type is POISON:
        return POISON
    if not isinstance(source.type, TileSpec) or len(sizes) != 2:
        p.fail(rules.OPERANDS, "subview takes a tile, two offsets and two sizes")
    valid = []
    for size, name in zip(sizes, ("valid_row", "valid_col")):
        given = operands.get(name)
        stated = size if given is None else _constant(given)
        valid.append(DYNAMIC if stated is None else min(size, stated))
    return replace(source.type, rows=sizes[0], cols=sizes[1], valid_row=valid[0], valid_col=valid[1])


def _partition(p: Parser, operands: dict[str, Any], attrs: dict[str, Any]) -> Type:
    """Result of partition_view: the sizes that are constants, of the source's elements."""
    source: Value = operands["source"]
    if source.type is POISON:
        return POISON
    if not isinstance(source.type, TensorView) or len(operands["sizes"]) != len(source.type.dims):
        p.unexpected("'->' and the type of the slice")
    sizes = [_constant(v) for v in operands["sizes"]]
    return PartitionView(tuple(DYNAMIC if n is None or n < 0 else n for n in sizes), source.type.dtype)


INFERRED["partition"] = _partition
INFERRED["subset"] = _subset
INFERRED["subview"] = _subview
