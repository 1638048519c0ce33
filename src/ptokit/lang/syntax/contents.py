"""What an object of Python holds at a moment, whatever it is: items, attributes, the position of an iterator.

`content_of` gives it one level deep. It asks no method of the user's classes, so that looking changes nothing.
"""

from __future__ import annotations

import builtins
import enum
import gc
import io
import sys
import types
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np

from ..eager import HELPER
from ..outside import all_names_of
from ..source import is_installed

MINE = __name__.partition(".")[0]

_ATOMS = (
    *(int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType),
    *(types.FrameType, types.GenericAlias, types.WrapperDescriptorType, types.MethodDescriptorType),
    *(types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, np.dtype, np.generic),
)
ATOM_TYPES = frozenset(_ATOMS)
_PLAIN = (bool, int, str, bytes, range)
_CACHED, _LINK = "_lru_cache_wrapper", "_lru_list_elem"  # of functools: one with a largest size has a list of links
_LANG = __name__.rpartition(".syntax.")[0]
_HEAP_TYPE = 1 << 9  # of type.__flags__: made while Python runs
_NO_STATE = frozenset(
    "__doc__ __module__ __dict__ __weakref__ __annotations__ __dataclass_fields__ __dataclass_params__ __parameters__ "
    "__orig_bases__ __abstractmethods__ _abc_impl __match_args__ __slots__ __builtins__ __cached__ __file__ "
    "__loader__ __name__ __package__ __spec__ __qualname__ __static_attributes__ __firstlineno__ "
    "__warningregistry__".split()
)


class Content:
    """What an object holds, one level deep."""

    __slots__ = ("items", "attributes", "more", "names")

    def __init__(
        self,
        items: list[Any] | None = None,
        attributes: dict[str, Any] | None = None,
        more: Iterable[tuple[str, Any]] = (),
        names: frozenset[str] = frozenset(),
    ) -> None:
        self.items = items or []
        self.attributes = attributes or {}  # by what is written after the object; "=x": a variable of its own
        self.more = more  # led to, but no part of it: a change is none of the object
        self.names = names  # that its code uses, of whatever module it has at hand

    def difference(self, other: Content) -> str | None:
        """What tells the two apart: the name of an attribute, or "" for its items; None for nothing."""
        mine, theirs = self.items, other.items
        if len(mine) != len(theirs) or not all(map(_alike, mine, theirs)):
            return ""
        mine_too, theirs_too = self.attributes, other.attributes
        if mine_too.keys() != theirs_too.keys():
            return next(iter(mine_too.keys() ^ theirs_too.keys()))
        return next((name for name, value in mine_too.items() if not _alike(value, theirs_too[name])), None)


def _alike(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float | complex):
        return repr(a) == repr(b)  # -0.0 and 0.0 are two numbers
    if type(a) in (tuple, frozenset):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, types.MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    return type(a) in _PLAIN and bool(a == b)


_NONE = Content()


def content_of(value: Any) -> Content | None:
    """What `value` holds; None if nothing in it can change, or if that is followed elsewhere, as for tiles."""
    kind: type = type(value)
    if kind in ATOM_TYPES:
        return None
    return _reader(kind)(value)


@lru_cache(maxsize=4096)
def _reader(kind: type) -> Callable[[Any], Content | None]:
    """How objects of a type are looked at."""
    if issubclass(kind, _ATOMS) and not _is_users(kind):
        return _nothing
    if issubclass(kind, types.ModuleType):
        return _of_module
    if issubclass(kind, type):
        return _of_class
    if kind is types.FunctionType:
        return _of_function
    if kind is types.GeneratorType:
        return _of_generator
    if kind is types.BuiltinFunctionType:
        return _of_builtin
    if kind.__name__ == _CACHED and kind.__module__ == "functools":
        return _of_cached
    if _is_mine(kind):
        return _of_mine if kind.__dictoffset__ else _nothing
    if _package(kind) == "logging":
        return _nothing  # writes, as print does
    if kind is list or kind is tuple:
        return _of_list
    return _of_dict if kind is dict else _of_object


def _nothing(value: Any) -> None:
    return None


def _of_list(value: Any) -> Content:
    return Content([*value])


def _of_dict(value: Any) -> Content:
    return Content([part for pair in value.items() for part in pair])


