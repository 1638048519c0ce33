"""Addresses of MGATHER and MSCATTER: forms, capacities, out-of-range indices (move-gather-scatter 10.2, 10.3, 11.3)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from ptokit.targets import A2A3, A5, Target
from ptokit.types.enums import Coalesce, TileType

from ..machine import Machine, TileOperand, ViewOperand
from ..site import product

Describe = Callable[[int, int, int], str]


class Form(Enum):
    """How indices address a table. The ``L1`` forms take them from global memory and fill a Mat tile."""

    ELEM = "element"
    ROW = "row"
    NZ_ELEM = "element of an NZ table"
    NZ_ROW = "row of an NZ table"
    L1_ELEM = "element, into L1"
    L1_ROW = "row, into L1"

    @property
    def by_row(self) -> bool:
        """True if one index addresses a row."""
        return self in (Form.ROW, Form.NZ_ROW, Form.L1_ROW)


def coalesce(
    mode: Coalesce | None, *, l1: bool, scratch: bool, index: tuple[Any, Any], data: tuple[Any, Any]
) -> Coalesce:
    """The mode, or the one meant where none is written: Elem (GATHER-COM-02).

    The L1 forms tell themselves apart by their scratch memory, and text writes one index per row as one column (GA-9).
    ``index`` and ``data`` are valid rows and columns.
    """
    if mode is not None:
        return mode
    if l1:
        return Coalesce.Elem if scratch else Coalesce.Row
    one_per_row = index[1] == 1 and data[1] != 1 and index[0] == data[0]
    return Coalesce.Row if one_per_row else Coalesce.Elem


def form_of(mode: Coalesce, *, l1: bool, nz: bool) -> Form:
    """The form of a call; ``nz``: the table has the NZ layout (a2a3)."""
    row = mode is Coalesce.Row
    if l1:
        return Form.L1_ROW if row else Form.L1_ELEM
    if nz:
        return Form.NZ_ROW if row else Form.NZ_ELEM
    return Form.ROW if row else Form.ELEM


def capacity(form: Form, on: Target, shape: tuple[Any, ...], c0: int) -> Any:
    """Number of legal indices: elements or rows of the table. ``shape`` is 5-D, ``on`` the target."""
    s0, s1, s2, s3, _ = shape
    match form:
        case Form.ELEM | Form.L1_ELEM:
            return product(shape)
        case Form.NZ_ELEM:
            return s2 * 16 * s0 * s1 * c0
        case Form.NZ_ROW:
            return s2 * 16
        case Form.ROW if not on.is_a(A2A3):
            return s3
        case _:
            return s0 * s1 * s2 * s3


def read_indices(idx: Any, form: Form, rows: int, cols: int) -> np.ndarray:
    """Indices as written, (blocks or 1, rows, cols), or (blocks or 1, rows, 1) where one addresses a row.

    A row index is the r-th element of the index buffer, whatever the shape of its tile.
    """
    if not is_tile(idx):
        pitch = 0 if form.by_row else idx.stride[3]
        r, c = np.arange(rows)[:, None], np.arange(1 if form.by_row else cols)
        where = (r + c if form.by_row else r * pitch + c)[None]
        return idx.gather(where, lambda block, row, col: f"the index for row {row}, column {col}")
    if not form.by_row:
        return idx.read(rows, cols)
    spec = idx.spec
    if not spec.boxed and spec.row_major and rows <= spec.cols:
        return idx.read(1, rows).transpose(0, 2, 1)
    if not spec.boxed and not spec.row_major and rows <= spec.rows:
        return idx.read(rows, 1)
    return idx.raw().view(spec.dtype.value)[:, :rows, None]


def is_tile(operand: TileOperand | ViewOperand) -> bool:
    """True for a tile, False for a view."""
    return hasattr(operand, "spec")


def remap(raw: np.ndarray, cap: int, oob: str, *, wide: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Indices after the out-of-range treatment, int64, and where they count (None: everywhere).

    Indices are unsigned numbers of 32 bits, or with ``wide`` (cpu) sign-extended to 64 bits first. ``oob`` is the name
    of the mode; the modes that leave elements out, and Undefined, mark indices from `cap` on as not counting.
    """
    if wide:
        u = (raw if raw.dtype.kind == "u" else raw.astype(np.int64).view(np.uint64)).astype(np.uint64, copy=False)
    else:
        u = raw.view(np.uint32)
    outside = u >= cap
    if not outside.any():
        return u.astype(np.int64), None
    if oob == "Wrap":
        return (u % u.dtype.type(cap)).astype(np.int64), None
    place = u.astype(np.int64)
    place[outside] = cap - 1 if oob == "Clamp" else 0
    return place, None if oob == "Clamp" else ~outside


def resolve(m: Machine, raw: np.ndarray, cap: int, oob: Any, form: Form, rule: str) -> Any:
    """`remap`, where an index out of range under Undefined breaks `rule`."""
    place, keep = remap(raw, cap, oob.name, wide=not m.target.is_device)
    if keep is not None and oob.name == "Undefined":
        block, row, col = np.argwhere(~keep)[0].tolist()
        m.refuse(
            rule,
            f"{indexed(raw)(block, row, col)} is not below {cap}, the number of the table's "
            f"{'rows' if form.by_row else 'elements'}",
            hint="choose an out-of-bounds mode, or keep the indices inside the table",
            block=block,
        )
    return place, keep


def indexed(raw: np.ndarray) -> Describe:
    """Words for an element that an index addresses."""
    per_row = raw.shape[2] == 1

    def describe(block: int, row: int, col: int) -> str:
        value = raw[block if len(raw) > 1 else 0, row, 0 if per_row else col]
        return f"index {value} at row {row}, column {col}"

    return describe


def row_width(form: Form, shape: tuple[int, ...], c0: int, cols: int) -> int:
    """Columns that one index moves: an NZ row carries every column block of the table, valid or not."""
    return shape[0] * shape[1] * c0 if form is Form.NZ_ROW else cols


def offsets(form: Form, on: Target, k: np.ndarray, table: ViewOperand, width: int, c0: int) -> np.ndarray:
    """Element offsets from the table's first element, (blocks or 1, rows, width), of remapped indices `k`."""
    _, s1, _, _, _ = table.shape
    t0, t1, t2, t3, t4 = table.stride
    col = np.arange(width)
    match form:
        case Form.ELEM | Form.L1_ELEM:
            return k
        case Form.NZ_ELEM:
            row, col = np.divmod(k, table.shape[0] * s1 * c0)
        case Form.NZ_ROW:
            row, t4 = k, 1
        case Form.ROW if not on.is_device:
            return k * t3 + col * t4
        case Form.ROW if on.is_a(A5):
            return k * width + col
        case _:
            return k * t3 + col
    block = col // c0
    return (block // s1) * t0 + (block % s1) * t1 + (row // 16) * t2 + (row % 16) * t3 + (col % c0) * t4


def in_l1(data: TileOperand, idx: Any) -> bool:
    """True for the forms that fill L1 or take indices from global memory."""
    return data.spec.loc is TileType.Mat or not is_tile(idx)
