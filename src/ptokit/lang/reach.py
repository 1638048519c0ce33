"""The names that a function uses, and the functions that it calls, as far as its code tells."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType


def names_reached(function: FunctionType, names: Iterable[str]) -> set[str]:
    """`names`, which stand in the function, and those in the functions that they may mean, and so on."""
    found: set[str] = set()
    pending = [(function, names)]
    while pending:
        here, these = pending.pop()
        new = set(these) - found
        found |= new
        pending += [
            (called, names_of(called.__code__)) for _, _, called in called_in(here, new) if called is not function
        ]
    return found


def names_of(code: CodeType) -> set[str]:
    """The names that stand in a function, and in functions inside of it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *code.co_freevars, *code.co_varnames}.union(*map(names_of, inner))


def called_in(
    function: FunctionType, names: set[str] | None = None
) -> list[tuple[str, ModuleType | None, FunctionType]]:
    """Functions outside of this package that the names in a function mean, each with its name and module.

    A function of another module is found where ``module.function`` may stand; then the name is that of the module.
    """
    names = names_of(function.__code__) if names is None else names
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    mine = __name__.partition(".")[0]
    found: list[tuple[str, ModuleType | None, FunctionType]] = []
    for name in names:
        value = function.__globals__.get(name)
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:  # not assigned yet
                continue
        module = value if isinstance(value, ModuleType) else None
        if module is not None and module.__name__.partition(".")[0] == mine:
            continue  # which would look for names like those that it does not have
        for meant in [value] if module is None else [getattr(module, other, None) for other in names]:
            if isinstance(meant, FunctionType) and (meant.__module__ or "").partition(".")[0] != mine:
                found.append((name, module, meant))
    return found
