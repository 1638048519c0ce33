"""Tracebacks of refusals that show the user's own code, not how ptokit came to its finding."""

from __future__ import annotations

import sys
from bdb import BdbQuit
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ptokit.diagnostics import DiagnosticError, KernelWarning

from .mistakes import as_finding, debugging, of_users, users_traceback

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
