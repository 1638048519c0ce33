"""Names of instructions, each imported when it is first asked for: a program needs few of some 700."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TypeVar

from ptokit.diagnostics.rules import FURTHER
from ptokit.records import OnDemand

from .modules import MODULES

T = TypeVar("T")
_FULL = "pto."


@cache
def modules() -> dict[str, list[str]]:
    """By name of an instruction: the modules that define it and what is written in its place."""
    found: dict[str, list[str]] = {}
    for line in MODULES.strip().splitlines():
        module, *names = line.split()
        for name in names:
            found.setdefault(name, []).append(module)
    return found


@cache
def _places() -> dict[str, int]:
    return {name: at for at, name in enumerate(modules())}


def bring_all() -> None:
    """Import what defines any instruction."""
    import_module(".all", __package__)


FURTHER.append(bring_all)


class Registry(OnDemand[T]):
    """Instructions by name, in the order of the modules."""

    def bring(self, name: str) -> bool:
        wanted = modules().get(name.removeprefix(_FULL), ())
        for module in wanted:
            import_module(f".{module}", __package__)
        return bool(wanted)

    def bring_all(self) -> None:
        bring_all()

    def place(self, name: str) -> int:
        return _places().get(name.removeprefix(_FULL), len(_places()))
