"""Calls of Python's own functions and classes in a kernel: what they are answered with."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

from ptokit.diagnostics import Location
from ptokit.types.values import INDEX

from .. import rules
from ..eager import HELPER, is_instance, kind_of
from ..intrinsics import intrinsic
from ..rules import location_at, refusal, user_frame
from ..scalar import Scalar
from ..tiles import Tile
from ..trace import current
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


def prints(*items: Any, sep: str | None = " ", end: str | None = "\n", **more: Any) -> None:
    """``print(...)``: numbers of the run are printed by the run, with PRINT; the rest once, while compiling.

    Refuses what would be printed once instead of many times (LANG-SCALAR).
    """
    trace = current("print")
    tile = next((item for item in items if isinstance(item, Tile)), None)
    if tile is not None:
        hint = f"pto.TPRINT({tile.name or 't'}) prints it in the run; or run the kernel with .interpret"
        raise refusal(rules.SCALAR, "a tile has no contents while the kernel is compiled", hint=hint)
    if not any(isinstance(item, Scalar) for item in items):
        kind = next((region.kind for region in trace.regions if region.kind in ("loop", "branch")), "")
        if kind:
            hint = 'print a number of the run with it, as in print("i =", i), or run the kernel with .interpret'
            raise refusal(rules.SCALAR, f"only the run knows how often it prints this, in a {kind}", hint=hint)
        print(*items, sep=sep, end=end, **more)
        return
    if any(value is not None for name, value in more.items() if name != "flush"):
        raise refusal(rules.SCALAR, "numbers of the run are printed where the run prints", hint="leave out file=")
    text = ""
    for k, item in enumerate(items):
        text += (" " if sep is None else sep) if k else ""
        if isinstance(item, Scalar):
            intrinsic("PRINT")(item, format=f"{text}{_conversion(item)}")
            text = ""
        else:
            text += str(item).replace("%", "%%")
    text += "\n" if end is None else end
    # The text after the last number belongs to its format.
    last = trace.region.block.ops[-1]
    last.attrs["format"] += text


def _conversion(number: Scalar) -> str:
    if number.type.is_float:
        return "%g"
    return "%lld" if number.type == INDEX or number.type.name.endswith("64") else "%d"


def answers_for_kernels(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``function(*args, **named)``, which gets no text of a number without value: `asked.of_kernel` knows the name."""
    return function(*args, **named)


def stops(*args: Any, **named: Any) -> None:
    """``breakpoint()``: Python's debugger comes to the line of the kernel, past the frames that compile it.

    What an editor or the environment has in its place is called as it is.
    """
    chosen = os.environ.get("PYTHONBREAKPOINT") or "pdb.set_trace"
    if sys.breakpointhook is not sys.__breakpointhook__ or chosen != "pdb.set_trace":
        return breakpoint(*args, **named)
    from pdb import Pdb

    return Pdb(skip=["ptokit", "ptokit.*", "contextlib"]).set_trace(user_frame())


IN_KERNELS: dict[Any, Callable[..., Any]] = {print: prints, breakpoint: stops}
"""What functions of Python do in a kernel that is compiled."""


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
