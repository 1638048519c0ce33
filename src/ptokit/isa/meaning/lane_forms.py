"""NumPy forms of what happens between lanes, of packed masks and of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.dtypes import dtype

from ..machine import TileOperand
from ..site import Site
from .expressions import Expr, Reinterpret

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
    """Store booleans (blocks, rows, cols); the bits behind the last column of a row's last byte become 0."""
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
