"""What compiling a function reads from outside of its parameters, and whether that is as it was.

That is all that can be reached from the names in the function and in the functions that they lead to: variables of
modules and closures, defaults, classes, what objects, containers and arrays hold. A `Snapshot` compares identities
first, which is quick; only where one differs is all of it read again, and its `key` says whether a value is another.

What libraries read by themselves, files, the clock, random numbers, is not seen. Attributes of an object of the user's
count only if code that is reached has their name, or reads attributes by names that it computes.
"""

from __future__ import annotations

import dis
import gc
import io
import struct
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from operator import attrgetter, is_, itemgetter
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .source import is_library_file, is_own

_PACKAGE = __name__.partition(".")[0]
_MISSING = object()
_VALUES = (int, bool, str, bytes, type(None), type(...), type(NotImplemented), CodeType)
_BASES = (int, float, complex, str, bytes)
_MADE = attrgetter("__code__", "__defaults__", "__kwdefaults__", "__closure__", "__dict__")
_ANY_NAME = {"getattr", "vars", "eval", "exec", "globals", "locals", "dir", "__dict__", "attrgetter", "hasattr"}
"""Names by which code reads attributes that it does not name."""
_HARMLESS = {"abc", "collections", "contextlib", "enum", "functools", "types", "typing"}
"""Modules whose functions read no attributes of what they are given, but through the methods of its class."""


