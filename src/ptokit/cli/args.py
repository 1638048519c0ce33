"""The ``--arg`` options: wrong ones are a usage error."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from ptokit.arguments.generators import ArgumentSyntaxError
from ptokit.arguments.grammar import Argument, Value, parse_argument


def read_arguments(texts: Sequence[str]) -> list[Argument]:
    """The ``--arg`` options; wrong ones are a usage error."""
    try:
        return [parse_argument(text, i) for i, text in enumerate(texts)]
    except ArgumentSyntaxError as error:
        raise typer.BadParameter(str(error), param_hint="--arg") from None


def make(arguments: Sequence[Argument]) -> list[Value]:
    """Their values. One that does not fit into memory is a usage error; unreadable files raise `DiagnosticError`."""
    values = []
    for argument in arguments:
        try:
            values.append(argument.make())
        except MemoryError:
            raise typer.BadParameter(f"{argument.text} does not fit into memory.", param_hint="--arg") from None
    return values
