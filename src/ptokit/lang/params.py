"""Parameters of a kernel, the arrays that callers pass, and tracebacks that show the user's own code."""

from __future__ import annotations

import inspect
import sys
from bdb import BdbQuit
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, wraps
from operator import is_
from types import FunctionType
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, KernelWarning, Location, Note
from ptokit.diagnostics.finding import argument_place, place_of
from ptokit.run.tensors import Unusable, holds_memory, shared
from ptokit.types.dtypes import DType, from_numpy
from ptokit.types.values import F32, INDEX, Type, in_python
from ptokit.types.values import Ptr as PtrType
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .eager import scalar_type
from .mistakes import as_finding, debugging, of_users, users_traceback
from .outside import Snapshot
from .rules import here, refusal
from .source import definition_of, parameters_of

# Tracebacks of refusals that show the user's own code, not how ptokit came to its finding.


P = ParamSpec("P")
R = TypeVar("R")


def refuses(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of what users call: of what code in a kernel raises, only their frames stay in the traceback.

    Mistakes of Python become findings (`DiagnosticError`); what the kernel raises by ``raise`` stays what it is.
    Leaving a debugger ends a script without a word. A bare ``raise`` goes on with the traceback that it is given,
    without the frame of the decorator.
    """

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True  # for pytest, where this frame is the last
        try:
            return function(*args, **named)
        except BdbQuit as error:  # `q` in a debugger
            if hasattr(sys, "ps1"):
                raise error.with_traceback(users_traceback(error.__traceback__)) from None
            raise SystemExit(1) from None
        except Exception as error:
            refused = isinstance(error, DiagnosticError | KernelWarning)
            found = None if refused or debugging() else as_finding(error)
            if found is None:
                if not debugging() and (refused or of_users(error)):
                    error.__traceback__ = users_traceback(error.__traceback__)
                raise
            try:
                raise found from None
            except DiagnosticError:
                found.__traceback__ = users_traceback(error.__traceback__, own=True)
                raise

    return called


# Arguments of a launch as NumPy arrays that share the caller's memory.


def as_array(name: str, arg: Any) -> np.ndarray:
    """The caller's memory as an array (`ptokit.run.tensors.shared`). Refuses what has none (LANG-ARG)."""
    try:
        return shared(arg)
    except Unusable as error:
        raise refusal(rules.ARGUMENT, f"argument {name} {error}", hint=error.hint) from error


def arrays_in(args: Iterable[tuple[str, Any]]) -> list[Any]:
    """Arguments by their names, with what holds memory in them and in lists as arrays (`as_array`).

    A list that is there twice stays one.
    """
    known: dict[int, Any] = {}

    def seen(name: str, arg: Any) -> Any:
        if not isinstance(arg, list | tuple):
            return as_array(name, arg) if holds_memory(arg) else arg
        if id(arg) not in known:
            known[id(arg)] = [seen(name, each) for each in arg]
        return known[id(arg)]

    return [seen(name, arg) for name, arg in args]


# The function that a kernel is made of.


def checked(function: Callable[..., Any]) -> FunctionType:
    """The function. Refuses others, and functions whose call does not run their body (LANG-PARAM, LANG-CONTROL)."""
    if not isinstance(function, FunctionType):
        raise refusal(rules.PARAMETER, f"a kernel is made of a function, not of {function!r}", hint="use def")
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise _not_run(function)
    return function


def _not_run(function: FunctionType) -> DiagnosticError:
    code = function.__code__
    kind = "a generator" if code.co_flags & inspect.CO_GENERATOR else "an async function"
    return refusal(
        rules.CONTROL,
        f"kernel {function.__name__} is {kind}: calling it runs none of it",
        location=Location(code.co_filename, code.co_firstlineno, 1),
        hint="a kernel is a plain function without yield and await",
    )


# Parameters of a kernel: annotations, and types inferred from the arguments of a call.


class Ptr:
    """Annotation of a pointer parameter: ``x: pto.Ptr[pto.f32]``."""

    @refuses
    def __class_getitem__(cls, element: Any) -> PtrType:
        if not isinstance(element, DType):
            raise refusal(
                rules.PARAMETER,
                f"pto.Ptr[{_text(element)}] does not name an element type",
                hint=f"write pto.Ptr[pto.{_meant(element)}]",
            )
        return PtrType(element)


def _text(annotation: Any) -> str:
    """An annotation as it is written, nearly."""
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)


def _meant(element: Any) -> str:
    """The element type that somebody means by a type of NumPy or Python; f32 if that is open."""
    with suppress(TypeError):
        found = None if element in (float, int) else from_numpy(np.dtype(element))
        return "f32" if found is None else found.name
    return "f32"


