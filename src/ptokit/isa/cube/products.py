"""Products of operands in L0A and L0B into an accumulator, by the meaning that products of tiles have.

The accumulator is written in whole fractals. What it holds beyond the rows and columns of the product is of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Pipe

from ..machine import Machine
from ..meaning.contract import F64, ROUNDING, product, scaled, total_of
from ..table import Role, listed
from .control import HIF8_BIT, TF32_AWAY_BIT, TF32_BIT, control
from .operand_loads import element, scale_place
from .pointers import ACC_BYTES, ACC_COLS, BLOCK, ROWS, Matrix, at, ceil, clause, cube, fractals, numbers

GROUPS = 2  # scales of a row in a piece of 32 bytes
_SCALE = DTYPES["e8m0"]
_F32_MAX = np.float32(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Product:
    """What is multiplied, and how."""

    m: int
    n: int
    k: int
    start: str = ""  # "dst", "bias"
    vector: bool = False  # the left operand is one row without fractals
    saturate: bool = False
    rounding: str | None = None  # of f32 operands


def _operands(m: Machine, lhs: Any, rhs: Any, p: Product) -> tuple[Matrix, Matrix]:
    """Both operands, with as many rows and columns as whole fractals have."""
    left, right = element(lhs.dtype), element(rhs.dtype)
    if p.vector:
        row = Matrix.of(left, m.fetch(lhs, 0, ((1, 0),), left.nbytes(p.k)))
    else:
        row = Matrix.of(left, fractals(m, lhs, p.m, left.nbytes(p.k)))
    return row, Matrix.of(right, fractals(m, rhs, p.n, right.nbytes(p.k))).turned


def _scales(m: Machine, operand: Any, rows: int, k: int) -> Matrix:
    """Scales of an operand: rows, and one for each 32 elements along K."""
    groups = ceil(k, BLOCK)
    columns = ceil(groups, GROUPS)
    high = ceil(rows, ROWS) * ROWS
    axes = ((ceil(rows, ROWS), columns * BLOCK), (columns, BLOCK), (ROWS, GROUPS))
    found = m.fetch(scale_place(m, operand), 0, axes, GROUPS, needed=((), 0))
    codes = found.transpose(0, 1, 3, 2, 4).reshape(len(found), high, -1)
    return Matrix.of(_SCALE, codes[:, :, :groups])


def _start(m: Machine, dst: Any, bias: Any, p: Product, high: int, wide: int) -> np.ndarray | None:
    """What the sums start with, as large as whole fractals."""
    if p.start == "bias":
        found = m.fetch(bias, 0, (), p.n * ACC_BYTES).view(bias.dtype.value)
        return np.pad(found, ((0, 0), (0, wide - p.n)))[:, None, :]
    if not p.start:
        return None
    row = ACC_COLS * ACC_BYTES
    pitch = ceil(p.m, ROWS) * ROWS * row
    axes = ((wide // ACC_COLS, pitch), (high, row))
    needed = ((wide // ACC_COLS, pitch), (p.m, row)), row
    held = m.fetch(dst, 0, axes, row, needed=needed).view(dst.dtype.value)
    return held.transpose(0, 2, 1, 3).reshape(len(held), high, wide)


def _multiply(m: Machine, lhs: Any, rhs: Any, dst: Any, bias: Any, p: Product, *, block_scaled: bool) -> None:
    a, b = _operands(m, lhs, rhs, p)
    start = _start(m, dst, bias, p, a.vr, b.vc)
    if p.saturate and a.spec.dtype.is_float:
        a, b = (Matrix(x.spec, _finite(x), x.vr, x.vc) for x in (a, b))
    with np.errstate(over="ignore", invalid="ignore"):
        if block_scaled:
            left, right = scaled(a, _scales(m, lhs, p.m, p.k), b, _scales(m, rhs, p.n, p.k).turned)  # type: ignore[arg-type]
            total = total_of(m, left, right, start)
        else:
            with _rounding(m, p.rounding):
                total = product(m, a, b, start)  # type: ignore[arg-type]
    if p.saturate and total.dtype.kind == "f":
        total = np.clip(total, -_F32_MAX, _F32_MAX)
    if dst.dtype.value != total.dtype:
        total = total.astype(dst.dtype.value)
    _put(m, dst, total, ceil(p.m, ROWS) * ROWS)


def _put(m: Machine, dst: Any, total: np.ndarray, pitch: int) -> None:
    """Store blocks of 16 columns, `pitch` rows apart."""
    blocks, rows, cols = total.shape
    row = ACC_COLS * total.itemsize
    columns = total.reshape(blocks, rows, cols // ACC_COLS, ACC_COLS).transpose(0, 2, 1, 3)
    m.deposit(dst, 0, ((cols // ACC_COLS, pitch * row), (rows, row)), columns)


def _finite(x: Matrix) -> np.ndarray:
    """Values with infinities as the largest number and NaN as 0; codes of types without a dtype as they are."""
    dtype = x.spec.dtype
    if dtype.value is None:
        return x.codes
    wide = x.read_as(F64)
    most = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": float(_F32_MAX), "e4m3": 448.0, "e5m2": 57344.0}
    return np.nan_to_num(wide, nan=0.0, posinf=most[dtype.name], neginf=-most[dtype.name]).astype(dtype.value)


@contextmanager
def _rounding(m: Machine, mode: str | None) -> Iterator[None]:
    """Products inside round f32 operands so, whatever is set for tiles."""
    before = m.registers.get(ROUNDING)
    m.registers[ROUNDING] = mode
    try:
        yield
    finally:
        m.registers[ROUNDING] = before


_WORDS = {"round_even": "CAST_RINT", "round_away": "CAST_ROUND"}


def _mad(start: str, *, block_scaled: bool) -> Callable[..., None]:
    def run(
        m: Machine,
        lhs: Any,
        rhs: Any,
        dst: Any,
        *given: Any,
        unit_flag: Any,
        disable_gemv: Any,
        tf32_mode: str | None,
        saturation: str | None,
        n_dir: Any,
        types: Any,
    ) -> None:
        *bias, rows, cols, inner = given
        vector = rows == 1 and not disable_gemv
        rounding = None if tf32_mode is None else _WORDS[tf32_mode]
        wanted = Product(rows, cols, inner, start, vector, saturation == "sat", rounding)
        _multiply(m, lhs, rhs, dst, bias[0] if bias else None, wanted, block_scaled=block_scaled)

    return run


def _raw(has_bias: bool, *, block_scaled: bool) -> Callable[..., None]:
    """The fields of the hardware: sizes, and in the highest bits what the sums start with."""

    def run(m: Machine, lhs: Any, rhs: Any, dst: Any, *given: Any, types: Any) -> None:
        *bias, xt = given
        ctrl = control(m)
        start = "" if xt >> 63 & 1 else "bias" if has_bias and xt >> 62 & 1 else "dst"
        mode = None
        if ctrl >> TF32_BIT & 1:
            mode = "CAST_ROUND" if ctrl >> TF32_AWAY_BIT & 1 else "CAST_RINT"
        rows, inner, cols = xt & 0xFFF, xt >> 12 & 0xFFF, xt >> 24 & 0xFFF
        wanted = Product(rows, cols, inner, start, rows == 1 and not xt >> 61 & 1, False, mode)
        if ctrl >> HIF8_BIT & 1 and lhs.dtype.size == 1 and lhs.dtype.is_float:
            lhs, rhs = (m.cast(p, DTYPES["hif8"], p.space) for p in (lhs, rhs))
        _multiply(m, lhs, rhs, dst, bias[0] if bias else None, wanted, block_scaled=block_scaled)

    return run


_FLAGS = (
    clause("unit_flag", key="unit_flag_mode"),
    clause("disable_gemv"),
    clause("tf32_mode"),
    clause("saturation", "saturation_word", key="sat_mode"),
    clause("n_dir"),
)


def _form(bias: bool) -> str:
    """Operands, words, types."""
    names = f"lhs rhs dst {'bias ' if bias else ''}m n k"
    words = (
        "<? unit_flag ~( W(unit_flag) ) ?> <? W(disable_gemv) ?> <? W(saturation) ?> "
        "<? tf32_mode ~( W(tf32_mode) ) ?> <? W(n_dir) ?> {}"
    )
    return f"{listed(names)} {words} : {listed(names, 'T({})')}"


for _name, _what, _from in (
    ("mad", "Product of two matrices", ""),
    ("mad_acc", "Product of two matrices, added to the accumulator", "dst"),
    ("mad_bias", "Product of two matrices, plus a bias", "bias"),
    ("mad_mx", "Product of two block-scaled matrices", ""),
    ("mad_mx_acc", "Product of two block-scaled matrices, added to the accumulator", "dst"),
    ("mad_mx_bias", "Product of two block-scaled matrices, plus a bias", "bias"),
):
    _bias = (at("bias", "bt"),) if _from == "bias" else ()
    cube(
        _name,
        f"{_what}.",
        Pipe.M,
        (
            at("lhs", "l0a"),
            at("rhs", "l0b"),
            at("dst", "l0c", Role.INOUT if _from == "dst" else Role.OUT),
            *_bias,
            *numbers("m n k"),
        ),
        _mad(_from, block_scaled="mx" in _name),
        _FLAGS,
        grammar=(_form(bool(_bias)),),
    )
    if _from != "dst":
        cube(
            f"{_name}_raw",
            f"{_what}, with the fields of the hardware.",
            Pipe.M,
            (at("lhs", "l0a"), at("rhs", "l0b"), at("dst", "l0c", Role.INOUT), *_bias, *numbers("xt")),
            _raw(bool(_bias), block_scaled="mx" in _name),
        )
