"""The functions of a kernel as Python code in memory, and what its line numbers say about places in the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.ir.core import Function, Op
from ptokit.plan.steps import Plan

from .text import Text, Writer
from .threads import ThreadWriter


class Source(Text):
    """The code of a plan."""

    def __init__(self, plan: Plan, *, watch: bool = False, at_once: bool = True) -> None:
        """``watch``: every step is told to the machine's observer; ``at_once``: loops may be done at once."""
        super().__init__(plan, watch=watch, at_once=at_once)
        for function in plan.functions.values():
            Writer(self, function).write()
        for function in plan.threads.values():
            ThreadWriter(self, function).write()


class PythonCode:
    """Compiled functions. Raises `DiagnosticError` (TEXT-NESTING) where Python refuses them."""

    def __init__(self, source: Source, entry: Function, name: str) -> None:
        self.source, self.file = source, f"<ptokit {name}>"
        names = dict(source.names)
        exec(self._compiled(entry), names)
        self.function: Callable[..., Any] = names[source.functions[entry.name]]

    def _compiled(self, entry: Function) -> CodeType:
        """The code, which Python refuses where it is nested too deeply (TEXT-NESTING)."""
        try:
            return compile(self.source.text, self.file, "exec")
        except (SyntaxError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 0
            places = [op.location for k, op in self.source.ops.items() if k <= line] or [entry.location]
            message = "what stands here is nested too deeply to be run"
            hint = "loops may be nested about 20 deep, branches 90; put inner ones into a function and call it"
            raise DiagnosticError(Diagnostic("TEXT-NESTING", Severity.ERROR, message, places[-1], hint)) from None

    def place(self) -> Location | None:
        """Of the operation that the code executes now."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        op = self.source.ops.get(frame.f_lineno) if frame is not None else None
        return None if op is None else op.location

    def waits_at(self, work: Any) -> Op | None:
        """The operation at which a generator of the code has stopped."""
        op, running = None, getattr(work, "gi_yieldfrom", None)
        while running is not None and getattr(running, "gi_frame", None) is not None:
            if running.gi_frame.f_code.co_filename == self.file:
                op = self.source.ops.get(running.gi_frame.f_lineno, op)
            running = running.gi_yieldfrom
        return op

    def failed_at(self, error: BaseException) -> tuple[Op | None, list[str]]:
        """The operation that raised an error, and the variables of the loops around it in words."""
        trace = error.__traceback__
        op, where = None, []
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_code.co_filename == self.file:
                op = self.source.ops.get(trace.tb_lineno, op)
                if frame.f_code.co_name in self.source.functions.values():  # threads have arrays
                    lines = self.source.loops.items()
                    around = [(var, name) for var, (name, inside) in lines if trace.tb_lineno in inside]
                    where = [f"{name} = {frame.f_locals[var]}" for var, name in around if var in frame.f_locals]
            trace = trace.tb_next
        return op, where
