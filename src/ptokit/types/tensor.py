"""GlobalTensor, tiles of convolution data, and pad values (types-and-layouts 4, 8, 9).

A convolution tile is stored densely in the order of its dimensions, whatever its layout; to storage it is one row of
elements. What its dimensions mean comes from the layout.

A pad value is a number: a `PadValue` member, or ``CUSTOM_PAD | bits`` with 32 bits of the caller's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ptokit.records import dataclass

from .dtypes import DType
from .enums import Layout, PadValue, TileType
from .tile import CUSTOM_PAD, DYNAMIC, TileSpec

# GlobalTensor: 5-D shape and stride, layouts, and the 2-D view an instruction sees (types-and-layouts 9).


Dims5 = tuple[int, int, int, int, int]

# Axes of a 5-D view that make up the rows and the columns of its 2-D view, outermost first (types-and-layouts 9.1,
# load-store 5). NDC1HWC0 has a further column axis: the C0 elements after each position, contiguous.
ROW_COL_AXES: dict[Layout, tuple[tuple[int, ...], tuple[int, ...]]] = {
    Layout.ND: ((0, 1, 2, 3), (4,)),
    Layout.DN: ((3,), (0, 1, 2, 4)),
    Layout.NZ: ((2, 3), (0, 1, 4)),
    Layout.NC1HWC0: ((0, 2, 3), (1, 4)),
    Layout.NDC1HWC0: ((0, 3, 4), (1, 2)),
    Layout.FRACTAL_Z: ((0, 1, 2, 4), (3,)),
    Layout.FRACTAL_Z_3D: ((0, 1, 2, 4), (3,)),
    Layout.NHWC: ((0, 1, 2, 3), (4,)),
    Layout.NCHW: ((0, 1, 3, 4), (2,)),
    Layout.NCDHW: ((0, 2, 3, 4), (1,)),
    Layout.MX_A_ZZ: ((0, 1, 3), (2, 4)),
    Layout.MX_B_NN: ((2, 4), (0, 1, 3)),
    Layout.MX_A_ND: ((2,), (3, 4)),
    Layout.MX_A_DN: ((3,), (2, 4)),
    Layout.MX_B_ND: ((2, 4), (3,)),
    Layout.MX_B_DN: ((3, 4), (2,)),
    Layout.HIF4_A_ZZ: ((0, 1, 3), (2, 4)),
    Layout.HIF4_B_NN: ((2, 4), (0, 1, 3)),
}

SCALE_GROUPS = {
    Layout.MX_A_ZZ: (16, 2),
    Layout.MX_B_NN: (2, 16),
    Layout.HIF4_A_ZZ: (16, 4),
    Layout.HIF4_B_NN: (4, 16),
}
"""Rows and columns of the groups in which scales are stored as they lie in the tile."""


def sizes_of_scales(layout: Layout, sizes: Sequence[Any]) -> tuple[Any, ...]:
    """Sizes of a view of scales in pairs, where a program states rows and columns: what is valid of the tile decides
    how many are loaded, and strides where they are (pto-isa a5/TLoad)."""
    of_left = layout in (Layout.MX_A_ND, Layout.MX_A_DN)
    if not of_left and layout not in (Layout.MX_B_ND, Layout.MX_B_DN):
        return tuple(sizes)
    others, along = sizes[3:] if of_left else sizes[:2:-1]
    known = [n if isinstance(n, int) else 0 for n in sizes]
    if known[2] != 1 or known[4] == 2 or not isinstance(along, int) or along % 2:
        return tuple(sizes)
    pairs = along // 2, others
    return (1, 1, *(pairs[::-1] if layout in (Layout.MX_A_ND, Layout.MX_B_DN) else pairs), 2)


HIF4_PAIRS = {Layout.HIF4_A_ZZ: Layout.MX_A_ZZ, Layout.HIF4_B_NN: Layout.MX_B_NN}
"""Groups of 16 x 4 scales of HiFloat4 are two of 16 x 2, one after the other: Ea and Eb, then both bytes of Ec."""


def inner_channels(dtype: DType, layout: Layout) -> int:
    """Elements after each position of a view whose shape does not list them: C0 for NDC1HWC0, else 1."""
    return dtype.c0 if layout is Layout.NDC1HWC0 else 1


def right_align(shape: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Extend 1- to 5-D shape and strides to 5-D with leading ones (types-and-layouts 10).

    Missing leading strides follow ``stride[i] = shape[i+1] * stride[i+1]``.
    """
    shape, strides = list(shape), list(strides)
    while len(shape) < 5:
        strides.insert(0, shape[0] * strides[0])
        shape.insert(0, 1)
    return shape, strides


