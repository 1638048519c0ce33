"""Loads and stores that also advance the pointer (vector-path 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..machine import Machine
from ..table import Role
from .access_rules import known_token
from .lanes import Predicate
from .load import LOAD_MODES, vlds
from .store import STORE_RULES, vsts
from .words import at, mask, micro, out_ptr, out_vreg, ub, vreg, word


def _load(m: Machine, src: Any, step: Any, *, dist: str, types: Mapping[str, Any]) -> tuple[np.ndarray, Any]:
    return vlds(m, src, None, dist=dist, types=types), src.advance(step)


VLDS_POST = micro(
    "vlds_post",
    "Load as vlds from the pointer itself; the second result is the pointer behind the step in brackets.",
    (ub(), at("step")),
    (out_vreg(like="src"), out_ptr(like="src")),
    _load,
    known_token(LOAD_MODES),
    attrs=(word("dist", "NORM"),),
    source="4.4",
)


def _store(
    m: Machine, value: np.ndarray, dst: Any, step: Any, mask: Predicate, *, dist: str, types: Mapping[str, Any]
) -> Any:
    vsts(m, value, dst, None, mask, dist=dist, types=types)
    return dst.advance(step)


VSTS_POST = micro(
    "vsts_post",
    "Store as vsts at the pointer itself; the result is the pointer behind the step in brackets.",
    (vreg("value"), ub("dst", Role.OUT), at("step"), mask()),
    (out_ptr(like="dst"),),
    _store,
    *STORE_RULES,
    attrs=(word("dist", "NORM"),),
    source="4.4",
)
