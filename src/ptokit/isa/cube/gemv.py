"""TGEMV and its relatives: the product of a row and a matrix (compute-reduce-matrix 10)."""

from __future__ import annotations

from ptokit.diagnostics import Rule
from ptokit.types.enums import Pipe

from ..meaning.expressions import ROW as ROW_VECTOR
from ..meaning.words import Contract
from ..table import TENSOR, Instr, Operand, TextForm, dst, instruction, src
from .gemv_rules import ACCUMULATE, BIASED, PRODUCT
from .matmul import contraction
from .matmul_rules import TOGETHER
from .matmul_text_rules import ROW, ROW_ACCUMULATE, ROW_BIAS


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
    "TGEMV", "tgemv", "Product of one row and a matrix.", (*PRODUCT, *ROW), contraction(), dst(), src("lhs"), src("rhs")
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
