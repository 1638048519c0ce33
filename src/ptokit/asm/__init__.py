"""Reading and printing `.pto` text: every level and form is read as level 2, which is what is printed."""

from .printing.forms import print_generic
from .printing.printer import print_module
from .reading import module as _readers  # noqa: F401 - fills the registry of operations outside of the table
from .reading.module import ParseResult, parse_module, read_module

__all__ = ["ParseResult", "parse_module", "print_generic", "print_module", "read_module"]
