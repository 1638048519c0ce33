"""The operations of a function, gone through once for all checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .control import is_call
from .core import Function, Op


class Survey:
    """The operations of one function: all in text order, nested ones after the one that holds them, and by name."""

    __slots__ = ("function", "ops", "_by_name")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.ops: list[Op] = list(function.body.walk()) if function.body is not None else []
        self._by_name: dict[str, list[Op]] = {}
        for op in self.ops:
            self._by_name.setdefault(op.name, []).append(op)

    def named(self, name: str) -> list[Op]:
        """The operations with this full name, in text order."""
        return self._by_name.get(name, [])

    @property
    def calls(self) -> list[Op]:
        """The calls of functions of the module, in text order."""
        return next((ops for ops in self._by_name.values() if is_call(ops[0])), [])

    @property
    def names(self) -> Iterable[str]:
        """The full names of its operations, each once."""
        return self._by_name

    def has(self, names: frozenset[str]) -> bool:
        """True if one of the operations has one of these full names."""
        return not names.isdisjoint(self._by_name)


Surveys = Mapping[Function, Survey]
"""Those of all functions of a module that have a body."""
