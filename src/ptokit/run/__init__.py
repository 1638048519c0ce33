"""Execution: compiled programs, tiles as bytes or values, launches over a grid of blocks."""

from .program import MATMUL_MODES, Param, Program, choose_entry, compile_program

__all__ = ["MATMUL_MODES", "Param", "Program", "choose_entry", "compile_program"]
