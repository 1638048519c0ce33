"""TEXTRACT and TINSERT: a window of a tile, and a tile into a window of another (compute-layout-irregular 1.3, 1.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.diagnostics import define, family
from ptokit.targets import A2A3, A5
from ptokit.types.enums import Pipe, TileType, TInsertMode
from ptokit.types.tensor import ConvSpec

from ..machine import Machine, TileOperand
from ..meaning.expressions import OWN, Axis, Element, Extent, Index, Least, Up
from ..meaning.matrices import DUAL, first_part
from ..meaning.moves import put, store_at, stored, window
from ..meaning.words import Drain, Move, Python, Word
from ..site import Site, known, least
from ..table import (
    ALSO,
    GENERIC,
    LEVEL2,
    Attr,
    Instr,
    TextForm,
    agreed,
    dst,
    in_text,
    index,
    inout,
    instruction,
    scalar,
    src,
)
from .checks import (
    IN_LINES,
    PAIRS,  # noqa: F401
    Acc,
    Mat,
    Message,
    Right,
    Vec,
    arrow,  # noqa: F401
    bad_index,
    dual,  # noqa: F401
    is_line,
    listed,  # noqa: F401
    nz_pitch,
    optional,
    outside,
    pair,
    types,
    types_differ,
    weights,
)
from .extract_rules import EXTRACT_FP_RULES, EXTRACT_RULES, PAIR_RULES, dual_split, quantised, vec_nd, vec_nz, vec_types
from .footprint import extract_footprint, insert_footprint, pair_footprint, position
from .move import MODE, RELU, X, has_words, move_pipe, nd_to_nz, size, vec_to_mat
from .rules import acc_to_mat, unsupported
from .text_rules import INSERT_TEXT_RULES

# TEXTRACT and TEXTRACT_FP: a window of a tile (compute-layout-irregular 1.3, move-gather-scatter 9).
# On a5 the scalar unit moves single elements between vec tiles; flags on both sides keep them in the order of V.


WINDOW = Element("src", Index(Axis(i=1, plus=Extent("row", "value")), Axis(j=1, plus=Extent("col", "value"))))


def _extracted(o: Site) -> Word | None:
    """``dst[r, c] = src[row + r, col + c]`` over dst's valid region; accumulators are quantised on the way."""
    s, d = o.src.spec, o.dst.spec
    if s.loc is TileType.Acc:
        return _drained(o, next((name for name in ("fp", "quant") if o.has(name)), ""))
    if isinstance(s, ConvSpec) or (o.target.is_a(A5) and (s.loc, d.loc) == (Vec, Mat)):
        return Python(textract)
    if o.target.templates and (s.loc, d.loc, s.layout_name) == (Mat, Right, "Nz"):
        return Python(_blocks_as_they_lie)
    return Move(X if o.row.value == o.col.value == 0 else WINDOW, *size("dst"))


def _drained(o: Site, words: str) -> Word | None:
    """A dual mode splits what is valid in the source after (row, col), whatever is valid in dst."""
    rows: Any
    cols: Any
    rows, cols = size("dst")
    if o.attrs.get("mode") in DUAL:
        rows, cols = least(o.src.vr, o.src.rows - o.row.value), least(o.src.vc, o.src.cols - o.col.value)
        if not known(rows, cols):
            return None
    return Drain(WINDOW, rows, cols, words, o.relu, o.attrs.get("mode"))


def textract(
    m: Machine, dst: TileOperand, src: TileOperand, fp: None, quant: None, row: int, col: int, **_: Any
) -> None:
    """Windows of tiles that lie in a memory of an order of its own."""
    rows, cols = dst.vr, dst.vc
    if isinstance(src.spec, ConvSpec):
        put(dst, weights(src, row, col, rows, cols))
    else:
        vec_to_mat(m, dst, src, row, col)


def _blocks_as_they_lie(
    m: Machine, dst: TileOperand, src: TileOperand, fp: None, quant: None, row: int, col: int, **_: Any
) -> None:
    """Templates take the blocks of an Nz tile for those of a right one, which turns the window."""
    put(dst, np.ascontiguousarray(window(src, row, col, dst.vc, dst.vr).swapaxes(1, 2)))


