"""Registers as arrays of lanes, and the NumPy executor's function of operations on them (vector-path 1).

A vector register is an array (blocks or 1, lanes) of its element's dtype, 256 bytes for each block; it is never
modified. A predicate register is its image, a bool array (blocks or 1, 256) with one entry for each data byte: lane i
of elements of w bytes is active where entry w*i is true. No predicate (None) means that all lanes are active.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType, from_numpy

from ..machine import Machine
from ..meaning.execute import Run
from ..meaning.expressions import Bit, Element, Index, lanes_at, leaves
from ..meaning.rows import Rows, RowSource
from ..meaning.words import Lane, Repeats, Word, Write
from ..site import MaskInfo, ScalarInfo, VregInfo
from ..table import Instr, Kind

# Registers as arrays: lanes and predicates (vector-path 1.2, 1.3).


VREG_BYTES = 256

Predicate = np.ndarray | None


def element(dtype: DType) -> np.dtype:
    """NumPy dtype of a register's lanes; codes where NumPy has none."""
    return dtype.value or dtype.storage


def _prefixes(width: int) -> np.ndarray:
    lanes = VREG_BYTES // width
    table = np.zeros((lanes + 1, VREG_BYTES), bool)
    table[:, ::width] = np.arange(lanes) < np.arange(lanes + 1)[:, None]
    table.flags.writeable = False
    return table


PREFIX = {width: _prefixes(width) for width in (1, 2, 4)}
"""By element bytes: row n is the image of a predicate whose first n lanes are active."""

ALL = {width: table[-1:] for width, table in PREFIX.items()}
"""By element bytes: the image with all lanes active. Compared by identity, to spare what masks nothing."""


def image(lanes: np.ndarray, width: int) -> np.ndarray:
    """The predicate image of active lanes (blocks or 1, 256 / width): bits of no lane are 0."""
    out = np.zeros((lanes.shape[0], VREG_BYTES), bool)
    out[:, ::width] = lanes
    return out


def active(mask: Predicate, width: int) -> Predicate:
    """Which lanes of `width` bytes a predicate lets through: bool (blocks or 1, 256 / width), None if all."""
    if mask is None or any(mask is full for w, full in ALL.items() if w <= width):
        return None
    return mask[:, ::width]


def zeroed(values: np.ndarray, mask: Predicate) -> np.ndarray:
    """Values with zeros in inactive lanes; ``mask`` is the predicate image."""
    lanes = active(mask, values.dtype.itemsize)
    return values if lanes is None else np.where(lanes, values, np.zeros((), values.dtype))


def prefix(count: Any, width: int) -> np.ndarray:
    """The image whose first `count` lanes are active; `count` is a number, or an array (blocks, 1). Unsigned."""
    lanes = VREG_BYTES // width
    if isinstance(count, np.ndarray):
        if count.min() >= lanes:
            return ALL[width]
        return PREFIX[width][np.clip(count.reshape(-1), 0, lanes)]
    return ALL[width] if count >= lanes else PREFIX[width][count : count + 1]


# Repeats of blocks of the unified buffer, written from their meaning (`meaning.words.Repeats`).


BLOCK, BLOCKS = 32, 8
MASK, COUNTS = "ub mask", "ub mask counts"
"""The registers with the two words of the mask, and whether they are a number of elements."""

_ALL = (-1, -1)
_FIELD = 0xFF


def repeated(word: Repeats, names: tuple[str, ...]) -> Run:
    """The function of an instruction with operands of these names."""
    read = tuple(leaf.name for leaf in leaves(word.value) if isinstance(leaf, Element))
    value = _function(word, names)
    width = word.dtype.size

    def run(m: Machine, *operands: Any, **_: Any) -> None:
        of = dict(zip(names, operands))
        keep = _chosen(m, of["repeat"] & _FIELD, width)
        if not keep.any():
            return
        pointers = tuple(of[name] for name in (word.dst, *read))
        strides = ((of[f"{name}_block"], of[f"{name}_repeat"]) for name in (word.dst, *read))
        places = tuple(_places(len(keep), width, *apart) for apart in strides)
        steps = [slice(k, k + 1) for k in range(len(keep))] if read and _meet(m, pointers, places) else [slice(None)]
        for step in steps:
            on = keep[step].reshape(1, -1)
            for name, pointer, where in zip(read, pointers[1:], places[1:], strict=True):
                found = m.gather(pointer, where[step].reshape(1, -1), width, on, width)
                of[name] = found.reshape(len(found), -1)
            with np.errstate(all="ignore"):
                result = value(m, *of.values())
            raw = np.ascontiguousarray(np.broadcast_to(result, (len(np.atleast_2d(result)), on.size)))
            raw = raw.astype(element(word.dtype), copy=False).view(np.uint8).reshape(*raw.shape, width)
            m.scatter(pointers[0], places[0][step].reshape(1, -1), raw, on, width)

    return run


def _function(word: Repeats, names: tuple[str, ...]) -> Callable[..., Any]:
    """The values of elements, from those of the sources side by side."""
    source = RowSource({}, Lane(()), {})
    lines = source.read(word.value)
    head = f"def run(m, {''.join(f'{name}, ' for name in names)}):"
    exec("\n    ".join([head, *lines, f"return {source.value(word.value)}"]), source.names)
    run: Callable[..., Any] = source.names["run"]
    return run


