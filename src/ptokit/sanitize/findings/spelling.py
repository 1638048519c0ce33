"""How flags and barriers are written, in `.pto` text, in Python and in C++."""

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
    return _in_cpp(key)


def flag_code(verb: str, flag: tuple[Pipe, Pipe, int | str], like: Op) -> str:
    """A set or a wait (``verb``) in the program of `like`. The event id is a number, or how the text says it."""
    pipes, number = flag[:2], flag[2]
    if like.in_python:
        text = _text(like)
        return f"{text.package}.{verb}_flag({_pipes(text, pipes)}, {number})"
    if like.in_cpp:
        return f"{verb}_flag({_in_cpp(flag)})"
    p, q = (f"<{pipe.text}>" for pipe in pipes)
    if isinstance(number, str):
        return f"pto.{verb}_flag_dyn[{p}, {q}, {number}]"
    return f"pto.{verb}_flag[{p}, {q}, <EVENT_ID{number}>]"


def barrier_code(pipe: Pipe, like: Op) -> str:
    """A barrier of a pipe in the program of `like`."""
    if like.in_python:
        package = _text(like).package
        return f"{package}.pipe_barrier({package}.{pipe.text})"
    return f"pipe_barrier({pipe.text})" if like.in_cpp else f"pto.barrier <{pipe.text}>"


def as_statement(code: str, like: Op) -> str:
    """A set, wait or barrier as a statement of its own."""
    return f"{code};" if like.in_cpp else code


def _in_cpp(flag: tuple[Pipe, Pipe, int | str]) -> str:
    number = f"EVENT_ID{flag[2]}" if isinstance(flag[2], int) else flag[2]
    return f"{flag[0].text}, {flag[1].text}, {number}"


def _text(op: Op) -> PythonText:
    return python_text(op.location.file or "")


def _pipes(text: PythonText, pipes: tuple[Pipe, Pipe]) -> str:
    """Pipes by the short names of a text, where it has some."""
    return ", ".join(text.pipes.get(pipe, f"{text.package}.{pipe.text}") for pipe in pipes)
