"""TEXTRACT and TEXTRACT_FP: a window of a tile (compute-layout-irregular 1.3, move-gather-scatter 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.targets import A5
from ptokit.types.enums import Pipe, TileType
from ptokit.types.tensor import ConvSpec

from ..machine import Machine, TileOperand
from ..meaning.expressions import Axis, Element, Extent, Index
from ..meaning.moves import DUAL, put, window
from ..meaning.words import Drain, Move, Python, Word
from ..site import Site, known, least
from ..table import ALSO, GENERIC, LEVEL2, Instr, TextForm, agreed, dst, in_text, index, instruction, scalar, src
from .checks import Mat, Right, Vec, nz_pitch, weights
from .extract_rules import EXTRACT_FP_RULES, EXTRACT_RULES, PAIR_RULES
from .footprint import extract_footprint, pair_footprint
from .move import MODE, RELU, X, has_words, move_pipe, nd_to_nz, size, vec_to_mat


def extract_pipe(site: Site) -> Pipe:
    """As a move; a5 takes single elements between vec tiles through the scalar unit."""
    d = site.dst.spec
    single = site.src.loc is d.loc is TileType.Vec and (d.valid_row, d.valid_col) == (1, 1)
    return Pipe.S if single and site.target.is_a(A5) else move_pipe(site)


WINDOW = Element("src", Index(Axis(i=1, plus=Extent("row", "value")), Axis(j=1, plus=Extent("col", "value"))))


def _meaning(o: Site) -> Word | None:
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
    """A dual mode splits what is valid in the source behind (row, col), whatever is valid in dst."""
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
        pipe=extract_pipe,
        rules=EXTRACT_RULES,
        meaning=_meaning,
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