TEXTRACT = instruction(
    Instr(
        "TEXTRACT",
        "textract",
        "Copy the window of a tile at (row, col), as large as the destination; accumulators are converted on the way.",
        (
            dst(),
            src(),
            in_text(src("fp", optional=True), word="fp"),
            scalar("quant", optional=True, type="i64"),
            agreed(index("row")),
            agreed(index("col")),
        ),
        (RELU, MODE),
        pipe=move_pipe,
        rules=EXTRACT_RULES,
        meaning=_extracted,
        footprint=extract_footprint,
        value_rules=has_words,
        form=TextForm(
            orders={
                LEVEL2: "src row col quant fp -> dst",
                GENERIC: "src row col dst fp quant",
                ALSO: "src fp quant row col",
            }
        ),
        halves=True,
        source="compute-layout-irregular 1.3; move-gather-scatter 9",
        cpp=(
            "TEXTRACT<^dst, ^src, mode?, relu?>(dst, src, quant?, row, col) | "
            "TEXTRACT<^dst, ^src, ^fp, mode, relu?>(dst, src, fp, row, col) | "
            "TEXTRACT_FP<^dst, ^src, ^fp, relu?>(dst, src, fp, row, col)"
        ),
    )
)


TEXTRACT_FP = instruction(
    Instr(
        "TEXTRACT_FP",
        "textract_fp",
        "Copy a window of an accumulator with one quantisation word per column of the source.",
        (dst(), src(), in_text(src("fp"), word="fp"), agreed(index("row")), agreed(index("col"))),
        (RELU,),
        pipe=Pipe.FIX,
        rules=EXTRACT_FP_RULES,
        meaning=lambda o: _drained(o, "fp"),
        footprint=extract_footprint,
        value_rules=has_words,
        form=TextForm(spellings=("textract.fp",), newest="textract"),
        source="compute-layout-irregular 1.3; move-gather-scatter 9",
        cpp="TEXTRACT_FP<^dst, ^src, ^fp, relu?>(dst, src, fp, row, col)",
    )
)


def textract2(
    m: Machine,
    dst0: TileOperand,
    dst1: TileOperand,
    src: TileOperand,
    row0: int,
    col0: int,
    row1: int,
    col1: int,
) -> None:
    """Each destination gets its window of an ND tile, re-arranged to Nz."""
    for tile, row, col in ((dst0, row0, col0), (dst1, row1, col1)):
        pitch = nz_pitch(tile.spec, tile.vr) if m.target.is_a(A5) else tile.spec.rows
        assert isinstance(pitch, int)
        nd_to_nz(tile, src, tile.vr, tile.vc, pitch, row, col)


TEXTRACT2 = instruction(
    Instr(
        "TEXTRACT2",
        "textract2",
        "Copy two windows of an ND vec tile to Nz tiles: the two-destination overload of TEXTRACT.",
        (dst("dst0"), dst("dst1"), src(), *(index(n) for n in ("row0", "col0", "row1", "col1"))),
        pipe=Pipe.V,
        rules=PAIR_RULES,
        run=textract2,
        footprint=pair_footprint,
        cpp="TEXTRACT",
        source="compute-layout-irregular 1.3",
    )
)


# Rules of TINSERT (compute-layout-irregular 1.4).


INSERTS = "compute-layout-irregular 1.4"
A5_TYPES = types("f16 bf16 f32 i32 e4m3 e5m2 hif8 i8 e8m0 e2m1 e1m2 e2m1x2 e1m2x2")


_TO_MAT = {("ND", "ND"), ("ND", "Nz"), ("Nz", "Nz"), ("Zn", "Zn"), ("Zz", "Zz")}


_rule = family(INSERTS, "INS-")


@_rule(
    "COM-01",
    "TINSERT(Tile(Vec, f16, 6, 64), Tile(Vec, f16, 4, 32), row=0, col={|-}16)",
    evidence="device assertion",
    on="a2a3",
)
def INS_COM_01(o: Site) -> Message:
    """The source fits into dst at (row, col): its valid region, on a2a3 the whole acc; on cpu into dst's valid."""
    s, d = o.src, o.dst
    size = (s.rows, s.cols) if o.target.is_a(A2A3) and s.loc is Acc else (s.vr, s.vc)
    if s.loc is Acc and optional(o, "mode") in DUAL:
        size = first_part(o.mode, s.vr, s.vc)
    extent = (d.vr, d.vc) if not o.target.is_device else (d.rows, d.cols)
    return bad_index(o, "row") or bad_index(o, "col") or outside(position(o), size, extent)


