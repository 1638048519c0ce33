"""Predicates from patterns and counts (vector-path 5)."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from ptokit.diagnostics import define

from ..machine import Machine
from ..operands import Message
from ..site import Site
from .lanes import ALL, VREG_BYTES, image, prefix
from .rules import SOURCE
from .words import micro, number, out_mask, out_number, token

_COUNTS = (1, 2, 3, 4, 8, 16, 32, 64, 128)
PATTERNS = ("PAT_ALL", "PAT_ALLF", *(f"PAT_VL{n}" for n in _COUNTS), "PAT_H", "PAT_Q", "PAT_M3", "PAT_M4")


@lru_cache(maxsize=256)
def image_of(name: str, width: int) -> np.ndarray:
    """The image of a pattern for lanes of `width` bytes."""
    lanes = VREG_BYTES // width
    if name == "PAT_ALL":
        return ALL[width]
    if name in ("PAT_M3", "PAT_M4"):
        return image(np.arange(lanes)[None] % int(name[-1]) == 0, width)
    count = {"PAT_ALLF": 0, "PAT_H": lanes // 2, "PAT_Q": lanes // 4}.get(name)
    return prefix(int(name.removeprefix("PAT_VL")) if count is None else count, width)


def _pattern(o: Site) -> Message:
    return None if o.pattern in PATTERNS else f"there is no pattern '{o.pattern}'; known are {', '.join(PATTERNS)}"


PRD_01 = define(
    "PRD-A5-01",
    "The pattern or part token is one that exists.",
    _pattern,
    source=SOURCE,
    accepted='pto.pset_b32 "PAT_VL8"',
    rejected='pto.pset_b32 "PAT_VL9"',
)


def _pset(m: Machine, *, width: int, pattern: str, types: Any) -> np.ndarray:
    return image_of(pattern, width)


def _plt(m: Machine, count: Any, *, width: int, types: Any) -> tuple[np.ndarray, Any]:
    lanes = VREG_BYTES // width
    count = count & 0xFFFFFFFF
    rest = np.maximum(count - lanes, 0) if isinstance(count, np.ndarray) else max(count - lanes, 0)
    return prefix(count, width), rest


for _width in (1, 2, 4):
    _bits = 8 * _width
    micro(
        f"pset_b{_bits}",
        f"A predicate of {_bits}-bit lanes after a pattern.",
        (),
        (out_mask(bits=_bits),),
        partial(_pset, width=_width),
        PRD_01,
        attrs=(token("pattern"),),
        source="5",
    )
    micro(
        f"plt_b{_bits}",
        f"A predicate whose first lanes of {_bits} bits are active, as many as the count says, and what is left of it.",
        (number("count", "i32"),),
        (out_mask(bits=_bits), out_number("rest", "i32")),
        partial(_plt, width=_width),
        source="5",
    )
