"""Vector stores with distribution modes (vector-path 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..machine import Machine
from ..operands import Message
from ..site import Site
from ..table import Role
from .access_rules import known_token
from .compute_rules import VEC_08
from .lanes import Predicate, active
from .posting import posting, updated
from .rules import VEC_05, wrong_mask
from .words import at, mask, micro, ub, vreg, word


@dataclass(frozen=True)
class StoreMode:
    """What of a register is written: its elements of `width` bytes, each cut to `kept` bytes; one alone if `single`.

    Element j is written where the predicate lets byte j * `width` through.
    """

    width: int
    kept: int
    single: bool = False
    merge: tuple[int, int] | None = None  # channels, and bytes of an element, that take turns in each block


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


def store_mode(dist: str, size: int) -> StoreMode:
    """The mode a token means for elements of `size` bytes."""
    single = _OF_ELEMENT.get(dist)
    return STORE_MODES[dist] if single is None else StoreMode(size, size, single)


def vsts(
    m: Machine,
    value: np.ndarray,
    dst: Any,
    offset: Any,
    mask: Predicate,
    *,
    dist: str,
    types: Mapping[str, Any],
) -> None:
    mode = store_mode(dist, types["value"].dtype.size)
    if mode.merge is not None:
        value = _merged(value, *mode.merge)
    values = value.view(f"u{mode.width}")
    if mode.single:
        m.store(dst, offset, values[:, :1], None, mode.width)
    else:
        m.store(dst, offset, values.astype(f"u{mode.kept}", copy=False), active(mask, mode.width), 32)


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
    posting(vsts, 1, 2),
    *STORE_RULES,
    attrs=(word("dist", "NORM"),),
    source="4.3",
)
