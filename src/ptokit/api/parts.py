"""What pages and tables are made of, so that a terminal may show them in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from ptokit.diagnostics.diagnostic import preformatted


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


def html(parts: Iterable[Part]) -> str:
    """Parts as HTML for a notebook: paragraphs, lines of code and tables."""
    out: list[str] = []
    code: list[str] = []
    for part in [*parts, Words()]:
        if code and not (isinstance(part, Words) and part.code):
            out.append(preformatted(escape("\n".join(code))))
            code = []
        if isinstance(part, Table):
            head = "".join(f"<th {_CELL}>{escape(header)}</th>" for header in part.headers)
            rows = (_cells(row) for row in part.rows)
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            out.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        elif part.code:
            code.append(f"{part.first}{part.text}")
        elif str(part).strip():
            first = f"<em>{escape(part.first.strip())}</em> " if part.first.strip() else ""
            strong = f"<strong>{escape(part.strong)}</strong>" if part.strong else ""
            out.append(f"<p style='margin:.3em 0'>{first}{strong}{escape(part.text)}</p>")
    return f"<div style='max-width:64em'>{''.join(out)}</div>"


_CELL = "style='text-align:left;vertical-align:top'"
_WHOLE = _CELL[:-1] + ";white-space:nowrap'"


def _cells(row: Sequence[str]) -> str:
    """The cells of a row; only the last one is broken into lines."""
    whole = "".join(f"<td {_WHOLE}>{escape(cell)}</td>" for cell in row[:-1])
    return f"{whole}<td {_CELL}>{escape(row[-1])}</td>"


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
