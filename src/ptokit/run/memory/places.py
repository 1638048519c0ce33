"""Where arrays have their memory: two mappings of a file are the same memory at two addresses.

The system's table of mappings says so. What arrays say of themselves does not do: another file may have their name by
now, and views, buffers of `multiprocessing.shared_memory` and arrays of other packages name none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TABLE = Path("/proc/self/maps")
"""What is mapped into this process, on systems that tell."""

_LINE = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) ...(.) ([0-9a-f]+) ([0-9a-f:]+) (\d+) *(.*)")


class Piece(NamedTuple):
    """Memory from one address to another, and where it begins in the file that it is mapped from.

    ``file``: device and inode as the table has them, None without a file. ``shared``: what is written goes to the file.
    """

    start: int
    end: int
    file: tuple[bytes, int] | None = None
    offset: int = 0
    shared: bool = False
    path: str = ""


def pieces(arrays: Sequence[np.ndarray]) -> list[list[Piece]] | None:
    """The memory of contiguous arrays, by address; None where the system does not tell."""
    spans = [span(array) for array in arrays]
    if not any(map(_lent, arrays)):
        return [[Piece(*each)] for each in spans]
    try:
        table = [_piece(*found.groups()) for found in _LINE.finditer(TABLE.read_bytes())]
    except OSError:
        return None
    return [_inside(table, *each) if _lent(array) else [Piece(*each)] for array, each in zip(arrays, spans)]


def span(array: np.ndarray) -> tuple[int, int]:
    """The first address of a contiguous array and the end."""
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def overlaps(arrays: Sequence[np.ndarray], written: Sequence[bool]) -> list[tuple[int, int]]:
    """The pairs of contiguous arrays that have bytes in common and of which one is written, as ascending positions.

    Where the system does not tell, all files that are mapped count as one.
    """
    pairs = [(i, j) for j in range(len(arrays)) for i in range(j) if written[i] or written[j]]
    if not pairs:
        return []
    found = pieces(arrays)
    if found is not None:
        return [(i, j) for i, j in pairs if any(_meet(a, b) for a in found[i] for b in found[j])]
    plain = [Piece(*span(array)) for array in arrays]
    mapped = [isinstance(array, np.memmap) for array in arrays]
    return [(i, j) for i, j in pairs if _meet(plain[i], plain[j]) or (mapped[i] and mapped[j])]


def groups(arrays: Sequence[np.ndarray]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Contiguous arrays that are one memory: its size, and where in it each of them begins, as (position, bytes).

    Arrays that are mapped from a file lie where the file has them, if one of them writes to it.
    """
    found = pieces(arrays) or [[] for _ in arrays]
    shared = {part.file for parts in found for part in parts if part.shared and part.file}
    places: list[tuple[str, int, int, int]] = []
    for i, (array, parts) in enumerate(zip(arrays, found)):
        start, end = span(array)
        first = parts[0] if parts else Piece(start, end)
        lies = first.file, first.offset - first.start
        if first.file in shared and all((part.file, part.offset - part.start) == lies for part in parts):
            start, end = first.offset, first.offset + end - start
            places.append((repr(first.file), start, end, i))
        else:
            places.append(("", start, end, i))
    out: list[tuple[int, list[tuple[int, int]]]] = []
    last = ("", 0, 0)  # where, first and end
    for where, start, end, i in sorted(places):
        if out and where == last[0] and start < last[2]:
            last = (where, last[1], max(last[2], end))
            out[-1] = (last[2] - last[1], [*out[-1][1], (i, start - last[1])])
        else:
            last = (where, start, end)
            out.append((end - start, [(i, 0)]))
    return out


def _lent(array: np.ndarray) -> bool:
    """True if the memory was not allocated by NumPy, so that it may be a mapping."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base is not None


def _piece(start: bytes, end: bytes, shared: bytes, offset: bytes, device: bytes, inode: bytes, path: bytes) -> Piece:
    file = (device, int(inode)) if int(inode) else None
    name = path.replace(rb"\012", b"\n").decode(errors="surrogateescape")
    return Piece(int(start, 16), int(end, 16), file, int(offset, 16), shared == b"s", name)


def _inside(table: Sequence[Piece], start: int, end: int) -> list[Piece]:
    found = [piece for piece in table if piece.start < end and start < piece.end]
    parts = []
    for piece in found:
        first, last = max(start, piece.start), min(end, piece.end)
        parts.append(piece._replace(start=first, end=last, offset=piece.offset + first - piece.start))
    return parts


def _meet(a: Piece, b: Piece) -> bool:
    if a.start < b.end and b.start < a.end:
        return True
    if a.file is None or a.file != b.file or not (a.shared or b.shared):
        return False
    return a.offset < b.offset + b.end - b.start and b.offset < a.offset + a.end - a.start
