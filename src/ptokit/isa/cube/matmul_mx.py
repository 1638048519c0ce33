"""Products of block-scaled tiles, and where their scales lie (compute-reduce-matrix 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.codecs import decode
from ptokit.types.enums import Pipe, TileType

from ..assembler import A5_ONLY
from ..machine import Machine, TileOperand
from ..table import Instr, Operand, dst, instruction, scales, src
from .matmul import total_of
from .matmul_mx_rules import ADDRESS_RULES, rules_of
from .matmul_text_rules import MX_SCALE, scaled

GROUP = 32  # elements along K that share a scale
_SCALED = (
    src("lhs"),
    scales("lhs_scale", TileType.ScaleLeft),
    src("rhs"),
    scales("rhs_scale", TileType.ScaleRight),
)


def _numbers(tile: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The values of a region as float64, exactly."""
    values = tile.read(rows, cols)
    if tile.spec.dtype.value is None:
        values = decode(tile.spec.dtype, values)
    return values.astype(np.float64)


def _scaled(lhs: TileOperand, lhs_scale: TileOperand, rhs: TileOperand, rhs_scale: TileOperand) -> Any:
    """Both operands times their scales, a power of two for each 32 elements along K: exact in float64."""
    rows, inner, cols = lhs.vr, lhs.vc, rhs.vc
    groups = -(-inner // GROUP)
    left = np.repeat(_numbers(lhs_scale, rows, groups), GROUP, axis=2)[:, :, :inner]
    right = np.repeat(_numbers(rhs_scale, groups, cols), GROUP, axis=1)[:, :inner]
    return _numbers(lhs, rows, inner) * left, _numbers(rhs, inner, cols) * right


def _plain(m: Machine, dst: TileOperand, *operands: TileOperand) -> None:
    a, b = _scaled(*operands)
    dst.write(total_of(m, a, b, None), a.shape[1], b.shape[2])


def _accumulated(m: Machine, dst: TileOperand, acc: TileOperand, *operands: TileOperand) -> None:
    a, b = _scaled(*operands)
    dst.write(total_of(m, a, b, acc.read(a.shape[1], b.shape[2])), a.shape[1], b.shape[2])


def _biased(m: Machine, dst: TileOperand, *operands: TileOperand) -> None:
    a, b = _scaled(*operands[:4])
    dst.write(total_of(m, a, b, operands[4].read(1, b.shape[2])), a.shape[1], b.shape[2])


def _product(name: str, text: str, summary: str, run: Callable[..., None], *operands: Operand) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            (dst(), *operands),
            pipe=Pipe.M,
            rules=(*rules_of(name), *scaled(name)),
            run=run,
            tensor=True,
            cpp=name.removesuffix("_ACC").removesuffix("_BIAS"),
            source="compute-reduce-matrix 12",
        )
    )


for _name, _text, _what in (("TMATMUL_MX", "tmatmul.mx", "Matrix"), ("TGEMV_MX", "tgemv.mx", "Row by matrix")):
    _summary = f"{_what} product of block-scaled tiles"
    _product(_name, _text, f"{_summary}.", _plain, *_SCALED)
    _product(
        f"{_name}_ACC", f"{_text}.acc", f"{_summary}, added to an accumulator.", _accumulated, src("acc"), *_SCALED
    )
    _product(f"{_name}_BIAS", f"{_text}.bias", f"{_summary}, plus a bias.", _biased, *_SCALED, src("bias"))


def _scale_address(m: Machine, dst: TileOperand, src: TileOperand) -> None:
    """The scale tile lies at a sixteenth of the operand's address; without addresses it stays where it is."""
    m.bind_scales(dst, src)


TGET_SCALE_ADDR = instruction(
    Instr(
        "TGET_SCALE_ADDR",
        "tget_scale_addr",
        "Bind a scale tile to the address that belongs to an operand of the scaled product.",
        (dst(), src()),
        pipe=Pipe.S,
        spellings=("get_scale_addr",),
        rules=(*ADDRESS_RULES, A5_ONLY, MX_SCALE),
        run=_scale_address,
        footprint=lambda o: iter(()),
        source="compute-reduce-matrix 12",
    )
)
