"""Drawings for people: where the elements of a tile lie."""

from .addresses import Place
from .layout import LayoutMap, layout

__all__ = ["LayoutMap", "Place", "layout"]
