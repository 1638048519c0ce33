"""What moves, extractions and insertions share: facts of a site, and conditions of rules (move-gather-scatter 5 to 7).

Shared by the rules and footprints of TMOV, TEXTRACT and TINSERT (move-gather-scatter 2 to 4).

The rows are filter positions and channels, the columns the filters; C0 rows lie together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ptokit.diagnostics.rules import shared
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, PACKED, DType
from ptokit.types.enums import CompactMode, Layout, ReluPreMode, TileType
from ptokit.types.tensor import ConvSpec

from ..machine import TileOperand
from ..meaning.expressions import Extent
from ..meaning.matrices import DUAL, column_block, drained_columns
from ..meaning.moves import stored
from ..numerics.arith import as_values
from ..site import ScalarInfo, Site, Size, TileInfo, known

# What a move is, seen from its site: the pair of buffers, the form, and how much each path moves.


Vec, Mat, Left, Right = TileType.Vec, TileType.Mat, TileType.Left, TileType.Right
Acc, Bias, Scaling = TileType.Acc, TileType.Bias, TileType.Scaling
ScaleLeft, ScaleRight = TileType.ScaleLeft, TileType.ScaleRight

Pair = tuple[TileType, TileType]

MX_SCALES = (ScaleLeft, ScaleRight)
OPERAND_PAIRS: frozenset[Pair] = frozenset({(Mat, Left), (Mat, Right)})
PAIRS: dict[str, frozenset[Pair]] = {
    "a2a3": frozenset({(Mat, Left), (Mat, Right), (Mat, Bias), (Mat, Scaling), (Vec, Vec), (Acc, Mat)}),
}
PAIRS["a5"] = PAIRS["a2a3"] | {(Mat, ScaleLeft), (Mat, ScaleRight), (Vec, Mat), (Acc, Vec)}
"""Source and destination buffers that a device moves between (move-gather-scatter 3); cpu moves between all."""

EIGHT_BITS = (DTYPES["i8"], DTYPES["u8"])
SIXTY_FOUR_BITS = (DTYPES["u64"], DTYPES["i64"])


def types(names: str) -> frozenset[DType]:
    """Element types by their names."""
    return frozenset((DTYPES | PACKED)[n] for n in names.split())


def home(tile: Any) -> TileType:
    """Where a tile lies: text calls the areas of MX scales scaling, and tells them apart by type and layout."""
    if tile.loc is Scaling and tile.dtype.name == "e8m0" and tile.layout_name in ("Zz", "Nn"):
        return ScaleLeft if tile.layout_name == "Zz" else ScaleRight
    loc: TileType = tile.loc
    return loc


def pair(o: Site) -> Pair:
    """(source, destination) buffers."""
    return o.src.loc, o.dst.loc


def copies_bits(o: Site) -> bool:
    """True for a move from vec to vec, in one layout, into a type of another kind and the same size on a device."""
    s, d = o.src.spec, o.dst.spec
    alike = (s.loc, s.layout_name) == (d.loc, d.layout_name)
    return o.target.is_device and alike and s.loc is Vec and s.dtype is not d.dtype and s.dtype.bits == d.dtype.bits


def arrow(o: Site) -> str:
    """``mat to left``."""
    return f"{o.src.loc.text} to {o.dst.loc.text}"


def optional(o: Site, name: str) -> Any:
    """An operand or attribute of the site, None where the instruction has none of this name."""
    return getattr(o, name, None)


def operand_layout(src: Any, dst: Any) -> str | None:
    """Nz or Zn: how the load unit of a device takes the bytes of a Mat tile on the way to an operand buffer.

    It asks only whether the boxes of source and destination run alike. None for one row, which it copies as it lies.
    Operands' types or their infos. Source: TMovToLeft and TMovToRight of the library.
    """
    if dst.loc is Left and src.rows == 1 and src.row_major:
        return None
    turned = src.slayout is not dst.slayout
    return "Zn" if turned == (dst.loc is Left) else "Nz"


def scratch(o: Site) -> TileInfo | None:
    """The third tile of the X to ZZ form: any tile after a Vec source that is not a Scaling tile (form F8)."""
    if o.src.loc is not Vec or not o.has_operand("tmp"):
        return None
    third = optional(o, "tmp") or optional(o, "fp")
    return third if third is not None and third.loc is not Scaling else None


def words(o: Site) -> TileInfo | None:
    """The tile of quantisation words, one per column."""
    fp: TileInfo | None = optional(o, "fp")
    return None if fp is not None and fp is scratch(o) else fp


def word(o: Site) -> ScalarInfo | None:
    """The quantisation word of the scalar form."""
    return optional(o, "quant")


def form(o: Site) -> str:
    """``cast``, ``scalar`` or ``vector``: how the fix-pipe is asked to quantise."""
    return "vector" if words(o) else "scalar" if word(o) else "cast"


def relu(o: Site) -> bool:
    """True if negative results become zero."""
    return optional(o, "relu") is ReluPreMode.NormalRelu


def dual(o: Site) -> bool:
    """True if both vector sub-cores receive a part."""
    return optional(o, "mode") in DUAL


def up(size: Size, step: int) -> Size:
    """`size` rounded up to a multiple of `step`."""
    return -(-size // step) * step


def drained_rows(o: Site) -> Extent:
    """Rows of the whole accumulator that arrive: where the destination is Nz on a device, all of them (4.12)."""
    return Extent("src", "rows" if o.target.is_device and o.dst.layout_name == "Nz" else "vr")


def nz_pitch(tile: Any, valid_rows: Size) -> Size:
    """Rows from one column block to the next as ND to Nz writes them on a5 (4.4)."""
    rows = up(valid_rows, 16)
    return rows + 1 if tile.compact is CompactMode.RowPlusOne else rows


def is_line(src: Any, dst: Any) -> bool:
    """True if rows of `src` are shorter than 32 bytes and the tiles are not equally wide: an insertion in ND then runs
    through both without a pitch (compute-layout-irregular 1.4). Operands or their infos."""
    spec = src.spec
    return not spec.cols == dst.spec.cols == src.vc and src.vc * spec.dtype.bits < 256


# Conditions that TMOV, TEXTRACT and TINSERT share (move-gather-scatter 5.4, 6.1, 7).


Message = str | tuple[str, str] | None
TypeTable = Mapping[str, Mapping[str, frozenset[DType]]]


def listed(names: Iterable[object]) -> str:
    """``a, b or c``, sorted."""
    *most, last = sorted(str(n) for n in names)
    return f"{', '.join(most)} or {last}" if most else last


def outside(at: tuple[Any, Any], size: tuple[Any, Any], extent: tuple[Any, Any]) -> Message:
    """A window of `size` at `at` against the `extent` it has to lie in; (rows, cols) each."""
    for what, first, count, limit in zip(("row", "column"), at, size, extent):
        if first + count > limit:
            return f"{what}s [{first}, {first + count}) leave the {limit} {what}s there are"
    return None


types_differ = shared(
    "A move without conversion.",
    "src.dtype is dst.dtype",
    "{src} has element type {src.dtype}, {dst} has {dst.dtype}; this move does not convert",
)


def parameter_tile(o: Site, fp: TileInfo) -> Message:
    """The tile of quantisation words."""
    if fp.loc is not Scaling:
        return f"{o:fp} is a {fp.loc.text} tile, not scaling"
    if fp.dtype not in SIXTY_FOUR_BITS and not (o.target.templates and fp.dtype.name == "f32"):
        return f"{o:fp} has element type {fp.dtype}; quantisation words have 64 bits"
    return None


def acc_types(o: Site, table: TypeTable) -> Message:
    """Element types of an accumulator move in the form it has (move-gather-scatter 5.4)."""
    allowed = table[form(o)].get(o.src.dtype.name)
    how = "moved" if form(o) == "cast" else "quantised"
    if allowed is None:
        return f"{o:src} has element type {o.src.dtype}, an accumulator has {listed(o.target.accumulators)}"
    if o.dst.dtype not in allowed:
        to = listed(allowed) if allowed else "nothing"
        return f"{o.src.dtype} to {o.dst.dtype} cannot be {how} on {o.target.name}; {o.src.dtype} goes to {to}"
    return None


def acc_layouts(o: Site, targets: tuple[str, ...]) -> Message:
    """Layouts of an accumulator move."""
    if o.src.layout_name != "Nz":
        return f"{o:src} has layout {o.src.layout_name}, an accumulator is Nz"
    if o.src.dtype.name not in o.target.accumulators:
        return f"{o:src} has element type {o.src.dtype}, an accumulator has {listed(o.target.accumulators)}"
    if o.dst.layout_name not in targets:
        return f"{o:dst} has layout {o.dst.layout_name}, not {listed(targets)}"
    return None


def columns_of_words(o: Site, cols: Size, first: Size = 0) -> Message:
    """Enough words for the columns [first, first + cols) of the source."""
    fp = words(o)
    if fp is None:
        return None
    need = first + drained_columns(o.dst, o.target, cols, optional(o, "mode"))
    if fp.dtype not in SIXTY_FOUR_BITS and known(need):  # its bytes are the words, two elements in each
        room = fp.spec.nbytes // 8
        return None if need <= room else f"{o:fp} holds {room} words, {need} are needed"
    if fp.vc < first + cols:
        return f"{o:fp} has {fp.vc} valid columns, {first + cols} are needed"
    if fp.cols < need:
        return f"{o:fp} has {fp.cols} columns, {need} are needed for {cols} columns of {o.dst.dtype}"
    return None


def blocks_overflow(o: Site, cols: Size, col: Any = 0) -> Message:
    """Column blocks that the fix-pipe makes wider than the boxes of an Nz destination, against its columns (4.12)."""
    d = o.dst
    block = column_block(d, o.target)
    if o.src.loc is not Acc or not o.target.is_device or d.layout_name != "Nz" or block == d.box.cols:
        return None
    if up(col + cols, block) > d.cols:
        return f"{d.dtype} with fractal={d.fractal} comes in blocks of {block} columns, {o:dst} has {d.cols}"
    return None


def signedness(o: Site, cols: Size, first: Size = 0) -> Message:
    """Bit 46 of the words that are used, against the 8-bit type of the destination."""
    if o.dst.dtype not in EIGHT_BITS:
        return None
    wanted = o.dst.dtype.signed
    scalar = word(o)
    if scalar is not None:
        if isinstance(scalar.value, int) and bool(scalar.value >> 46 & 1) is not wanted:
            return f"word {scalar.value & (2**64 - 1):#x} has bit 46 {_state(not wanted)}; {_wanted(o, wanted)}"
        return None
    fp = words(o)
    if fp is None or fp.data is None or fp.dtype not in SIXTY_FOUR_BITS or not known(cols, first):
        return None
    used = np.asarray(fp.data.read(1, fp.vc)).view(np.uint64)[:, 0, first : first + cols]  # type: ignore[operator,misc]
    wrong = np.argwhere((used >> np.uint64(46) & np.uint64(1)).astype(bool) != wanted)
    if not len(wrong):
        return None
    block, col = wrong[0]
    value = int(used[block, col])
    return f"word {value:#x} of column {first + int(col)} has bit 46 {_state(not wanted)}; {_wanted(o, wanted)}"


def _state(bit: bool) -> str:
    return "set" if bit else "clear"


def _wanted(o: Site, bit: bool) -> str:
    return f"{o.dst.dtype} needs it {_state(bit)}"


# Conditions that TEXTRACT and TINSERT share (compute-layout-irregular 1.3, 1.4).


PLAIN_LAYOUTS = ("ND", "Nz")
IN_LINES = ("ND", "Zz")
"""Layouts of UB whose rows TINSERT copies to L1 as they lie in memory."""


def bad_index(o: Site, name: str) -> Message:
    """An index of a window that is no 16-bit number."""
    info = o.operands[name]
    value: Any = info.value if isinstance(info, ScalarInfo) else None
    return f"{o:{name}} is {value}, not 0 to 65535" if isinstance(value, int) and not 0 <= value <= 0xFFFF else None


def pair_of_layouts(o: Site) -> Message:
    """What is wrong with the pair of buffers and layouts of an extraction on a device; None if it exists."""
    a5 = o.target.is_a(A5)
    if pair(o) in OPERAND_PAIRS or (a5 and o.src.loc is Mat and o.dst.loc in MX_SCALES):
        return None
    layouts = (o.src.layout_name, o.dst.layout_name)
    if pair(o) == (Acc, Mat):
        return None if layouts[1] == "Nz" else f"acc to mat writes Nz, {o:dst} has layout {layouts[1]}"
    if a5 and pair(o) == (Acc, Vec):
        return None
    if a5 and pair(o) == (Vec, Mat):
        return None if layouts[0] in PLAIN_LAYOUTS else f"vec to mat reads ND or Nz, {o:src} has layout {layouts[0]}"
    if pair(o) == (Vec, Vec):
        if layouts[0] in PLAIN_LAYOUTS and (layouts[0] == layouts[1] or (a5 and layouts[1] in PLAIN_LAYOUTS)):
            return None
        return f"{layouts[0]} to {layouts[1]} between vec tiles; both are ND or both Nz"
    return f"{o.target.name} does not extract {arrow(o)}"


def turned(o: Site) -> bool:
    """True if boxes are transposed on the way from mat to an operand buffer."""
    return bool(o.src.boxed and o.src.slayout is not o.dst.slayout)


def operand_window(o: Site, row: Any, col: Any) -> Message:
    """Alignment of a window that goes from mat to left or right (move-gather-scatter 4.7, 4.8)."""
    s, d = o.src, o.dst
    if d.loc is Left and s.rows == 1 and s.layout_name == "ND":
        unit = 512 * 8 // s.dtype.bits
        for what, name, n in (("columns of ", "src", s.cols), ("columns of ", "dst", d.cols), ("", "col", col)):
            if n % unit != 0:
                return f"{what}{o:{name}}: {n} elements of {s.dtype} are no whole fractals of 512 bytes"
        return None
    if s.layout_name not in ("Nz", "Zn"):
        return f"{o:src} has layout {s.layout_name}; {arrow(o)} reads Nz or Zn"
    square = max(16, d.c0)
    rows, cols = (square, square) if turned(o) else (16, d.c0) if d.loc is Left else (d.c0, 16)
    for what, name, n, step in (
        ("", "row", row, rows),
        ("", "col", col, cols),
        ("rows of ", "dst", d.rows, rows),
        ("columns of ", "dst", d.cols, cols),
    ):
        if n % step != 0:
            return f"{what}{o:{name}}: {n} is not a multiple of {step}, as {d.dtype} from {s.layout_name} needs"
    return None


# Convolution weights as the right operand of a product: FRACTAL_Z tiles seen as a matrix (compute-layout-irregular
# 1.3, types-and-layouts 8).


def is_conv(t: TileInfo) -> bool:
    """True for a convolution tile."""
    return isinstance(t.spec, ConvSpec)


def extent(spec: ConvSpec) -> tuple[int, int]:
    """Rows and columns of the matrix; dimensions are (C1HW, N/16, 16, C0) or (C1, H, W, N, C0)."""
    filters = spec.dims[1] * spec.dims[2] if len(spec.dims) == 4 else spec.dims[3]
    return spec.numel // filters, filters


def weights(tile: TileOperand, row: int, col: int, rows: int, cols: int) -> np.ndarray:
    """The window [row, row + rows) x [col, col + cols) of the matrix."""
    assert isinstance(tile.spec, ConvSpec)
    c0, filters = tile.spec.dims[-1], extent(tile.spec)[1]
    k, n = row + np.arange(rows)[:, None], col + np.arange(cols)[None, :]
    return as_values(stored(tile)[:, (k // c0 * filters + n) * c0 + k % c0], tile.spec.dtype)


def refused(o: Site, at: tuple[Any, Any] = (0, 0)) -> Message:
    """What keeps the window of a convolution tile at `at` from being moved; None for other sources."""
    spec = o.src.spec
    if not isinstance(spec, ConvSpec):
        return None
    if pair(o) != (Mat, Right) or o.dst.layout_name != "Zn":
        return f"a convolution tile goes to a right tile in Zn, not to {o.dst.loc.text} {o.dst.layout_name}"
    if spec.layout not in (Layout.FRACTAL_Z, Layout.FRACTAL_Z_3D) or len(spec.dims) not in (4, 5):
        return f"{o:src} is a convolution tile of layout {spec.layout.name}; FRACTAL_Z is moved"
    if min(spec.dims) < 1:
        return f"{o:src} is a convolution tile of {'x'.join(map(str, spec.dims))} elements"
    return outside(at, (o.dst.vr, o.dst.vc), extent(spec))