INS_COM_03 = _rule(
    "COM-03",
    """
        TINSERT({Tile(Mat, f16, 32, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(f32, 16, 16)|TileLeft(f16, 32,
            32), Tile(Vec, f16, 16, 16)}, 0, 0)
    """,
    targets=("a2a3", "a5"),
    evidence="static_assert",
)(
    """
    The pair of buffers is one that the target inserts between; cpu inserts between all.

    Decision: ND rows go into an Nz tile of the matrix buffer as they lie in memory: the library copies them and
    looks at no layout of dst, and the assembler takes no other dst. Zz tiles are copied as rows of that memory, too.
    """,
    "if target.is_a(A2A3)",
    "pair(o) in ((Acc, Mat), (Vec, Vec))",
    "a2a3 does not insert {arrow(o)}; it inserts acc to mat and vec to vec",
    "mode is None",
    "a2a3 has no AccToVecMode, {mode.name} is given",
    "src.layout_name == dst.layout_name and src.layout_name in ('ND', 'Nz') if pair(o) == (Vec, Vec)",
    "{src.layout_name} into {dst.layout_name}; both are ND or both Nz",
    "if target.is_a(A5)",
    "pair(o) in target.entry(PAIRS) and src.loc is not Mat",
    "a5 does not insert {arrow(o)}; it inserts acc to mat or vec and vec to vec or mat",
    "(src.layout_name, dst.layout_name) in _TO_MAT if pair(o) == (Vec, Mat)",
    "{src.layout_name} into {dst.layout_name}; vec to mat keeps ND, Nz, Zn and Zz, or puts ND into Nz",
)


@_rule(
    "A5-06",
    "TINSERT(Tile(Mat, f16, 8, 64), Tile(Vec, f16, 4, 32{|, valid_col=24}), row=0, col=0)",
    evidence="static_assert",
)
def INS_A5_06(o: Site) -> Message:
    """vec in ND to mat: rows of whole 32-byte blocks, unless tiles are equally wide or rows shorter than a block."""
    s, d = o.src, o.dst
    if pair(o) != (Vec, Mat) or s.layout_name not in IN_LINES or s.cols == d.cols == s.vc:
        return None
    bits = s.vc * s.dtype.bits
    if bits >= 256 and bits % 256 != 0:
        return f"{s.vc} columns of {s.dtype} are no whole 32-byte blocks; the rest of each row is not moved"
    if bits < 256 and s.vr * s.vc > s.spec.numel:
        return f"{s.vr} rows of {s.vc} columns leave the tile of {s.rows}x{s.cols}"
    return None


