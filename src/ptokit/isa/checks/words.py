"""Words of conditions: what they may name beside the site and the module of the rule."""

from __future__ import annotations

from enum import EnumType
from typing import Any, get_args

from ptokit.targets import A2A3, A5, CPU
from ptokit.types import enums
from ptokit.types.enums import TileType

from ..site import Info, Site, TileInfo
from ..typesets import names as type_names
from ..unknown import known, least, product
from .operands import all_tiles, is_dn1, is_nd, layout_text, overlap, same_tile


def tiles_named(o: Site, *operands: str) -> list[tuple[str, TileInfo]]:
    """The operands that are there and are tiles, with their names."""
    return [(name, t) for name in operands if isinstance(t := o.operands.get(name), TileInfo)]


WORDS: dict[str, Any] = {
    **{kind.name: kind for kind in TileType},
    **{name: word for name, word in vars(enums).items() if isinstance(word, EnumType)},
    **{info.__name__: info for info in get_args(Info)},
    "A2A3": A2A3,
    "A5": A5,
    "CPU": CPU,
    "nd": is_nd,
    "dn1": is_dn1,
    "overlap": overlap,
    "same": same_tile,
    "known": known,
    "least": least,
    "product": product,
    "layout_text": layout_text,
    "type_names": type_names,
    "tiles_named": tiles_named,
    "all_tiles": all_tiles,
}
"""What conditions and messages may name beside operands, attributes and the site."""

PYTHON: dict[str, Any] = {
    function.__name__: function
    for function in (abs, all, any, bool, float, getattr, int, isinstance, len, max, min, next, range, set, str, sum)
}
"""Functions of Python that conditions may call."""
