"""The address map of a tile as text and as a picture."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from ptokit.types.tile import TileSpec

from .addresses import AddressMap
from .svg import picture
from .text import plain, write


class LayoutMap(AddressMap):
    """The layout of a tile type: `show` prints it, `svg` draws it, `at` tells the place of one element."""

    def text(self, width: int = 80) -> str:
        """The map as plain text of at most `width` columns, where the words allow it."""
        return plain(self, width)

    def show(self, file: TextIO | None = None, *, color: bool | None = None, width: int | None = None) -> None:
        """Print the map, in colour on a terminal unless ``NO_COLOR`` is set."""
        write(self, sys.stdout if file is None else file, color, width)

    def svg(self) -> str:
        """The map as an SVG picture, with the path that memory takes through the tile."""
        return picture(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f'<div style="overflow-x:auto">{self.svg()}</div>'

    def __repr__(self) -> str:
        return f"<layout of {self.title}>"

    def __str__(self) -> str:
        return self.text()


def layout(tile: Any, address: int | None = None) -> LayoutMap:
    """The address map of a tile, or of a `TileSpec`: ``pto.layout(t).show()``.

    ``address``: byte address to count from; default the tile's own. Raises `TypeError` for anything without a tile
    type.
    """
    spec = tile if isinstance(tile, TileSpec) else getattr(tile, "spec", None)
    if not isinstance(spec, TileSpec):
        raise TypeError(f"a layout belongs to a tile, not to {type(tile).__name__}")
    return LayoutMap(spec, getattr(tile, "address", None) if address is None else address)
