"""TFILLPAD and its relatives: copy, and fill what lies outside the valid region (compute-layout-irregular 1.6)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import Rule
from ptokit.types.enums import Pipe, TileType
from ptokit.types.pad import pad_bits

from ..meaning.expressions import Element, Extent
from ..meaning.words import Fill, Move
from ..site import Site
from ..table import Access, Instr, dst, instruction, src
from ..unknown import known
from .fillpad_rules import COPY_RULES, EXPAND_RULES, IN_PLACE_RULES
from .irregular_text_rules import FP_1

VR, VC = Extent("src", "vr"), Extent("src", "vc")


def _meaning(o: Site) -> Move | None:
    """Keep the valid elements of src; the pad value beside and below them."""
    spec, on_cpu = o.dst.spec, not o.target.is_device
    if not on_cpu and not known(o.dst.vr, o.dst.vc):
        return None
    if not on_cpu and not (o.dst.vr and o.dst.vc):
        return Move(Element("src"), 0, 0)
    if spec.loc is TileType.Mat and not on_cpu:
        filled = -(-o.dst.vc // spec.c0) * spec.c0  # the rest of the last block stays as it is
        below = Fill(o.dst.vr, spec.rows, 0, filled, 0)
        return Move(Element("src"), VR, VC, fills=(Fill(0, spec.rows, filled, spec.cols, 0), below))
    bits = pad_bits(spec.dtype, spec.pad, wide=o.target.pads_64_bits, finite=o.target.templates)
    below = Fill(VR, spec.rows if on_cpu else o.dst.vr, 0, spec.cols, bits)
    return Move(Element("src"), VR, VC, fills=(Fill(0, VR, VC, spec.cols, bits), below))


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
            meaning=_meaning,
            footprint=_footprint,
            source="compute-layout-irregular 1.6",
        )
    )


TFILLPAD = _fillpad("TFILLPAD", "dst = src, padded with dst's pad value.", (*COPY_RULES, FP_1))
TFILLPAD_INPLACE = _fillpad(
    "TFILLPAD_INPLACE", "Pad a tile where it lies; src and dst share their bytes.", (*IN_PLACE_RULES, FP_1)
)
TFILLPAD_EXPAND = _fillpad("TFILLPAD_EXPAND", "dst = src, padded up to a larger tile.", (*EXPAND_RULES, FP_1))
