"""TPACK: the low bits of wider elements (compute-layout-irregular 1.9)."""

from __future__ import annotations

from ..checks.assembler import A5_ONLY
from ..element_positions import kind
from ..machine import Machine, TileOperand
from ..table import Instr, dst, instruction, src
from .interleave_rules import PACK_RULES


def _pack(m: Machine, dst: TileOperand, src: TileOperand) -> None:
    bits = src.read().view(src.spec.dtype.storage).astype(dst.spec.dtype.storage)
    dst.write(bits.view(kind(dst)), src.vr, src.vc)


TPACK = instruction(
    Instr(
        "TPACK",
        "tpack",
        "dst = low bits of src's wider elements",
        (dst(), src()),
        rules=(*PACK_RULES, A5_ONLY),
        run=_pack,
        source="compute-layout-irregular 1.9",
    )
)
