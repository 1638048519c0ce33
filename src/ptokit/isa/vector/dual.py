"""Loads and stores of two registers (vector-path 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..machine import Machine
from ..table import Role
from .access_rules import known_token
from .lanes import VREG_BYTES, Predicate, element
from .posting import posting, updated
from .rules import SAME
from .words import at, mask, micro, out_vreg, token, ub, vreg

Pair = tuple[np.ndarray, np.ndarray]


def _lanes(width: int) -> Callable[[np.ndarray], Pair]:
    def split(m: np.ndarray) -> Pair:
        lanes = m.view(f"u{width}")
        return lanes[:, ::2], lanes[:, 1::2]

    return split


def _blocks(m: np.ndarray) -> Pair:
    blocks = m.reshape(len(m), 16, 32)
    return blocks[:, ::2].reshape(len(m), -1), blocks[:, 1::2].reshape(len(m), -1)


SPLITS: dict[str, Callable[[np.ndarray], Pair]] = {
    **{f"DINTLV_B{8 * w}": _lanes(w) for w in (1, 2, 4)},
    "BDINTLV": _blocks,
}
MERGES = {f"INTLV_B{8 * w}": w for w in (1, 2, 4)}


def _load(m: Machine, src: Any, offset: Any, *, dist: str, types: Mapping[str, Any]) -> Pair:
    low, high = SPLITS[dist](m.load(src, offset, 2 * VREG_BYTES, 32))
    kind = element(types["low"].dtype)
    return np.ascontiguousarray(low).view(kind), np.ascontiguousarray(high).view(kind)


VLDSX2 = micro(
    "vldsx2",
    "Load two vector registers with the even and the odd elements, or blocks, of memory.",
    (ub(), at(listed=True)),
    (out_vreg("low", like="src"), out_vreg("high", like="src"), updated("src")),
    posting(_load, 0, 1),
    SAME,
    known_token(SPLITS),
    attrs=(token("dist"),),
    spellings=("vldx2",),
    source="4.2",
)


def _store(
    m: Machine, low: np.ndarray, high: np.ndarray, dst: Any, offset: Any, mask: Predicate, *, dist: str, types: Any
) -> None:
    width = MERGES[dist]
    a, b = low.view(f"u{width}"), high.view(f"u{width}")
    a, b = np.broadcast_arrays(a, b)
    m.store(dst, offset, np.stack((a, b), axis=2).reshape(len(a), -1), None, 32)


VSTSX2 = micro(
    "vstsx2",
    "Store two vector registers, their elements in turn; the predicate has no effect.",
    (vreg("low"), vreg("high"), ub("dst", Role.OUT), at(listed=True), mask()),
    (),
    _store,
    SAME,
    known_token(MERGES),
    attrs=(token("dist", before="mask"),),
    spellings=("vstx2",),
    source="4.2",
)
