"""What a run left in its pointer arguments, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptokit.records import dataclass
from ptokit.types.dtypes import SINGLES, DType

from .parts import Table

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
