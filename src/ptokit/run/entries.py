"""Which function of a module is launched."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.ir.core import Function, Module
from ptokit.ir.entry_calls import pair, partner, stem


def choose_entry(module: Module, name: str | None) -> Function:
    """The kernel called `name`, or the only one. Raises `DiagnosticError`.

    A cube function and the vector function at the other ends of its pipes are one kernel: either name chooses both, and
    so does what ``NAME_aic`` and ``NAME_aiv`` have in common.
    """
    kernels = module.entries()
    at = Location(module.file)
    if name is not None:
        wanted = name.removeprefix("@")
        function = module.function(wanted) or module.function(wanted.partition("+")[0])
        if function is not None and function.body is not None:
            return _whole(module, _kernel(function))
        halves = [f for f in module.functions if f.body is not None and stem(f) == wanted]
        if len(halves) == 2:
            return pair(*halves)
        known = ", ".join(f.name for f in kernels) or "none"
        message = f"there is no kernel {name!r}; kernels in this file: {known}"
        raise DiagnosticError(Diagnostic("RUN-ENTRY", Severity.ERROR, message, at))
    if not kernels:
        pairs = {f.name: f for f in (_whole(module, f) for f in module.functions) if f not in module.functions}
        kernels = list(pairs.values()) or kernels
    if len(kernels) != 1:
        names = ", ".join(f.name for f in kernels) or ", ".join(f.name for f in module.functions if f.body) or "none"
        message = f"which kernel? The file has {len(kernels) or 'no'} marked entries (functions: {names})"
        raise DiagnosticError(
            Diagnostic("RUN-ENTRY", Severity.ERROR, message, at, "name one with --entry, or mark one with pto.entry")
        )
    return _kernel(kernels[0])


def _kernel(function: Function) -> Function:
    """The function itself. Raises `DiagnosticError` if threads execute it, which others launch."""
    if function.of_threads:
        message = f"@{function.name} is what threads execute, no kernel"
        hint = "name the function that launches them"
        raise DiagnosticError(Diagnostic("RUN-ENTRY", Severity.ERROR, message, function.location, hint))
    return function


def _whole(module: Module, function: Function) -> Function:
    """The function, or the kernel of which it is one half."""
    other = partner(module, function)
    return function if other is None else pair(function, other)
