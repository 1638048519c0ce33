"""Arg reductions: the position of the extreme of each row or column (compute-reduce-matrix 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..machine import Machine, TileOperand
from ..meaning.words import Python
from ..numerics import arith
from ..site import Site
from ..table import Access, Instr, Operand, Role, dst, src, tmp
from ..typesets import FB, I6, INT16_32, N4, F, types, types_of
from .arg_rules import COLUMN_RULES, INT_ANY, ROW_RULES
from .words import vector


def first_extreme(x: np.ndarray, axis: int, largest: bool) -> np.ndarray:
    """Position of the first extreme along `axis`, kept as an axis of length 1.

    A NaN is chosen only at position 0, where no comparison replaces it.
    """
    if not arith.is_integer(x):
        x = x.astype(np.float32)
        loses = np.float32(-np.inf if largest else np.inf)
        first = np.isnan(np.take(x, [0], axis))
        x = np.where(np.isnan(x), loses, x)
        found = (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=True)
        return np.where(first, 0, found)
    return (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=True)


def _semantics(axis: int, largest: bool) -> Callable[..., None]:
    def run(
        machine: Machine,
        dst: TileOperand,
        src: TileOperand,
        tmp: TileOperand | None = None,
        dst_val: TileOperand | None = None,
        **_: Any,
    ) -> None:
        if not (src.vr and src.vc):
            return
        x = src.read()
        at = first_extreme(x, axis, largest)
        rows, cols = at.shape[1:]
        if dst_val is not None:
            dst_val.write(np.take_along_axis(x, at, axis), rows, cols)
        dst.write(at.astype(dst.spec.dtype.value), rows, cols)

    return run


def _footprint(axis: int) -> Callable[[Site], Iterator[Access]]:
    def footprint(o: Site) -> Iterator[Access]:
        yield Access("src", False, o.src.vr, o.src.vc)
        for name in ("dst", "dst_val"):
            if o.has(name):
                yield Access(name, True, *((o.src.vr, 1) if axis == 2 else (1, o.src.vc)))
        if o.has("tmp"):
            yield Access("tmp", True, o.tmp.vr, o.tmp.vc)

    return footprint


OPERANDS = (dst(), src(), tmp(optional=True, supplied=True), Operand("dst_val", Role.OUT, optional=True))
ROW_TYPES = types(N4, INT16_32 | FB, cpu=INT_ANY | FB, asm=F | types_of("i16 u16 i32 u32"))
COLUMN_TYPES = types(types_of("f16 f32 u16 u32"), I6 | FB, cpu=INT_ANY | FB, asm=F)


def arg_reduction(name: str, axis: int, largest: bool, summary: str) -> Instr:
    """Index form ``OP(dst, src, tmp)``; the value form also writes the extremes to ``dst_val``, first in text."""
    rules, columns = (ROW_RULES, ROW_TYPES) if axis == 2 else (COLUMN_RULES, COLUMN_TYPES)
    return vector(
        name,
        summary,
        OPERANDS,
        columns,
        Python(_semantics(axis, largest)),
        common=rules,
        footprint=_footprint(axis),
        written="src tmp dst_val dst",
        source="compute-reduce-matrix 3",
    )


TROWARGMAX = arg_reduction("TROWARGMAX", 2, True, "dst[i,0] = first column of the maximum of row i")
TROWARGMIN = arg_reduction("TROWARGMIN", 2, False, "dst[i,0] = first column of the minimum of row i")
TCOLARGMAX = arg_reduction("TCOLARGMAX", 1, True, "dst[0,j] = first row of the maximum of column j")
TCOLARGMIN = arg_reduction("TCOLARGMIN", 1, False, "dst[0,j] = first row of the minimum of column j")
