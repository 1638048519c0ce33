"""Instructions whose names have a dot: ``pto.sync.set``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import rules
from .intrinsics import intrinsic, names
from .where import refusal


class Namespace:
    """The instructions whose names begin alike, by what follows the dot; ``find`` gives one by its whole name."""

    def __init__(self, name: str, find: Callable[[str], Callable[..., Any]] = intrinsic) -> None:
        self._name, self._find = name, find

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self._find(f"{self._name}.{name}")
        except (KeyError, AttributeError):
            known = ", ".join(dir(self))
            raise AttributeError(f"pto.{self._name} has no instruction {name!r}; it has {known}") from None

    def __call__(self, *args: object, **named: object) -> Any:
        message = f"pto.{self._name} is no instruction, but the beginning of the names of some"
        raise refusal(rules.NAME, message, hint=f"it has: {', '.join(f'{self._name}.{each}' for each in dir(self))}")

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        return sorted(name.removeprefix(start) for name in names() if name.startswith(start))

    def __repr__(self) -> str:
        return f"<instructions pto.{self._name}: {', '.join(dir(self))}>"


def beginnings() -> set[str]:
    """What stands before the dot of such names."""
    return {name.partition(".")[0] for name in names() if "." in name}
