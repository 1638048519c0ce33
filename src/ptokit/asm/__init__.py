"""Reading and printing `.pto` text."""

import ptokit.isa.all  # noqa: F401 - fills the instruction table, which drives both

from .module import ParseResult, parse_module, read_module
from .printer import print_module

__all__ = ["ParseResult", "parse_module", "print_module", "read_module"]
