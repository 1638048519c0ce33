"""Repeats of blocks of the unified buffer, written from their meaning (`meaning.words.Repeats`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..machine import Machine
from ..meaning.execute import Run
from ..meaning.expressions import Element, leaves
from ..meaning.rows import RowSource
from ..meaning.words import Lane, Repeats
from .lanes import element

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
