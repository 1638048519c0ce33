"""What a move is, seen from its site: the pair of buffers, the form, and how much each path moves.

Shared by the rules and footprints of TMOV, TEXTRACT and TINSERT (move-gather-scatter 2 to 4).
"""

from __future__ import annotations

from typing import Any

from ptokit.types.dtypes import DTYPES, PACKED, DType
from ptokit.types.enums import CompactMode, ReluPreMode, TileType

from ..meaning.drains import DUAL
from ..site import ScalarInfo, Site, TileInfo
from ..unknown import Size

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
    """The third tile of the X to ZZ form: any tile behind a Vec source that is not a Scaling tile (form F8)."""
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


def moved_columns(o: Site, cols: Size) -> Size:
    """Columns the fix-pipe processes when `cols` are asked for: rounded up where the destination is Nz (4.12)."""
    if not o.target.is_device or not o.dst.boxed:
        return cols
    if o.dst.dtype.bits == 32 and o.dst.fractal == 1024:
        return up(cols, 16)
    return up(cols, o.dst.c0)


def nz_pitch(tile: Any, valid_rows: Size) -> Size:
    """Rows from one column block to the next as ND to Nz writes them on a5 (4.4)."""
    rows = up(valid_rows, 16)
    return rows + 1 if tile.compact is CompactMode.RowPlusOne else rows


def is_line(src: Any, dst: Any) -> bool:
    """True if rows of `src` are shorter than 32 bytes and the tiles are not equally wide: an insertion in ND then runs
    through both without a pitch (compute-layout-irregular 1.4). Operands or their infos."""
    spec = src.spec
    return not spec.cols == dst.spec.cols == src.vc and src.vc * spec.dtype.bits < 256
