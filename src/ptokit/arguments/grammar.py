"""The grammar of ``--arg``: what a kernel argument that is written as text stands for.

| form | argument |
|---|---|
| ``PATH.npy`` | the array in the file; the file itself is never modified |
| ``zeros:DTYPE:SHAPE``, ``ones:DTYPE:SHAPE`` | constant array |
| ``full:VALUE:DTYPE:SHAPE`` | array of VALUE |
| ``arange:DTYPE:SHAPE`` | 0, 1, 2, …, wrapping around where the type ends |
| ``random:DTYPE:SHAPE[:seed=N]`` | see `ptokit.arguments.generators`; the default seed is the position |
| ``uninit:DTYPE:SHAPE`` | array for output only: the sanitizer reports reads of what the kernel has not written |
| ``mmap:PATH.npy`` … | the array stays in its file: see `ptokit.arguments.npy` |
| ``block_idx``, ``block_num``, ``subblock_idx``, ``subblock_num`` | the number that each core has of its own |
| ``rank``, ``ranks``, ``comm`` | on several devices: the rank, how many there are, the communication context |
| ``peer:NAME:+1``, ``peer:NAME:0`` | the array that the next rank, or rank 0, has as the argument NAME |
| ``DIR{rank}/PATH.npy`` | the array in the file of each rank |
| ``17``, ``-3``, ``0x1F``, ``2.5``, ``1e-5``, ``inf``, ``true`` | number |

DTYPE is a short name of `ptokit.types.dtypes` or any other spelling of it, SHAPE is ``1024`` or ``16x64``, in elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ptokit.ir.launch import Each, Peer, Query, RankQuery
from ptokit.records import dataclass

from .generators import GENERATORS, ArgumentSyntaxError, parse_number
from .npy import load_array, mapped

Value = Any  # np.ndarray, int, float, bool, Query, RankQuery, Peer or Each
_QUERIES = tuple(query.value for query in Query)
_RANK_QUERIES = tuple(query.value for query in RankQuery)


@dataclass(frozen=True)
class Argument:
    """One argument: its text, and a function that makes the value (a new one at each call).

    ``make`` raises `DiagnosticError` if a file cannot be used, `MemoryError` if an array does not fit. ``file`` is the
    file that it reads, with ``{rank}`` in its name where each rank has its own; "" where it reads none. ``changes``:
    the kernel changes the file.
    """

    text: str
    make: Callable[[], Value]
    file: str = ""
    changes: bool = False


def parse_argument(text: str, position: int) -> Argument:
    """Read one argument; `position` counts from 0. Raises `ArgumentSyntaxError`."""
    if text.startswith("mmap:"):
        path, changes, make = mapped(text.removeprefix("mmap:"))
        return Argument(text, make, path, changes)
    if text.endswith(".npy") and "{rank}" in text:
        each = Each(lambda rank: load_array(text.replace("{rank}", str(rank))))
        return Argument(text, lambda: each, text)
    if text.endswith(".npy"):
        return Argument(text, lambda: load_array(text), text)
    word, *rest = text.split(":")
    if rest and word in GENERATORS:
        return Argument(text, GENERATORS[word](rest, position))
    if text in _QUERIES:
        return Argument(text, lambda: Query(text))
    if text in _RANK_QUERIES:
        return Argument(text, lambda: RankQuery(text))
    if word == "peer":
        peer = _peer(rest)
        return Argument(text, lambda: peer)
    number = parse_number(text)
    if number is None:
        forms = [f"{name}:…" for name in (*GENERATORS, "mmap", "peer")]
        words = ", ".join([*forms, *_QUERIES, *_RANK_QUERIES])
        raise ArgumentSyntaxError(f"{text!r} is neither a number, a path that ends in .npy, nor one of {words}")
    return Argument(text, lambda: number)


def _peer(fields: list[str]) -> Peer:
    if len(fields) != 2 or not fields[0] or not re.fullmatch(r"[+-]?[0-9]{1,4}", fields[1]):
        raise ArgumentSyntaxError("expected peer:NAME:+1, the argument NAME of the next rank, or peer:NAME:0")
    name, rank = fields
    return Peer(name.removeprefix("%"), int(rank), absolute=rank[0] not in "+-")
