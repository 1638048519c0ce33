"""What can be checked of a text that could not be read completely."""

from __future__ import annotations

import sys

from ptokit.diagnostics import Diagnostics

from .core import Function, Module


def readable_functions(module: Module, found: Diagnostics) -> list[Function] | None:
    """The functions of a text that have none of the errors `found`; None, for all, if there are no errors.

    An error before the first function, in a type alias for example, may concern all of them: then there is none.
    """
    errors = [(d.location.line, d.location.column) for d in found.errors]
    if not errors:
        return None
    starts = [(f.location.line, f.location.column) for f in module.functions]
    if not starts or min(errors) < starts[0]:
        return []
    spans = zip(module.functions, starts, [*starts[1:], (sys.maxsize, 0)], strict=True)
    return [f for f, start, end in spans if not any(start <= error < end for error in errors)]
