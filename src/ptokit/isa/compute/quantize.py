"""TQUANT and TDEQUANT: 8-bit integers of f32 and back (compute-reduce-matrix 14 and 17)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.targets import A2A3
from ptokit.types.enums import QuantType

from ..machine import Machine, TileOperand
from ..places import flat, kind
from ..site import Site
from ..table import Access, Attr, Instr, default_footprint, dst, instruction, src, tmp
from .quantize_rules import DEQUANT_RULES, QUANT_RULES, TQ_1


def _of_rows(tile: TileOperand, rows: int) -> np.ndarray:
    """The parameter of each row: the first column, or of a tile of fewer rows its elements in order."""
    if tile.spec.rows >= rows:
        return tile.read(rows, 1)
    return flat(tile)[:, :rows, None]


def _quantize(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    scale: TileOperand,
    offset: TileOperand | None = None,
    tmp: Any = None,
    *,
    quant_type: QuantType | None = None,
) -> None:
    """Each step is rounded to f32; then to the nearest even integer, with saturation. NaN gives 0."""
    y = src.read() * _of_rows(scale, src.vr)
    if offset is not None:
        y = y + _of_rows(offset, src.vr)
    low, high = (-128, 127) if dst.spec.dtype.signed else (0, 255)
    whole = np.clip(np.rint(np.nan_to_num(y, nan=0.0, posinf=high, neginf=low)), low, high)
    dst.write(whole.astype(kind(dst)), src.vr, src.vc)


def _footprint(o: Site) -> Iterator[Access]:
    """a2a3 uses the source as scratch memory."""
    yield from default_footprint(o)
    if o.target.is_a(A2A3):
        yield Access("src", True, o.src.vr, o.src.vc)


def _dequantize(m: Machine, dst: TileOperand, src: TileOperand, scale: TileOperand, offset: TileOperand) -> None:
    """The difference is rounded to f32, then the product."""
    x = src.read(dst.vr, dst.vc).astype(np.float32) - _of_rows(offset, dst.vr)
    dst.write(x * _of_rows(scale, dst.vr), dst.vr, dst.vc)


TQUANT = instruction(
    Instr(
        "TQUANT",
        "tquant",
        "dst = src * scale + offset as 8-bit integers, with a scale and an offset per row",
        (dst(), src(), src("scale"), src("offset", optional=True), replace(tmp(optional=True), stored=True)),
        (Attr("quant_type", QuantType, None, "quant_type", "quant_type"),),
        orders=(("src", "scale", "offset", "tmp"),),
        rules=(*QUANT_RULES, TQ_1),
        run=_quantize,
        footprint=_footprint,
        source="compute-reduce-matrix 14",
    )
)
TDEQUANT = instruction(
    Instr(
        "TDEQUANT",
        "tdequant",
        "dst = (src - offset) * scale, with a scale and an offset per row",
        (dst(), src(), src("scale"), src("offset")),
        rules=DEQUANT_RULES,
        run=_dequantize,
        source="compute-reduce-matrix 17",
    )
)
