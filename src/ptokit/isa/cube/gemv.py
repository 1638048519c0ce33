"""TGEMV and its relatives: the product of a row and a matrix (compute-reduce-matrix 10)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.diagnostics import Rule
from ptokit.types.enums import Pipe

from ..table import Instr, Operand, dst, instruction, src
from .gemv_rules import ACCUMULATE, BIASED, PRODUCT
from .matmul import tmatmul, tmatmul_acc, tmatmul_bias
from .matmul_text_rules import ROW, ROW_ACCUMULATE, ROW_BIAS


def _gemv(
    name: str, text: str, summary: str, rules: tuple[Rule, ...], run: Callable[..., None], *operands: Operand
) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            operands,
            pipe=Pipe.M,
            rules=rules,
            run=run,
            tensor=True,
            source="compute-reduce-matrix 10",
        )
    )


TGEMV = _gemv(
    "TGEMV", "tgemv", "Product of one row and a matrix.", (*PRODUCT, *ROW), tmatmul, dst(), src("lhs"), src("rhs")
)
TGEMV_ACC = _gemv(
    "TGEMV_ACC",
    "tgemv.acc",
    "Product of one row and a matrix, added to an accumulator.",
    (*ACCUMULATE, *ROW_ACCUMULATE),
    tmatmul_acc,
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
    tmatmul_bias,
    dst(),
    src("lhs"),
    src("rhs"),
    src("bias"),
)
