"""Drawings for people: where the elements of a tile lie."""

from .layout import LayoutMap, Place, layout

__all__ = ["LayoutMap", "Place", "layout"]
