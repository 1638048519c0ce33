"""TGEMV and its relatives: the product of a row and a matrix (compute-reduce-matrix 10)."""

from __future__ import annotations

from ptokit.diagnostics import Rule, family
from ptokit.diagnostics.conditions import shared
from ptokit.types.enums import Pipe

from ..checks.compiling import Message
from ..meaning.expressions import ROW as ROW_VECTOR
from ..meaning.words import Contract
from ..site import Site
from ..table import TENSOR, Instr, Operand, TextForm, dst, instruction, src
from .matmul import BIAS, LAYOUT, LIMIT, LOCATIONS, SAME_ACC, TOGETHER, TYPES, contraction
from .matmul_text_rules import GEMV, ROW_ACCUMULATE, ROW_BIAS

# Rules of TGEMV and its relatives (compute-reduce-matrix 10).


_rule = family("compute-reduce-matrix 10")


@_rule(
    "GEMV-COM-01",
    "TGEMV(TileAcc(f32, 1, 32), TileLeft(f16, 1, 256), TileRight(f16, {256|128}, 32))",
    evidence="device assertion",
)
def GEMV_SIZES(o: Site) -> Message:
    """The left tile has one valid row, K and N are in 1..4095, and the valid regions agree."""
    a, b, c = o.lhs, o.rhs, o.dst
    if a.vr != 1:
        return f"the left tile has {a.vr} valid rows; tgemv takes one"
    for name, size in (("K", b.vr), ("N", b.vc)):
        if size < 1 or size > LIMIT:
            return f"{name} = {size} is outside 1..{LIMIT}"
    if a.vc != b.vr or b.vc != c.vc or c.vr != 1:
        return f"valid regions: left {a.vr}x{a.vc}, right {b.vr}x{b.vc}, accumulator {c.vr}x{c.vc}"
    return None


row_of_blocks = shared(
    "The left tile has one row and whole fractals of 512 bytes.",
    "unit = 512 * 8 // lhs.dtype.bits",
    "lhs.rows == 1 and lhs.cols % unit == 0",
    "the left tile is {lhs.rows}x{lhs.cols}; it has one row and a multiple of {unit} columns",
)

PRODUCT = (
    LOCATIONS,
    TYPES,
    GEMV_SIZES,
    _rule(
        "GEMV-COM-02",
        "TGEMV(TileAcc(f32, {1, 32), TileLeft(f16, 1, 256), TileRight(f16, 256, 32|16, 16, valid_row=1), "
        "TileLeft(f16, 16, 64, valid_row=1), TileRight(f16, 64, 16}))",
        why="It is stored as a plain vector, on every target.",
        evidence="static_assert",
    )(row_of_blocks),
    LAYOUT,
)
ACCUMULATE = (*PRODUCT, SAME_ACC)
BIASED = (*PRODUCT, BIAS)


# TGEMV and its relatives: the product of a row and a matrix (compute-reduce-matrix 10).


def _gemv(name: str, text: str, summary: str, rules: tuple[Rule, ...], meaning: Contract, *operands: Operand) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            operands,
            pipe=Pipe.M,
            rules=rules,
            meaning=meaning,
            form=TextForm(carried=(TENSOR,)),
            together=TOGETHER,
            source="compute-reduce-matrix 10",
        )
    )


TGEMV = _gemv(
    "TGEMV", "tgemv", "Product of one row and a matrix.", (*PRODUCT, *GEMV), contraction(), dst(), src("lhs"), src("rhs")
)
TGEMV_ACC = _gemv(
    "TGEMV_ACC",
    "tgemv.acc",
    "Product of one row and a matrix, added to an accumulator.",
    (*ACCUMULATE, *ROW_ACCUMULATE),
    contraction("acc"),
    dst(),
    src("acc"),
    src("lhs"),
    src("rhs"),
)
TGEMV_BIAS = _gemv(
    "TGEMV_BIAS",
    "tgemv.bias",
    "Product of one row and a matrix, plus a bias.",
    (*BIASED, *ROW_BIAS),
    contraction("bias", ROW_VECTOR),
    dst(),
    src("lhs"),
    src("rhs"),
    src("bias"),
)
