"""Vector loads with distribution modes (vector-path 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..machine import Machine
from .access_rules import known_token
from .lanes import VREG_BYTES, element
from .posting import posting, updated
from .words import at, micro, out_vreg, ub, word


@dataclass(frozen=True)
class LoadMode:
    """How the bytes of memory become those of a register: `span` bytes are read at a multiple of `alignment`."""

    span: int
    spread: Callable[[np.ndarray], np.ndarray]
    alignment: int = 32


def _as(width: int) -> str:
    return f"u{width}"


def _broadcast(width: int) -> LoadMode:
    return LoadMode(width, lambda m: np.tile(m, VREG_BYTES // width), width)


def _upsample(width: int) -> LoadMode:
    return LoadMode(128, lambda m: m.view(_as(width)).repeat(2, axis=1))


def every(width: int, step: int, first: int = 0) -> LoadMode:
    """Elements `first`, `first` + `step`, … of memory."""
    return LoadMode(VREG_BYTES * step, lambda m: m.view(_as(width))[:, first::step])


def _widen(width: int, factor: int = 2) -> LoadMode:
    return LoadMode(VREG_BYTES // factor, lambda m: m.view(_as(width)).astype(_as(width * factor)))


def _to_block(width: int) -> LoadMode:
    return LoadMode(8 * width, lambda m: m.view(_as(width)).repeat(32 // width, axis=1), 8 * width)


NORM = LoadMode(VREG_BYTES, lambda m: m)
_BLOCK = LoadMode(32, lambda m: np.tile(m, 8))
LOAD_MODES: dict[str, LoadMode] = {
    "NORM": NORM,
    **{f"BRC_B{8 * w}": _broadcast(w) for w in (1, 2, 4)},
    **{f"US_B{8 * w}": _upsample(w) for w in (1, 2)},
    **{f"DS_B{8 * w}": every(w, 2) for w in (1, 2)},
    **{f"UNPK_B{8 * w}": _widen(w) for w in (1, 2, 4)},
    **dict.fromkeys(("UNPK4", "UNPK4_B8"), _widen(1, 4)),
    **dict.fromkeys(("BRC_BLK", "BLK"), _BLOCK),
    **{f"E2B_B{8 * w}": _to_block(w) for w in (2, 4)},
    **{f"SPLT2CHN_B{8 * w}": every(w, 2) for w in (1, 2)},
    **dict.fromkeys(("SPLT4CHN", "SPLT4CHN_B8"), every(1, 4)),
    **{f"DINTLV_B{8 * w}": every(w, 2) for w in (1, 2, 4)},
}
"""By token of ``dist``. DINTLV gives what ``vldsx2`` puts into its first result."""


def vlds(m: Machine, src: Any, offset: Any, *, dist: str, types: Mapping[str, Any]) -> np.ndarray:
    mode = LOAD_MODES[dist]
    found = mode.spread(m.load(src, offset, mode.span, mode.alignment))
    return np.ascontiguousarray(found).view(element(types["dst"].dtype))


VLDS = micro(
    "vlds",
    "Load a vector register, distributing the bytes of memory as the mode says.",
    (ub(), at()),
    (out_vreg(like="src"), updated("src")),
    posting(vlds, 0, 1),
    known_token(LOAD_MODES),
    attrs=(word("dist", "NORM"),),
    source="4.1",
)


def uvld(m: Machine, src: Any, offset: Any, *, types: Mapping[str, Any]) -> np.ndarray:
    kind = types["dst"].dtype
    return m.load(src, offset, VREG_BYTES, types["src"].dtype.size).view(element(kind))


UVLD = micro(
    "uvld",
    "Load a vector register from any element's address.",
    (ub(), at()),
    (out_vreg(like="src"),),
    uvld,
    source="PTOAS e32488c9, micro-isa 3",
)
