"""Drawings for people: where the elements of a tile lie."""

from .svg import LayoutMap, layout
from .text import Place

__all__ = ["LayoutMap", "Place", "layout"]
