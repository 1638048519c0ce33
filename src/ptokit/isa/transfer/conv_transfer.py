"""Loads and stores of convolution tiles: which element of global memory each place of the tile holds
(load-store 3.7, types-and-layouts 8).

A tile is a dense array of its dimensions. Each dimension (or part of one, where a dimension such as C1HW is a product)
steps through global memory with a stride. Channels and N are split into groups, whose last one may be incomplete.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ptokit.types.enums import Layout
from ptokit.types.tensor import ConvSpec, Dims5
from ptokit.types.tile import DYNAMIC

from ..machine import Machine, TileOperand, ViewOperand
from ..site import ViewInfo, known

Combine = Callable[..., np.ndarray]


class Axis(NamedTuple):
    """Part of a tile's storage order: `size` steps of `stride` elements in memory.

    ``group`` names the split quantity it is part of ("C" or "N", else empty), which each step advances by ``step``;
    for others ``limit`` is the size of the view's dimension.
    """

    size: int
    stride: int
    limit: int
    group: str = ""
    step: int = 0


class ElementOffsets(NamedTuple):
    """Memory offsets of a tile's elements in storage order, and the elements that lie beyond C and beyond N."""

    offsets: np.ndarray  # int64 (1, 1, elements)
    beyond_c: np.ndarray | None
    beyond_n: np.ndarray | None


Axes = list[Axis]


