"""Views of global memory: where they leave it, which does not end the run, and what they cover."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.ir.scale_views import Packed
from ptokit.machine.buffers import Chosen
from ptokit.machine.global_memory import View
from ptokit.records import dataclass
from ptokit.types.enums import Layout
from ptokit.types.tensor import inner_channels

from ..memory.gm import Place, Scattered, Strided

Ints = tuple[int, ...]

_MANY, _FAR = 1 << 24, 1 << 62  # elements of a view outside of its argument, and numbers in it, that arrays can hold


@dataclass(slots=True)
class Slice:
    """What is kept of a view that was cut out of a tensor: where, and what of it leaves the tensor."""

    op: Op
    outside: str | None = None  # what of it leaves the tensor, in words


def slice_of(view: View) -> Slice | None:
    """How a view was cut out of its tensor; None for the whole tensor."""
    return getattr(view, "note", None)


def sliced(
    op: Op, tensor: View, offsets: tuple[Any, ...], sizes: tuple[int, ...], packed: Packed | None = None
) -> View:
    """As `View.partition`, which may leave the tensor; ``packed``: of scales in groups, as they lie."""
    start = tensor.offset
    before = slice_of(tensor)
    message = before.outside if before is not None else None
    for axis, (o, n, d, s) in enumerate(zip(offsets, sizes, tensor.dims, tensor.strides)):
        start += o * s
        if (o < 0 or n > d - o) and message is None:
            message = f"[{o}, {o + n}) leaves dimension {axis} of the tensor, which has {d} elements"
    view = View(tensor.buffer, start, sizes, tensor.strides, tensor.dtype, tensor.stated_layout)
    if packed is not None:
        view = View(tensor.buffer, start, packed.dims, packed.strides, tensor.dtype, packed.layout)
    view.note = Slice(op, message)
    return view


def leaves_memory(view: View) -> str | None:
    """Message of GM-OOB if a view leaves the memory of its argument."""
    if view.buffer is None:
        return None
    low, high = _reach(view.dims, view.strides, _inner(view))
    low, high = low + view.offset, high + view.offset
    if low >= 0 and high < view.buffer.nelem:
        return None
    known, whole = slice_of(view), f"argument {view.buffer.shown}, which has {view.buffer.nelem} elements"
    if known is not None and known.outside is not None:
        return f"{known.outside}, and {whole}"
    return f"elements [{low}, {high + 1}) of {whole}"


def leaves_shape(view: View) -> str | None:
    """Message of GM-SLICE if a view leaves the declared shape of its tensor."""
    known = slice_of(view)
    return None if known is None else known.outside


def chosen(view: View) -> list[Chosen]:
    """What gathers and scatters of the running instruction have chosen of a view."""
    found = view.buffer.chosen if view.buffer is not None else None
    return [c for c in found or () if c.view is view]


def _inner(view: View) -> int:
    """Elements of the innermost axis that a layout adds to the dimensions."""
    return inner_channels(view.dtype, view.layout) if view.layout is Layout.NDC1HWC0 else 1


def _axes(dims: Ints, strides: Ints, inner: int) -> list[tuple[int, int]]:
    axes = list(zip(dims, strides))
    return [*axes, (inner, 1)] if inner > 1 else axes


@lru_cache(maxsize=4096)
def _reach(dims: Ints, strides: Ints, inner: int) -> tuple[int, int]:
    """Lowest and highest element, relative to the first."""
    axes = _axes(dims, strides, inner)
    low = sum((n - 1) * s for n, s in axes if s < 0)
    return low, sum((n - 1) * s for n, s in axes if s > 0)


@lru_cache(maxsize=4096)
def _scaled(dims: Ints, strides: Ints, inner: int, unit: int) -> tuple[tuple[int, int], ...]:
    """Axes in granules, of which an element has `unit`."""
    scaled = [(n, s * unit) for n, s in _axes(dims, strides, inner) if n > 1]
    if unit > 1:
        scaled.append((unit, 1))
    return tuple(scaled) or ((1, 1),)


def place(view: View, origin: int, granule: int) -> Place | None:
    """The granules of a memory that a view covers, of those inside its argument; None if there are none.

    None also for a view that leaves its argument, which is an error anyway, and has too many elements to look at.
    ``origin``: bytes from the start of the memory to the argument.
    """
    buffer = view.buffer
    assert buffer is not None
    if min(view.dims, default=1) <= 0:
        return None
    inner = _inner(view)
    low, high = _reach(view.dims, view.strides, inner)
    outside = low + view.offset < 0 or high + view.offset >= buffer.nelem
    if outside and (abs(view.offset) + high - low > _FAR or prod(view.dims) * inner > _MANY):
        return None
    if outside or view.dtype.packed:
        elements = Strided(view.offset, tuple(_axes(view.dims, view.strides, inner))).granules().reshape(-1)
        return scattered(elements[(elements >= 0) & (elements < buffer.nelem)], view, origin, granule)
    unit = view.dtype.size // granule
    return Strided(origin // granule + view.offset * unit, _scaled(view.dims, view.strides, inner, unit))


def scattered(elements: np.ndarray, view: View, origin: int, granule: int) -> Place | None:
    """Single elements of an argument as granules."""
    if not elements.size:
        return None
    if view.dtype.packed:
        return Scattered(np.unique(elements.reshape(-1) // 2) + origin)
    unit = view.dtype.size // granule
    where = np.unique(elements.reshape(-1)) * unit + origin // granule
    return Scattered((where[:, None] + np.arange(unit)).reshape(-1) if unit > 1 else where)
