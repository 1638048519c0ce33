"""TINSERT and TINSERT_FP: a tile into a window of another (compute-layout-irregular 1.4, move-gather-scatter 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.targets import A5
from ptokit.types.enums import Pipe, TileType, TInsertMode

from ..forms import GENERIC
from ..machine import Machine, TileOperand
from ..meaning.expressions import OWN, Axis, Extent, Index
from ..meaning.moving import store_at, stored
from ..meaning.words import Drain, Move, Python, Word
from ..site import Site
from ..table import Attr, Instr, TextForm, agreed, in_text, index, inout, instruction, scalar, src
from ..unknown import known
from .insert_footprint import insert_footprint
from .insert_rules import INSERT_FP_RULES, INSERT_RULES
from .move import MODE, RELU, X, has_words, move_pipe, size
from .move_facts import (
    is_line,
)

PLACE = Index(Axis(i=1, plus=Extent("row", "value")), Axis(j=1, plus=Extent("col", "value")))


def _meaning(o: Site) -> Word | None:
    """``dst[row + r, col + c] = src[r, c]`` over src's valid region; the rest of dst is kept.

    The split modes cut the same transfer into 2 or 4.
    """
    if o.src.loc is TileType.Acc:
        words = next((name for name in ("fp", "quant") if o.has(name)), "")
        return Drain(X, *size("src"), words, o.relu, o.mode, to=PLACE)
    if o.target.is_a(A5) and (o.src.loc, o.dst.loc, o.src.layout_name) == (TileType.Vec, TileType.Mat, "ND"):
        if not known(o.src.vc):
            return None
        if o.dst.layout_name != "ND" or is_line(o.src, o.dst):
            return Python(tinsert)
    return Move(X, *size("src"), to=OWN if o.row.value == o.col.value == 0 else PLACE)


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
        meaning=_meaning,
        footprint=insert_footprint,
        value_rules=has_words,
        form=TextForm(orders={GENERIC: "src row col dst fp quant"}),
        halves=True,
        source="compute-layout-irregular 1.4; move-gather-scatter 9",
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
    )
)
