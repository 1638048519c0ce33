"""Tracebacks of refusals that show the user's own code, not how ptokit came to its finding."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

from ptokit.diagnostics import DiagnosticError

P = ParamSpec("P")
R = TypeVar("R")


def refuses(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of what users call: of a `DiagnosticError` only this frame and theirs stay in the traceback."""

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest leaves out this frame, too
        try:
            return function(*args, **named)
        except DiagnosticError as error:
            raise error.with_traceback(_users(error.__traceback__)) from None

    return called


def _users(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that lies outside of ptokit."""
    kept = []
    while trace is not None:
        if not _internal(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    result: TracebackType | None = None
    for each in reversed(kept):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def _internal(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    return module == "ptokit" or module.startswith("ptokit.") or frame.f_code.co_filename.startswith("<ptokit ")
