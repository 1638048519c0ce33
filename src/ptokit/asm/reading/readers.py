"""All readers of operations outside of the instruction table: importing this module registers them."""

from .generic import operations
from .ops import control, forms
from .statements import sync

__all__ = ["control", "forms", "operations", "sync"]
