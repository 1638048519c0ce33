"""Level 1: tile instructions with results, no tile written in place (assembly 5)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.diagnostics import Diagnostics
from ptokit.ir import Module, Op
from ptokit.ir.module_target import ARCH, target_named
from ptokit.isa.table import Instr

from ..forms.operands import DPS_WORDS
from . import convert_rules as rules
from .copying import Copier
from .printer import FunctionPrinter, print_module
from .statements import print_statement
from .to_values import to_values


def print_ssa(module: Module) -> tuple[str | None, Diagnostics]:
    """The module as level 1, or None and what level 1 cannot express of it."""
    found = Diagnostics()
    target = target_named(module.attrs.get(ARCH))
    for op in (op for f in module.functions if f.body is not None for op in f.body.walk() if op.successors):
        found.error(rules.BRANCH.id, f"{op.name} cannot be written at level 1", op.location, hint="use scf operations")
    if found.errors:
        return None, found
    functions = [Copier(f).copy() if f.body is None else to_values(f, target, found) for f in module.functions]
    text = None if found.errors else print_module(replace(module, functions=functions), _Printer)
    return text, found


class _Printer(FunctionPrinter):
    def instruction(self, op: Op, instr: Instr) -> str:
        if instr.form.syntax not in DPS_WORDS:
            return super().instruction(op, instr)
        return f"pto.{instr.shown}" + print_statement(op, instr, self.names)
