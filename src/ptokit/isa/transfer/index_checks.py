"""Conditions that MGATHER and MSCATTER share; their rules name them (move-gather-scatter 10.4, 11.4).

Both instructions have a data tile, a table in global memory and indices; `Parts` of `indexed` names them alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.targets import A5
from ptokit.types.dtypes import DType
from ptokit.types.enums import Coalesce, GatherExec, TileType
from ptokit.types.tile import DYNAMIC

from ..operands import names, types_of
from ..site import TileInfo, ViewInfo, known, product
from .indexed import Message, Parts, capacity, size

DEVICE_INDEX = types_of("i32 u32")
A23_TYPES = types_of("i8 u8 i16 u16 i32 u32 f16 bf16 f32")
A5_TYPES = A23_TYPES | types_of("hif8 e4m3 e5m2")
NARROW_FLOATS = types_of("hif8 e4m3 e5m2 e8m0")
UB_KIB = 216  # what SIMT kernels may use of UB, in KiB


# Types ---------------------------------------------------------------------------------------------------------------


def bare(p: Parts) -> Message:
    """Message and hint if no mode is written."""
    if p.site.mode is not None:
        return None
    return (
        f"no mode is written; ptokit takes {p.mode.name}, the libraries Elem on cpu and Row on a2a3 and a5",
        "write the mode",
    )


def index_type(p: Parts) -> Message:
    """Indices are int32 or uint32; on cpu any integer."""
    dtype = p.idx.dtype
    if not p.site.target.is_device:
        return None if dtype.is_integer and dtype.bits >= 8 else f"{p:idx} holds {dtype}; indices are integers"
    if dtype in DEVICE_INDEX:
        return None
    message = f"{p:idx} holds {dtype}; indices are i32 or u32"
    if isinstance(p.idx, TileInfo) and p.data.dtype in DEVICE_INDEX:
        return message, f"are {p:data} and {p:idx} swapped?"
    return message


def same_types(p: Parts) -> Message:
    """Tile and table have the same element type; on cpu the same element size."""
    data, table = p.data.dtype, p.table.dtype
    if not p.site.target.is_device:
        if data.bits != table.bits:
            return f"{p:data} holds {data} of {data.bits} bits, the table {table} of {table.bits} bits"
        return None
    return None if data is table else f"{p:data} holds {data}, the table {table}"


def data_type(allowed: frozenset[DType]) -> Callable[[Parts], Message]:
    """The data tile's element type is one of a set."""

    def condition(p: Parts) -> Message:
        return None if p.data.dtype in allowed else f"{p:data} holds {p.data.dtype}, not one of {names(allowed)}"

    return condition


def cpu_type(p: Parts) -> Message:
    """FP8 and HiF8 are not supported on cpu by default; 4-bit types never."""
    dtype = p.data.dtype
    if dtype.bits < 8:
        return f"{p:data} holds {dtype}, whose elements have no address of their own"
    if p.site.extended or dtype not in NARROW_FLOATS:
        return None
    return f"{p:data} holds {dtype}, which the cpu target does not support", "the extended mode of cpu runs it"


# Region and capacity -------------------------------------------------------------------------------------------------


def empty(p: Parts) -> Message:
    """The destination has a valid row and a valid column."""
    if p.data.vr < 1 or p.data.vc < 1:  # type: ignore[operator]
        return f"the valid region of {p:data} is {size(p.data)}; it needs a row and a column"
    return None


def no_capacity(p: Parts) -> Message:
    """The table has rows or elements to choose from; with oob=Undefined every index is below their number."""
    cap = capacity(p.form, p.site.target, p.table.shape, p.data.c0)
    if cap <= 0:
        return f"the table has {cap} {'rows' if p.form.by_row else 'elements'} (shape {shape_text(p.table.shape)})"
    return None


def shape_text(sizes: tuple[Any, ...]) -> str:
    """``1x1x1x40x32``."""
    return "x".join(map(str, sizes))


def one_index_per_row(p: Parts, idx: TileInfo, *, column: bool) -> Message:
    """Row form: indices are valid [1, R], with ``column`` also [R, 1]."""
    if p.mode is not Coalesce.Row:
        return None
    rows = p.data.vr
    if not (idx.vr != 1 or idx.vc != rows):
        return None
    if column and not (idx.vc != 1 or idx.vr != rows):
        return None
    shapes = f"1x{rows} or {rows}x1" if column else f"1x{rows}"
    return f"{p:idx} is {size(idx)}; {rows} rows of {p:data} take indices {shapes}"


def one_index_per_element(p: Parts, idx: TileInfo) -> Message:
    """Elem: index tile and destination have the same valid region."""
    if p.mode is not Coalesce.Elem:
        return None
    if idx.vr != p.data.vr or idx.vc != p.data.vc:
        return f"{p:idx} is {size(idx)}, {p:data} {size(p.data)}; each element takes one index"
    return None


