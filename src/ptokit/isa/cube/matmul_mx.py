"""Products of block-scaled tiles, and where their scales lie (compute-reduce-matrix 12)."""

from __future__ import annotations

from ptokit.types.enums import Pipe, TileType

from ..checks.assembler import A5_ONLY
from ..machine import Machine, TileOperand
from ..meaning.expressions import OWN, ROW, Index
from ..meaning.words import Contract
from ..table import TENSOR, Instr, Operand, TextForm, dst, instruction, scales, src
from .matmul_mx_rules import ADDRESS_RULES, rules_of
from .matmul_text_rules import MX_SCALE, scaled

_SCALED = (
    src("lhs"),
    scales("lhs_scale", TileType.ScaleLeft),
    src("rhs"),
    scales("rhs_scale", TileType.ScaleRight),
)


def _contraction(start: str = "", at: Index = OWN) -> Contract:
    return Contract("lhs", "rhs", start, at, "lhs_scale", "rhs_scale")


def _product(name: str, text: str, summary: str, meaning: Contract, *operands: Operand) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            (dst(), *operands),
            pipe=Pipe.M,
            rules=(*rules_of(name), *scaled(name)),
            meaning=meaning,
            form=TextForm(carried=(TENSOR,)),
            cpp=name.removesuffix("_ACC").removesuffix("_BIAS"),
            source="compute-reduce-matrix 12",
        )
    )


for _name, _text, _what in (("TMATMUL_MX", "tmatmul.mx", "Matrix"), ("TGEMV_MX", "tgemv.mx", "Row by matrix")):
    _summary = f"{_what} product of block-scaled tiles"
    _product(_name, _text, f"{_summary}.", _contraction(), *_SCALED)
    _product(
        f"{_name}_ACC",
        f"{_text}.acc",
        f"{_summary}, added to an accumulator.",
        _contraction("acc"),
        src("acc"),
        *_SCALED,
    )
    _product(
        f"{_name}_BIAS", f"{_text}.bias", f"{_summary}, plus a bias.", _contraction("bias", ROW), *_SCALED, src("bias")
    )


def _scale_address(m: Machine, dst: TileOperand, src: TileOperand) -> None:
    """The scale tile lies at a sixteenth of the operand's address; without addresses it stays where it is."""
    m.bind_scales(dst, src)


TGET_SCALE_ADDR = instruction(
    Instr(
        "TGET_SCALE_ADDR",
        "tget_scale_addr",
        "Bind a scale tile to the address that belongs to an operand of the scaled product.",
        (dst(), src()),
        pipe=Pipe.S,
        form=TextForm(spellings=("get_scale_addr",)),
        rules=(*ADDRESS_RULES, A5_ONLY, MX_SCALE),
        run=_scale_address,
        footprint=lambda o: iter(()),
        source="compute-reduce-matrix 12",
    )
)