_ISA = (
    INS_COM_01,
    _rule(
        "COM-02",
        "TINSERT(Tile(Vec, {f16, 6|f32, 8}, 64), Tile(Vec, f16, 4, 32), row=0, col=0)",
        evidence="static_assert",
        on="cpu",
    )(
        "Only accumulators are converted, between types that a move has, with words of the right sign.",
        lambda o: quantised(o, o.src.vc, 0, position(o)[1]),
        lambda o: types_differ(o) if o.src.loc is not Acc else None,
    ),
    INS_COM_03,
    _rule(
        "CPU-02",
        "TINSERT(Tile(Vec, {f16|e4m3}, {6|8}, 64), Tile(Vec, {f16|e4m3}, {4|8}, 32), row=0, col=0)",
        source="types-and-layouts T-01",
        evidence="simulator",
    )(unsupported),
    define(
        "INS-CPU-01",
        "On cpu the split modes insert as usual, AccToVecMode and the scalar word have their effect.",
        targets=("cpu",),
        source=INSERTS,
        why="Nothing can break this; it records how cpu differs from the simulator.",
        evidence="simulator",
        unrun="nothing breaks it",
    ),
    _rule(
        "A23-01",
        "TINSERT(Tile(Mat, f16, 48, 96, ColMajor, slayout=SLayout.RowMajor{|, fractal=1024}), "
        "TileAcc(f32, 16, 32), row=0, col=0)",
        evidence="static_assert",
    )(
        "acc to mat: both Nz, dst fractal 512, rows of 32 bytes.",
        lambda o: acc_to_mat(o) if pair(o) == (Acc, Mat) else None,
    ),
    _rule(
        "A23-02", "TINSERT(Tile(Vec, f16, 6, 64), Tile(Vec, f16, 4, 32), row=0, col={0|10})", evidence="static_assert"
    )(
        """vec to vec: types, sizes and alignment as TEXTRACT, with the roles exchanged.

        Decision: The manual and the assembler know acc to mat only; the header has both (D-15).
        """,
        vec_types,
        lambda o: vec_nd(o, o.src, o.dst),
        lambda o: vec_nz(o, o.src, o.dst),
    ),
    _rule(
        "A5-01",
        "TINSERT(Tile(Vec, {f16|u8}, 6, 64), Tile(Vec, {f16|u8}, 4, 32), row=0, col=0)",
        evidence="static_assert",
    )(
        "Without an accumulator: f16, bf16, f32, i32, i8, 8-bit floats, fp4.",
        "src.dtype in A5_TYPES if src.loc is not Acc",
        "element type {src.dtype} is not inserted; {listed(A5_TYPES)} are",
    ),
    _rule(
        "A5-02",
        "TINSERT(Tile({Vec|Mat}, f16, 48, 96{, ColMajor|}), TileAcc(f32, 16, 32), row=0, col=0)",
        evidence="static_assert",
    )(
        "From acc: mat in Nz, vec in ND, DN or Nz; dual modes do not convert and do not write DN.",
        "dst.layout_name == 'Nz' if src.loc is Acc and dst.loc is Mat",
        "{dst} has layout {dst.layout_name}; acc to mat writes Nz",
        "dst.layout_name in ('ND', 'DN', 'Nz') if src.loc is Acc",
        "{dst} has layout {dst.layout_name}; acc to vec writes ND, DN or Nz",
        "dst.layout_name != 'DN' if src.loc is Acc and dual(o)",
        "{mode.name} does not write a DN tile",
        lambda o: dual_split(o) if o.src.loc is Acc else None,
    ),
    _rule(
        "A5-03",
        "TINSERT(Tile(Mat, f16, 48, 48, slayout=SLayout.ColMajor), "
        "Tile(Vec, f16, 16, 16, slayout=SLayout.ColMajor), row={16|8}, col=0)",
        evidence="static_assert",
    )(
        "vec to mat in Zn: row and valid rows are whole boxes.",
        "position(o)[0] % dst.c0 == 0 and src.vr % dst.c0 == 0 if pair(o) == (Vec, Mat) and dst.layout_name == 'Zn'",
        "row {position(o)[0]} and {src.vr} valid rows; both must be multiples of {dst.c0}",
    ),
    _rule(
        "A5-04",
        "TINSERT(Tile(Vec, f16, 48, 48, ColMajor, slayout=SLayout.RowMajor), "
        "Tile(Vec, f16, 16, {16|64}, ColMajor{|, valid_col=16}, slayout=SLayout.RowMajor), row=0, col=0)",
        evidence="static_assert",
    )(
        "vec to vec: both ND or both Nz, src not larger than dst.",
        "if pair(o) == (Vec, Vec)",
        "src.layout_name == dst.layout_name and src.layout_name in ('ND', 'Nz')",
        "{src.layout_name} into {dst.layout_name}; both are ND or both Nz",
        "src.cols <= dst.cols and (src.layout_name != 'ND' or src.rows <= dst.rows)",
        "{src} is {src.rows}x{src.cols}, larger than {dst} of {dst.rows}x{dst.cols}",
    ),
    _rule(
        "A5-05",
        "TINSERT(Tile({Mat|Vec}, f16, 48, 48, ColMajor, slayout=SLayout.RowMajor), "
        "Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
        "row=0, col=0, split=TInsertMode.{SPLIT4|SPLIT2})",
        targets=("cpu", "a5"),
        evidence="static_assert",
        on="cpu",
    )(
        "The split modes take a vec tile in Nz to mat.",
        "pair(o) == (Vec, Mat) and src.layout_name == 'Nz' if optional(o, 'split') is not None",
        "{split.name} is for a vec tile in Nz into mat; this is {arrow(o)} from {src.layout_name}",
    ),
    INS_A5_06,
)
INSERT_RULES = (*_ISA, *INSERT_TEXT_RULES)
INSERT_FP_RULES = _ISA