class Static:
    """Annotation of a parameter that is a Python value while tracing; each value is traced for itself.

    ``cols: pto.Static`` or ``cols: pto.Static[int]``.
    """

    def __class_getitem__(cls, _: Any) -> type[Static]:
        return cls


class Constant:
    """Signature entry of a `Static` parameter: equal for values that nothing tells apart at this moment."""

    __slots__ = ("value", "key", "_snapshot")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key: Hashable
        self._snapshot: Snapshot | None = None
        if type(value) in (int, bool, str):
            self.key = type(value), value
        else:
            self._snapshot = Snapshot(value, every=True)
            self.key = self._snapshot.key

    def holds(self, value: Any) -> bool:
        """True if this is the entry of a value that is given once more."""
        return value is self.value and self._snapshot is not None and self._snapshot.holds()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


Entry = Type | Constant
Signature = tuple[Entry, ...]


class Parameters:
    """The parameters of one kernel function."""

    def __init__(self, function: FunctionType, location: Location, variables: Mapping[str, Any]) -> None:
        self.name = function.__name__
        self.location = location
        self._function, self._defaults = function, _defaults(function)
        self.signature = parameters_of(function)
        self._constants: dict[str, Constant] = {}
        annotations = _annotations(function, variables)
        self.kinds: dict[str, Any] = {}
        for parameter in self.signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise refusal(
                    rules.PARAMETER,
                    f"kernel {self.name} has the parameter {parameter}; a kernel has a fixed number of them",
                    location=location,
                )
            self.kinds[parameter.name] = self._annotated(parameter.name, annotations.get(parameter.name))

    def _annotated(self, name: str, annotation: Any) -> Any:
        """Type of an annotation, `Static`, or None if there is none."""
        if annotation is None or annotation is inspect.Parameter.empty or annotation is Any:
            return None
        if annotation is Static or isinstance(annotation, PtrType | ScalarType):
            return annotation
        if isinstance(annotation, DType):
            return scalar_type(annotation)
        if annotation is int:
            return INDEX
        if annotation is float:
            return F32
        if annotation is np.ndarray or getattr(annotation, "__origin__", None) is np.ndarray:
            return None
        raise refusal(
            rules.PARAMETER,
            f"parameter {name} of kernel {self.name} has the annotation {_text(annotation)}, which no argument has",
            location=self.place(name),
            hint="arrays are pto.Ptr[pto.f32], numbers int, float or pto.i32; what is compiled in is pto.Static",
        )

    def bind(self, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name, defaults filled in. Refuses wrong counts and names (LANG-ARG)."""
        defaults = _defaults(self._function)
        if len(defaults) != len(self._defaults) or not all(map(is_, defaults, self._defaults)):
            self._defaults, self.signature = defaults, parameters_of(self._function)
        try:
            bound = self.signature.bind(*args, **named)
        except TypeError:
            raise self._misfit(args, named) from None
        bound.apply_defaults()
        return bound.arguments

    def _misfit(self, args: tuple[Any, ...], named: dict[str, Any]) -> DiagnosticError:
        """What is wrong with the number or the names of arguments."""
        parameters = self.signature.parameters
        in_order = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
        hint, place = f"it is {self.name}({self})", None
        strange = next((name for name in named if name not in parameters), None)
        twice = next((name for name in in_order[: len(args)] if name in named), None)
        if strange is not None:
            message, place = f"kernel {self.name} has no parameter {strange}", argument_place(here(), strange)
            close = get_close_matches(strange, parameters, 1)
            hint = f"did you mean {close[0]}? {hint}" if close else hint
        elif len(args) > len(in_order):
            message = f"kernel {self.name} takes {len(in_order)} arguments, {len(args)} are given"
        elif twice is not None:
            message, place = f"{twice} is given by position and by name", argument_place(here(), twice)
        else:
            given = {*in_order[: len(args)], *named}
            missing = [p.name for p in parameters.values() if p.name not in given and p.default is p.empty]
            message = f"kernel {self.name} lacks {' and '.join(missing)}"
        return refusal(rules.ARGUMENT, message, hint=hint, location=place)

    @cached_property
    def places(self) -> dict[str, Location]:
        """Where the parameters are written, as far as the source can be read."""
        code = self._function.__code__
        found = definition_of(code)
        args = found[0].args if found is not None else None
        written = [] if args is None else [*args.posonlyargs, *args.args, *args.kwonlyargs]
        return {
            arg.arg: place_of(code.co_filename, (arg.lineno, arg.end_lineno, arg.col_offset, arg.end_col_offset))
            for arg in written
        }

    def place(self, name: str) -> Location:
        """Where a parameter is written, or the kernel."""
        return self.places.get(name, self.location)

    def at_the_call(self, finding: Diagnostic, args: tuple[Any, ...]) -> Diagnostic:
        """A finding about an argument of a launch, placed there instead of at its parameter. ``args``: by position."""
        if not finding.rule.startswith(("RUN-ARG", "RUN-RANKS")):
            return finding
        call = here()
        names = list(self.kinds)
        name = next((name for name in names if self.places.get(name) == finding.location), None)
        if name is None:
            return replace(finding, location=call, notes=(*finding.notes, Note("of this kernel", finding.location)))
        position = names.index(name)
        place = argument_place(call, position if position < len(args) else name)
        note = Note(f"{name} is a parameter of kernel {self.name}", finding.location)
        return replace(finding, location=place or call, notes=(*finding.notes, note))

    def entry(self, name: str, arg: Any) -> Entry:
        """Signature entry of a parameter for an argument: an array, a number, or a type in place of one."""
        kind = self.kinds[name]
        if kind is Static:
            last = self._constants.get(name)
            if last is None or not last.holds(arg):
                last = self._constants[name] = Constant(arg)
            return last
        return kind if kind is not None else self.inferred(name, arg)

    def inferred(self, name: str, arg: Any) -> Entry:
        """Type of a parameter without annotation. Refuses what cannot be an argument (LANG-ARG)."""
        if isinstance(arg, DType):
            return PtrType(arg)
        if isinstance(arg, PtrType | ScalarType):
            return arg
        if isinstance(arg, bool | np.bool_):
            raise refusal(
                rules.ARGUMENT, f"argument {name} is a boolean", hint="pass 0 or 1, or annotate it with pto.Static"
            )
        if isinstance(arg, int | np.integer):
            return INDEX
        if isinstance(arg, float | np.floating):
            return F32
        array = as_array(name, arg)
        element = from_numpy(array.dtype)
        if element is None:
            raise refusal(
                rules.ARGUMENT,
                f"argument {name} has the dtype {array.dtype}, which is no element type",
                hint=f"annotate the parameter, for example {name}: pto.Ptr[pto.f32]",
            )
        return PtrType(element)

    def annotated_signature(self) -> Signature | None:
        """The signature where annotations and defaults say everything, else None."""
        entries: list[Entry] = []
        for name, parameter in self.signature.parameters.items():
            kind = self.kinds[name]
            if kind is None or kind is Static:
                if parameter.default is inspect.Parameter.empty:
                    return None
                entries.append(self.entry(name, parameter.default))
            else:
                entries.append(kind)
        return tuple(entries)

    def __str__(self) -> str:
        return ", ".join(map(self._written, self.signature.parameters.values()))

    def _written(self, parameter: inspect.Parameter) -> str:
        kind = self.kinds[parameter.name]
        type = "" if kind is None else ": Static" if kind is Static else f": {in_python(kind)}"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        return f"{parameter.name}{type}{default}"

    def is_static(self, name: str) -> bool:
        """True for a parameter whose value is compiled in."""
        return self.kinds[name] is Static

    def undetermined(self) -> list[str]:
        """Names of the parameters whose type only an argument tells."""
        return [name for name, kind in self.kinds.items() if kind is None or kind is Static]


def count_hint(blocks: Any) -> str:
    """What to write in place of what is no number of blocks."""
    if isinstance(blocks, tuple):
        columns = blocks[-1] if blocks else 2
        return (
            "blocks are counted by one number: launch their product; pto.get_block_idx() // "
            f"{columns} and pto.get_block_idx() % {columns} are the row and column of a block"
        )
    whole = isinstance(blocks, float) and blocks.is_integer()
    return f"write {int(blocks)}; // divides integers" if whole else "kernel[blocks] takes an integer from 1"


def is_count(number: Any) -> TypeGuard[int]:
    """True for a number of blocks or devices."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and bool(number >= 1)


def _defaults(function: FunctionType) -> tuple[Any, ...]:
    """What the signature of a function is made of."""
    return function.__code__, *(function.__defaults__ or ()), _BETWEEN, *(function.__kwdefaults__ or {}).values()


_BETWEEN = object()


def _annotations(function: FunctionType, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Annotations as values. Those written as text are evaluated where the kernel is decorated, with its `variables`;
    text that cannot be evaluated stays text."""
    found = dict(inspect.get_annotations(function))
    for name, annotation in found.items():
        if isinstance(annotation, str):
            with suppress(Exception):
                found[name] = eval(annotation, function.__globals__, dict(variables))
    return found
