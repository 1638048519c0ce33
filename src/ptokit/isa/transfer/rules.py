"""What loads, stores and prefetches share: shapes, strides, and the rules for all targets.

``g`` is the 5-D shape of the view, ``t`` its strides in elements, as in the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptokit.diagnostics import Doubt, family
from ptokit.diagnostics.finding import Change
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Layout, TileType
from ptokit.types.tensor import CONV_AXES, ROW_COL_AXES, ConvSpec, fits_pair, inner_channels
from ptokit.types.tile import DYNAMIC

from ..site import Site, Size, TileInfo, ViewInfo, known, product

SOURCE = "load-store 11"
DEVICES = ("a2a3", "a5")
PLAIN = (Layout.ND, Layout.DN, Layout.NZ)
MX_A = (Layout.MX_A_ZZ, Layout.MX_A_ND, Layout.MX_A_DN, Layout.HIF4_A_ZZ)
MX_B = (Layout.MX_B_NN, Layout.MX_B_ND, Layout.MX_B_DN, Layout.HIF4_B_NN)
MX = MX_A + MX_B
BASE = frozenset(DTYPES[n] for n in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32"))

Message = str | tuple[str, str] | None
Check = Callable[[Site], Message]


rule = family(SOURCE)


def other_rule(id: str, what: str, **more: Any) -> None:
    """A rule of load-store 11 that another part of ptokit reports."""
    rule(id, what=what, **more)(None)


def sides(o: Site) -> tuple[TileInfo, ViewInfo]:
    """The tile and the view of a load, store or prefetch, whichever is the destination."""
    a, b = o.dst, o.src
    return (b, a) if isinstance(a, ViewInfo) else (a, b)


def is_load(o: Site) -> bool:
    """True if the view is read."""
    return isinstance(o.dst, TileInfo)


def tile_name(o: Site) -> str:
    """The name of the operand that is the tile."""
    return "dst" if is_load(o) else "src"


def is_conv(tile: TileInfo) -> bool:
    """True for a convolution tile, which has rules of its own."""
    return isinstance(tile.spec, ConvSpec)


def names(types: frozenset[DType]) -> str:
    """The types in table order, for messages."""
    return " ".join(n for n, t in DTYPES.items() if t in types)


def shape_text(view: ViewInfo) -> str:
    """The shape as text: ``(1, 1, 1, 16, ?)``."""
    return "(" + ", ".join(str(g) for g in view.shape) + ")"


EXTENDED_TYPES = "run with --extended to let the cpu target take the types of a5"
"""The hint where cpu refuses element types that the devices have."""


# Shapes --------------------------------------------------------------------------------------------------------------


def extent(view: ViewInfo, layout: Layout) -> tuple[Size, Size]:
    """Rows and columns of the 2-D view (types-and-layouts 9.1)."""
    rows, cols = ROW_COL_AXES[layout]
    g = view.shape
    return product(g[a] for a in rows), product(g[a] for a in cols) * inner_channels(view.dtype, layout)


def mismatch(tile: TileInfo, rows: Size, cols: Size, what: str) -> Message:
    """A message if the valid region is known not to be rows x cols."""
    if tile.vr != rows or tile.vc != cols:
        if 0 in (tile.vr, tile.vc, rows, cols):
            return None  # LS-COM-03 says it better
        return (
            f"the valid region of {tile.name} is {tile.vr}x{tile.vc}, {what} is {rows}x{cols}",
            "make the partition view as large as the valid region",
        )
    return None


def disagrees(tile: TileInfo, view: ViewInfo, layout: Layout) -> Message:
    """A message if the valid region and the view in `layout` are known to differ (load-store 2)."""
    rows, cols = extent(view, layout)
    return mismatch(tile, rows, cols, f"the {layout.name} view {shape_text(view)}")


def differs_by_lines(o: Site, layout: Layout) -> Message:
    """A message if valid region and view differ: a doubt where the device moves what both have, and no line too many.

    It moves all lines of the view, rows of ND and columns of DN, of each as many elements as are valid. Lines that are
    longer than those of the view are filled up with what follows, or in a store leave it, unless a2a3 packs them one
    after the other.
    """
    tile, view = sides(o)
    wrong = disagrees(tile, view, layout)
    if not isinstance(wrong, tuple):
        return wrong
    (rows, cols), nd = extent(view, layout), layout is Layout.ND
    lines, room = (rows, tile.rows) if nd else (cols, tile.cols)
    valid, longest, length = (tile.vr, cols, tile.vc) if nd else (tile.vc, rows, tile.vr)
    alone = tile.loc is TileType.Mat and lines == 1
    longer = length > longest and not alone and not (o.target.transfers_state_gaps and _packed(view, layout))
    if lines > room or (lines < valid if is_load(o) else longer):
        return wrong
    return Doubt(wrong[0]), wrong[1]


def _packed(view: ViewInfo, layout: Layout) -> bool:
    """True for lines that follow each other: gaps between them are stated, so that longer ones do, too."""
    length, dims = run_length(view, layout)
    return bool(view.stride[dims[-1]] == length and product(view.shape[:3]) == 1)


def differs_by_blocks(o: Site) -> Message:
    """A message if valid region and NZ view differ: a doubt where the device moves the valid rows of all its blocks."""
    tile, view = sides(o)
    wrong = disagrees(tile, view, Layout.NZ)
    if not isinstance(wrong, tuple):
        return wrong
    rows, cols = extent(view, Layout.NZ)
    if tile.loc is not TileType.Vec or tile.vr > rows or cols > tile.cols or (is_load(o) and cols < tile.vc):
        return wrong
    return Doubt(wrong[0]), wrong[1]


def not_2d(view: ViewInfo, what: str) -> Message:
    """A message if a leading dimension is known to be larger than 1."""
    for d in range(3):
        if view.shape[d] > 1:
            return f"dimension {d} of the view is {view.shape[d]}; {what} takes 2-D views (leading dimensions 1)"
    return None


def wrong_dim(view: ViewInfo, dim: int, *allowed: int) -> Message:
    """A message if g[dim] is known and none of `allowed`."""
    g = view.shape[dim]
    if not known(g) or g in allowed:
        return None
    wanted = " or ".join(str(a) for a in allowed)
    return f"dimension {dim} of the view {shape_text(view)} is {g}; it must be {wanted}"


def too_many(view: ViewInfo, dim: int, limit: int) -> Message:
    """A message if g[dim] reaches `limit`."""
    if view.shape[dim] >= limit:
        return f"dimension {dim} of the view is {view.shape[dim]}; the transfer counts to {limit - 1}"
    return None


def broken_block(view: ViewInfo, *c0: int) -> Message:
    """A message if an NZ view does not consist of blocks of 16 x C0."""
    return wrong_dim(view, 3, 16) or wrong_dim(view, 4, *c0)


# Strides -------------------------------------------------------------------------------------------------------------


def wrong_stride(view: ViewInfo, assumed: Mapping[int, Size], path: str) -> Message:
    """A message if a stride that matters differs from the one the transfer takes for granted."""
    for d, want in assumed.items():
        g, t = view.shape[d], view.stride[d]
        if g > 1 and t != want:
            return f"stride {d} of the view is {t}; {path} takes {want} for granted"
    return None


def nz_strides(view: ViewInfo) -> dict[int, Size]:
    """Strides inside the columns of blocks of an NZ view, which are packed."""
    c0, rows = view.dtype.c0, view.shape[3]
    return {4: 1, 3: c0, 2: rows * c0}


def run_length(view: ViewInfo, layout: Layout) -> tuple[Size, tuple[int, ...]]:
    """Contiguous elements of a transfer, and the dimensions whose strides lead from one run to the next."""
    g = view.shape
    if layout is Layout.NZ:
        return g[2] * g[3] * g[4], (0, 1)
    return (g[4], (0, 1, 2, 3)) if layout is Layout.ND else (g[3], (0, 1, 2, 4))


def overlapping(view: ViewInfo, layout: Layout, *, inner_only: bool = False) -> Message:
    """A message if a stride is known to be shorter than the contiguous run it steps over."""
    length, dims = run_length(view, layout)
    for d in dims[-1:] if inner_only else dims:
        if view.shape[d] > 1 and view.stride[d] < length:
            return (
                f"stride {d} of the view is {view.stride[d]}, shorter than the run of {length} elements: a negative gap"
            )
    return None


def unaligned_pitch(view: ViewInfo, layout: Layout) -> Message:
    """A message if a stride or the gap it leaves is not a number of 32-byte blocks that fits 16 bits.

    Runs that are not whole blocks themselves have a rule of their own.
    """
    length, dims = run_length(view, layout)
    size = view.dtype.size
    for d in dims:
        if not view.shape[d] > 1:
            continue
        pitch = view.stride[d] * size
        if pitch % 32 != 0:
            return f"stride {d} of the view is {pitch} bytes; from and to L1 it must be a multiple of 32"
        if d == dims[-1] and pitch - length * size > 65535 * 32:
            return f"stride {d} of the view leaves a gap of {pitch - length * size} bytes; at most {65535 * 32}"
    return None


def partial_line(view: ViewInfo, dim: int) -> Message:
    """A message if lines along `dim` are known not to be whole 32-byte blocks."""
    size = view.shape[dim] * view.dtype.size
    if size % 32 != 0:
        return f"dimension {dim} of the view is {size} bytes; lines from and to L1 are multiples of 32 bytes"
    return None


# Rules for every target ----------------------------------------------------------------------------------------------


@rule(
    "LS-COM-03",
    "x: Ptr[f32]; TPREFETCH(Tile(Vec, f32, 4, 8), GlobalTensor(x, ({4|0}, 8)))",
    evidence="device assertion",
)
def LS_COM_03(o: Site) -> Message:
    """Transfers move Rv x Cv elements; the valid region and all dimensions of the view are positive.

    Decision: A warning where both sides are empty, or no column is valid: the device moves nothing.
    """
    tile, view = sides(o)
    nothing = bool(tile.vc == 0) or (bool(tile.vr == 0) and 0 in [g for g in view.shape if known(g)])
    for d, g in enumerate(view.shape):
        if g == 0 and not known(tile.vr, tile.vc):
            return None  # the run tells whether the tile is empty, too
        if g <= 0:
            message = f"dimension {d} of the view {shape_text(view)} is {g}; all must be positive"
            return Doubt(message) if nothing and g == 0 else message
    for what, valid in (("rows", tile.vr), ("columns", tile.vc)):
        if valid <= 0:
            message = f"{o:{tile_name(o)}} has {valid} valid {what}; there is nothing to transfer"
            return Doubt(message) if nothing else message, "skip the transfer where a tile may be empty"
    return None


def converts(o: Site) -> bool:
    """True for stores whose elements change type on the way: from accumulators, or with parameter words."""
    return not is_load(o) and (o.src.loc is TileType.Acc or o.has("quant") or o.has("fp"))


@rule(
    "LS-COM-04", "x: Ptr[f32]; TSTORE(GlobalTensor(x, (8, 32)), Tile(Vec, {f32|f16}, 8, 32))", evidence="static_assert"
)
def LS_COM_04(o: Site) -> Message:
    """Elements of tile and view have the same size in loads and in stores from Vec and Mat.

    Only the fix-pipe converts, on the way out of an accumulator.
    """
    tile, view = sides(o)
    if tile.dtype.size == view.dtype.size or converts(o):
        return None
    message = (
        f"{o:{'' if o.text else '%'}{tile_name(o)}} has {tile.dtype.size}-byte elements ({tile.dtype}), "
        f"the view {view.dtype.size} ({view.dtype})"
    )
    hint = f"give {tile.name} elements of {view.dtype}, and convert from or to {tile.dtype} with TCVT"
    return message, Change(hint, tile.dtype.name, view.dtype.name, of=tile_name(o))


def _outside(spec: ConvSpec, view: ViewInfo) -> str | None:
    """A message if the tile is known to reach beyond a dimension of the view."""
    layout, shape, stride = view.layout, view.shape, view.stride
    if layout is None or not fits_pair(spec, layout) or not known(*shape, *stride) or DYNAMIC in spec.dims:
        return None
    maker = CONV_AXES[layout, spec.layout][0]
    if any(g < 1 for g in shape):
        return None
    for axis in maker(spec.dims, shape, stride):  # type: ignore[arg-type]
        if not axis.group and axis.size > axis.limit:
            return f"{spec} takes {axis.size} steps along a dimension of the {view.shape} view that has {axis.limit}"
    return None


@rule(
    "LS-COM-05",
    "x: Ptr[f32]; TPREFETCH(Tile(Vec, f32, 4, 8), GlobalTensor(x, (4, 8), ({20|-8}, 1)))",
    evidence="device",
)
def LS_COM_05(o: Site) -> Message:
    """Transfers stay inside the declared tensor, and strides go forward.

    Decision: Leaving the tensor's shape or its memory is reported as GM-OOB where that happens.
    """
    tile, view = sides(o)
    for d, (g, t) in enumerate(zip(view.shape, view.stride)):
        if g > 1 and t < 0:
            return f"stride {d} of the view is {t}; transfers only go forward"
    return _outside(tile.spec, view) if isinstance(tile.spec, ConvSpec) else None


@rule(
    "LS-COM-09",
    "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({16, 16|8, 32})), Tile(Vec, f32, 16, 16))",
    targets=("cpu",),
    evidence="device",
)
def LS_COM_09(o: Site) -> Message:
    """The view has the shape of the valid region (where no rule of the target says it more precisely).

    Decision: The reference assembler compares element counts only; different shapes of one count are refused too.
    """
    tile, view = sides(o)
    layout = view.layout
    if is_conv(tile) or layout is None or layout not in ROW_COL_AXES:
        return None
    if is_load(o):
        return disagrees(tile, view, layout) if layout in MX else None
    if layout is Layout.NZ or too_small(tile, view):
        return None
    return disagrees(tile, view, layout)


def too_small(tile: TileInfo, view: ViewInfo) -> Message:
    """A message if the valid region has more elements than the view times C0 (STORE-CPU-03)."""
    room, needed = product(view.shape) * view.dtype.c0, tile.vr * tile.vc
    if needed > room:
        return f"{tile.vr}x{tile.vc} valid elements do not fit the view {shape_text(view)}"
    return None


COMMON = (
    LS_COM_03,
    LS_COM_04,
    LS_COM_05,
    LS_COM_09,
)

other_rule(
    "LS-COM-01",
    "What an instruction waits for are events.",
    why="Checked by the Python front end, which takes nothing else; the text form has no event operands.",
    evidence="static_assert",
    reported_as="LANG-CALL",
)
other_rule(
    "LS-COM-02",
    "The tile type is legal.",
    why="Reported under the TILE rule that is broken, where the tile is made.",
    evidence="static_assert",
    reported_as="TILE-03 TILE-04 TILE-05 TILE-06",
)
other_rule(
    "LS-COM-06",
    "A tile is initialised before it is stored, and a transfer is waited for before its result is used.",
    why="Found by `ptokit sanitize` (UNINIT-READ, RACE-RAW).",
    evidence="device",
    reported_as="UNINIT-READ RACE-RAW",
)