def covered(p: Parts, idx: TileInfo) -> Message:
    """The index tile holds an element for everything that is moved (cpu has no rule on valid regions)."""
    rows, cols = p.data.vr, p.data.vc
    if p.mode is Coalesce.Row:
        if idx.rows * idx.cols < rows:  # type: ignore[operator]
            return f"{p:idx} has {idx.rows * idx.cols} elements for {rows} rows of {p:data}"
    elif idx.rows < rows or idx.cols < cols:
        return f"{p:idx} has {idx.rows}x{idx.cols} elements for the {size(p.data)} of {p:data}"
    return None


def apart(p: Parts, idx: TileInfo) -> Message:
    """Row indices that are padded apart are read as if they were consecutive."""
    if p.mode is not Coalesce.Row or idx.boxed:
        return None
    if (idx.vc == 1 and idx.vr > 1 and idx.row_major and idx.cols > 1) or (
        idx.vr == 1 and idx.vc > 1 and not idx.row_major and idx.rows > 1
    ):
        return (
            f"{p:idx} is {size(idx)} in a {idx.rows}x{idx.cols} {idx.layout_name} tile: "
            "its indices are not consecutive, but are read as if they were",
            "use a 1xR row-major or an Rx1 column-major index tile",
        )
    return None


def mixed_dynamic(p: Parts, idx: TileInfo) -> Message:
    """Valid sizes that are compared are both static or both dynamic."""
    have = (idx.spec.valid_row, idx.spec.valid_col)
    row, col = p.data.spec.valid_row, p.data.spec.valid_col
    wanted = [(1, row), (row, 1)] if p.mode is Coalesce.Row else [(row, col)]
    if DYNAMIC not in (*have, *wanted[0]) or have in wanted:
        return None
    text = ["x".join("?" if n == DYNAMIC else str(n) for n in sizes) for sizes in (have, *wanted)]
    return (
        f"{p:idx} has the valid size {text[0]}, {p:data} asks for {' or '.join(text[1:])}; "
        "static and dynamic sizes differ",
        "make both static or both dynamic",
    )


# Places and layouts --------------------------------------------------------------------------------------------------


def in_ub(p: Parts) -> Message:
    """Destination and indices are vec tiles, unless indices in global memory fill a mat tile."""
    if p.data.loc not in (TileType.Vec, TileType.Mat):
        return f"{p:data} is a {p.data.loc.text} tile; it is a vec tile, or mat with indices in global memory"
    if isinstance(p.idx, TileInfo) and p.idx.loc is not TileType.Vec:
        return f"{p:idx} is a {p.idx.loc.text} tile, not a vec tile"
    if isinstance(p.idx, ViewInfo) and p.data.loc is TileType.Vec:
        return f"{p:idx} is global memory, and {p:data} a vec tile; its indices are a vec tile"
    return None


def vec_only(p: Parts) -> Message:
    for name, tile in ((p.name, p.data), ("idx", p.idx)):
        if isinstance(tile, TileInfo) and tile.loc is not TileType.Vec:
            return f"{p:{name}} is a {tile.loc.text} tile, not a vec tile"
    return None


def plain_index(p: Parts, idx: TileInfo) -> Message:
    """The index tile is row-major without boxes."""
    if not idx.row_major or idx.boxed:
        return f"{p:idx} has the layout {idx.layout_name}; it is row-major without boxes"
    return None


def plain_tiles(p: Parts, idx: TileInfo) -> Message:
    """Destination and index tile have no boxes."""
    for name, tile in ((p.name, p.data), ("idx", idx)):
        if tile.boxed:
            return f"{p:{name}} has the layout {tile.layout_name}; addresses ignore boxes, so it must have none"
    return None


def paired_layout(p: Parts, idx: TileInfo) -> Message:
    """An ND table goes with a row-major tile, an NZ table with an Nz tile of fractal 512."""
    layout, fractal = p.data.layout_name, p.data.fractal
    table = "" if p.table.layout is None else p.table.layout.name
    if layout == "ND" and p.plain_table is not False:
        return None
    if layout == "Nz" and fractal == 512 and table in ("", "NZ"):
        return None
    box = f" with fractal {fractal}" if p.data.boxed else ""
    return f"{p:data} is {layout}{box}, the table {table or 'of unknown layout'}; pairs are ND, ND and Nz 512, NZ"


def whole_blocks(p: Parts) -> Message:
    """Rows of the source are multiples of 32 bytes."""
    if p.data.cols * p.data.dtype.size % 32:
        return f"{p:data} has rows of {p.data.cols * p.data.dtype.size} bytes, not a multiple of 32"
    return None