def base_shape_2d(dtype: DType, rows: int, cols: int, layout: Layout = Layout.ND) -> Dims5:
    """Strides in elements of a packed 2-D tensor: the C++ helper ``BaseShape2D`` (types-and-layouts 9.2)."""
    n, c0 = rows * cols, 32 // dtype.size
    table: dict[Layout, tuple[int, int, int, int]] = {
        Layout.ND: (n, n, cols, 1),
        Layout.DN: (n, n, 1, rows),
        Layout.NZ: (rows * c0, 16 * c0, c0, 1),
        Layout.MX_A_ZZ: (cols * 16, 32, 2, 1),
        Layout.MX_A_ND: (n, cols, 2, 1),
        Layout.MX_A_DN: (n, rows * 2, 2, 1),
        Layout.MX_B_NN: (rows * 16, 32, 2, 1),
        Layout.MX_B_ND: (n, cols * 2, 2, 1),
        Layout.MX_B_DN: (n, rows, 2, 1),
        Layout.HIF4_A_ZZ: (cols * 16, 64, 4, 1),
        Layout.HIF4_B_NN: (rows * 16, 64, 4, 1),
    }
    if layout not in table:
        raise ValueError(f"BaseShape2D has no form for layout {layout.name}")
    return (n, *table[layout])


