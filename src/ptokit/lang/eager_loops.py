"""The loops around a call of an interpreted kernel, for observers: as a compiled run tells them."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from types import CodeType

from ptokit.machine.loops import Loops

from .source import tree_of

_INTERPRETER = "ptokit.lang.interpret"


def loops_around() -> Loops:
    """The loops over ranges around the call that is being executed, from the outside in; empty outside of kernels."""
    found: list[tuple[str, int]] = []
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == _INTERPRETER:
            return tuple(reversed(found))
        if not module.startswith("ptokit."):
            for name in reversed(_names(frame.f_code, frame.f_lineno)):
                value = frame.f_locals.get(name)
                if isinstance(value, int):
                    found.append((name, int(value)))
        frame = frame.f_back  # type: ignore[assignment]
    return ()


@lru_cache(maxsize=1024)
def _names(code: CodeType, line: int) -> tuple[str, ...]:
    """The variables of the loops over ranges around a line of a function, from the outside in."""
    tree = tree_of(code)
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For)] if tree is not None else []
    around = [n for n in loops if _counts(n) and n.body[0].lineno <= line <= (n.body[-1].end_lineno or 0)]
    around.sort(key=lambda n: n.lineno)
    return tuple(n.target.id for n in around if isinstance(n.target, ast.Name))


def _counts(loop: ast.For) -> bool:
    """True for a loop that a compiled kernel has, too: those over other things are unrolled."""
    call = loop.iter
    if not isinstance(call, ast.Call):
        return False
    return (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) == "range"
