"""`dataclass`, and `OnDemand`, a dictionary that imports what fills it.

`dataclass` is as the standard library has it, in less time: there are some 200 of them, most made at every start.

The standard decorator compiles up to six functions for each class. Here ``__init__`` is compiled, and the others are
shared: they go through the names of the fields. Of what the standard one can do, `dataclass` takes the options below;
fields, `replace`, `asdict` and matching are the standard ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """A class whose annotations are fields; see `dataclasses.dataclass`."""
        if cls is None:
            return lambda cls: _made(cls, frozen, eq, slots)
        return _made(cls, frozen, eq, slots)


_set, _get = object.__setattr__, dict.get


def _made(cls: type, frozen: bool, eq: bool, slots: bool) -> type:
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # or the signature would be worked out for it
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    fields = dataclasses.fields(made)
    given = cls.__dict__
    methods: dict[str, Any] = {}
    if "__init__" not in given:
        methods["__init__"] = _init(fields, frozen, hasattr(made, "__post_init__"))
    if "__repr__" not in given:
        methods["__repr__"] = _repr([f.name for f in fields if f.repr])
    own_eq = "__eq__" in given
    own_hash = "__hash__" in given and not (own_eq and given["__hash__"] is None)
    if eq:
        if not own_eq:
            methods["__eq__"] = _eq(_values([f.name for f in fields if f.compare]))
        if not own_hash:
            hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            methods["__hash__"] = _hash(_values(hashed)) if frozen else None
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _refusing(made, frozenset(f.name for f in fields))
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if method is not None:
            method.__qualname__ = f"{made.__qualname__}.{name}"
        setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _init(fields: tuple[Any, ...], frozen: bool, checked: bool) -> Any:
    """``__init__`` as text, since calls of it are frequent."""
    missing = dataclasses.MISSING
    known: dict[str, Any] = {"_set": _set, "_own": missing}
    first = ["self"]
    named: list[str] = []
    body: list[str] = []
    for f in fields:
        default, value = "", f.name
        if f.default is not missing:
            known[f"_d_{f.name}"] = f.default
            default = value = f"_d_{f.name}"
        elif f.default_factory is not missing:
            known[f"_f_{f.name}"] = f.default_factory
            default, value = "_own", f"_f_{f.name}()"
        if f.init:
            (named if f.kw_only else first).append(f"{f.name}={default}" if default else f.name)
            value = f"{value} if {f.name} is _own else {f.name}" if default == "_own" else f.name
        elif not default:
            continue
        body.append(f" _set(self, {f.name!r}, {value})" if frozen else f" self.{f.name} = {value}")
    if checked:
        body.append(" self.__post_init__()")
    parameters = ", ".join([*first, *(["*", *named] if named else [])])
    exec("\n".join([f"def __init__({parameters}):", *(body or [" pass"])]), known)
    made = known["__init__"]
    made.__annotations__ = {**{f.name: f.type for f in fields if f.init}, "return": None}
    return made


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives fields of an object as a tuple."""
    if not names:
        return lambda self: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda self: (get(self),)


def _repr(names: list[str]) -> Any:
    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return recursive_repr("...")(shown)


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    return lambda self: hash(values(self))


def _refusing(cls: Any, names: frozenset[str]) -> tuple[Any, Any]:
    """`__setattr__` and `__delattr__` of a frozen class, which raise."""

    def assign(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return assign, delete


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state):
        _set(self, f.name, value)


V = TypeVar("V")


class OnDemand(dict[str, V]):
    """Entries that modules add when they are imported. A name that is asked for gets its module imported; whoever goes
    through the entries or counts them gets all of them, in the same order whichever were imported first.

    Subclasses say how modules are found, and give that order.
    """

    _order: tuple[str, ...] = ()  # of all names, as long as they are the same

    def bring(self, name: str) -> bool:
        """Import what defines a name; False if nothing does."""
        raise NotImplementedError

    def bring_all(self) -> None:
        """Import what defines any entry."""
        raise NotImplementedError

    def place(self, name: str) -> Any:
        """By what entries are sorted."""
        raise NotImplementedError

    def __missing__(self, name: str) -> V:
        if (found := self.get(name)) is None:
            raise KeyError(name)
        return found  # type: ignore[no-any-return]

    def get(self, name: str, default: Any = None) -> Any:
        found = _get(self, name)
        if found is None and self.bring(name):
            found = _get(self, name)
        return default if found is None else found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def imported(self) -> list[V]:
        """Those of the modules that have been imported."""
        return list(super().values())

    def has_imported(self, name: str) -> bool:
        """True if a module that has been imported has added an entry."""
        return super().__contains__(name)

    def _complete(self) -> dict[str, V]:
        self.bring_all()
        if len(self._order) != super().__len__() or not all(map(super().__contains__, self._order)):
            self._order = tuple(sorted(super().keys(), key=self.place))
        return {name: self[name] for name in self._order}

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        self.bring_all()
        return super().__len__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return self._complete().keys()

    def values(self) -> ValuesView[V]:  # type: ignore[override]
        return self._complete().values()

    def items(self) -> ItemsView[str, V]:  # type: ignore[override]
        return self._complete().items()
