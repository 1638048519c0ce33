"""One module in another form of `.pto` text, and kernels of Python as text (assembly 5)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity
from ptokit.ir import Function, Module, Op
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from .printing.generic import print_generic
from .printing.level1 import print_ssa
from .printing.printer import FunctionPrinter, print_module
from .printing.sync import print_sync
from .reading.module import parse_module
from .text import rules

# One module in another form of `.pto` text (assembly 5).


@dataclass(frozen=True)
class Converted:
    """``text`` is the module in the wanted form, or None if the diagnostics say what that form cannot express."""

    text: str | None
    diagnostics: Diagnostics


def convert(module: Module, form: str) -> Converted:
    """Print `module`, which was read without errors, in a form of `FORMS`. Reading the text gives the same program."""
    return FORMS[form](module)


def _dps(module: Module) -> Converted:
    return Converted(print_module(module), Diagnostics())


def _generic(module: Module) -> Converted:
    return Converted(print_generic(module), Diagnostics())


def _ssa(module: Module) -> Converted:
    return Converted(*print_ssa(module))


def _sync(module: Module) -> Converted:
    return Converted(print_sync(module), Diagnostics())


FORMS: dict[str, Callable[[Module], Converted]] = {"dps": _dps, "ssa": _ssa, "sync": _sync, "generic": _generic}
"""By the word after ``ptokit convert --to``."""


# Kernels of Python as text that reads back.


def kernel_text(module: Module, target: Target) -> str:
    """A kernel as text that is read without errors, and means the same.

    Raises `DiagnosticError` (TEXT-KERNEL) for what text cannot say.
    """
    made: list[_Noting] = []

    def make(function: Function) -> FunctionPrinter:
        made.append(_Noting(function))
        return made[-1]

    _refuse_layouts(module, target)
    text = print_module(module, make)
    read = parse_module(text, "kernel.pto", target=target)
    if read.diagnostics.errors:
        raise _unreadable(read.diagnostics, made)
    return text


def _refuse_layouts(module: Module, target: Target) -> None:
    """TEXT-KERNEL for a left tile of another block layout than the target's, which reading gives all of them."""
    for op in (op for f in module.functions if f.body is not None for op in f.body.walk()):
        for value in op.results:
            spec = value.type
            if isinstance(spec, TileSpec) and spec.loc is TileType.Left and spec.blayout is not target.left_blayout:
                layouts = f"{target.left_blayout.text}, and %{value.name} is {spec.blayout.text}"
                raise _unwritable(f"left tiles in text for {target.name} are {layouts}", op.location)


def _unreadable(found: Diagnostics, made: list[_Noting]) -> DiagnosticError:
    first = found.errors[0]
    line, place = first.location.line - 2, Location()  # from 0, without the module's own line
    for printer in made:
        if line < len(printer.lines):
            place = printer.at(line)
            break
        line -= len(printer.lines)
    return _unwritable(f"{first.message} [{first.rule}]", place)


def _unwritable(why: str, place: Location) -> DiagnosticError:
    message = f"this cannot be written as .pto text: {why}"
    hint = "launch the kernel, or hand on kernel.trace(), which is the whole program"
    return DiagnosticError(Diagnostic(rules.KERNEL, Severity.ERROR, message, place, hint))


class _Noting(FunctionPrinter):
    """Knows which operation a line is of."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._starts: list[tuple[int, Op]] = []

    def op(self, op: Op, depth: int) -> None:
        self._starts.append((len(self.lines), op))
        super().op(op, depth)

    def at(self, line: int) -> Location:
        """The place of what is printed in a line."""
        before = [op for start, op in self._starts if start <= line]
        return before[-1].location if before else self.function.location
