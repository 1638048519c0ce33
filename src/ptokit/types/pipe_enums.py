"""Enumerations of the pipes between cores, with their numeric values."""

from __future__ import annotations

from enum import IntEnum


class TileSplitAxis(IntEnum):
    """What each of two vector cores has of an entry of a pipe; the odd ones give core 0 one row or column more."""

    TILE_NO_SPLIT = 0
    TILE_UP_DOWN = 1
    TILE_LEFT_RIGHT = 2
    TILE_UP_DOWN_ODD = 3
    TILE_LEFT_RIGHT_ODD = 4


class Direction(IntEnum):
    """Where a pipe between cores leads, and through global memory or not; a2a3 has no other memory for it."""

    DIR_C2V = 1
    DIR_V2C = 2
    DIR_BOTH = 3
    DIR_C2V_GM = 5
    DIR_V2C_GM = 6
    DIR_BOTH_GM = 7