class Same:
    """An object as part of a key: equal to itself alone."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.held is other.held


class Snapshot:
    """What is reached from some objects at one moment.

    ``key``: equal for two moments at which a compilation reads the same values. ``volatile``: it holds something whose
    state cannot be seen, such as an iterator, so that no two moments are surely alike. ``every``: all attributes count.
    """

    def __init__(self, *roots: Any, every: bool = False) -> None:
        names = _Names(every=every)
        while True:  # what code is reached says which attributes matter, which may lead to more code
            walk = _Walk(names)
            for root in roots:
                walk.see(root)
            walk.all()
            if walk.names == names:
                break
            names = walk.names
        self.volatile = walk.volatile
        self.key: Hashable = (*walk.key, object()) if walk.volatile else tuple(walk.key)
        self._checks = walk.checks
        self._held = walk.held  # nothing that is compared by its identity may be gone
        self._arrays = walk.arrays
        self._objects = tuple(x for held in walk.objects for x in (held, _BETWEEN))
        self._inside = gc.get_referents(*self._objects)

    def holds(self) -> bool:
        """True if nothing has changed: at once, without a look at values that are the same objects as before."""
        if self.volatile:
            return False
        for read, of, values in self._checks:
            try:
                if not all(map(is_, read(of), values)):
                    return False
            except (KeyError, AttributeError, ValueError):
                return False
        if self._objects:
            inside = gc.get_referents(*self._objects)
            if len(inside) != len(self._inside) or not all(map(is_, inside, self._inside)):
                return False
        return all(_contents(array) == contents for array, contents in self._arrays)


_BETWEEN = (object(),)  # tells where the contents of one object end and those of the next begin


class _Names:
    """The names in all code that is reached: those of variables, attributes and strings."""

    def __init__(self, found: frozenset[str] = frozenset(), every: bool = False) -> None:
        self.found, self.every = found, every

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and (self.found, self.every) == (other.found, other.every)

    __hash__ = None  # type: ignore[assignment]


class _Walk:
    """One walk through what is reached."""

    def __init__(self, names: _Names) -> None:
        self.key: list[Any] = []
        self.held: list[Any] = []
        self.objects: list[Any] = []  # compared by what they refer to
        self.arrays: list[tuple[Any, Hashable]] = []
        self.checks: list[tuple[Callable[[Any], Iterable[Any]], Any, tuple[Any, ...]]] = []
        self.volatile = False
        self._names = names
        self._found: set[str] = set(names.found)
        self._every = names.every
        self._numbers: dict[int, int] = {}
        self._pending: list[Any] = []

    @property
    def names(self) -> _Names:
        return _Names(frozenset(self._found), self._every)

    def all(self) -> None:
        """Follow everything to its end."""
        while self._pending:
            self._enter(self._pending.pop())

    def see(self, value: Any) -> None:
        """A value that is read: its place in the key, and what is in it later."""
        kind = type(value)
        if kind in _VALUES:
            if kind is str and len(value) < 100:
                self._found.add(value)
            self.key.append((kind, value))
        elif kind is float:
            self.key.append((kind, struct.pack("d", value)))
        elif kind is complex:
            self.key.append((kind, struct.pack("dd", value.real, value.imag)))
        elif kind is range:
            self.key.append((kind, value.start, value.stop, value.step))
        elif isinstance(value, np.generic) and not isinstance(value, np.object_ | np.void):
            self.key.append((kind, value.dtype.str, value.tobytes()))
        else:
            number = self._numbers.get(id(value))
            if number is None:
                number = self._numbers[id(value)] = len(self._numbers)
                self.held.append(value)
                self._pending.append(value)
            self.key.append(number)

    def _read(self, read: Callable[[Any], Iterable[Any]], of: Any) -> tuple[Any, ...]:
        """Values that are compared by identity, one by one."""
        values = tuple(read(of))
        self.checks.append((read, of, values))
        self.held.append(of)
        return values

    def _enter(self, value: Any) -> None:
        self.key.append(("in", self._numbers[id(value)], Same(type(value))))
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, ModuleType):
            self.key.append(Same(value))
            if not value.__name__.startswith(_PACKAGE):
                self._module(vars(value))
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, CellType):
            for content in self._read(_contents_of_cell, value):
                self.see(content)
        elif isinstance(value, weakref.ReferenceType):
            self.see(value())
            self.checks.append((_referred, value, (value(),)))
        elif isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType | None):
            self.key.append(Same(value))
        elif _of_package(type(value)) and not isinstance(value, tuple):
            self.key.append(Same(value))  # types of elements, kernels, layouts: nobody changes them
        elif isinstance(value, io.IOBase):
            self.key.append(Same(value))
        else:
            self._object(value)

    def _function(self, function: FunctionType) -> None:
        code, *others = self._read(_MADE, function)
        for part in others:
            self.see(part)
        module = (function.__globals__.get("__name__") or "").partition(".")[0]
        if module == _PACKAGE:
            return
        if is_library_file(code.co_filename) and not is_own(function.__globals__):
            self.key.append(Same(function))
            self._every |= module not in _HARMLESS  # it may read any attribute of what it is given
            return
        variables, attributes, imported = names_of(code)
        self.key.append((code, code.co_filename))
        self._found |= attributes | variables
        self._every |= not _ANY_NAME.isdisjoint(variables | attributes)
        self._variables(function.__globals__, variables)
        if self._names.every and "globals" in variables:
            self._module(function.__globals__)
        if imported:
            package = function.__globals__.get("__package__")
            self._variables(sys.modules, {*imported, *(f"{package}.{name}" for name in imported)})

    def _module(self, variables: dict[str, Any]) -> None:
        """The variables of a module whose names occur; all of them where names are computed."""
        names = variables.keys() & self._names.found
        if self._names.every and is_own(variables):
            names = {name for name in variables if not name.startswith("__")}
        self._variables(variables, names)
        self._alike(len, variables)

    def _variables(self, variables: Mapping[str, Any], names: Iterable[str]) -> None:
        """The variables with these names, which may also not be there."""
        present = [name for name in sorted(names) if name in variables]
        absent = [name for name in names if name not in variables]
        self.key.append(tuple(present))
        if present:
            get = itemgetter(*present)
            for value in self._read(get if len(present) > 1 else lambda of: (get(of),), variables):
                self.see(value)
        if absent:
            self._alike(lambda of: [of.__contains__(name) for name in absent], variables)

    def _alike(self, read: Callable[[Any], Any], of: Any) -> None:
        """Something that has to be equal."""
        before = read(of)
        self._read(lambda now: (read(now) == before,), of)

    def _class(self, kind: type) -> None:
        self.key.append(Same(kind))
        if not _is_own_class(kind):
            return
        attributes = vars(kind)
        hidden = {"_abc_impl", "__weakref__", "__dict__", "__doc__", "__annotations__"}
        named = [n for n in attributes if self._names.every or n in self._names.found or n.startswith("__")]
        self._variables(attributes, set(named) - hidden)
        self._alike(list, attributes)
        for base in self._read(lambda of: (*of.__bases__, type(of)), kind):
            self.see(base)

    def _array(self, array: np.ndarray) -> None:
        contents = _contents(array)
        self.key.append(contents)
        self.arrays.append((array, contents))
        if array.dtype.hasobject:
            for item in array.ravel().tolist():
                self.see(item)

    def _object(self, value: Any) -> None:
        """Anything else, by what it refers to."""
        if hasattr(type(value), "__next__"):
            self.volatile = True
        self.key += [base.__repr__(value) for base in _BASES if isinstance(value, base)]
        attributes = _attributes(value)
        kind: type = type(value)
        by_name = attributes is not None and not self._names.every and _is_plain(kind)
        if attributes is not None:
            self._read(lambda of: (_attributes(of), type(of)), value)
            self._variables(attributes, attributes.keys() & self._names.found if by_name else list(attributes))
            self._alike(list, attributes)
        slots = _slots(kind)
        for content in self._read(lambda of: [getattr(of, name, _MISSING) for name in slots], value) if slots else ():
            self.see(content)
        self.see(kind)
        if by_name:
            return
        self.objects.append(value)
        parts = [p for p in gc.get_referents(value) if p is not attributes and p is not type(value)]
        if isinstance(value, set | frozenset) and all(type(part) in _VALUES for part in parts):
            parts.sort(key=lambda part: (type(part).__name__, repr(part)))
        self.key.append(len(parts))
        for part in parts:
            self.see(part)
        if not parts and attributes is None:
            self._buffer(value)

    def _buffer(self, value: Any) -> None:
        """The bytes of what has some."""
        try:
            contents = _contents(value)
        except TypeError:
            if not gc.is_tracked(value) and not isinstance(value, tuple | list | dict | set | frozenset):
                self.key.append(Same(value))
            return
        self.key.append(contents)
        self.arrays.append((value, contents))


_HEAP = 1 << 9  # of types that Python code, or a module, has made


def _contents(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, b"" if value.dtype.hasobject else value.tobytes()
    view = memoryview(value)
    return view.format, view.shape, view.tobytes()


def _of_package(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == _PACKAGE  # classes written in C may have none


def _contents_of_cell(cell: CellType) -> Iterable[Any]:
    return gc.get_referents(cell)


def _referred(reference: weakref.ReferenceType[Any]) -> Iterable[Any]:
    return (reference(),)


def _attributes(value: Any) -> dict[str, Any] | None:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def _is_own_class(kind: type) -> bool:
    """True for a class of the user's; one whose module is not there has been made by hand."""
    module = sys.modules.get(kind.__module__)
    known = isinstance(module, ModuleType)
    return bool(kind.__flags__ & _HEAP) and (is_own(vars(module)) if known else not _of_package(kind))