def _chosen(m: Machine, repeats: int, width: int) -> np.ndarray:
    """Which elements take part: bool (repeats, elements of a repeat)."""
    per = BLOCK * BLOCKS // width
    low, high = m.registers.get(MASK, _ALL)
    if m.registers.get(COUNTS, False):
        count = low & ((1 << 32) - 1)
        return np.arange(-(-count // per) * per).reshape(-1, per) < count
    bits = np.array([low & ((1 << 64) - 1), high & ((1 << 64) - 1)], "<u8").view(np.uint8)
    return np.broadcast_to(np.unpackbits(bits, bitorder="little")[:per].astype(bool), (repeats, per))


def _places(repeats: int, width: int, block: int, repeat: int) -> np.ndarray:
    """Bytes from the pointer to each element: (repeats, elements of a repeat)."""
    lane = np.arange(BLOCK * BLOCKS // width) * width
    within = lane % BLOCK + lane // BLOCK * (block & _FIELD) * BLOCK
    return within + np.arange(repeats)[:, None] * (repeat & _FIELD) * BLOCK


def _meet(m: Machine, pointers: tuple[Any, ...], places: tuple[np.ndarray, ...]) -> bool:
    """Whether one repeat may read what another one has written: all at once is not the same then."""
    dst, *sources = pointers
    first = np.asarray(m.address(dst))
    for src, where in zip(sources, places[1:], strict=True):
        gap = np.asarray(m.address(src)) - first
        if not np.any(gap) and np.array_equal(where, places[0]) and len(np.unique(where)) == where.size:
            continue
        if np.any((gap + where.max() >= places[0].min()) & (gap + where.min() <= places[0].max())):
            return True
    return False


# The NumPy executor's function of an operation on registers, written from its meaning.


_TRUE = np.True_


class Registers(Rows):
    """The function of an instruction on registers whose meaning is data."""

    def __init__(self, instr: Instr) -> None:
        super().__init__(instr)
        self.registers = tuple(i for i, o in enumerate(instr.operands) if o.kind is Kind.VREG)

    def infos(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        """What is stated of the operands, and the element types that the registers have."""
        found = dict(attributes["types"])
        for i in self.registers:
            if operands[i] is None:
                continue
            dtype = from_numpy(operands[i].dtype)
            assert dtype is not None, operands[i].dtype
            stated = found.get(self.names[i])
            if isinstance(stated, VregInfo) and (stated.dtype.value is None or stated.dtype.size != dtype.size):
                continue  # bytes at hand
            found[self.names[i]] = VregInfo(self.names[i], dtype, operands[i].shape[1])
        for name, operand in zip(self.names, operands):
            if operand is not None and name not in found:
                found[name] = MaskInfo(name, 0) if self.kinds[name] == "mask" else ScalarInfo(name, "")
        return found

    def source(self, types: dict[str, DType], word: Lane) -> RowSource:
        return _Source(types, word, self.kinds)

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        if isinstance(word, Repeats):
            return repeated(word, self.names)
        return super().written(word, types)


class _Source(RowSource):
    """Text on registers: a predicate is its image."""

    def __init__(self, types: dict[str, DType], word: Lane, kinds: dict[str, str]) -> None:
        super().__init__(types, word, kinds)
        self.lanes = word.lanes or VREG_BYTES // types[word.over].size
        self.width = word.width or VREG_BYTES // self.lanes
        self.on = f"active({word.mask}, {self.width})" if word.mask else "None"
        self.names |= {"active": active, "bits": _bits, "image_": _image, "placed": _placed}

    def count(self, dtype: DType) -> int:
        return VREG_BYTES // dtype.size

    def bit(self, operand: str, at: Index, width: int) -> str:
        width = width or self.width
        return self.taken(f"bits({operand}, {width})", at, VREG_BYTES // width)

    def result(self, write: Write, kind: str) -> str:
        if not write.packed:
            return super().result(write, kind)
        same = write.value == Bit(getattr(write.value, "name", ""))
        if same and (self.width, self.on) == (1, "None"):
            return write.value.name  # type: ignore[attr-defined]
        return f"image_({self._all(write.value)}, {self._let_through(write)}, {VREG_BYTES // self.lanes})"

    def placed(self, text: str, write: Write, of: DType) -> str:
        places, count = lanes_at(write.at, self.lanes), VREG_BYTES // of.size
        if places == list(range(count)):
            return text
        return f"placed({text}, {self.object(np.array(places))}, {count})"


def _bits(predicate: Predicate, width: int) -> Any:
    """Which lanes a predicate names; true where there is none."""
    on = active(predicate, width)
    return _TRUE if on is None else on


def _image(found: np.ndarray, on: np.ndarray | None, width: int) -> np.ndarray:
    """The predicate of the lanes where a condition holds and the mask lets it through."""
    if on is not None:
        found = found & on
    return ALL[width] if found.all() and width in ALL else image(found, width)


def _placed(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """Lanes at their places in a register of `count`, and 0 in the others."""
    out = np.zeros((len(values), count), values.dtype)
    out[:, places] = values
    return out
