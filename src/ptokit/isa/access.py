"""What an instruction reads and writes, as rectangles of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptokit.records import dataclass

from .site import Site


@dataclass(frozen=True, slots=True)
class Access:
    """Elements of one operand that an instruction reads or writes: rows [0, rows) x cols [0, cols).

    The owner turns this into exact byte sets through the operand's layout.
    """

    operand: str
    write: bool
    rows: int
    cols: int
    row: int = 0
    col: int = 0
    sub: int = 0  # vector sub-core whose buffer it is, where a cube core writes one
    results: tuple[int, int] | None = None  # rows and columns written with results, where the rest becomes padding
    kept: bool = False  # some of the elements may stay as they are


Footprint = Callable[[Site], Iterator[Access]]
