"""Python text for expressions: the primitives' NumPy forms, and those of what happens between lanes and bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import methodcaller
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType, dtype

from ..machine import TileOperand
from ..numerics.arith import as_values, element, narrow, rounded_once
from ..numerics.unary import converter
from ..site import Site
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
from .moves import as_kind, fill, flat, lines, load, put, store
from .primitives import PRIMITIVES

# NumPy forms of what happens between lanes, by the names that the text of functions has for them (`rows`).


_TRUE = np.True_
_BINS = 256  # of numbers of 8 bits


def _as_lanes(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(values).view(kind)


def _bits(predicate: np.ndarray | None, width: int) -> Any:
    return _TRUE if predicate is None else predicate


def _taken_bits(on: Any, places: np.ndarray) -> Any:
    return on if on is _TRUE else np.take(on, places, axis=1)


def _taken(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The lanes that numbers name, modulo how many there are."""
    lanes = values.shape[1]
    places = places.astype(np.int64)
    places = places % lanes if lanes & (lanes - 1) else places & (lanes - 1)
    if len(values) == 1:
        return values[0][places]
    return values[np.arange(len(values))[:, None], places]


def _front(lanes: int, count: int, *values: np.ndarray) -> np.ndarray:
    out = np.zeros((max(map(len, values)), lanes), values[0].dtype)
    for k, value in enumerate(values):
        out[:, k * count : (k + 1) * count] = value[:, :count]
    return out


def _first(condition: np.ndarray, kind: np.dtype) -> np.ndarray:
    return condition.argmax(axis=1)[:, None].astype(kind)


def _times(number: int, on: Any, lanes: int) -> np.ndarray:
    """A number as often as lanes are active."""
    if on is _TRUE:
        return np.array([[number * lanes]])
    return number * np.add.reduce(on, axis=1, keepdims=True)


def _moved(values: np.ndarray, places: np.ndarray, on: np.ndarray | None) -> np.ndarray:
    """Lanes at computed places, and 0 in the others."""
    values, places, met = np.broadcast_arrays(values, places, True if on is None else on)
    out = np.zeros(values.shape, values.dtype)
    block, lane = np.nonzero(met)
    out[block, places[block, lane]] = values[block, lane]
    return out


def _fetched(
    m: Any, pointer: Any, places: Any, width: int, on: Any, alignment: int, offset: Any, kind: np.dtype
) -> np.ndarray:
    found = m.gather(pointer, np.atleast_2d(places), width, None if on is _TRUE else on, alignment, offset)
    return np.asarray(found.reshape(len(found), -1).view(kind))


