"""Where findings of the checker stand: at the operation while they are collected, in the end at what they are about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, Diagnostics, Note
from ptokit.diagnostics.ignored import ignores_of_python

from .core import Module, Op
from .facts import instr_of


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

    def folded(self, found: Iterable[Diagnostic]) -> Diagnostics:
        """The findings at their places. In Python those that say the same of the type of one tile are one.

        Those that a comment ignores are kept apart, so that it hides no others.
        """
        alike: dict[object, list[Diagnostic]] = {}
        for diagnostic in found:
            alike.setdefault(self._mistake(diagnostic), []).append(diagnostic)
        kept = Diagnostics()
        for group in alike.values():
            first, *others = [self.placed(d) for d in group]
            if others and any(
                c.hides(d) for c in ignores_of_python(first.location.file or "") for d in (first, *others)
            ):
                kept.extend((first, *others))
                continue
            if others:
                more = f", and in {len(others) - 1} more" if len(others) > 1 else ""
                note = Note(f"the same in {self._instruction(group[1])}{more}", others[0].location)
                first = replace(first, notes=(*first.notes, note))
            kept.add(first)
        return kept

    def _mistake(self, diagnostic: Diagnostic) -> object:
        """What is equal for findings with one cause."""
        op, operand, type = self._marked.get(diagnostic, (None, "", False))
        value = op.get(operand) if op is not None and type and not self._module.text else None
        if value is None:
            return diagnostic
        said = diagnostic.message.removeprefix(f"{self._instruction(diagnostic)}: ")
        return diagnostic.rule, diagnostic.severity, said, diagnostic.hint, diagnostic.notes, value

    def _instruction(self, diagnostic: Diagnostic) -> str:
        instr = instr_of(self._marked[diagnostic][0])
        return "" if instr is None else instr.name
