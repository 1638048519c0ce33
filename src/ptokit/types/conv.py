"""`ConvSpec`: tiles of convolution data, with up to six named dimensions (types-and-layouts 8).

A convolution tile is stored densely in the order of its dimensions, whatever its layout; to storage it is one row of
elements. What its dimensions mean comes from the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ptokit.records import dataclass

from .dtypes import DType
from .enums import Layout, TileType
from .tile import DYNAMIC, TileSpec


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