def _in_pieces(values: np.ndarray, width: int) -> np.ndarray:
    """Lanes as runs of bytes: (blocks or 1, runs, bytes of one)."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1, width)


def _first_first(m: Any, places: np.ndarray, values: np.ndarray, on: Any, rule: str) -> tuple[Any, Any, Any]:
    """Lanes in reversed order, so that of two at one place the first one stays; reported if there are such."""
    on = None if on is _TRUE else on
    known = places if on is None else np.where(on, places, -1 - np.arange(places.shape[1]))  # others are apart
    ordered = np.sort(known, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        m.remark(rule, "two active lanes write to one element: the lowest lane wins")
    return places[:, ::-1], values[:, ::-1], None if on is None else on[:, ::-1]


def _demanded(m: Any, numbers: np.ndarray, on: Any, low: int, high: int, rule: str, message: str, remark: bool) -> None:
    """Refuse the first active lane whose number is not in a range, or remark on it."""
    wrong = (numbers < low) | (numbers >= high)
    wrong = wrong if on is None or on is _TRUE else wrong & on
    if wrong.any():
        block, lane = (int(i) for i in np.argwhere(wrong)[0])
        number = int(numbers[min(block, len(numbers) - 1), lane])
        said = message.format(lane=lane, number=number)
        if remark:
            m.remark(rule, said)
        else:
            m.refuse(rule, said, block=block if len(wrong) > 1 else None)


def _in_bits(found: np.ndarray, on: Any) -> np.ndarray:
    """Conditions as bytes, the first one the lowest bit."""
    return np.packbits(_met(found, on), axis=1, bitorder="little")


def _counted(values: np.ndarray, on: np.ndarray, upto: bool, places: np.ndarray, kind: np.dtype) -> np.ndarray:
    """How often numbers occur in active lanes, or at most they."""
    blocks = max(len(values), len(on), len(places))
    bins = np.arange(blocks)[:, None] * _BINS + values
    found = bins[np.broadcast_to(on, bins.shape)]
    counts = np.bincount(found, minlength=blocks * _BINS).reshape(blocks, _BINS)
    places = np.broadcast_to(places, (blocks, places.shape[1]))
    return np.take_along_axis(np.cumsum(counts, axis=1) if upto else counts, places, axis=1).astype(kind)


def _before(condition: np.ndarray, kind: np.dtype) -> np.ndarray:
    out = np.cumsum(condition, axis=1, dtype=kind)
    return np.subtract(out, condition, out=out)


def _met(found: np.ndarray, on: Any) -> np.ndarray:
    return found if on is None or on is _TRUE else found & on


def _kept(values: np.ndarray, on: np.ndarray | None) -> np.ndarray:
    return np.ascontiguousarray(values) if on is None else np.where(on, values, np.zeros((), values.dtype))


def _each(values: Any, count: int) -> np.ndarray:
    """A number, or one for each block, in all lanes."""
    values = np.asarray(values)
    return np.broadcast_to(values, (len(values) if values.ndim else 1, count))


def _number(value: Any) -> Any:
    """A number of the program: one for all blocks, or one for each."""
    return value.astype(np.int64) if value.ndim else int(value)


NAMES: dict[str, Any] = {
    "as_lanes": _as_lanes,
    "before": _before,
    "bits": _bits,
    "counted": _counted,
    "demanded": _demanded,
    "each": _each,
    "fetched": _fetched,
    "first": _first,
    "first_first": _first_first,
    "front": _front,
    "in_bits": _in_bits,
    "in_pieces": _in_pieces,
    "kept": _kept,
    "met": _met,
    "moved": _moved,
    "number": _number,
    "take_lanes": lambda x, places: np.take(x, places, axis=1),
    "taken": _taken,
    "times": _times,
    "taken_bits": _taken_bits,
}
"""By the names that the text uses."""


# Packed masks: a tile whose bits are conditions. Column c is bit c % 8 of byte c // 8 of its row.


def _bytes(mask: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The mask's storage as (blocks, rows, bytes per row), with room for rows x cols bits."""
    mask.region(rows, -(-cols // mask.spec.dtype.bits))
    raw = mask.raw()
    return raw.reshape(len(raw), mask.spec.rows, -1)


def write_mask(mask: TileOperand, bits: np.ndarray) -> None:
    """Store booleans (blocks, rows, cols); the bits after the last column of a row's last byte become 0."""
    packed = np.packbits(bits, axis=2, bitorder="little")
    _bytes(mask, *bits.shape[1:])[:, : packed.shape[1], : packed.shape[2]] = packed


def read_mask(mask: TileOperand, rows: int, cols: int) -> np.ndarray:
    """The first rows x cols bits of a mask, as booleans with a leading block axis."""
    packed = _bytes(mask, rows, cols)[:, :rows, : (cols + 7) // 8]
    return np.unpackbits(packed, axis=2, count=cols, bitorder="little").astype(bool)


# Operations on the bits of elements, whatever numbers they are.


def on_bits(fn: Callable[..., Expr], first: str, *values: Expr) -> Callable[[Site], Expr]:
    """`fn` of the bits of `values`, all in the element type of the operand `first`, and so is the result."""

    def meaning(o: Site) -> Expr:
        element = o.operands[first].dtype  # type: ignore[union-attr]
        if element.is_integer:
            return fn(*values)
        bits = dtype(f"u{element.bits}")
        return Reinterpret(fn(*(Reinterpret(value, bits) for value in values)), first)

    return meaning


# Python text for expressions: nested calls of the primitives' NumPy forms, on arrays (blocks, rows, columns).


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
    "load": load,
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
