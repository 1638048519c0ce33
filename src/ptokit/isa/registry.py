"""Names of instructions, each imported when it is first asked for: a program needs few of some 700."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar

from ptokit.diagnostics.rules import FURTHER

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


def bring_all() -> None:
    """Import what defines any instruction."""
    import_module(".all", __package__)


FURTHER.append(bring_all)


def _bring(name: str) -> bool:
    """Import what defines a name; False if it is none of an instruction."""
    wanted = modules().get(name.removeprefix(_FULL), ())
    for module in wanted:
        import_module(f".{module}", __package__)
    return bool(wanted)


class Registry(dict[str, T], Generic[T]):
    """Instructions by name. Whoever asks for one gets its module imported; whoever goes through all, all of them.

    They come in the order of the modules, whichever were imported first.
    """

    def __missing__(self, name: str) -> T:
        if (found := self.get(name)) is None:
            raise KeyError(name)
        return found  # type: ignore[no-any-return]

    def get(self, name: str, default: Any = None) -> Any:
        found = super().get(name)
        if found is None and _bring(name):
            found = super().get(name)
        return default if found is None else found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def imported(self) -> list[T]:
        """Those of the modules that have been imported."""
        return list(super().values())

    def _complete(self) -> dict[str, T]:
        bring_all()
        place = {name: at for at, name in enumerate(modules())}
        return dict(sorted(super().items(), key=lambda item: place.get(item[0].removeprefix(_FULL), len(place))))

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        bring_all()
        return super().__len__()

    def keys(self) -> Any:
        return self._complete().keys()

    def values(self) -> Any:
        return self._complete().values()

    def items(self) -> Any:
        return self._complete().items()