def _same(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    """Tile and view list the same dimensions; a sixth of the tile is contiguous in memory."""
    out = [Axis(*x) for x in zip(d, t, g)]
    return [*out, Axis(d[5], 1, d[5])] if len(d) == 6 else out


def _fractals(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    """FRACTAL_Z and FRACTAL_Z_3D: a tile of four dimensions has the view's last four; the first two may be one."""
    if len(d) == 5:
        return _same(d, g, t)
    first = [Axis(d[0], t[1], g[1])]
    if g[0] > 1:
        outer, rest = divmod(d[0], g[1])
        first = [Axis(outer + (rest > 0), t[0], g[0]), Axis(g[1], t[1], g[1])]
    return [*first, *(Axis(*x) for x in zip(d[1:], t[2:], g[2:]))]


def _c1(size: int, c0: int, stride: int) -> Axis:
    return Axis(size, c0 * stride, 0, "C", c0)


def _c0(c0: int, stride: int) -> Axis:
    return Axis(c0, stride, 0, "C", 1)


def _nhwc(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    n, c1, h, w, c0 = d
    return [Axis(n, t[1], g[1]), _c1(c1, c0, t[4]), Axis(h, t[2], g[2]), Axis(w, t[3], g[3]), _c0(c0, t[4])]


def _nchw(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    n, c1, h, w, c0 = d
    return [Axis(n, t[1], g[1]), _c1(c1, c0, t[2]), Axis(h, t[3], g[3]), Axis(w, t[4], g[4]), _c0(c0, t[2])]


def _nchw_z(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    c0 = d[-1]
    if len(d) == 5:
        c1, h, w, n, _ = d
        spatial = [_c1(c1, c0, t[2]), Axis(h, t[3], g[3]), Axis(w, t[4], g[4])]
        return [*spatial, Axis(n, t[1], 0, "N", 1), _c0(c0, t[2])]
    groups = -(-d[0] // (g[3] * g[4]))
    spatial = [_c1(groups, c0, t[2]), Axis(g[3], t[3], g[3]), Axis(g[4], t[4], g[4])]
    return [*spatial, Axis(d[1], d[2] * t[1], 0, "N", d[2]), Axis(d[2], t[1], 0, "N", 1), _c0(c0, t[2])]


def _ncdhw(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    n, depth, c1, h, w, c0 = d
    outer = [Axis(n, t[0], g[0]), Axis(depth, t[2], g[2]), _c1(c1, c0, t[1])]
    return [*outer, Axis(h, t[3], g[3]), Axis(w, t[4], g[4]), _c0(c0, t[1])]


def _ncdhw_z(d: tuple[int, ...], g: Dims5, t: Dims5) -> Axes:
    c0 = d[-1]
    groups = -(-d[0] // (g[2] * g[3] * g[4]))
    spatial = [_c1(groups, c0, t[1]), *(Axis(g[a], t[a], g[a]) for a in (2, 3, 4))]
    return [*spatial, Axis(d[1], d[2] * t[0], 0, "N", d[2]), Axis(d[2], t[0], 0, "N", 1), _c0(c0, t[1])]


# (view layout, tile layout) -> (axes, numbers of tile dimensions it takes, axis of the view with C, with N)
Maker = Callable[[tuple[int, ...], Dims5, Dims5], Axes]
PAIRS: dict[tuple[Layout, Layout], tuple[Maker, tuple[int, ...], int | None, int | None]] = {
    (Layout.NC1HWC0, Layout.NC1HWC0): (_same, (5,), None, None),
    (Layout.NDC1HWC0, Layout.NDC1HWC0): (_same, (6,), None, None),
    (Layout.FRACTAL_Z, Layout.FRACTAL_Z): (_fractals, (4, 5), None, None),
    (Layout.FRACTAL_Z_3D, Layout.FRACTAL_Z_3D): (_fractals, (4,), None, None),
    (Layout.NHWC, Layout.NC1HWC0): (_nhwc, (5,), 4, None),
    (Layout.NCHW, Layout.NC1HWC0): (_nchw, (5,), 2, None),
    (Layout.NCHW, Layout.FRACTAL_Z): (_nchw_z, (4, 5), 2, 1),
    (Layout.NCDHW, Layout.NDC1HWC0): (_ncdhw, (6,), 1, None),
    (Layout.NCDHW, Layout.FRACTAL_Z_3D): (_ncdhw_z, (4,), 1, 0),
}


def fits_pair(spec: ConvSpec, layout: Layout | None) -> bool:
    """True if transfers between this tile and a view in `layout` are defined."""
    pair = PAIRS.get((layout, spec.layout)) if layout is not None else None
    return pair is not None and len(spec.dims) in pair[1]


def outside(spec: ConvSpec, view: ViewInfo) -> str | None:
    """A message if the tile is known to reach beyond a dimension of the view."""
    layout, shape, stride = view.layout, view.shape, view.stride
    if layout is None or not fits_pair(spec, layout) or not known(*shape, *stride) or DYNAMIC in spec.dims:
        return None
    maker = PAIRS[layout, spec.layout][0]
    if any(g < 1 for g in shape):
        return None
    for axis in maker(spec.dims, shape, stride):  # type: ignore[arg-type]
        if not axis.group and axis.size > axis.limit:
            return f"{spec} takes {axis.size} steps along a dimension of the {view.shape} view that has {axis.limit}"
    return None


@lru_cache(maxsize=64)
def element_offsets(spec: ConvSpec, layout: Layout, shape: Dims5, stride: Dims5) -> ElementOffsets:
    """Where in memory each element of the tile is, relative to the view's first element."""
    maker, _, c_axis, n_axis = PAIRS[layout, spec.layout]
    axes = maker(spec.dims, shape, stride)
    count = prod(spec.dims)

    def total(steps: list[int]) -> np.ndarray:
        sums = np.zeros((), np.int64)
        for axis, step in zip(axes, steps):
            sums = sums[..., None] + np.arange(axis.size, dtype=np.int64) * step
        return sums.reshape(-1)[:count]

    def beyond(group: str, axis: int | None) -> np.ndarray | None:
        if axis is None:
            return None
        mask = total([a.step if a.group == group else 0 for a in axes]) >= shape[axis]
        return mask[None, None] if mask.any() else None

    return ElementOffsets(
        total([a.stride for a in axes])[None, None],
        beyond("C", c_axis),
        beyond("N", n_axis),
    )


def load_conv(dst: TileOperand, src: ViewOperand, spec: ConvSpec, layout: Layout) -> None:
    """Fill a convolution tile; incomplete channel groups are completed with zeros, places beyond N keep their bytes."""
    at = element_offsets(spec, layout, src.shape, src.stride)
    count = at.offsets.shape[-1]
    offsets = at.offsets
    for mask in (at.beyond_c, at.beyond_n):
        if mask is not None:
            offsets = np.where(mask, 0, offsets)
    values = src.gather(offsets, lambda block, row, col: f"place {col} of {spec}")
    element = spec.dtype.value or spec.dtype.storage
    values = values if values.dtype == element else values.view(element)
    if at.beyond_c is not None:
        values = np.where(at.beyond_c, element.type(0), values)
    if at.beyond_n is not None:
        values = np.where(at.beyond_n, dst.read(1, count), values)
    dst.write(values, 1, count)


def store_conv(m: Machine, dst: ViewOperand, src: TileOperand, spec: ConvSpec, layout: Layout, put: Any) -> None:
    """Store a convolution tile; ``put(memory, places, values)`` writes or combines."""
    at = element_offsets(spec, layout, dst.shape, dst.stride)
    values = src.read(1, at.offsets.shape[-1])
    element = dst.dtype.value or dst.dtype.storage
    values = values if values.dtype == element else values.view(element)
    dst.scatter(at.offsets, values, put, m.blocks, lambda block, row, col: f"place {col} of {spec}")
