"""Loads and stores of convolution tiles (load-store 3.1, 3.7, types-and-layouts 8), and their rules (load-store 11)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ptokit.targets import A2A3
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import CONV_AXES, ConvSpec, Dims5, fits_pair
from ptokit.types.tile import DYNAMIC

from ..machine import Machine, TileOperand, ViewOperand
from ..site import Site, TileInfo, ViewInfo, known
from .rules import Message, names, rule, sides, wrong_stride

Combine = Callable[..., np.ndarray]


class ElementOffsets(NamedTuple):
    """Memory offsets of a tile's elements in storage order, and the elements that lie beyond C and beyond N."""

    offsets: np.ndarray  # int64 (1, 1, elements)
    beyond_c: np.ndarray | None
    beyond_n: np.ndarray | None


@lru_cache(maxsize=64)
def element_offsets(spec: ConvSpec, layout: Layout, shape: Dims5, stride: Dims5) -> ElementOffsets:
    """Where in memory each element of the tile is, relative to the view's first element."""
    maker, _, c_axis, n_axis = CONV_AXES[layout, spec.layout]
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


TYPES = frozenset(DTYPES[n] for n in ("i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32"))
TYPES_A5 = TYPES | {DTYPES["e4m3"], DTYPES["e5m2"]}

L = Layout
SAME_CPU = {(x, x) for x in (L.NC1HWC0, L.FRACTAL_Z, L.NDC1HWC0)}
SAME_A3 = SAME_CPU | {(L.FRACTAL_Z_3D, L.FRACTAL_Z_3D)}
PAIRS_A5 = {
    (L.NC1HWC0, L.NC1HWC0),
    (L.FRACTAL_Z, L.FRACTAL_Z),
    (L.NHWC, L.NC1HWC0),
    (L.NCHW, L.NC1HWC0),
    (L.NCHW, L.FRACTAL_Z),
    (L.NCDHW, L.NDC1HWC0),
    (L.NCDHW, L.FRACTAL_Z_3D),
}
STORED = {(x, x) for x in (L.NC1HWC0, L.NDC1HWC0)}
Pairs = set[tuple[Layout, Layout]]


def _conv(o: Site, *, sized: bool = True) -> tuple[TileInfo, ViewInfo, ConvSpec] | None:
    """The operands if the tile is a convolution tile; ``sized``: only once all its dimensions are known."""
    tile, view = sides(o)
    spec = tile.spec
    return (tile, view, spec) if isinstance(spec, ConvSpec) and not (sized and DYNAMIC in spec.dims) else None


def _kinds(o: Site, types: frozenset, pairs: Pairs) -> Message:
    """Element types, location and pair of layouts."""
    found = _conv(o, sized=False)
    if found is None:
        return None
    tile, view, spec = found
    if tile.dtype not in types:
        return f"the tile has element type {tile.dtype}; convolution tiles take {names(types)}"
    if tile.loc is not TileType.Mat:
        return f"{tile.name} is a {tile.loc.text} tile; convolution tiles to transfer are mat tiles"
    if view.layout is not None and (view.layout, spec.layout) not in pairs:
        listed = ", ".join(f"{a.name} to {b.name}" for a, b in sorted(pairs))
        return f"a {view.layout.name} view with an {spec.layout.name} tile; on {o.target.name}: {listed}"
    if view.layout is not None and not fits_pair(spec, view.layout):
        return f"{spec} has {len(spec.dims)} dimensions, which {spec.layout.name} tiles do not have"
    return None


def _fractals(o: Site) -> Message:
    """FRACTAL_Z: blocks of 16 x C0 on both sides, or equal H and W and N <= 65535."""
    found = _conv(o)
    if found is None:
        return None
    _, view, spec = found
    fractal = (Layout.FRACTAL_Z, Layout.FRACTAL_Z_3D)
    if spec.layout not in fractal or view.layout not in fractal:
        return None
    g, d = view.shape, spec.dims
    if len(d) == 4:
        wrong = _block(spec)
        if wrong or not known(g[3], g[4]) or (g[3], g[4]) == (16, spec.c0):
            return wrong
        return f"the last dimensions of the view are {g[3]}, {g[4]}; they must be 16, {spec.c0}"
    if len(d) == 5:
        if d[1] != g[1] or d[2] != g[2]:
            return f"H and W are {d[1]}x{d[2]} in the tile and {g[1]}x{g[2]} in the view; they must be equal"
        if d[3] > 65535:
            return f"N is {d[3]}; the transfer takes at most 65535"
    return None


