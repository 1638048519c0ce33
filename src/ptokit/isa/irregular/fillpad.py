"""TFILLPAD and its relatives: copy, and fill what lies outside the valid region (compute-layout-irregular 1.6)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import Rule
from ptokit.types.enums import Pipe, TileType
from ptokit.types.pad import pad_bits

from ..machine import Machine, TileOperand
from ..places import kind
from ..site import Site
from ..table import Access, Instr, dst, instruction, src
from .fillpad_rules import COPY_RULES, EXPAND_RULES, IN_PLACE_RULES
from .irregular_text_rules import FP_1, FP_1_EXPAND


def _fill(m: Machine, dst: TileOperand, src: TileOperand) -> None:
    """Keep the valid elements of src; the pad value beside and below them."""
    spec, on_cpu = dst.spec, not m.target.is_device
    if not on_cpu and not (dst.vr and dst.vc):
        return
    values = src.read()
    if spec.loc is TileType.Mat and not on_cpu:
        dst.write(values.copy(), src.vr, src.vc)
        filled = -(-dst.vc // spec.c0) * spec.c0  # the rest of the last block stays as it is
        dst.fill(0, spec.rows, filled, spec.cols, 0)
        dst.fill(dst.vr, spec.rows, 0, filled, 0)
        return
    bits = pad_bits(spec.dtype, spec.pad, wide=m.target.pads_64_bits)
    dst.write(values.copy().view(kind(dst)), src.vr, src.vc)
    dst.fill(0, src.vr, src.vc, spec.cols, bits)
    dst.fill(src.vr, spec.rows if on_cpu else dst.vr, 0, spec.cols, bits)


def _pipe(o: Site) -> Pipe:
    return Pipe.MTE2 if o.dst.loc is TileType.Mat else Pipe.V


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.vr, o.src.vc)
    whole = not o.target.is_device or o.dst.loc is TileType.Mat
    yield Access("dst", True, o.dst.rows if whole else o.dst.vr, o.dst.cols)


def _fillpad(name: str, summary: str, rules: tuple[Rule, ...]) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (dst(), src()),
            pipe=_pipe,
            rules=rules,
            run=_fill,
            footprint=_footprint,
            source="compute-layout-irregular 1.6",
        )
    )


TFILLPAD = _fillpad("TFILLPAD", "dst = src, padded with dst's pad value.", (*COPY_RULES, FP_1))
TFILLPAD_INPLACE = _fillpad(
    "TFILLPAD_INPLACE", "Pad a tile where it lies; src and dst share their bytes.", (*IN_PLACE_RULES, FP_1)
)
TFILLPAD_EXPAND = _fillpad("TFILLPAD_EXPAND", "dst = src, padded up to a larger tile.", (*EXPAND_RULES, FP_1_EXPAND))
