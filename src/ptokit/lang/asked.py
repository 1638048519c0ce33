"""What Python asks about a number that only the run knows: refused, unless the answer is that for the number itself."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from . import rules
from .eager import typed
from .where import refusal

HELPER = "__ptokit__"
"""The variable under which code of a kernel finds what its expressions are rewritten to."""

ANSWERS_FOR_KERNELS = "answers_for_kernels"
"""The name of the functions of this package that call functions in the place of a kernel."""

_DEBUGGERS = {"pdb", "bdb", "cmd", "reprlib", "_pytest", "IPython", "debugpy", "pydevd", "rich"}


def of_kernel(frame: FrameType | None) -> bool:
    """True if code of a kernel, or what it calls outside of this package, executes this frame: not a debugger."""
    while frame is not None:
        if HELPER in frame.f_globals or frame.f_code.co_name == ANSWERS_FOR_KERNELS:
            return True
        package = (frame.f_globals.get("__name__") or "").partition(".")[0]
        if package == "ptokit" or package.startswith(tuple(_DEBUGGERS)):
            return False
        frame = frame.f_back
    return False


def text_of(number: Any, text: str) -> str:
    """The text that tells a traced number in messages. Refuses to give it to a kernel (LANG-SCALAR)."""
    if of_kernel(sys._getframe(2)):
        raise refusal(
            rules.SCALAR,
            f"{text} has no value while the kernel is compiled, so it has no text",
            hint='print("n =", n) prints a number in the run; or run the kernel with .interpret',
        )
    return text


def is_instance(number: Any, kinds: Any) -> bool:
    """``isinstance(number, kinds)``, answered for the number that the run has (LANG-SCALAR where that is open)."""
    if isinstance(number, kinds):
        return True
    zero: bool | int | float = 0.0 if number.type.is_float else False if number.type.name == "i1" else 0
    interpreted, plain = isinstance(typed(zero, number.type), kinds), isinstance(zero, kinds)
    if interpreted != plain:
        raise refusal(
            rules.SCALAR,
            f"whether {number!r} is one of {kinds!r} is another answer in each kind of run",
            hint="ask for int, float or bool",
        )
    return plain


def kind_of(number: Any) -> Any:
    """``type(number)``, which is refused (LANG-SCALAR)."""
    raise refusal(
        rules.SCALAR,
        f"{number!r} has no Python type while the kernel is compiled",
        hint="ask isinstance(x, int), or for x.type, its type in the kernel",
    )