def tile_shape_2d(dtype: DType, rows: int, cols: int, layout: Layout = Layout.ND) -> Dims5:
    """Shape of a 2-D tensor in a layout: the C++ helper ``TileShape2D`` (types-and-layouts 9.2)."""
    c0 = 32 // dtype.size
    if layout is Layout.NZ and (rows % 16 or cols % c0):
        raise ValueError(f"NZ needs rows % 16 == 0 and cols % {c0} == 0, not {rows}x{cols}")
    table: dict[Layout, Dims5] = {
        Layout.ND: (1, 1, 1, rows, cols),
        Layout.DN: (1, 1, 1, rows, cols),
        Layout.NZ: (1, cols // c0, rows // 16, 16, c0),
        Layout.MX_A_ZZ: (1, rows // 16, cols // 2, 16, 2),
        Layout.MX_A_ND: (1, 1, rows, cols // 2, 2),
        Layout.MX_A_DN: (1, 1, cols // 2, rows, 2),
        Layout.MX_B_NN: (1, cols // 16, rows // 2, 16, 2),
        Layout.MX_B_ND: (1, 1, rows // 2, cols, 2),
        Layout.MX_B_DN: (1, 1, cols, rows // 2, 2),
        Layout.HIF4_A_ZZ: (1, rows // 16, cols, 16, 4),
        Layout.HIF4_B_NN: (1, cols // 16, rows, 16, 4),
    }
    if layout not in table:
        raise ValueError(f"TileShape2D has no form for layout {layout.name}")
    return table[layout]


def infer_layout(dtype: DType, shape: Sequence[int], strides: Sequence[int]) -> Layout | None:
    """Layout of a view that states none (types-and-layouts 10, assembly 7.2); `DYNAMIC` marks unknown numbers.

    None if it cannot be told: the deciding strides are unknown, or the view is a vector that fits ND and DN alike.
    """
    rank = len(shape)
    if rank == 1:
        return Layout.ND
    if (
        rank >= 5
        and shape[2] == 16
        and 16 * shape[3] * dtype.size == 512
        and strides[4] == 1
        and strides[3] == shape[4]
    ):
        return Layout.NZ
    row_major = strides[-1] == 1 or shape[-1] == 1
    col_major = strides[-2] == 1 or shape[-2] == 1
    if row_major != col_major:
        undecided = (
            (strides[-2] == DYNAMIC or shape[-2] == DYNAMIC)
            if row_major
            else (strides[-1] == DYNAMIC or shape[-1] == DYNAMIC)
        )
        if not undecided:
            return Layout.ND if row_major else Layout.DN
        # A dynamic pitch next to a constant 1 is the usual way to write a matrix.
        return Layout.ND if strides[-1] == 1 else Layout.DN if strides[-2] == 1 else None
    if row_major or DYNAMIC in (strides[-1], strides[-2]):
        return None
    return Layout.ND


def vector_layout(shape: Sequence[int], *, row_major_tile: bool) -> Layout:
    """Layout of a view that fits ND and DN alike: what the tile it meets has."""
    if shape[-1] != 1 and shape[-2] != 1:
        return Layout.ND
    return Layout.ND if row_major_tile else Layout.DN


# `ConvSpec`: tiles of convolution data, with up to six named dimensions (types-and-layouts 8).


@dataclass(frozen=True, slots=True)
class ConvState:
    """Image-to-column parameters that a convolution tile carries; ``padding`` is (left, right, top, bottom).

    Of repetition only what says whether there is any: no public source describes what it does (IMG-COM-03).
    """

    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    fmap: tuple[int, int] = (0, 0)  # height, width
    filter: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    pad_value: int = 0
    repeat_time: int = 1
    repeat_mode: int = 0
    transpose: bool = False


@dataclass(frozen=True, slots=True)
class ConvSpec(TileSpec):
    """Type of a convolution tile.

    ``dims`` are sizes in elements, outermost first, `DYNAMIC` where only the run knows them; ``cols`` is the size of
    the buffer in elements. Made by `conv_tile`.
    """

    layout: Layout = Layout.NC1HWC0
    dims: tuple[int, ...] = ()
    state: ConvState = ConvState()

    def __str__(self) -> str:
        dims = "x".join("?" if d == DYNAMIC else str(d) for d in self.dims)
        return f"conv_tile<{self.loc.text}, {self.layout.text}, {dims}x{self.dtype.text}>"


def conv_tile(
    loc: TileType,
    dtype: DType,
    layout: Layout,
    dims: Sequence[int],
    *,
    buffer_bytes: int | None = None,
    state: ConvState | None = None,
) -> ConvSpec:
    """A convolution tile of 1 to 6 dimensions, outermost first.

    ``buffer_bytes`` is the C++ parameter BufferSize, taken as bytes; it may be left out where all sizes are known.
    Raises `ValueError` for a buffer that is too small, or missing.
    """
    dims = tuple(dims)
    if not 1 <= len(dims) <= 6:
        raise ValueError(f"a convolution tile has 1 to 6 dimensions, not {len(dims)}")
    is_open = DYNAMIC in dims
    if buffer_bytes is None:
        if is_open:
            raise ValueError("a convolution tile with open dimensions needs the size of its buffer")
        buffer_bytes = dtype.nbytes(prod(dims))
    elements = buffer_bytes * 2 if dtype.packed else buffer_bytes // dtype.size
    if not is_open and prod(dims) > elements:
        raise ValueError(f"{'x'.join(map(str, dims))} elements do not fit a buffer of {buffer_bytes} bytes")
    return ConvSpec(
        loc,
        dtype,
        1,
        elements,
        1,
        DYNAMIC if is_open else prod(dims),
        layout=layout,
        dims=dims,
        state=state or ConvState(),
    )


# Pad values: what TLOAD and TFILLPAD write outside the valid region (types-and-layouts 4).


# Bits of (Min, Max). Types that are not listed pad with zero bits: 64-bit integers, FP8, HiFloat8, FP4.
_LIMITS: dict[str, tuple[int, int]] = {
    "f32": (0xFF800000, 0x7F800000),
    "f16": (0xFC00, 0x7C00),
    "bf16": (0xFF80, 0x7F80),
    "i32": (0x80000000, 0x7FFFFFFF),
    "i16": (0x8000, 0x7FFF),
    "i8": (0x80, 0x7F),
    "u32": (0, 0xFFFFFFFF),
    "u16": (0, 0xFFFF),
    "u8": (0, 0xFF),
}


_FINITE: dict[str, tuple[int, int]] = {
    "f32": (0xFF7FFFFF, 0x7F7FFFFF),
    "f16": (0xFBFF, 0x7BFF),
    "bf16": (0xFF7F, 0x7F7F),
}
"""The same without infinities."""


def is_custom(pad: int) -> bool:
    """True for a custom pad value."""
    return pad >= CUSTOM_PAD


def pad_bits(dtype: DType, pad: int, *, wide: bool = True, finite: bool = False) -> int:
    """Bits written to one storage unit of a tile whose pad value is `pad`; no numeric conversion takes place.

    All targets use the device table. A custom value fills 8-byte units with its 32 bits in both halves; where the
    target does not (``wide`` is False), it is rejected before it gets here, and gives 0.
    Packed 4-bit types: the unit is a byte of two elements. ``finite``: Min and Max are the largest numbers, not
    infinities.
    """
    if is_custom(pad):
        bits = pad & 0xFFFFFFFF
        if dtype.size == 8:
            return bits << 32 | bits if wide else 0
        return bits & ((1 << (8 * dtype.size)) - 1)
    limits = _LIMITS | _FINITE if finite else _LIMITS
    low, high = limits.get(dtype.name, (0, 0))
    return {PadValue.Min: low, PadValue.Max: high}.get(PadValue(pad), 0)


# Which element of global memory each place of a convolution tile holds (load-store 3.7). Each dimension of the tile, or
# part of one, where a dimension such as C1HW is a product, steps through global memory with a stride. Channels and N
# are split into groups, whose last one may be incomplete.


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
CONV_AXES: dict[tuple[Layout, Layout], tuple[Maker, tuple[int, ...], int | None, int | None]] = {
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
    pair = CONV_AXES.get((layout, spec.layout)) if layout is not None else None
    return pair is not None and len(spec.dims) in pair[1]
