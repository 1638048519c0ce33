"""Rules about distribution modes (vector-path 8)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ptokit.diagnostics import Rule, define
from ptokit.diagnostics.suggestions import suggest

from ...site import Site
from ..rules import SOURCE

VEC_04 = define(
    "VEC-A5-04",
    "A mode token is one that the instruction has: of distribution, of pointer update.",
    source=SOURCE,
    example="sprclr(register='{AR|}')",
    evidence="assembler ptokit",
)


def known_token(modes: Collection[str], attr: str = "dist") -> Rule:
    """VEC-A5-04 for an instruction with these tokens."""

    def check(o: Site) -> tuple[str, str] | None:
        token = getattr(o, attr)
        if token is None or token in modes:
            return None
        return f"there is no mode '{token}'", suggest(str(token), modes) or f"one of {', '.join(modes)}"

    return replace(VEC_04, check=check)
