"""TMOV: between tiles (tmov, move-gather-scatter 2-7)."""

from __future__ import annotations

from ptokit.types.enums import Pipe, TileType

from .machine import Machine, TileOperand
from .site import Site
from .table import Instr, dst, instruction, src

CUBE_INPUTS = (TileType.Left, TileType.Right, TileType.Bias, TileType.ScaleLeft, TileType.ScaleRight)


def move_pipe(site: Site) -> Pipe:
    """Pipe by the pair of tile types (memory-model-and-sync 2.1)."""
    source, target = site.src.loc, site.dst.loc
    if source is TileType.Mat:
        return Pipe.FIX if target is TileType.Scaling else Pipe.MTE1
    if source is TileType.Acc:
        return Pipe.FIX
    return Pipe.MTE3 if target is TileType.Mat else Pipe.V


def tmov(m: Machine, dst: TileOperand, src: TileOperand) -> None:
    """``dst[r, c] = src[r, c]``; only the arrangement in memory changes."""
    if src.spec.loc is TileType.Vec:
        dst.take(src, min(src.vr, dst.vr), min(src.vc, dst.vc))
    else:
        dst.take(src, dst.vr, dst.vc)


TMOV = instruction(
    Instr(
        "TMOV",
        "tmov",
        "Copy a tile to another of the same or another buffer.",
        (dst(), src()),
        pipe=move_pipe,
        run=tmov,
        syntax="dps-typed",
        spellings=("tmov.m2l", "tmov.m2r", "tmov.m2b", "tmov.m2s", "tmov.a2v", "tmov.v2v", "tmov.s2d"),
        source="tmov; move-gather-scatter 3, 4",
    )
)
