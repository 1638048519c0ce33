"""Operations of the vector unit on the unified buffer itself, with repeats and strides (PTOAS e32488c9, VPTOUbOps)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from ..table import Instr, Operand, Role, instruction
from .verifier_rules import MIC_07
from .words import number, ub

SOURCE = "PTOAS e32488c9, VPTOUbOps"


def _numbers(names: str) -> tuple[Operand, ...]:
    return tuple(number(name, "i64") for name in names.split())


def _operation(text: str, summary: str, operands: tuple[Operand, ...], pipe: Pipe = Pipe.V) -> Instr:
    name = f"ub.{text}"
    return instruction(
        Instr(
            name,
            name,
            summary,
            operands,
            pipe=pipe,
            rules=(MIC_07,),
            syntax="micro",
            implemented=False,
            source=SOURCE,
        )
    )


_BINARY = "repeat dst_block src0_block src1_block dst_repeat src0_repeat src1_repeat"
_UNARY = "repeat dst_block src_block dst_repeat src_repeat"

for _name in "vadd vsub vmul vdiv vmax vmin vand vor vaddrelu".split():
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src0 and src1; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src0"), ub("src1"), *_numbers(_BINARY)),
    )
for _name in "vnot vabs vrelu vexp vln vsqrt vrsqrt".split():
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src"), *_numbers(_UNARY)),
    )
for _name in "vshl vshr vmuls vadds vmaxs vmins".split():
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src and a number; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src"), number("scalar", "i64"), *_numbers(_UNARY)),
    )
_operation(
    "vdup",
    "Blocks of dst = a number; strides in blocks of 32 bytes.",
    (ub("dst", Role.OUT), number("scalar", "i64"), *_numbers(_UNARY)),
)
_operation("set_mask", "The lanes that later operations of ub. work on.", _numbers("high low"), Pipe.S)
_operation("set_mask_count", "Take the mask of later operations of ub. as a number of elements.", (), Pipe.S)
_operation("set_mask_norm", "Take the mask of later operations of ub. as bits.", (), Pipe.S)
