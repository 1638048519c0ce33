"""Views of global memory that remember where they leave it, instead of ending the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.run.memory import Describe, View
from ptokit.types.enums import Layout
from ptokit.types.tensor import inner_channels

from .gm import Place, Scattered, Strided

Ints = tuple[int, ...]

_MANY, _FAR = 1 << 24, 1 << 62  # elements of a view outside of its argument, and numbers in it, that arrays can hold


class ObservedView(View):
    """A view with what went wrong when it was cut out of its tensor, and the elements that indices chose."""

    __slots__ = ("clipped", "outside", "scattered", "seen", "sliced")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.outside: str | None = None  # message of GM-OOB
        self.sliced: Op | None = None
        self.clipped: View | None = None  # what lies inside
        self.seen: list[np.ndarray] = []
        self.scattered = False  # these have been written

    def observed(self, op: Op, offsets: tuple[Any, ...], sizes: tuple[int, ...]) -> ObservedView:
        """`partition`, which may leave the tensor."""
        start, low, clipped = self.offset, self.offset, []
        message = self.outside
        for axis, (o, n, d, s) in enumerate(zip(offsets, sizes, self.dims, self.strides)):
            start += o * s
            first, last = min(max(o, 0), d), min(max(o + n, 0), d)
            low += first * s
            clipped.append(max(0, last - first))
            if (o < 0 or n > d - o) and message is None:
                message = f"[{o}, {o + n}) leaves dimension {axis} of the tensor, which has {d} elements"
        view = ObservedView(self.buffer, start, sizes, self.strides, self.dtype, self.stated_layout)
        view.sliced = op
        if message is not None:
            view.outside = message
            view.clipped = View(self.buffer, low, tuple(clipped), self.strides, self.dtype, self.stated_layout)
        return view

    def gather(self, offsets: np.ndarray, describe: Describe) -> np.ndarray:
        self.seen.append(offsets + self.offset)
        return super().gather(offsets, describe)

    def scatter(
        self,
        offsets: np.ndarray,
        values: np.ndarray,
        put: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
        blocks: int,
        describe: Describe,
        keep: np.ndarray | None = None,
    ) -> None:
        chosen = offsets + self.offset
        self.scattered = True
        self.seen.append(chosen if keep is None else chosen[np.broadcast_to(keep, chosen.shape)])
        super().scatter(offsets, values, put, blocks, describe, keep)

    @property
    def leaves_memory(self) -> str | None:
        """Message of GM-OOB if the view leaves the tensor or the memory behind it."""
        if self.outside is not None or self.buffer is None:
            return self.outside
        low, high = _reach(self.dims, self.strides, _inner(self))
        low, high = low + self.offset, high + self.offset
        if low < 0 or high >= self.buffer.nelem:
            return (
                f"elements [{low}, {high + 1}) of argument %{self.buffer.name}, which has {self.buffer.nelem} elements"
            )
        return None


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
        elements = Strided(view.offset, tuple(_axes(view.dims, view.strides, inner))).places().reshape(-1)
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