# TINSERT and TINSERT_FP: a tile into a window of another (compute-layout-irregular 1.4, move-gather-scatter 9).


PLACE = Index(Axis(i=1, plus=Extent("row", "value")), Axis(j=1, plus=Extent("col", "value")))


def _inserted(o: Site) -> Word | None:
    """``dst[row + r, col + c] = src[r, c]`` over src's valid region; the rest of dst is kept.

    The split modes cut the transfer into 2 or 4, of whole boxes.
    """
    if o.src.loc is TileType.Acc:
        words = next((name for name in ("fp", "quant") if o.has(name)), "")
        return Drain(X, *size("src"), words, o.relu, o.mode, to=PLACE)
    if o.target.is_a(A5) and (o.src.loc, o.dst.loc) == (Vec, Mat) and o.src.layout_name in IN_LINES:
        if not known(o.src.vc):
            return None
        if o.dst.layout_name != "ND" or is_line(o.src, o.dst):
            return Python(tinsert)
    rows, cols = size("src")
    whole = Least((Up(rows, 16), Extent("src", "rows"))) if o.split is not None else rows
    return Move(X, whole, cols, to=OWN if o.row.value == o.col.value == 0 else PLACE)


def tinsert(
    m: Machine, dst: TileOperand, src: TileOperand, fp: None, quant: None, row: int, col: int, **_: Any
) -> None:
    """ND rows that go to the matrix buffer as they lie in memory.

    So do rows shorter than 32 bytes, which follow each other without a pitch, and all to a boxed destination.
    """
    rows, cols = src.vr, src.vc
    count = rows * cols
    start = row * dst.spec.cols + col
    if is_line(src, dst):
        here, there = np.arange(count), start + np.arange(count)
    else:
        r, c = np.divmod(np.arange(count), cols)
        here, there = r * src.spec.cols + c, start + r * dst.spec.cols + c
    store_at(dst, there, stored(src)[:, here])


TINSERT = instruction(
    Instr(
        "TINSERT",
        "tinsert",
        "Copy a tile into another at (row, col), which keeps the rest; accumulators are converted on the way.",
        (
            inout(),
            src(),
            in_text(src("fp", optional=True), word="fp"),
            in_text(scalar("quant", optional=True, type="i64"), word="pre_quant"),
            agreed(index("row")),
            agreed(index("col")),
        ),
        (RELU, MODE, Attr("split", TInsertMode, None, "splitMode", "tinsert_mode")),
        pipe=move_pipe,
        rules=INSERT_RULES,
        meaning=_inserted,
        footprint=insert_footprint,
        value_rules=has_words,
        form=TextForm(orders={GENERIC: "src row col dst fp quant"}),
        halves=True,
        source="compute-layout-irregular 1.4; move-gather-scatter 9",
        cpp=(
            "TINSERT<^dst, ^src, mode?, relu?>(dst, src, quant?, row, col) | "
            "TINSERT<split>(dst, src, row, col) | "
            "TINSERT<^dst, ^src, ^fp, mode, relu?>(dst, src, fp, row, col) | "
            "TINSERT_FP<^dst, ^src, ^fp, relu?>(dst, src, fp, row, col)"
        ),
    )
)


TINSERT_FP = instruction(
    Instr(
        "TINSERT_FP",
        "tinsert_fp",
        "Copy an accumulator into another tile with one quantisation word per column.",
        (inout(), src(), in_text(src("fp"), word="fp"), agreed(index("row")), agreed(index("col"))),
        (RELU,),
        pipe=Pipe.FIX,
        rules=INSERT_FP_RULES,
        meaning=lambda o: Drain(X, *size("src"), "fp", o.relu, to=PLACE),
        footprint=insert_footprint,
        value_rules=has_words,
        form=TextForm(spellings=("tinsert.fp",), newest="tinsert"),
        source="compute-layout-irregular 1.4; move-gather-scatter 9",
        cpp="TINSERT_FP<^dst, ^src, ^fp, relu?>(dst, src, fp, row, col)",
    )
)
