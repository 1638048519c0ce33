"""What pages and tables are made of, so that a terminal may show them in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """A paragraph: ``strong`` words that begin it, ``first`` in the margin of ``indent`` blanks.

    ``code``: broken between operands only, and further lines stand deeper.
    """

    text: str = ""
    strong: str = ""
    first: str = ""
    indent: int = 0
    code: bool = False

    def __str__(self) -> str:
        return f"{self.first.ljust(self.indent)}{self.strong}{self.text}"


class Table(NamedTuple):
    """Rows under headers; the columns named in ``right`` are aligned to the right."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join(plain_lines(self.headers, self.rows, self.right))


Part = Words | Table


def plain(parts: Iterable[Part]) -> str:
    """Parts as plain text of any width, without a newline at the end."""
    return "\n".join(map(str, parts))


def plain_lines(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> list[str]:
    """The lines of a table without drawn lines."""
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    out = []
    for row in [headers, *rows]:
        cells = [
            cell.rjust(width) if header in right else cell.ljust(width)
            for cell, width, header in zip(row, widths, headers, strict=True)
        ]
        out.append("  ".join(cells).rstrip())
    return out
