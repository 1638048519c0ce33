"""Reading and printing `.pto` text: every level and form is read as level 2, which is what is printed."""

from ptokit.isa import all as _table  # noqa: F401 - fills the instruction table, which drives both

from . import generic, ops_arith, ops_cf, ops_control, ops_llvm, ops_memref
from .module import ParseResult, parse_module, read_module
from .printing.generic import print_generic
from .printing.printer import print_module

__all__ = [
    "ParseResult",
    "generic",
    "ops_arith",
    "ops_cf",
    "ops_control",
    "ops_llvm",
    "ops_memref",
    "parse_module",
    "print_generic",
    "print_module",
    "read_module",
]
