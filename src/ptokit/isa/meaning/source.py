"""Python text for expressions: nested calls of the primitives' NumPy forms, on arrays (blocks, rows, columns)."""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType

from ..machine import TileOperand
from ..numerics.arith import element
from ..numerics.convert import converter
from ..numerics.rounding import as_values, narrow, rounded_once
from .expressions import (
    COLUMN,
    OWN,
    ROW,
    TURNED,
    Apply,
    Axis,
    Bit,
    Code,
    Const,
    Convert,
    Coordinate,
    Count,
    Element,
    Expr,
    Extent,
    Held,
    Index,
    Least,
    Once,
    Reinterpret,
    Scalar,
    Sum,
    Up,
    leaves,
    type_of,
)
from .fold import first_extreme
from .lane_forms import read_mask, write_mask
from .moves import as_kind, fill, lines, put, store
from .positions import flat
from .primitives import PRIMITIVES

Types = Mapping[str, DType]


def _repeated(block: np.ndarray, cols: int) -> np.ndarray:
    """Columns over and over, `cols` of them."""
    return np.tile(block, (1, 1, -(-cols // block.shape[2])))[:, :, :cols]


def _rounded(values: np.ndarray, dtype: DType) -> np.ndarray:
    """What a fold gives, in the type of its destination."""
    if values.dtype == dtype.value:
        return values
    return narrow(values, dtype) if dtype.name == "bf16" else values.astype(dtype.value)  # NumPy rounds its own once


def _at(x: np.ndarray, row: int, col: int, row_step: int, col_step: int, rows: int, cols: int) -> np.ndarray:
    """Every `row_step`-th row from `row` on, every `col_step`-th column from `col` on."""
    return x[:, row : row + (row_step * rows or 1) : row_step or 1, col : col + (col_step * cols or 1) : col_step or 1]


def _spread(tile: TileOperand, rows: int, cols: int, j: int, plus: int, over: int, cycle: int) -> np.ndarray:
    """Rows of the columns that belong to the columns of a domain, as `Axis` says."""
    places = (j * np.arange(cols) + plus) // over
    places = places % cycle if cycle else places
    return tile.read(rows, int(places.max(initial=-1)) + 1)[:, :, places]


_NAMES: dict[str, Any] = {
    "arange": np.arange,
    "at_": _at,
    "as_kind": as_kind,
    "broadcast": np.broadcast_to,
    "element": element,
    "empty": np.empty,
    "fill": fill,
    "first_extreme": first_extreme,
    "flat": flat,
    "put": put,
    "read_mask": read_mask,
    "repeated": _repeated,
    "rounded": _rounded,
    "rounded_once": rounded_once,
    "spread": _spread,
    "in_boxes": methodcaller("in_boxes"),
    "lines": lines,
    "store": store,
    "take": np.take_along_axis,
    "write_mask": write_mask,
}


class Source:
    """The text of one function: names for what it reads, and the objects that it names."""

    def __init__(self, types: Types, views: frozenset[str] = frozenset()) -> None:
        self.types = types
        self.views = views  # operands that are views of global memory
        self.names: dict[str, Any] = dict(_NAMES)
        self.leaves: dict[Expr, str] = {}

    def object(self, value: Any) -> str:
        """A name for an object."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    # --- reading -------------------------------------------------------------------------------------------------

    def read(self, e: Expr, rows: str = "rows", cols: str = "cols") -> list[str]:
        """The lines that read the leaves of an expression over a domain of so many rows and columns."""
        return [self.leaf(leaf, rows, cols) for leaf in leaves(e) if leaf not in self.leaves]

    def leaf(self, e: Expr, rows: str, cols: str) -> str:
        """The line that reads a leaf."""
        name = f"x{len(self.leaves)}"
        match e:
            case Element(operand, at):
                text = self._element(operand, at, rows, cols)
            case Scalar(operand):
                text = f"element({self.object(type_of(e, self.types))}, {operand})"
            case Bit(operand):
                text = f"read_mask({operand}, {rows}, {cols})"
            case _:
                raise TypeError(e)
        self.leaves[e] = name
        return f"{name} = {text}"

    def _element(self, operand: str, at: Index, rows: str, cols: str) -> str:
        if at == OWN:
            return f"{operand}.read({rows}, {cols})"
        if at == COLUMN:
            return f"{operand}.read({rows}, 1)"
        if at == ROW:
            return f"{operand}.read(1, {cols})"
        if at == TURNED:
            return f"{operand}.read({cols}, {rows}).swapaxes(1, 2)"
        row, col = at.row, at.col
        if row == OWN.row and col == Axis(j=1, cycle=col.cycle):
            return f"repeated({operand}.read({rows}, {count(col.cycle)}), {cols})"
        if row == Axis(i=1, over=row.over) and col == Axis(i=1, cycle=row.over):
            return f"flat({operand})[:, :{rows}, None]"
        if not (row.j or col.i or row.cycle or col.cycle) and row.over == col.over == 1:
            r0, c0 = count(row.plus), count(col.plus)
            last_row = f"{r0} + {row.i} * ({rows} - 1) + 1" if row.i else f"{r0} + 1"
            last_col = f"{c0} + {col.j} * ({cols} - 1) + 1" if col.j else f"{c0} + 1"
            x = f"{operand}.read({last_row}, {last_col})"
            return f"at_({x}, {r0}, {c0}, {row.i}, {col.j}, {rows}, {cols})"
        if row == OWN.row and not col.i:
            numbers = ", ".join(str(count(n)) for n in (col.j, col.plus, col.over, col.cycle))
            return f"spread({operand}, {rows}, {cols}, {numbers})"
        raise TypeError(at)

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, e: Expr, out: str = "") -> str:
        """An expression for the values of a node, stored in `out` if it is given and a primitive makes them."""
        if e in self.leaves:
            return self.leaves[e]
        match e:
            case Const(number):
                dtype = type_of(e, self.types)
                assert isinstance(dtype, DType)
                return self.object(element(dtype, number))
            case Code(bits, like):
                return self.object(as_values(np.full((1, 1, 1), bits, self.types[like].storage), self.types[like]))
            case Held(register, dtype):
                return f"element({self.object(dtype)}, m.registers.get({register!r}, 0))"
            case Convert(inner):
                return self._converted(e, inner)
            case Once(op, (first, second), _, rounding, saturate):
                how = f"{self.object(type_of(e, self.types))}, {self.object(rounding)}, {saturate}"
                return f"rounded_once({op!r}, {self.value(first)}, {self.value(second)}, {how})"
            case Coordinate(axis):
                kind = type_of(e, self.types)
                assert isinstance(kind, DType)
                size, shape = ("rows", "1, -1, 1") if axis == "row" else ("cols", "1, 1, -1")
                return f"arange({size}).reshape({shape}).astype({self.object(kind.value or kind.storage)})"
            case Reinterpret(inner):
                kind = type_of(e, self.types)
                assert isinstance(kind, DType)
                return f"{self.value(inner)}.view({self.object(kind.value or kind.storage)})"
            case Apply(op, args):
                texts = [self.value(a) for a in args]
                return f"{self.object(PRIMITIVES[op].numpy)}({', '.join([*texts, *([out] if out else [])])})"
        raise TypeError(e)

    def _converted(self, e: Convert, inner: Expr) -> str:
        source, target = type_of(inner, self.types), type_of(e, self.types)
        assert isinstance(source, DType)
        assert isinstance(target, DType)
        if isinstance(inner, Scalar) and target.value is not None:
            return f"{self.value(inner)}.astype({self.object(target.value)})"
        convert = self.object(converter(source, target, e.rounding, e.saturate))
        return f"{convert}({self.value(inner)})"

    def whole(self, e: Expr, rows: str = "rows", cols: str = "cols") -> str:
        """The values as an array of the whole domain."""
        text = self.value(e)
        if isinstance(e, (Apply, Convert)):
            return text
        if isinstance(e, Element):
            return f"broadcast({text}, (len({text}), {rows}, {cols}))"
        dtype = type_of(e, self.types)
        assert isinstance(dtype, DType)
        return f"filled({text}, {rows}, {cols})"

    def into(self, e: Expr, out: str) -> str:
        """A statement that stores the values in an array of the domain."""
        return self.value(e, out) if isinstance(e, Apply) else f"{out}[...] = {self.value(e)}"


def _filled(value: Any, rows: int, cols: int) -> np.ndarray:
    """A number, or one for each block, in every place."""
    return np.broadcast_to(value, (np.shape(value)[0] if np.ndim(value) else 1, rows, cols)).copy()


_NAMES["filled"] = _filled


def count(size: Count) -> str:
    """Text for a size."""
    match size:
        case Extent(operand, "value"):
            return operand
        case Extent(operand, what):
            return f"{operand}.{what}" if what in ("vr", "vc") else f"{operand}.spec.{what}"
        case Least(sizes):
            return f"min({', '.join(map(count, sizes))})"
        case Up(of, step):
            return f"-(-{count(of)} // {step}) * {step}"
        case Sum(operands, times):
            return f"({' + '.join(f'({name} or 0)' for name in operands)}) * {times}"
    return str(size)
