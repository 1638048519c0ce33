"""TGEMV and its relatives: the product of a row and a matrix (compute-reduce-matrix 10)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from .table import Instr, Operand, dst, instruction, src


def _gemv(name: str, text: str, summary: str, *operands: Operand) -> Instr:
    return instruction(
        Instr(name, text, summary, operands, pipe=Pipe.M, implemented=False, source="compute-reduce-matrix 10")
    )


TGEMV = _gemv("TGEMV", "tgemv", "Product of one row and a matrix.", dst(), src("lhs"), src("rhs"))
TGEMV_ACC = _gemv(
    "TGEMV_ACC",
    "tgemv.acc",
    "Product of one row and a matrix, added to an accumulator.",
    dst(),
    src("acc"),
    src("lhs"),
    src("rhs"),
)
TGEMV_BIAS = _gemv(
    "TGEMV_BIAS",
    "tgemv.bias",
    "Product of one row and a matrix, plus a bias.",
    dst(),
    src("lhs"),
    src("rhs"),
    src("bias"),
)