def _block(spec: ConvSpec) -> Message:
    if spec.dims[2:] != (16, spec.c0):
        return f"the last dimensions of the tile are {spec.dims[2]}, {spec.dims[3]}; they must be 16, {spec.c0}"
    return None


@rule(
    "LOAD-A3-20",
    """
        x: Ptr[f16]
        TLOAD(ConvTile(Mat, f16, None, Layout.FRACTAL_Z, (3, 2, 16, {16|8})), GlobalTensor(x, (1, 3, 2, 16, {16|8}),
            layout=Layout.FRACTAL_Z))
    """,
    evidence="device assertion",
)
def LOAD_A3_20(o: Site) -> Message:
    """Convolution tiles: H <= 4095 and W <= 65535; FRACTAL_Z: blocks of 16 x C0 on both sides, or equal H and W."""
    found = _conv(o)
    if found is None:
        return None
    spec = found[2]
    if spec.layout in (Layout.NC1HWC0, Layout.NDC1HWC0) and fits_pair(spec, found[1].layout):
        h, w = spec.dims[-3:-1]
        if h > 4095 or w > 65535:
            return f"the tile has H x W = {h}x{w}; the transfer takes at most 4095x65535"
    return _fractals(o)


def _unequal(spec: ConvSpec, view: ViewInfo, dims: str, tile_at: str, view_at: str) -> Message:
    """Compare the named dimensions; ``tile_at`` and ``view_at`` are their positions, as digits."""
    layout = "" if view.layout is None else f"{view.layout.name} "
    for name, i, j in zip(dims, tile_at, view_at):
        a, b = spec.dims[int(i)], view.shape[int(j)]
        if a != b:
            return f"{name} is {a} in the tile and {b} in the {layout}view"
    return None


def _channels(spec: ConvSpec, view: ViewInfo, axis: int, c1: int) -> Message:
    room = spec.dims[c1] * spec.dims[-1]
    if view.shape[axis] > room:
        return f"the view has {view.shape[axis]} channels, the tile has room for {room}"
    return None


@rule(
    "LOAD-A5-20",
    """
        x: Ptr[f16]
        TLOAD(ConvTile(Mat, f16, None, Layout.NC1HWC0, (1, 1, 2, 4, 16)), GlobalTensor(x, (1, 1, 2, 4, {10|17}),
            layout=Layout.NHWC))
    """,
    evidence="static_assert device",
)
def LOAD_A5_20(o: Site) -> Message:
    """Convolution dimensions agree: N, D, H and W are equal and C fits C1*C0; FRACTAL_Z ends in 16, C0; whole images
    are contiguous on the way from NCHW or NCDHW to FRACTAL_Z.
    """
    found = _conv(o)
    if found is None or not fits_pair(found[2], found[1].layout):
        return None
    _, view, spec = found
    g, t = view.shape, view.stride
    match view.layout, spec.layout:
        case (Layout.NC1HWC0, _):
            return _unequal(spec, view, ("N", "C1", "H", "W", "C0"), "01234", "01234")  # type: ignore[arg-type]
        case (Layout.NHWC, _):
            return _unequal(spec, view, "NHW", "023", "123") or _channels(spec, view, 4, 1)
        case (Layout.NCHW, Layout.NC1HWC0):
            return _unequal(spec, view, "NHW", "023", "134") or _channels(spec, view, 2, 1)
        case (Layout.NCDHW, Layout.NDC1HWC0):
            return _unequal(spec, view, "NDHW", "0134", "0234") or _channels(spec, view, 1, 2)
        case (Layout.NCHW | Layout.NCDHW, _):
            wrong = _block(spec) if len(spec.dims) == 4 else None
            if wrong:
                return wrong
            area = g[3] * g[4]
            if t[2] != area:
                return f"stride 2 of the view is {t[2]}; whole images of H*W = {area} elements are needed"
            return None
    return _fractals(o)


