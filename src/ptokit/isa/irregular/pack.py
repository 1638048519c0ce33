"""TPACK: the low bits of wider elements (compute-layout-irregular 1.9)."""

from __future__ import annotations

from ptokit.types.dtypes import dtype

from ..checks.assembler import A5_ONLY
from ..meaning.expressions import Convert, Element, Reinterpret
from ..meaning.words import Lane, lane
from ..site import Site
from ..table import Instr, dst, instruction, src
from .interleave_rules import PACK_RULES


def _low_bits(o: Site) -> Lane:
    wide, narrow = (dtype(f"u{t.dtype.bits}") for t in (o.src, o.dst))
    return lane(Reinterpret(Convert(Reinterpret(Element("src"), wide), narrow), "dst"), over="src")


TPACK = instruction(
    Instr(
        "TPACK",
        "tpack",
        "dst = low bits of src's wider elements",
        (dst(), src()),
        rules=(*PACK_RULES, A5_ONLY),
        meaning=_low_bits,
        source="compute-layout-irregular 1.9",
    )
)
