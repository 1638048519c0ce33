"""One module in another form of `.pto` text (assembly 5)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.diagnostics import Diagnostics
from ptokit.ir import Module
from ptokit.records import dataclass

from .printing.generic import print_generic
from .printing.level1 import print_ssa
from .printing.printer import print_module
from .printing.sync import print_sync


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