def assumed_conv(o: Site) -> Message:
    """Strides that block copies take for granted: C0 elements lie together, and W follows them."""
    found = _conv(o)
    if found is None or not o.target.is_device or not fits_pair(found[2], found[1].layout):
        return None
    _, view, spec = found
    if view.layout is Layout.NC1HWC0:
        wrong = wrong_stride(view, {4: 1, 3: spec.c0}, "NC1HWC0")
        return wrong or (_unequal(spec, view, "W", "3", "3") if o.target.is_a(A2A3) else None)
    if view.layout is Layout.NDC1HWC0:
        return wrong_stride(view, {4: spec.c0}, "NDC1HWC0") or _unequal(spec, view, "W", "4", "4")
    if view.layout in (Layout.FRACTAL_Z, Layout.FRACTAL_Z_3D):
        inner = {4: 1, 3: spec.c0} | ({2: 16 * spec.c0} if len(spec.dims) == 4 else {})
        return wrong_stride(view, inner, view.layout.name)
    return None


LOAD_CPU = (
    rule(
        "LOAD-CPU-05",
        """
            x: Ptr[f16]
            TLOAD(ConvTile(Mat, f16, None, Layout.NC1HWC0, (1, 1, 2, 4, 16)), GlobalTensor(x, (1, 1, 2, 4, 16),
                layout=Layout.{NC1HWC0|NHWC}))
        """,
        evidence="static_assert",
    )(
        "Convolution tiles to load: 8- to 32-bit integers, f16, bf16, f32; Mat; the layout of the view, which is "
        "NC1HWC0, FRACTAL_Z or NDC1HWC0.",
        lambda o: _kinds(o, TYPES, SAME_CPU),
    ),
    rule(
        "LOAD-CPU-06",
        """
            x: Ptr[f16]
            TLOAD(ConvTile(Mat, f16, None, Layout.FRACTAL_Z, (3, 2, {16|8}, 16)), GlobalTensor(x, (1, 3, 2, {16|8},
                16), layout=Layout.FRACTAL_Z))
        """,
        evidence="static_assert",
    )(_fractals),
)


LOAD_A3 = (
    rule(
        "LOAD-A3-19",
        """
            x: Ptr[f16]
            TLOAD(ConvTile(Mat, f16, None, Layout.NC1HWC0, (1, 1, 2, 4, 16)), GlobalTensor(x, {(1, 1, 2, 4, 16)|(1, 1,
                16, 2, 4)}, layout=Layout.{NC1HWC0|NCHW}))
        """,
        evidence="static_assert",
    )(
        "Convolution tiles to load: 8- to 32-bit integers, f16, bf16, f32; Mat; the layout of the view, which is "
        "NC1HWC0, FRACTAL_Z, FRACTAL_Z_3D or NDC1HWC0.",
        lambda o: _kinds(o, TYPES, SAME_A3),
    ),
    LOAD_A3_20,
)


LOAD_A5 = (
    rule(
        "LOAD-A5-19",
        """
            x: Ptr[f16]
            TLOAD({ConvTile(Mat, f16, None, Layout.NC1HWC0, (1, 1, 2, 4, 16))|ConvTile(Mat, f16, None,
                Layout.NDC1HWC0, (1, 1, 1, 2, 4, 16))}, GlobalTensor(x, {(1, 1, 2, 4, 10)|(1, 1, 1, 2, 4)},
                layout=Layout.{NHWC|NDC1HWC0}))
        """,
        evidence="static_assert",
    )(
        "Convolution tiles to load: 8- to 32-bit integers, e4m3, e5m2, f16, bf16, f32; Mat; NC1HWC0 and FRACTAL_Z "
        "from the same layout, NHWC or NCHW to NC1HWC0, NCHW to FRACTAL_Z, NCDHW to NDC1HWC0 or FRACTAL_Z_3D.",
        lambda o: _kinds(o, TYPES_A5, PAIRS_A5),
    ),
    LOAD_A5_20,
)


STORE_CPU = (
    rule(
        "STORE-CPU-06",
        """
            x: Ptr[f16]
            TSTORE(GlobalTensor(x, (1, {1, 1, 2, 4|3, 2, 16, 16}), layout=Layout.{NDC1HWC0|FRACTAL_Z}), {ConvTile(Mat,
                f16, None, Layout.NDC1HWC0, (1, 1, 1, 2, 4, 16))|ConvTile(Mat, f16, None, Layout.FRACTAL_Z, (3, 2, 16,
                16))})
        """,
        evidence="static_assert",
    )(
        "Convolution tiles to store: 8- to 32-bit integers, f16, bf16, f32; Mat; NC1HWC0 or NDC1HWC0 like the view.",
        lambda o: _kinds(o, TYPES, STORED),
    ),
)
