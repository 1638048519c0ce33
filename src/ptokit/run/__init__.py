"""Execution: compiled programs, tiles as bytes or values, launches over a grid of blocks."""

from . import backends as _rules
from .program import MATMUL_MODES, Param, Program, choose_entry, compile_program

__all__ = ["MATMUL_MODES", "Param", "Program", "choose_entry", "compile_program"]
del _rules