def nz_shape(p: Parts, idx: TileInfo) -> Message:
    """An NZ table has boxes of 16 x 32 bytes, the tile whole boxes, and a row of the table fits the tile."""
    if not p.nz:
        return None
    s0, s1, _, s3, s4 = p.table.shape
    c0 = p.data.c0
    if s3 != 16 or s4 != c0:
        return f"the NZ table has boxes of {s3}x{s4}, not 16x{c0}"
    if p.data.cols % c0 or p.data.rows % 16:
        return f"{p:data} is {p.data.rows}x{p.data.cols}; rows are a multiple of 16, columns of {c0}"
    if p.mode is Coalesce.Row and s0 * s1 * c0 > p.data.cols:  # type: ignore[operator]
        return f"a row of the NZ table has {s0 * s1 * c0} columns, {p:data} {p.data.cols}"
    return None


def packed_table(p: Parts) -> Message:
    """The table is ND and packed."""
    if p.l1:
        return None
    if p.plain_table is False:
        return f"the table's layout is {p.table.layout.name}; it is addressed as ND"  # type: ignore[union-attr]
    for axis in range(5):
        want = product(p.table.shape[axis + 1 :])
        if p.table.shape[axis] != 1 and known(p.table.shape[axis]) and p.table.stride[axis] != want:
            return (
                f"stride {p.table.stride[axis]} of the table's dimension {axis} is not {want}; rows are addressed "
                "as if they were packed"
            )
    return None


def row_length(p: Parts) -> Message:
    """Row: a row of the table is as long as a valid row of the destination."""
    if p.l1 or p.mode is not Coalesce.Row or p.table.shape[4] == p.data.vc:
        return None
    if p.table.shape[4] != p.data.vc:
        return f"a row of the table has {p.table.shape[4]} elements, {p:data} {p.data.vc} valid columns"
    return None


def working_set(p: Parts, idx: TileInfo, beyond: int, upto: int) -> Message:
    """Data and index tile together take more than `beyond` and at most `upto` KiB."""
    total = p.data.spec.nbytes + idx.spec.nbytes
    if beyond * 1024 < total <= upto * 1024:
        return f"{p:data} and {p:idx} take {total} bytes; {beyond * 1024} can be used"
    return None


# Into L1 -------------------------------------------------------------------------------------------------------------


def l1_form(p: Parts) -> Message:
    """Into L1: an Nz mat tile with fractal 512 of whole boxes, an ND table, indices in global memory."""
    if not p.l1:
        return None
    if p.data.loc is TileType.Mat and isinstance(p.idx, TileInfo):
        return f"{p:data} is a mat tile, and {p:idx} a tile; the indices of this form are in global memory"
    if p.data.loc is not TileType.Mat:
        return None
    if p.data.layout_name != "Nz" or p.data.fractal != 512:
        return f"{p:data} is {p.data.layout_name} with fractal {p.data.fractal}; it is Nz with fractal 512"
    if p.plain_table is False:
        return f"the table's layout is {p.table.layout.name}, not ND"  # type: ignore[union-attr]
    if p.data.cols % p.data.c0 or p.data.rows % 16:
        return f"{p:data} is {p.data.rows}x{p.data.cols}; rows are a multiple of 16, columns of {p.data.c0}"
    return None


def scratch_memory(p: Parts) -> Message:
    """Elements into L1: scratch memory of the same type for the whole tile."""
    if p.scratch is None:
        return None
    if p.scratch.dtype is not p.data.dtype:
        return f"{p:scratch} holds {p.scratch.dtype}, {p:data} {p.data.dtype}"
    have, want = product(p.scratch.shape), p.data.rows * p.data.cols
    return f"{p:scratch} has {have} elements; the tile takes {want}" if have < want else None


def form_agrees(p: Parts) -> Message:
    """The mode agrees with the form: into L1, rows without scratch memory and elements with it."""
    mode, exec_ = p.site.mode, p.site.exec
    if p.scratch is not None and not p.l1:
        return f"{p:scratch} belongs to the form that gathers elements into L1"
    if exec_ is GatherExec.Simt and (not p.site.target.is_a(A5) or p.scratch is None or p.mode is not Coalesce.Elem):
        return "exec=Simt is the A5 form that gathers elements into L1 through scratch memory"
    if not p.site.target.is_device or not p.l1 or mode is None:
        return None
    if p.scratch is None and mode is Coalesce.Elem:
        return "mode=Elem into L1 takes scratch memory; without it rows are gathered", "write mode=Row, or add scratch"
    if p.scratch is not None and mode is Coalesce.Row:
        return "mode=Row into L1 takes no scratch memory; with it elements are gathered", "write mode=Elem"
    return None
