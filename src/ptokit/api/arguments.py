"""Arguments of a launch: arrays, numbers, and texts in the grammar of ``--arg``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptokit.arguments.generators import ArgumentSyntaxError
from ptokit.arguments.grammar import Argument, parse_argument

from .errors import UsageError


def read_arguments(given: Sequence[Any]) -> list[Argument]:
    """The arguments, texts read and nothing made yet. Raises `UsageError` for a text that stands for nothing."""
    return [_read(value, position) for position, value in enumerate(given)]


def _read(value: Any, position: int) -> Argument:
    if not isinstance(value, str):
        return Argument(repr(value)[:80], lambda: value)
    try:
        return parse_argument(value, position)
    except ArgumentSyntaxError as error:
        raise UsageError(str(error), "arg") from None


def make(arguments: Sequence[Argument]) -> list[Any]:
    """Their values. Raises `UsageError` for one that does not fit into memory, `DiagnosticError` for files."""
    values = []
    for argument in arguments:
        try:
            values.append(argument.make())
        except MemoryError:
            raise UsageError(f"{argument.text} does not fit into memory.", "arg") from None
    return values
