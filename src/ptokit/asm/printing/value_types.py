"""Types as level 1 and the sync form spell them: a tile is ``!pto.tile<..>`` (assembly 5)."""

from __future__ import annotations

from ptokit.records import dataclass
from ptokit.types.tile import TileSpec
from ptokit.types.values import Opaque, Type

_LONG, _SHORT = "!pto.tile_buf<", "!pto.tile<"
_DEFAULT = "vec, "


@dataclass(frozen=True, slots=True)
class ValueTile(Opaque):
    """``!pto.tile<16x16xf32>``; ``spec`` is the same type in level 2."""

    spec: TileSpec


def spelled(type: Type) -> Type:
    """A type as it is written there. Of vector tiles without options the buffer is left out."""
    if not isinstance(type, TileSpec) or not str(type).startswith(_LONG):
        return type
    body = str(type)[len(_LONG) : -1]
    if body.startswith(_DEFAULT) and "," not in body[len(_DEFAULT) :]:
        body = body[len(_DEFAULT) :]
    return ValueTile(f"{_SHORT}{body}>", type)
