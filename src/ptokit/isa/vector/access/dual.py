"""Loads and stores of two registers (vector-path 4.2)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.types.dtypes import dtype, u16

from ...meaning.expressions import Axis, Element, Index, Place, equal, lane, select
from ...meaning.words import Lane, Write
from ...site import Site
from ...table import Role
from ..lanes import VREG_BYTES
from ..rules import SAME
from ..words import REGISTERS, at, mask, micro, out_vreg, token, ub, vreg
from .access_rules import known_token
from .load import LoadMode, bytes_of, every, loaded
from .posting import placed, updated

_BLOCK = 32


def _blocks(first: int) -> LoadMode:
    """Every second block, from block `first` on."""
    at = Index(Axis(j=1, over=_BLOCK), Axis(j=1, plus=first * _BLOCK))
    return LoadMode(2 * VREG_BYTES, 1, at, pitch=_BLOCK, what="every second block of 32 bytes in 512 bytes")


SPLITS: dict[str, tuple[LoadMode, LoadMode]] = {
    **{f"DINTLV_B{8 * w}": (every(w, 2), every(w, 2, 1)) for w in (1, 2, 4)},
    "BDINTLV": (_blocks(0), _blocks(1)),
}
"""What the two registers get, by token of ``dist``."""
MERGES = {f"INTLV_B{8 * w}": w for w in (1, 2, 4)}


def _loaded(o: Site) -> Lane:
    low, high = SPLITS[o.dist]
    return loaded(*placed(o, "src"), low=low, high=high)


VLDSX2 = micro(
    "vldsx2",
    "Load two vector registers with the even and the odd elements, or blocks, of memory.",
    (ub(), at(listed=True)),
    (out_vreg("low", like="src"), out_vreg("high", like="src"), updated("src")),
    None,
    SAME,
    known_token(SPLITS),
    meaning=_loaded,
    attrs=(token("dist", does={name: f"low: {low.what}; high: the others" for name, (low, _) in SPLITS.items()}),),
    form=replace(REGISTERS, spellings=("vldx2",)),
    source="4.2",
)


def _stored(o: Site) -> Lane:
    """Memory gets an element of either register in turn."""
    unit = dtype(f"u{8 * MERGES[o.dist]}")
    low, high = (Element(name, lane(over=2), unit) for name in ("low", "high"))
    value = select(equal(Place(u16) & 1, 0), low, high)
    return Lane((Write("dst", value, offset="offset", alignment=32),), lanes=2 * VREG_BYTES // unit.size)


VSTSX2 = micro(
    "vstsx2",
    "Store two vector registers, their elements in turn; the predicate has no effect.",
    (vreg("low"), vreg("high"), ub("dst", Role.OUT), at(listed=True), mask()),
    (),
    None,
    SAME,
    known_token(MERGES),
    meaning=_stored,
    attrs=(
        token(
            "dist",
            before="mask",
            does={name: f"elements of {bytes_of(size)}, one of low and one of high" for name, size in MERGES.items()},
        ),
    ),
    form=replace(REGISTERS, spellings=("vstx2",)),
    source="4.2",
)
