"""Calls of Python's own functions and classes in a kernel: what they are answered with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

from ptokit.diagnostics import Location

from ..asked import HELPER, is_instance, kind_of
from ..scalar import Scalar
from ..where import location_at
from .expressions import truth

_ANSWERS: dict[Any, tuple[int, Callable[..., Any]]] = {
    isinstance: (2, is_instance),
    type: (1, kind_of),
    bool: (1, truth),
}


def answer_of(function: Any, count: int) -> Callable[..., Any] | None:
    """What answers for the number that the run has, where Python would for the object in its place."""
    found = _ANSWERS.get(function) if isinstance(function, Hashable) else None
    return found[1] if found is not None and found[0] == count else None


def answers_for_kernels(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``function(*args, **named)``, which gets no text of a number without value: `asked.of_kernel` knows the name."""
    return function(*args, **named)


def class_of(value: Any) -> Any:
    """``value.__class__``."""
    return kind_of(value) if isinstance(value, Scalar) else value.__class__


def init_of(kind: type) -> FunctionType | None:
    """The ``__init__`` of a class whose objects Python code makes."""
    init = getattr(kind, "__init__", None)
    known = makes_itself(kind) or getattr(kind, "__new__", None) is object.__new__
    return init if known and isinstance(init, FunctionType) else None


def makes_itself(kind: type) -> bool:
    """True for a class with a ``__new__`` in Python."""
    return isinstance(getattr(kind, "__new__", None), FunctionType)


def raised_at(error: BaseException) -> Location | None:
    """Where code of a kernel raised an error, directly or in what it called."""
    trace, found = error.__traceback__, None
    while trace is not None:
        if HELPER in trace.tb_frame.f_globals:
            found = location_at(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return found
