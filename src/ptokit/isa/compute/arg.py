"""Arg reductions: the position of the extreme of each row or column (compute-reduce-matrix 3)."""

from __future__ import annotations

from ..forms import LEVEL2
from ..meaning.sentence import sentence
from ..meaning.words import Search
from ..operands import FIRST_SOURCE
from ..scratch import on_a2a3
from ..table import Instr, Operand, Role, TextForm, dst, src, tmp
from ..typesets import FB, I6, INT16_32, N4, F, types, types_of
from .arg_rules import COLUMN_RULES, INT_ANY, ROW_RULES
from .words import SRC, vector

OPERANDS = (
    dst(),
    src(),
    tmp(optional=True, like=FIRST_SOURCE, needed=on_a2a3("src")),
    Operand("dst_val", Role.OUT, optional=True),
)
ROW_TYPES = types(N4, INT16_32 | FB, cpu=INT_ANY | FB, asm=F | types_of("i16 u16 i32 u32"))
COLUMN_TYPES = types(types_of("f16 f32 u16 u32"), I6 | FB, cpu=INT_ANY | FB, asm=F)


def arg_reduction(name: str, axis: str, op: str) -> Instr:
    """Index form ``OP(dst, src, tmp)``; the value form also writes the extremes to ``dst_val``, first in text."""
    rules, columns = (ROW_RULES, ROW_TYPES) if axis == "row" else (COLUMN_RULES, COLUMN_TYPES)
    word = Search(op, SRC, axis)
    return vector(
        name,
        sentence(word),
        OPERANDS,
        columns,
        word,
        common=rules,
        form=TextForm(orders={LEVEL2: "src tmp -> dst_val dst"}),
        source="compute-reduce-matrix 3",
    )


TROWARGMAX = arg_reduction("TROWARGMAX", "row", "gt")
TROWARGMIN = arg_reduction("TROWARGMIN", "row", "lt")
TCOLARGMAX = arg_reduction("TCOLARGMAX", "column", "gt")
TCOLARGMIN = arg_reduction("TCOLARGMIN", "column", "lt")
