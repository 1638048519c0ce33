"""NumPy forms of moves: regions of tiles, rows, drains, gathers by index; expressions of places.

Rows are the fourth of five dimensions.

A single mode writes the unified buffer of the vector sub-core it names, a dual mode one part to each. Where a program
runs on one core there is one such buffer: both single modes write it, and a dual mode leaves sub-core 0's part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, define
from ptokit.targets import A2A3, A5, Target
from ptokit.types.codecs import pack_nibbles, unpack_nibbles
from ptokit.types.dtypes import DTYPES, i32
from ptokit.types.enums import AccToVecMode, Layout, ReluPreMode, TileType
from ptokit.types.tile import TileSpec, offset_map

from ..machine import Axis, Machine, TileOperand, ViewOperand, combining
from ..numerics.quant import QuantMode, move_mode, quantize
from .expressions import Const, Expr, Index, Place, Reinterpret, Scalar, equal, lane, leaves, less, select
from .matrices import DUAL, column_block, drained_columns, first_part
from .words import Lane

# Elements of tiles by their place: what gathers, scatters and sorts have in common.


def for_all_blocks(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays for all blocks if one of them is."""
    blocks = max(len(x), len(y))
    first, second = (np.broadcast_to(a, (blocks, *a.shape[1:])) for a in (x, y))
    return first, second


def kind(tile: TileOperand) -> np.dtype:
    """The NumPy type of a tile's elements; that of the codes where there is none."""
    return tile.spec.dtype.value or tile.spec.dtype.storage


def flat(tile: TileOperand) -> np.ndarray:
    """All elements of the physical tile in the order of rows: (blocks or 1, elements)."""
    values = tile.read(tile.spec.rows, tile.spec.cols)
    return values.reshape(len(values), -1)


def in_range(m: Machine, rule: str, index: np.ndarray, size: int, what: str) -> np.ndarray:
    """True where an index is in [0, size). Refuses others on the devices; the simulator passes over them."""
    good: np.ndarray = (index >= 0) & (index < size)
    if not good.all() and m.target.is_device:
        block, row, col = (int(n) for n in np.argwhere(~good)[0])
        m.refuse(
            rule,
            f"{what} ({row}, {col}) is {int(index[block, row, col])}; there are {size}",
            block=block if len(index) > 1 else None,
        )
    return good


# Counts of lanes that loops over registers take their lanes from.


def rest(count: Scalar, lanes: int) -> Expr:
    """What is left of an unsigned count of lanes when those of a register are taken from it."""
    return Reinterpret(select(less(count, lanes), Const(0, count), count - lanes), i32)


def lanes_taken(meaning: Any) -> int:
    """The lanes that a meaning takes from a count, its operand, and gives the `rest` of; 0 if it takes none."""
    if not isinstance(meaning, Lane):
        return 0
    for write in meaning.writes:
        counts = {leaf for leaf in leaves(write.value) if isinstance(leaf, Scalar)}
        if any(write.value == rest(count, meaning.lanes) for count in counts):
            return meaning.lanes
    return 0


# Expressions of the interleaved lanes of two operands, and the way back.


_COUNT = DTYPES["u16"]


def interleaved(lanes: int, of: Callable[[str, Index], Expr], *names: str) -> tuple[Expr, Expr]:
    """The lanes of two operands, interleaved: the lower and the upper half of them. ``of``: a lane of an operand."""
    odd = equal(Place(_COUNT) & 1, 1)
    first, second = names
    lo, hi = (lane(over=2, plus=half * lanes) for half in (0, 1))
    return select(odd, of(second, lo), of(first, lo)), select(odd, of(second, hi), of(first, hi))


