"""Products of block-scaled tiles, and where their scales lie (compute-reduce-matrix 12)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from .table import Instr, Operand, dst, instruction, src

_SCALED = (src("lhs"), src("lhs_scale"), src("rhs"), src("rhs_scale"))


def _product(name: str, text: str, summary: str, *operands: Operand) -> Instr:
    return instruction(
        Instr(
            name, text, summary, (dst(), *operands), pipe=Pipe.M, implemented=False, source="compute-reduce-matrix 12"
        )
    )


for _name, _text, _what in (("TMATMUL_MX", "tmatmul.mx", "Matrix"), ("TGEMV_MX", "tgemv.mx", "Row by matrix")):
    _product(_name, _text, f"{_what} product of block-scaled tiles.", *_SCALED)
    _product(
        f"{_name}_ACC",
        f"{_text}.acc",
        f"{_what} product of block-scaled tiles, added to an accumulator.",
        src("acc"),
        *_SCALED,
    )
    _product(
        f"{_name}_BIAS", f"{_text}.bias", f"{_what} product of block-scaled tiles, plus a bias.", *_SCALED, src("bias")
    )

TGET_SCALE_ADDR = instruction(
    Instr(
        "TGET_SCALE_ADDR",
        "tget_scale_addr",
        "Bind a scale tile to the address that belongs to an operand of the scaled product.",
        (dst(), src()),
        pipe=Pipe.S,
        spellings=("get_scale_addr",),
        implemented=False,
        source="compute-reduce-matrix 12",
    )
)
