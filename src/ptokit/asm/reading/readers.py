"""All readers of operations outside of the instruction table: importing this module registers them."""

from .generic import operations
from .ops import arith, cf, control, forms
from .statements import sync

__all__ = ["arith", "cf", "control", "forms", "operations", "sync"]
