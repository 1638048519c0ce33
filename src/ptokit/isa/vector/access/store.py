"""Vector stores with distribution modes (vector-path 4.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.dtypes import dtype

from ...checks.operands import Message
from ...machine import Machine
from ...meaning.expressions import Convert, Element, Expr
from ...meaning.words import Advance, Lane, Python, Word, Write
from ...site import Site
from ...table import Role
from ..compute.compute_rules import VEC_08
from ..lanes import VREG_BYTES, Predicate, active
from ..rules import VEC_05, wrong_mask
from ..words import at, mask, micro, ub, vreg, word
from .access_rules import known_token
from .load import bytes_of
from .posting import placed, updated


@dataclass(frozen=True)
class StoreMode:
    """What of a register is written: its elements of `width` bytes, each cut to `kept` bytes; one alone if `single`.

    Element j is written where the predicate lets byte j * `width` through.
    """

    width: int
    kept: int
    single: bool = False
    merge: tuple[int, int] | None = None  # channels, and bytes of an element, that take turns in each block

    @property
    def what(self) -> str:
        """What it does, for people."""
        if self.merge is not None:
            return f"elements of {bytes_of(self.merge[1])} of {self.merge[0]} channels in turn; a5 does not have it"
        if self.single:
            return f"the first element of {bytes_of(self.width)} alone"
        if self.kept < self.width:
            return f"of active lanes of {self.width} bytes the lower {bytes_of(self.kept)}, packed"
        return f"active lanes of {bytes_of(self.width)}"


STORE_MODES: dict[str, StoreMode] = {
    **{f"NORM_B{8 * w}": StoreMode(w, w) for w in (1, 2, 4)},
    **{f"{name}_B{8 * w}": StoreMode(w, w, single=True) for name in ("1PT", "ONEPT") for w in (1, 2, 4)},
    **{f"PK_B{16 * w}": StoreMode(2 * w, w) for w in (1, 2, 4)},
    **dict.fromkeys(("PK4_B32", "PK4"), StoreMode(4, 1)),
    "MRG4CHN_B8": StoreMode(4, 4, merge=(4, 1)),
    "MRG2CHN_B8": StoreMode(2, 2, merge=(2, 1)),
    "MRG2CHN_B16": StoreMode(4, 4, merge=(2, 2)),
}
"""By token of ``dist``; NORM and 1PT without a width are those of the element."""

_OF_ELEMENT = {"NORM": False, "1PT": True}

DIST = word(
    "dist",
    "NORM",
    does={
        "NORM": "active lanes",
        "1PT": "the first element alone",
        **{token: mode.what for token, mode in STORE_MODES.items()},
    },
)


def store_mode(dist: str, size: int) -> StoreMode:
    """The mode a token means for elements of `size` bytes."""
    single = _OF_ELEMENT.get(dist)
    return STORE_MODES[dist] if single is None else StoreMode(size, size, single)


def _merging(mode: StoreMode, *, offset: bool, advances: bool) -> Python:
    assert mode.merge is not None
    channels, width = mode.merge

    def run(m: Machine, value: np.ndarray, dst: Any, given: Any, mask: Predicate, **_: Any) -> Any:
        values = _merged(value, channels, width).view(f"u{mode.width}")
        m.store(dst, given if offset else None, values, active(mask, mode.width), 32)
        return dst.advance(given) if advances else None

    return Python(run)


def stored(o: Site, offset: str, advances: tuple[Advance, ...]) -> Word:
    """The meaning of a store in its distribution mode."""
    mode = store_mode(o.dist, o.value.dtype.size)
    if mode.merge is not None:
        return _merging(mode, offset=bool(offset), advances=bool(advances))
    value: Expr = Element("value", dtype=dtype(f"u{8 * mode.width}"))
    if mode.kept != mode.width:
        value = Convert(value, dtype(f"u{8 * mode.kept}"))
    alignment = mode.width if mode.single else 32
    lanes, gate = (1, "") if mode.single else (VREG_BYTES // mode.width, "mask")
    return Lane((Write("dst", value, offset=offset, alignment=alignment),), mask=gate, lanes=lanes, advances=advances)


def _merged(value: np.ndarray, channels: int, width: int) -> np.ndarray:
    """Each block of 32 bytes holds runs of `channels` channels; their elements, one of each channel in turn."""
    parts = np.ascontiguousarray(value).view(f"u{width}").reshape(len(value), 8, channels, -1)
    return np.ascontiguousarray(parts.swapaxes(2, 3)).reshape(len(value), -1)


def _removed(o: Site) -> Message:
    mode = STORE_MODES.get(o.dist)
    return f"{o.dist} is documented, but a5 does not have it" if mode is not None and mode.merge else None


def _mask_of_mode(o: Site) -> Message:
    """A predicate of a packing store is one of what is packed; of single elements it does not matter."""
    mode = STORE_MODES.get(o.dist)
    if mode is None:
        return None if o.dist != "NORM" else wrong_mask(o, min(32, o.value.dtype.bits))
    return None if mode.single else wrong_mask(o, min(32, 8 * mode.width))


STORE_RULES = (
    known_token((*STORE_MODES, *_OF_ELEMENT)),
    replace(VEC_08, check=_removed, targets=("a5",)),
    replace(VEC_05, check=_mask_of_mode),
)

VSTS = micro(
    "vsts",
    "Store a vector register, the active lanes of it, packing elements as the mode says.",
    (vreg("value"), ub("dst", Role.OUT), at(), mask()),
    (updated("dst"),),
    None,
    *STORE_RULES,
    meaning=lambda o: stored(o, *placed(o, "dst")),
    attrs=(DIST,),
    source="4.3",
)
