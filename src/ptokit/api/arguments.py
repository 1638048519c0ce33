"""Arguments of a launch: arrays, numbers, and texts in the grammar of ``--arg``."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from ptokit.arguments.generators import ArgumentSyntaxError
from ptokit.arguments.grammar import Argument, parse_argument
from ptokit.ir.rank_queries import MOST_RANKS, Each, Peer, RankQuery

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


def of_ranks(values: Sequence[Any], ranks: int | None) -> list[Any]:
    """The values of a launch on that many devices, those in files of their own read, or on one device (None).

    Raises `UsageError` for what one device does not have.
    """
    if ranks is None:
        for value in values:
            if isinstance(value, RankQuery | Peer | Each):
                raise UsageError("rank, ranks, comm, peer:.. and {rank} need several devices: --ranks.", "arg")
        return list(values)
    if not 1 <= ranks <= MOST_RANKS:
        raise UsageError(f"{ranks} is not in the range 1 to {MOST_RANKS}.", "ranks")
    return [[value.of(rank) for rank in range(ranks)] if isinstance(value, Each) else value for value in values]


def copied(values: Sequence[Any]) -> list[Any]:
    """The values with memory of their own, which they share where the originals do."""
    from ptokit.sanitize.findings.witness import copies

    lists = [value if isinstance(value, list | tuple) else [value] for value in values]
    originals = [each for several in lists for each in several]
    known: dict[int, Any] = {}
    fresh = iter([deepcopy(old, known) if new is old else new for new, old in zip(copies(originals), originals)])
    out = [[next(fresh) for _ in several] for several in lists]
    return [new if isinstance(value, list | tuple) else new[0] for value, new in zip(values, out)]
