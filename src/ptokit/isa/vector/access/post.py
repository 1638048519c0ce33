"""Loads and stores that also advance the pointer (vector-path 4.4)."""

from __future__ import annotations

from ...meaning.words import Advance
from ...table import Role
from ..words import at, mask, micro, out_ptr, out_vreg, ub, vreg
from .access_rules import known_token
from .load import DIST as LOADED
from .load import LOAD_MODES, loaded
from .store import DIST as STORED
from .store import STORE_RULES, stored

VLDS_POST = micro(
    "vlds_post",
    "Load as vlds from the pointer itself; the second result is the pointer behind the step in brackets.",
    (ub(), at("step", optional=False)),
    (out_vreg(like="src"), out_ptr(like="src")),
    None,
    known_token(LOAD_MODES),
    meaning=lambda o: loaded("", (Advance("end", "src", "step"),), dst=LOAD_MODES[o.dist]),
    attrs=(LOADED,),
    source="4.4",
)
VSTS_POST = micro(
    "vsts_post",
    "Store as vsts at the pointer itself; the result is the pointer behind the step in brackets.",
    (vreg("value"), ub("dst", Role.OUT), at("step", optional=False), mask()),
    (out_ptr(like="dst"),),
    None,
    *STORE_RULES,
    meaning=lambda o: stored(o, "", (Advance("end", "dst", "step"),)),
    attrs=(STORED,),
    source="4.4",
)
