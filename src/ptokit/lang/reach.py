"""The names that a function uses, and the functions that it calls, as far as its code tells."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any


def names_reached(function: FunctionType, names: Iterable[str]) -> set[str]:
    """`names`, which stand in the function, and those in the functions that they may mean, and so on."""
    found: set[str] = set()
    pending = [(function, names)]
    while pending:
        here, these = pending.pop()
        new = set(these) - found
        found |= new
        for called in _functions(here, new):
            if called is not function:
                pending.append((called, _names(called.__code__)))
    return found


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *code.co_freevars, *code.co_varnames}.union(*map(_names, inner))


def _functions(function: FunctionType, names: set[str]) -> list[FunctionType]:
    """Functions outside of this package that the names mean: of the module, around the function, of other modules."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    values: list[Any] = []
    for name in names:
        value = function.__globals__.get(name)
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:  # not assigned yet
                continue
        values += [getattr(value, other, None) for other in names] if isinstance(value, ModuleType) else [value]
    mine = __name__.partition(".")[0]
    found = [value for value in values if isinstance(value, FunctionType)]
    return [f for f in found if (f.__module__ or "").partition(".")[0] != mine]
