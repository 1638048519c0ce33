"""How flags and barriers are written, in `.pto` text and in Python."""

from __future__ import annotations

from ptokit.ir.core import Op
from ptokit.types.enums import Pipe

from ..simulation.events import FlagKey
from .python_text import PythonText, python_text


def flag_text(key: FlagKey, like: Op) -> str:
    """A flag as the program of `like` writes it: ``PIPE_V, PIPE_MTE3, EVENT_ID1``; ``pto.PIPE_V, pto.PIPE_MTE3, 1``."""
    pipes, number = key[:2], key[2]
    if like.in_python:
        return f"{_pipes(_text(like), pipes)}, {number}"
    return f"{pipes[0].text}, {pipes[1].text}, EVENT_ID{number}"


def flag_code(verb: str, flag: tuple[Pipe, Pipe, int | str], like: Op) -> str:
    """A set or a wait (``verb``) in the program of `like`. The event id is a number, or how the text says it."""
    pipes, number = flag[:2], flag[2]
    if like.in_python:
        text = _text(like)
        return f"{text.package}.{verb}_flag({_pipes(text, pipes)}, {number})"
    p, q = (f"<{pipe.text}>" for pipe in pipes)
    if isinstance(number, str):
        return f"pto.{verb}_flag_dyn[{p}, {q}, {number}]"
    return f"pto.{verb}_flag[{p}, {q}, <EVENT_ID{number}>]"


def barrier_code(pipe: Pipe, like: Op) -> str:
    """A barrier of a pipe in the program of `like`."""
    if like.in_python:
        package = _text(like).package
        return f"{package}.pipe_barrier({package}.{pipe.text})"
    return f"pto.barrier <{pipe.text}>"


def _text(op: Op) -> PythonText:
    return python_text(op.location.file or "")


def _pipes(text: PythonText, pipes: tuple[Pipe, Pipe]) -> str:
    """Pipes by the short names of a text, where it has some."""
    return ", ".join(text.pipes.get(pipe, f"{text.package}.{pipe.text}") for pipe in pipes)
