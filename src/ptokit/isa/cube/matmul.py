"""TMATMUL, TMATMUL_ACC and TMATMUL_BIAS (compute-reduce-matrix 9)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from ..meaning.expressions import OWN, ROW, Index
from ..meaning.words import Contract
from ..table import TENSOR, Instr, TextForm, dst, instruction, src
from . import matmul_text_rules
from .matmul_rules import ACCUMULATE, BIASED, PRODUCT, TOGETHER


def contraction(start: str = "", at: Index = OWN) -> Contract:
    """``lhs @ rhs``, and what the sums start with."""
    return Contract("lhs", "rhs", start, at)


TMATMUL = instruction(
    Instr(
        "TMATMUL",
        "tmatmul",
        "Matrix product of a left and a right tile into an accumulator.",
        (dst(), src("lhs"), src("rhs")),
        pipe=Pipe.M,
        rules=(*PRODUCT, *matmul_text_rules.PRODUCT),
        meaning=contraction(),
        form=TextForm(carried=(TENSOR,)),
        together=TOGETHER,
        source="compute-reduce-matrix 9",
    )
)
TMATMUL_ACC = instruction(
    Instr(
        "TMATMUL_ACC",
        "tmatmul.acc",
        "Matrix product added to an accumulator.",
        (dst(), src("acc"), src("lhs"), src("rhs")),
        pipe=Pipe.M,
        rules=(*ACCUMULATE, *matmul_text_rules.ACCUMULATE),
        meaning=contraction("acc"),
        form=TextForm(carried=(TENSOR,)),
        together=TOGETHER,
        source="compute-reduce-matrix 9",
    )
)
TMATMUL_BIAS = instruction(
    Instr(
        "TMATMUL_BIAS",
        "tmatmul.bias",
        "Matrix product plus a bias per column.",
        (dst(), src("lhs"), src("rhs"), src("bias")),
        pipe=Pipe.M,
        rules=(*BIASED, *matmul_text_rules.BIAS),
        meaning=contraction("bias", ROW),
        form=TextForm(carried=(TENSOR,)),
        together=TOGETHER,
        source="compute-reduce-matrix 9",
    )
)
