"""The spellings tmov.m2l, tmov.a2v …: one instruction, whose suffix restates the buffers (assembly 5, rule 4)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Scope, define
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from .move_facts import (
    MX_SCALES,
    Acc,
    Bias,
    Left,
    Mat,
    Right,
    Scaling,
    Vec,
)

_SUFFIXES: dict[str, tuple[TileType, tuple[TileType, ...]]] = {
    "tmov.m2l": (Mat, (Left,)),
    "tmov.m2r": (Mat, (Right,)),
    "tmov.m2b": (Mat, (Bias,)),
    "tmov.m2s": (Mat, (Scaling, *MX_SCALES)),
    "tmov.a2v": (Acc, (Vec,)),
    "tmov.v2v": (Vec, (Vec,)),
}


def suffix_mismatch(spelling: str, src: Any, dst: Any) -> str | None:
    """What is wrong with a spelling such as ``pto.tmov.m2l`` for values with these tile types; None if it agrees."""
    source, targets = _SUFFIXES.get(spelling.removeprefix("pto."), (None, ()))
    a, b = getattr(src, "type", None), getattr(dst, "type", None)
    if source is None or not isinstance(a, TileSpec) or not isinstance(b, TileSpec):
        return None
    if a.loc is source and b.loc in targets:
        return None
    return f"{spelling} is written for a move from {a.loc.text} to {b.loc.text}"


SUFFIX = define(
    "TMOV-SUFFIX",
    "The suffix of a tmov spelling agrees with the buffers of its tiles.",
    scope=Scope.TEXT,
    source="assembly 5; move-gather-scatter 8",
    example="pto.tmov.v2v ins(%s : !pto.tile_buf<vec, 16x16xf16, blayout=col_major, slayout=row_major>) "
    "outs(%d : !pto.tile_buf<{vec|mat}, 16x16xf16, blayout=col_major, slayout=row_major>)",
    why="The reader of `.pto` text reports it: a program no longer knows how a move was spelled.",
)
