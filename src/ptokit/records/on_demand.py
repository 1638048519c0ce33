"""A dictionary that is filled by importing modules, and imports them when they are needed."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, TypeVar

T = TypeVar("T")


class OnDemand(dict[str, T]):
    """Entries that modules add when they are imported. A name that is asked for gets its module imported; whoever goes
    through the entries or counts them gets all of them, in the same order whichever were imported first.

    Subclasses say how modules are found, and give that order.
    """

    def bring(self, name: str) -> bool:
        """Import what defines a name; False if nothing does."""
        raise NotImplementedError

    def bring_all(self) -> None:
        """Import what defines any entry."""
        raise NotImplementedError

    def place(self, name: str) -> Any:
        """By what entries are sorted."""
        raise NotImplementedError

    def __missing__(self, name: str) -> T:
        if (found := self.get(name)) is None:
            raise KeyError(name)
        return found  # type: ignore[no-any-return]

    def get(self, name: str, default: Any = None) -> Any:
        found = super().get(name)
        if found is None and self.bring(name):
            found = super().get(name)
        return default if found is None else found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def imported(self) -> list[T]:
        """Those of the modules that have been imported."""
        return list(super().values())

    def has_imported(self, name: str) -> bool:
        """True if a module that has been imported has added an entry."""
        return super().__contains__(name)

    def _complete(self) -> dict[str, T]:
        self.bring_all()
        return dict(sorted(super().items(), key=lambda item: self.place(item[0])))

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        self.bring_all()
        return super().__len__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return self._complete().keys()

    def values(self) -> ValuesView[T]:  # type: ignore[override]
        return self._complete().values()

    def items(self) -> ItemsView[str, T]:  # type: ignore[override]
        return self._complete().items()
