"""How flags and barriers are written, in `.pto` text and in Python."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from .python_text import python_text


def is_python(file: str | None) -> bool:
    """True for a file of Python."""
    return file is not None and file.endswith(".py")


def flag_code(verb: str, pipes: tuple[Pipe, Pipe], number: int | str, file: str | None) -> str:
    """A set or a wait; ``number``: the event id, or how the text says it."""
    if file is not None and is_python(file):
        text = python_text(file)
        names = ", ".join(text.pipes.get(pipe, f"{text.package}.{pipe.text}") for pipe in pipes)
        return f"{text.package}.{verb}_flag({names}, {number})"
    p, q = (f"<{pipe.text}>" for pipe in pipes)
    if isinstance(number, str):
        return f"pto.{verb}_flag_dyn[{p}, {q}, {number}]"
    return f"pto.{verb}_flag[{p}, {q}, <EVENT_ID{number}>]"


def barrier_code(pipe: Pipe, file: str | None) -> str:
    """A barrier of a pipe."""
    if file is not None and is_python(file):
        package = python_text(file).package
        return f"{package}.pipe_barrier({package}.{pipe.text})"
    return f"pto.barrier <{pipe.text}>"
