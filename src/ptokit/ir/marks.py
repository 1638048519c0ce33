"""Where findings of the checker stand: at the operation while they are collected, in the end at what they are about."""

from __future__ import annotations

from dataclasses import replace

from ptokit.diagnostics import Diagnostic, Diagnostics

from .core import Module, Op


class Marks:
    """Findings in a module, and the operands that some are about.

    Operands are looked up in the end, since that takes time, and since rules cover others of the same operation.
    """

    def __init__(self, module: Module, found: Diagnostics) -> None:
        self.found = found
        self._module = module
        self._marked: dict[Diagnostic, tuple[Op, str, bool]] = {}

    def report(self, diagnostic: Diagnostic, op: Op, operand: str, *, type: bool = False) -> None:
        """Record what is found at `op` about one of its operands (``%name``: a result), or its ``type``."""
        self.found.add(diagnostic)
        if operand:
            self._marked[diagnostic] = op, operand, type

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The finding at the place of what it is about."""
        if diagnostic not in self._marked:
            return diagnostic
        op, operand, type = self._marked[diagnostic]
        return replace(diagnostic, location=self._module.place(op, operand, type=type))