def _package(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _is_mine(kind: type) -> bool:
    return any(_package(base) == MINE for base in kind.__mro__)


def _is_users(kind: type) -> bool:
    """True for classes of the user's own."""
    if not kind.__flags__ & _HEAP_TYPE:
        return False
    if not isinstance(kind.__module__, str) or _package(kind) == MINE:
        return False
    module = sys.modules.get(kind.__module__)
    if module is builtins or module is None:
        return getattr(builtins, kind.__name__, None) is not kind
    return not _is_installed_module(module)


def _is_installed_module(module: types.ModuleType) -> bool:
    file = module.__dict__.get("__file__")
    if isinstance(file, str):
        return is_installed(file)
    return str(module.__dict__.get("__name__")).partition(".")[0] in sys.stdlib_module_names - {"__main__"}


# --- functions, classes, modules -------------------------------------------------------------------------------------


def _of_module(module: Any) -> Content | None:
    own = vars(module)
    if str(own.get("__name__", "")).partition(".")[0] == MINE:
        return None
    held = {
        f".{name}": value
        for name, value in own.items()
        if name not in _NO_STATE and not isinstance(value, types.ModuleType)  # which an import adds
    }
    return _NONE if _is_installed_module(module) else Content(attributes=held)


def _of_class(kind: Any) -> Content | None:
    if not _is_users(kind):
        return None
    private = issubclass(kind, enum.Enum)  # which keeps what it has looked up
    held = {
        f".{name}": value
        for name, value in type.__dict__["__dict__"].__get__(kind).items()
        if name not in _NO_STATE and not (private and name.startswith("_"))
    }
    return Content(attributes=held, more=[("", base) for base in (*kind.__bases__, type(kind))])


@lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> frozenset[str]:
    return frozenset(all_names_of(code))


def _globals(code: types.CodeType, scope: dict[str, Any]) -> tuple[frozenset[str], dict[str, Any]]:
    """The names in a function, and the variables of its module among them."""
    names = _names(code)
    return names, {f"={name}": scope[name] for name in names if name in scope and name != HELPER}


def _of_function(function: Any) -> Content | None:
    code, scope = function.__code__, function.__globals__
    if str(scope.get("__name__", "")).partition(".")[0] == MINE:
        return None
    held: dict[str, Any] = {f".{name}": value for name, value in function.__dict__.items()}
    for n, value in enumerate(function.__defaults__ or ()):
        held[f".__defaults__[{n}]"] = value
    for name, value in (function.__kwdefaults__ or {}).items():
        held[f".__kwdefaults__[{name!r}]"] = value
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            held[f"={name}"] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    if is_installed(code.co_filename):
        return Content(attributes=held)
    names, used = _globals(code, scope)
    if HELPER in scope:  # the variables of a kernel, which are carried
        return Content(attributes=held, more=used.items(), names=names)
    return Content(attributes={**used, **held}, names=names)


def _of_builtin(function: Any) -> Content | None:
    owner = function.__self__
    return None if isinstance(owner, types.ModuleType) else Content([owner])


def _of_generator(generator: Any) -> Content | None:
    frame = generator.gi_frame
    if frame is None:
        return _NONE
    skipped = {id(frame.f_globals), id(frame.f_builtins)}
    items = [x for x in gc.get_referents(generator) if id(x) not in skipped and type(x) not in ATOM_TYPES]
    names, used = _globals(generator.gi_code, frame.f_globals)
    numbers = {f"={name}": value for name, value in frame.f_locals.items() if type(value) in ATOM_TYPES}
    return Content([frame.f_lasti, *items], numbers, more=used.items(), names=names)


def _of_cached(function: Any) -> Content | None:
    """A memo of numbers, texts and types is no state: what has been computed once would be computed again."""
    attributes = {f".{name}": value for name, value in function.__dict__.items()}
    return Content([x for x in _kept(function) if not _is_fixed(x)], attributes)


def _kept(function: Any) -> list[Any]:
    """The results that a cached function keeps."""
    held = gc.get_referents(function)
    if any(type(x).__name__ == _LINK for table in held if type(table) is dict for x in table.values()):
        links = [n for n, x in enumerate(held) if isinstance(x, type) and x.__name__ == _LINK]
        return [held[n - 1] for n in links if type(held[n - 1]) is not object]
    return [x for table in held if type(table) is dict and table is not function.__dict__ for x in table.values()]


def _is_fixed(value: Any) -> bool:
    """True for what nothing changes, and that does not belong to one kernel."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_fixed, value))
    if _is_mine(type(value)):
        return not type(value).__module__.startswith(_LANG)
    return content_of(value) is None


def _of_mine(value: Any) -> Content | None:
    """Attributes that the user gave to an object of this package, which follows its own by itself."""
    kind: type = type(value)
    own = _own_names(kind)
    return Content(
        attributes={f".{name}": held for name, held in _instance(value).items() if name not in own},
        more=[("", kind)] if _is_users(kind) else (),
    )


@lru_cache(maxsize=256)
def _own_names(kind: type) -> frozenset[str]:
    bases = [base for base in kind.__mro__ if _package(base) == MINE]
    functions = [x for base in bases for x in vars(base).values() if isinstance(x, types.FunctionType)]
    return frozenset().union(*(_names(function.__code__) for function in functions))


# --- objects ---------------------------------------------------------------------------------------------------------


def _instance(value: Any) -> dict[str, Any]:
    """The attributes that an object has of its own; of a threading.local, those of this thread."""
    kind: type = type(value)
    get: Any = kind.__getattribute__
    try:
        found = (object.__getattribute__ if isinstance(get, types.FunctionType) else get)(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=4096)
def _slots(kind: type) -> list[tuple[str, Any]]:
    """The fields of objects of a type, besides their dictionary."""
    return [
        (f".{name}", field)
        for base in kind.__mro__
        for name, field in vars(base).items()
        if type(field) is types.MemberDescriptorType and name not in _NO_STATE
    ]


def _of_object(value: Any) -> Content | None:
    kind: type = type(value)
    attributes = {f".{name}": held for name, held in _instance(value).items()}
    for name, field in _slots(kind):
        try:
            attributes[name] = field.__get__(value)
        except AttributeError:
            continue
    items = _items(value)
    if items is None:
        items = _state(value, not attributes and not _is_users(kind))
    return Content(items, attributes, more=[("", kind)] if _is_users(kind) else ())


def _items(value: Any) -> list[Any] | None:
    """The contents of a container or buffer; None for what is neither."""
    if isinstance(value, list):
        return [*list.__iter__(value)]
    if isinstance(value, dict):
        pairs = OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)
        return [part for pair in pairs for part in pair]
    if isinstance(value, tuple):
        return [*tuple.__iter__(value)]
    if isinstance(value, set):
        return sorted(set.__iter__(value), key=id)
    if isinstance(value, frozenset):
        return sorted(frozenset.__iter__(value), key=id)
    if isinstance(value, deque):
        return [*deque.__iter__(value)]
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, types.CellType):
        try:
            return [value.cell_contents]
        except ValueError:
            return []
    if isinstance(value, weakref.ref):
        return [weakref.ref.__call__(value)]
    if isinstance(value, ContextVar):
        return [value.get(None)]
    if value is sys.stdout or value is sys.stderr:
        return []
    if not _is_users(type(value)) or not hasattr(type(value), "__buffer__"):
        try:
            with memoryview(value) as view:
                return [view.shape, view.format, _digest(view.tobytes())]
        except (TypeError, ValueError, BufferError):
            pass
    return None


def _digest(data: Any) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _of_array(array: np.ndarray[Any, Any]) -> list[Any]:
    shape = [array.shape, str(array.dtype)]
    if array.dtype.hasobject:
        return [*shape, *array.ravel().tolist()]
    return [*shape, _digest(array.tobytes())]


def _state(value: Any, led_to: bool) -> list[Any]:
    """The state of an object that code of a library keeps, as pickling sees it: positions, random numbers.

    What such an object makes for the question is compared by what it holds, everything else by what it is.
    """
    kind: type = type(value)
    ask = _asked(kind)
    if ask is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return _expanded(ask(value), ask(value), 0)
            except Exception:  # it cannot tell
                pass
    if isinstance(value, io.IOBase):
        try:
            return [value.tell()]
        except (OSError, ValueError):  # a pipe, or closed
            return []
    if hasattr(kind, "__next__") and not _is_users(kind):
        return [object()]  # nobody can tell where it is
    return gc.get_referents(value) if led_to else []


@lru_cache(maxsize=4096)
def _asked(kind: type) -> Callable[[Any], Any] | None:
    """What gives the state of objects of a type: a method of a library's."""
    for name in ("__reduce__", "__reduce_ex__", "__getstate__"):
        for base in kind.__mro__[:-1]:
            method = vars(base).get(name)
            if method is None or _is_users(base):
                continue
            if not isinstance(method, types.FunctionType) or is_installed(method.__code__.co_filename):
                return partial(_reduced, method) if name == "__reduce_ex__" else method
    return None


def _reduced(method: Callable[[Any, int], Any], value: Any) -> Any:
    return method(value, 4)


def _expanded(one: Any, other: Any, depth: int) -> list[Any]:
    """Two answers to the same question: what both hold as it is, and what was made for the answer by its contents."""
    if one is other:
        return [one]
    if type(one) is not type(other) or depth > 6:
        return [type(one)]
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return [type(one)]
        return [len(one), *(part for a, b in zip(one, other) for part in _expanded(a, b, depth + 1))]
    if isinstance(one, dict):
        parts = zip(one.items(), other.items())
        return [len(one), *(part for a, b in parts for part in _expanded(a, b, depth + 1))]
    if type(one) in ATOM_TYPES:
        return [one]
    if isinstance(one, np.ndarray):
        return _of_array(one)
    content = content_of(one)
    return [] if content is None else [type(one), *content.items, *content.attributes.values()]