def split(lanes: int, of: Callable[[str, Index], Expr], *names: str) -> tuple[Expr, Expr]:
    """The even and the odd lanes of two operands, those of the first before those of the second."""
    low = less(Place(_COUNT), lanes // 2)
    first, second = names
    even, odd = (lane(2, start, cycle=lanes) for start in (0, 1))
    return select(low, of(first, even), of(second, even)), select(low, of(first, odd), of(second, odd))


# NumPy forms of moves: regions of tiles set and filled, whatever their storage is.


def put(tile: TileOperand, values: np.ndarray, row: int = 0, col: int = 0) -> None:
    """Set the region at (row, col) to values (blocks or 1, r, c) that may belong to another tile."""
    if row or col:
        tile.patch(values, row, col)
    else:
        tile.write(values.copy() if tile.spec.boxed or tile.spec.dtype.packed else values, *values.shape[1:])


def as_kind(tile: TileOperand, values: np.ndarray) -> np.ndarray:
    """Elements of another type of the same width as those of the tile, bits unchanged."""
    kind = tile.spec.dtype.value or tile.spec.dtype.storage
    return values if values.dtype == kind else values.view(kind)


def fill(tile: TileOperand, row: int, end_row: int, col: int, end_col: int, bits: int) -> None:
    """Fill a region with one storage unit's bits; two different 4-bit halves alternate as the elements lie."""
    if not tile.spec.dtype.packed:
        tile.fill(row, end_row, col, end_col, bits)
    elif row < end_row and col < end_col:
        odd = offset_map(replace(tile.spec, valid_row=-1, valid_col=-1))[row:end_row, col:end_col] % 2 == 1
        tile.patch(np.where(odd, bits >> 4, bits & 0xF).astype(np.uint8)[None], row, col)


def lines(view: ViewOperand, tile: TileOperand, target: Target) -> tuple[ViewOperand, int, int]:
    """A view as a transfer visits it, and the rows and columns of the tile that it moves.

    Of tiles without boxes devices move all lines of the view, each as long as the valid region; of Nz tiles in UB the
    valid rows of all blocks of the view.
    """
    layout = view.layout_for(tile.spec.takes_rows)
    if target.templates and tile.spec.loc is TileType.Vec and tile.spec.layout_name == "Nz":
        return view.with_layout(Layout.NZ), tile.vr, tile.vc
    if by_blocks(tile.spec, layout, target) and tile.vr and tile.vc:
        rows, cols = view.extent(layout)
        if (rows, cols) != (tile.vr, tile.vc) and cols <= tile.spec.cols:
            return view.with_rows(tile.vr), tile.vr, cols
    if not by_lines(tile.spec, layout, target) or 0 in (tile.vr, tile.vc):
        return view, tile.vr, tile.vc
    rows, cols = view.extent(layout)
    if (rows, cols) == (tile.vr, tile.vc) and view.stride[4 if layout is Layout.ND else 3] == 1:
        return view, rows, cols
    gaps = target.transfers_state_gaps
    if layout is Layout.ND:
        return view.with_lines(4, tile.vc, gaps=gaps), rows, tile.vc
    return view.with_lines(3, tile.vr, gaps=gaps), tile.vr, cols


def by_lines(spec: Any, layout: Layout | None, target: Target) -> bool:
    """True if transfers between the tile and a view of this layout move lines of the view."""
    if not target.is_device or not isinstance(spec, TileSpec) or spec.boxed:
        return False
    if spec.loc is not TileType.Vec and not (spec.loc is TileType.Mat and target.is_a(A5)):
        return False
    return layout is (Layout.ND if spec.row_major else Layout.DN)


def by_blocks(spec: Any, layout: Layout | None, target: Target) -> bool:
    """True if transfers between the tile and a view of this layout move blocks of columns."""
    in_ub = isinstance(spec, TileSpec) and spec.loc is TileType.Vec and spec.layout_name == "Nz"
    return target.is_device and in_ub and layout is Layout.NZ


def load(tile: TileOperand, view: ViewOperand, target: Target) -> None:
    """Set a tile to a view as a transfer moves it: the valid region, or all of the view.

    Into the fractals of L1, and into a vector there, a2a3 moves the view, whatever is valid; the rest of the last
    block of a line becomes zero.
    """
    view, *moved = lines(view, tile, target)
    other = by_blocks(tile.spec, view.layout_for(tile.spec.takes_rows), target) and moved != [tile.vr, tile.vc]
    layout, spec = view.layout_for(tile.spec.takes_rows), tile.spec
    if target.is_a(A2A3) and spec.loc is TileType.Mat and layout in (Layout.ND, Layout.DN) and tile.vr and tile.vc:
        rows, cols = view.extent(layout)
        whole = spec.boxed or 1 in (spec.rows, spec.cols)
        if whole and (rows, cols) != (tile.vr, tile.vc) and rows <= spec.rows and cols <= spec.cols:
            tile.load(view, layout, (rows, cols))
            c0 = int(spec.c0)
            if layout is Layout.ND:
                fill(tile, 0, rows, cols, min(spec.cols, -(-cols // c0) * c0), 0)
            else:
                fill(tile, rows, min(spec.rows, -(-rows // c0) * c0), 0, cols, 0)
            return
    tile.load(view, layout, (moved[0], moved[1]) if other else None)


def store(
    view: ViewOperand, values: np.ndarray, row_major: bool, blocks: int, combine: Callable[..., Any] | None
) -> None:
    """Write values of the width of the view's elements, or combine them with those that are there."""
    layout = view.layout_for(row_major)
    kind = view.dtype.value or view.dtype.storage
    values = values if values.dtype == kind else values.view(kind)
    if combine is None:
        view.store(values, layout)
    else:
        view.update(values, layout, combine, blocks)


def window(tile: TileOperand, row: int, col: int, rows: int, cols: int) -> np.ndarray:
    """Values of [row, row + rows) x [col, col + cols) of the physical tile; not to be modified."""
    values = tile.read(row + rows, col + cols)
    return values[:, row:, col:] if row or col else values


def stored(tile: TileOperand) -> np.ndarray:
    """A copy of the elements' codes as they lie in memory: (blocks, rows * cols)."""
    raw = tile.raw()
    return unpack_nibbles(raw) if tile.spec.dtype.packed else raw.view(tile.spec.dtype.storage).copy()


def store_at(tile: TileOperand, offsets: Any, codes: np.ndarray) -> None:
    """Set the elements at `offsets` (an array or slice, in elements) to codes (blocks or 1, *offsets.shape)."""
    raw = tile.raw()
    if tile.spec.dtype.packed:
        elements = unpack_nibbles(raw)
        elements[:, offsets] = codes
        raw[...] = pack_nibbles(elements)
    else:
        raw.view(tile.spec.dtype.storage)[:, offsets] = codes


def codes_of(values: np.ndarray, tile: TileOperand) -> np.ndarray:
    """Values of the tile's type as codes of its storage type."""
    return values.view(tile.spec.dtype.storage) if values.dtype != tile.spec.dtype.storage else values


# Rows of bytes between memories, with the loops that registers hold around them.


def loops_of(m: Machine, direction: str) -> list[Axis]:
    """The two outer loops as (count, destination stride, source stride), the outermost first."""
    counts = m.registers.get(f"loop_size_{direction}", (1, 1))
    out: list[Axis] = []
    for level in (2, 1):
        src, dst = m.registers.get(f"loop{level}_stride_{direction}", (0, 0))
        out.append((counts[level - 1], dst, src))
    return out


def levels(loops: Sequence[int]) -> list[Axis]:
    """Loop groups (count, source stride, destination stride), the first one innermost, as axes from outside."""
    out = [(loops[k], loops[k + 2], loops[k + 1]) for k in range(0, len(loops), 3)]
    return out[::-1]


def bursts(
    m: Machine,
    src: Any,
    dst: Any,
    axes: list[Axis],
    length: int,
    before: int,
    loops: str,
    alignment: int,
    *,
    unread: bool = False,
    core: Any = 0,
) -> None:
    """Copy rows of `length` bytes; those of the unified buffer begin at multiples of `alignment` bytes.

    What goes to global memory is combined with it as the control register says. ``unread``: what has not been written
    stays unwritten for whoever needs it. ``core``: the vector core whose buffer the destination is.
    """
    if loops:
        axes = [*loops_of(m, loops), *axes]
    if alignment > 1:
        into = getattr(dst, "space", "") == "ub"
        for count, to, frm in axes:
            stride = to if into else frm
            if count > 1 and stride % alignment:
                m.refuse("DMA-A5-02", f"the UB stride of {stride} bytes is not a multiple of {alignment}")
    combine = None if getattr(dst, "space", "gm") != "gm" else combining(m)
    if unread:
        rows = m.fetch(src, 0, [(n, s) for n, _, s in axes], length, needed=((), 0))
        m.deposit(dst, before, [(n, d) for n, d, _ in axes], rows, sub=int(core))
    elif combine is None:
        m.copy(dst, before, src, axes, length)
    else:
        element = combine[1].value or combine[1].storage
        rows = m.fetch(src, 0, [(n, s) for n, _, s in axes], length).view(element)
        m.deposit(dst, before, [(n, d) for n, d, _ in axes], rows, combine=combine)


# The NumPy form of transfers between devices: every device's part is a view of global memory (pto-isa docs/isa/comm).


define(
    "COMM-01",
    "The parts of a transfer between devices have one element type, and sizes that fit together.",
    scope=Scope.RUN,
    source="pto-isa docs/isa/comm",
    why="What is stored has the sizes of a part, and as many rows as all parts that are put together; memory that has "
    "more rows keeps them.",
    example="""
        // ptokit run
        func.func @f(%a: !pto.partition_tensor_view<{8|6}x64xf32>, %b: !pto.partition_tensor_view<4x64xf32>,
          %c: !pto.partition_tensor_view<4x64xf32>) {
          %t = pto.alloc_tile : !pto.tile_buf<vec, 1x64xf32>
          pto.comm.tgather(%a, recv(%t), group(%b, %c) : !pto.partition_tensor_view<{8|6}x64xf32>, !pto.tile_buf<vec,
            1x64xf32>, !pto.partition_tensor_view<4x64xf32>, !pto.partition_tensor_view<4x64xf32>)
          return
        }
    """,
)


def transferred(
    m: Machine,
    dst: ViewOperand | Sequence[ViewOperand],
    src: ViewOperand | Sequence[ViewOperand],
    rows: bool,
    fold: Callable[..., np.ndarray] | None = None,
    combine: Callable[..., np.ndarray] | None = None,
    first: int = 0,
) -> None:
    """``dst = src``, as `words.Transfer` says."""
    if isinstance(dst, Sequence):
        assert not isinstance(src, Sequence)
        whole = src
        if rows:
            places = [_of_part(m, whole, part, k, len(dst)) for k, part in enumerate(dst)]
        else:
            places = [_offsets(whole)] * len(dst)
        for part, found in zip(dst, [_read(whole, place) for place in places]):
            _write(m, part, _of_part(m, part, part if rows else whole), found)
        return
    members = list(src) if isinstance(src, Sequence) else [src]
    count = len(members) if rows else 1
    to = [_of_part(m, dst, part, k if rows else 0, count) for k, part in enumerate(members)]
    values = [_read(part, _offsets(part)) for part in members]
    if fold is not None and values:
        order = sorted(range(len(values)), key=lambda k: k != first)
        to, values = to[:1], [reduce(fold, [values[k] for k in order])]
    for place, read in zip(to, values):
        _write(m, dst, place, read, combine)


def _of_part(m: Machine, whole: ViewOperand, part: ViewOperand, k: int = 0, count: int = 1) -> np.ndarray:
    """The elements of `whole` that are those of part `k` of `count`: its rows, at least so many."""
    if whole.dtype is not part.dtype:
        m.refuse("COMM-01", f"one part has element type {part.dtype}, the other {whole.dtype}")
    *outer, rows, cols = part.shape
    *others, have, width = whole.shape
    if (others, width) != (outer, cols) or have < count * rows:
        sizes = "x".join(map(str, whole.shape)), "x".join(map(str, part.shape))
        m.refuse("COMM-01", f"{sizes[0]} elements do not hold {count} times {sizes[1]}")
    return _offsets(whole)[:, :, :, k * rows : (k + 1) * rows]


def _offsets(view: ViewOperand) -> np.ndarray:
    """Offsets of the elements from the first, of the five dimensions of the view."""
    found: np.ndarray = np.zeros((), np.int64)
    for size, step in zip(view.shape, view.stride):
        found = found[..., None] + np.arange(size, dtype=np.int64) * step
    return found


def _read(view: ViewOperand, offsets: np.ndarray) -> np.ndarray:
    view.check_bounds()
    return view.gather(offsets.reshape(1, 1, -1), _describe)


def _write(m: Machine, view: ViewOperand, offsets: np.ndarray, values: np.ndarray, combine: Any = None) -> None:
    def put(memory: np.ndarray, where: np.ndarray, new: np.ndarray) -> None:
        if combine is None:
            memory[where] = new
            return
        for places, found in zip(where.reshape(m.blocks, -1), new.reshape(m.blocks, -1)):
            memory[places] = combine(memory[places], found)

    view.check_bounds()
    view.begin_store(whole=False)
    view.scatter(offsets.reshape(1, 1, -1), values, put, m.blocks, _describe)


def _describe(block: int, row: int, col: int) -> str:
    return f"element {col}"


# NumPy forms of moves out of an accumulator through the fix-pipe (move-gather-scatter 4.12, 6).


def drain(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    region: tuple[int, int, int, int],
    at: tuple[int, int],
    words: Any,
    relu: ReluPreMode,
    mode: AccToVecMode | None,
) -> None:
    """Move the region (row, col, rows, cols) of the accumulator, quantised, to (row, col) = `at` of `dst`.

    ``words``: a tile with one for each column, one for all, or None.
    """
    row, col, rows, cols = region
    if m.target.is_device and dst.spec.layout_name == "Nz":
        cols = min(drained_columns(dst.spec, m.target, cols, mode), src.spec.cols - col, dst.spec.cols - at[1])
        rows = min(rows, dst.spec.rows - at[0])
    second = m.on_sub_core(dst, 1) if mode in (*DUAL, AccToVecMode.SingleModeVec1) else None
    if mode is AccToVecMode.SingleModeVec1 and second is not None:
        dst = second
    elif mode in DUAL and second is not None:
        r, c = first_part(mode, rows, cols)
        rest = (row + r, col, rows - r, cols) if r < rows else (row, col + c, rows, cols - c)
        drain(m, second, src, rest, at, words, relu, None)
    rows, cols = first_part(mode, rows, cols)
    plain = words is None and relu is ReluPreMode.NoRelu and src.spec.dtype is dst.spec.dtype
    if plain and (row, col, *at) == (0, 0, 0, 0):
        dst.take(src, rows, cols)
        return
    values = _fix_pipe(m, src, dst, (row, col, rows, cols), words, relu)
    block = column_block(dst.spec, m.target)
    if m.target.is_device and dst.spec.layout_name == "Nz" and block != dst.spec.box.cols:
        _put_blocks(dst, values, block, at)
    else:
        put(dst, values, *at)


def _put_blocks(dst: TileOperand, values: np.ndarray, block: int, at: tuple[int, int]) -> None:
    """Store to an Nz tile whose column blocks, as the fix-pipe sees them, are not the boxes of its type."""
    r = at[0] + np.arange(values.shape[1])[:, None]
    c = at[1] + np.arange(values.shape[2])[None, :]
    store_at(dst, (c // block) * dst.spec.rows * block + r * block + c % block, codes_of(values, dst))


def _words(tile: TileOperand, col: int, cols: int) -> np.ndarray:
    """The words of some columns; the bytes of a tile of other elements are words of 64 bits, too."""
    if tile.spec.dtype.size == 8:
        found = window(tile, 0, col, 1, min(cols, tile.spec.cols - col))
        return np.pad(found, ((0, 0), (0, 0), (0, cols - found.shape[2]))) if found.shape[2] < cols else found
    return tile.raw().view(np.uint64)[:, None, col : col + cols]


def _fix_pipe(
    m: Machine, src: TileOperand, dst: TileOperand, region: tuple[int, int, int, int], words: Any, relu: ReluPreMode
) -> np.ndarray:
    """Accumulator elements as they arrive in `dst` (move-gather-scatter 6)."""
    row, col, rows, cols = region
    values = window(src, row, col, rows, cols)
    form = "vector" if hasattr(words, "spec") else "cast" if words is None else "scalar"
    mode = move_mode(m.target, form, src.spec.dtype, dst.spec.dtype)
    positive = relu is ReluPreMode.NormalRelu
    if mode is QuantMode.NoQuant and src.spec.dtype is dst.spec.dtype and not positive:
        return values
    of_columns = _words(words, col, cols) if form == "vector" else words or 0
    return quantize(values, dst.spec.dtype, mode, of_columns, relu=positive, target=m.target)


# NumPy forms of gathers and scatters by an index tile.


def gather_tile(m: Machine, dst: TileOperand, src: TileOperand, index: TileOperand, rule: str) -> None:
    """Elements of a tile; an index out of range is refused on devices, and gives 0 elsewhere."""
    if not (dst.vr and dst.vc):
        return
    places = index.read(dst.vr, dst.vc).astype(np.int64)
    values = flat(src)
    good = in_range(m, rule, places, values.shape[1], "index")
    values, where = for_all_blocks(values, np.where(good, places, 0).reshape(len(places), -1))
    found = np.take_along_axis(values, where, axis=1).reshape(-1, dst.vr, dst.vc)
    dst.write(np.where(good, found, np.zeros((), found.dtype)), dst.vr, dst.vc)


def scatter_tile(m: Machine, dst: TileOperand, src: TileOperand, index: TileOperand, rule: str) -> None:
    """0 everywhere in a tile, then elements at their places; one out of range is refused on devices, or left out."""
    rows, cols = dst.spec.rows, dst.spec.cols
    x, places = for_all_blocks(src.read(index.vr, index.vc), index.read().astype(np.int64))
    good = in_range(m, rule, places, rows * cols, "index")
    out = np.zeros((len(x), rows * cols), x.dtype)
    for block, (values, where, kept) in enumerate(zip(x, places, good)):
        out[block, where[kept]] = values[kept]  # of equal places the last one counts
    dst.write(out.reshape(len(x), rows, cols), rows, cols)
