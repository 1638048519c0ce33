"""TINTERLEAVE and TDEINTERLEAVE: alternate the elements of two rows (compute-layout-irregular 1.8)."""

from __future__ import annotations

import numpy as np

from ..element_positions import for_all_blocks
from ..forms import LEVEL2
from ..machine import Machine, TileOperand
from ..table import Instr, TextForm, dst, instruction, src
from .interleave_rules import DE_RULES, RULES


def _interleave(m: Machine, d1: TileOperand, d0: TileOperand, s1: TileOperand, s0: TileOperand) -> None:
    a, b = for_all_blocks(s0.read(), s1.read())
    z = np.stack((a, b), axis=3).reshape(len(a), s0.vr, 2 * s0.vc)
    d0.write(z[:, :, : s0.vc].copy(), s0.vr, s0.vc)
    d1.write(z[:, :, s0.vc :].copy(), s0.vr, s0.vc)


def _deinterleave(m: Machine, d1: TileOperand, d0: TileOperand, s1: TileOperand | None, s0: TileOperand) -> None:
    z = s0.read() if s1 is None else np.concatenate(for_all_blocks(s0.read(), s1.read()), axis=2)
    half = z.shape[2] // 2
    for place, d in enumerate((d0, d1)):
        d.write(z[:, :, place : 2 * half : 2].copy(), s0.vr, half)


TINTERLEAVE = instruction(
    Instr(
        "TINTERLEAVE",
        "tinterleave",
        "Elements of src0 and src1 alternately: the first half in dst0, the second in dst1.",
        (dst("dst1"), dst("dst0"), src("src1"), src("src0")),
        form=TextForm(orders={LEVEL2: "src0 src1 -> dst0 dst1"}),
        rules=RULES,
        run=_interleave,
        source="compute-layout-irregular 1.8",
    )
)
TDEINTERLEAVE = instruction(
    Instr(
        "TDEINTERLEAVE",
        "tdeinterleave",
        "Elements at even places in dst0, at odd ones in dst1, of src0 and then src1.",
        (dst("dst1"), dst("dst0"), src("src1", optional=True), src("src0")),
        form=TextForm(choices=("dst1 dst0 src1 src0", "dst1 dst0 src0"), orders={LEVEL2: "src0 src1 -> dst0 dst1"}),
        rules=DE_RULES,
        run=_deinterleave,
        source="compute-layout-irregular 1.8",
    )
)