@lru_cache(maxsize=1024)
def _is_plain(kind: type) -> bool:
    """True for a class whose objects hold nothing but attributes, which only code of the user's reads."""
    for base in kind.__mro__:
        if base in (object, SimpleNamespace):
            continue
        if not _is_own_class(base):
            return False
    return True


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{base.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__"):
                found.append(name)
    return found


@lru_cache(maxsize=4096)
def names_of(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The global variables that code reads; the attributes, with all strings in it; the modules that it imports."""
    variables: set[str] = set()
    attributes: set[str] = set()
    imported: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"):
            variables.add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            imported.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
            attributes.add(instruction.argval)
    pending: list[Any] = list(code.co_consts)
    while pending:
        constant = pending.pop()
        if isinstance(constant, str):
            attributes.add(constant)
        elif isinstance(constant, tuple | frozenset):
            pending += constant
        elif isinstance(constant, CodeType):
            inner = names_of(constant)
            variables |= inner[0]
            attributes |= inner[1]
            imported |= inner[2]
    return frozenset(variables), frozenset(attributes), frozenset(imported)


# The names that a function uses, and the functions that it calls, as far as its code tells.


def names_reached(function: FunctionType) -> set[str]:
    """The names in a function, of what they mean there, and those in the functions that they may mean, and so on."""
    found: set[str] = set()
    pending: list[tuple[FunctionType, Iterable[str]]] = [(function, function.__code__.co_names)]
    while pending:
        here, these = pending.pop()
        new = set(these) - found
        found |= new
        # Functions by their own names, too: they may be imported under others.
        found.update(v.__name__ for v in map(here.__globals__.get, new) if isinstance(v, FunctionType))
        pending += [
            (called, all_names_of(called.__code__)) for _, _, called in called_in(here, new) if called is not function
        ]
    return found


def all_names_of(code: CodeType) -> set[str]:
    """The names that stand in a function, and in functions inside of it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *code.co_freevars, *code.co_varnames}.union(*map(all_names_of, inner))


def called_in(
    function: FunctionType, names: set[str] | None = None
) -> list[tuple[str, ModuleType | None, FunctionType]]:
    """Functions outside of this package that the names in a function mean, each with its name and module.

    A function of another module is found where ``module.function`` may stand; then the name is that of the module.
    """
    names = all_names_of(function.__code__) if names is None else names
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
