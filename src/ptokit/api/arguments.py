"""Arguments of a launch, as texts in the grammar of ``--arg``, and what a run left in them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ptokit.arguments.grammar import Argument, ArgumentSyntaxError, parse_argument
from ptokit.diagnostics import UsageError
from ptokit.ir.launch import MOST_RANKS, Each, Peer, RankQuery
from ptokit.records import dataclass
from ptokit.types.dtypes import SINGLES, DType

from .parts import Table

# Arguments of a launch: arrays, numbers, and texts in the grammar of ``--arg``.


def read_arguments(given: Sequence[Any]) -> list[Argument]:
    """The arguments, texts read and nothing made yet. Raises `UsageError` for a text that means nothing."""
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
    from ptokit.sanitize.findings.race import copies

    lists = [value if isinstance(value, list | tuple) else [value] for value in values]
    originals = [each for several in lists for each in several]
    known: dict[int, Any] = {}
    fresh = iter([deepcopy(old, known) if new is old else new for new, old in zip(copies(originals), originals)])
    out = [[next(fresh) for _ in several] for several in lists]
    return [new if isinstance(value, list | tuple) else new[0] for value, new in zip(values, out)]


# What a run left in its pointer arguments, as a table.


_FIRST = 3  # elements shown


@dataclass(frozen=True)
class Result:
    """An array argument: its element type (None: as NumPy says), contents before and after the run.

    One that is mapped from a file, and may be larger than memory, has no contents before; only its first values are
    looked at. Contents before are None where they were not kept.
    """

    name: str
    dtype: DType | None
    before: np.ndarray | None
    after: np.ndarray


def file_names(names: Sequence[str]) -> list[str]:
    """File name without suffix for each parameter: its own name, ``argN`` where it has none or only a number.

    Two names that differ only in case get a number, because some file systems would merge them.
    """
    taken: set[str] = set()
    out = []
    for i, name in enumerate(names):
        own = f"arg{i}" if not name or name.isdigit() else name
        if own.lower() in taken:
            own = f"{own}_{i}"
        taken.add(own.lower())
        out.append(own)
    return out


def result_table(results: Sequence[Result]) -> Table:
    """One row per array argument."""
    headers = ["argument", "type", "shape", "changed", "min", "max", "first values"]
    rows = [list(_row(result)) for result in results]
    if all(result.before is None and not isinstance(result.after, np.memmap) for result in results):
        headers.remove("changed")
        rows = [row[:3] + row[4:] for row in rows]
    undefined = [_undefined(result) for result in results]
    if any(undefined):
        headers.insert(-1, "nan")
        for row, count in zip(rows, undefined):
            row.insert(-1, str(count) if count else "-")
    return Table(headers, rows, ("changed", "min", "max", "nan"))


def _undefined(result: Result) -> int:
    """How many elements are NaN."""
    if isinstance(result.after, np.memmap):
        return 0
    values = decoded(result.after, result.dtype)
    return int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0


def _row(result: Result) -> tuple[str, ...]:
    type_name = result.dtype.name if result.dtype else result.after.dtype.name
    shape = "x".join(map(str, result.after.shape))
    if isinstance(result.after, np.memmap):
        start = np.asarray(result.after.reshape(-1)[: _FIRST + 1])
        return result.name, type_name, shape, "mapped", "", "", _first(decoded(start, result.dtype))
    values = decoded(result.after, result.dtype)
    return result.name, type_name, shape, _changed(result.before, result.after), *_extremes(values), _first(values)


def _changed(before: np.ndarray | None, after: np.ndarray) -> str:
    if before is None:
        return "?"
    raw = np.dtype(f"u{after.dtype.itemsize}")
    n = int(np.count_nonzero(before.view(raw) != after.view(raw)))
    return "all" if n == after.size and n else str(n) if n else "-"


def _extremes(values: np.ndarray) -> tuple[str, str]:
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if numbers.size == 0:
        return ("nan", "nan") if values.size else ("-", "-")
    return number(numbers.min()), number(numbers.max())


def _first(values: np.ndarray) -> str:
    shown = " ".join(number(v) for v in values[:_FIRST])
    return f"{shown} …" if values.size > _FIRST else shown


def number(value: np.generic) -> str:
    """A value in at most ten characters, or all digits of an integer."""
    return f"{float(value):.4g}" if isinstance(value, np.floating) else str(int(value))


def decoded(array: np.ndarray, element: DType | None) -> np.ndarray:
    """The elements as a flat NumPy array of numbers."""
    if element is None:
        return array.reshape(-1)
    element, flat = SINGLES.get(element, element), array.reshape(-1)
    flat = flat.view(element.value or element.storage)
    if element.value is not None:
        return flat.astype(np.float32) if element.is_float else flat
    from ptokit.types.codecs import decode, unpack_nibbles

    return decode(element, unpack_nibbles(flat) if element.packed else flat)
