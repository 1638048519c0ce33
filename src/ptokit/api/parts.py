"""What pages and tables are made of, and what a reader can open for the source of a fact."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ptokit.diagnostics import UsageError
from ptokit.diagnostics.diagnostic import preformatted
from ptokit.types.choices import options_of

if TYPE_CHECKING:
    from ptokit.targets import Target

# What pages and tables are made of, so that a terminal may show them in its own way.


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
    from html import escape  # takes its time

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
    from html import escape  # takes its time

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


# What a reader can open for the source of a fact: public documents, and pages of this documentation.


PAGES: dict[str, str] = {
    "types-and-layouts": "pto-isa: docs/coding/Tile.md, docs/coding/GlobalTensor.md, include/pto/common",
    "load-store": "pto-isa: docs/isa/TLOAD.md, docs/isa/TSTORE.md, include/pto/npu",
    "move-gather-scatter": "pto-isa: docs/isa/TMOV.md, docs/isa/MGATHER.md, docs/isa/MSCATTER.md, include/pto/npu",
    "memory-model-and-sync": "pto-isa: docs/coding/Event.md, docs/machine/abstract-machine.md",
    "compute-elementwise": "pto-isa: docs/isa (a page for each instruction), include/pto/npu",
    "compute-reduce-matrix": "pto-isa: docs/isa (a page for each instruction), include/pto/npu",
    "compute-layout-irregular": "pto-isa: docs/isa (a page for each instruction), include/pto/npu",
    "vector-path": "PTOAS: docs/vpto-spec.md, docs/isa",
    "micro-isa": "PTOAS: docs/vpto-spec.md, docs/isa",
    "assembly": "PTOAS: docs/PTO_IR_manual.md, lib/PTO/IR/PTO.cpp",
    "PTO.cpp": "PTOAS: lib/PTO/IR/PTO.cpp",
    "PTOOps.td": "PTOAS: include/PTO/IR/PTOOps.td",
    "of the library": "pto-isa: include/pto/npu",
    "library headers": "pto-isa: include/pto/npu",
    "planner of the reference assembler": "PTOAS: lib/PTO/Transforms",
    "tload": "pto-isa: docs/isa/TLOAD.md",
    "tstore": "pto-isa: docs/isa/TSTORE.md",
    "tmov": "pto-isa: docs/isa/TMOV.md",
}
"""Documents by the word that sources begin with; paths are those of the repositories. docs/references.md has more."""


def pages_of(source: str) -> list[str]:
    """The documents of a source, each once; none for pages that the source itself names."""
    return list(dict.fromkeys(page for word, page in PAGES.items() if word in source))


# Wrong usage: a function was asked for something that there is not.


def find_target(name: str | Target | None) -> Target | None:
    """The target called `name`, None for None. Raises `UsageError`."""
    from ptokit.targets import TARGETS, Target  # with NumPy, which help does not need
    from ptokit.targets import target as target_named

    if name is None or isinstance(name, Target):
        return name
    try:
        return target_named(name)
    except KeyError:
        raise UsageError(f"{name!r} is not one of {', '.join(TARGETS)}.{guess(name, TARGETS)}", "target") from None


def guess(name: str, known: Iterable[str]) -> str:
    """`` Did you mean kirin9030?`` where `name` looks like one of those that there are."""
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def one_of(value: str, words: Iterable[str], parameter: str) -> str:
    """`value`, which must be one of `words`. Raises `UsageError`."""
    known = list(words)
    if value not in known:
        raise UsageError(f"{value!r} is not one of {', '.join(known)}.{guess(value, known)}", parameter)
    return value


T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def checked(options: T) -> T:
    """A record of options. Raises `UsageError` for a value that one of them does not take."""
    for name, (default, said) in options_of(options).items():
        value = getattr(options, name)
        for one in (value if isinstance(value, list | tuple) else [value]) if value != default else ():
            if isinstance(said.among, tuple) and one not in said.among:
                raise UsageError(f"{one!r} is not one of {', '.join(map(str, said.among))}.", name)
            if isinstance(said.among, type):
                one_of(one, said.among, name)
            if said.least is not None and not said.rule and one < said.least:
                raise UsageError(f"{one} is less than {said.least}.", name)
    return options


def keywords(*records: Any) -> Callable[[F], F]:
    """Of a function with ``**options``: it takes the options of these records, and its signature shows them.

    What it calls with them may add others. Raises `TypeError` for a name that none has.
    """

    def decorate(function: F) -> F:
        own = signature(function)
        known = {name: found for record in records for name, found in options_of(record).items()}
        added = [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, (default, _) in known.items()]
        parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        shown = own.replace(parameters=[*parameters, *added])

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            shown.bind(*args, **named)
            return function(*args, **named)

        call.__signature__ = shown  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def unknown(kind: str, name: str, known: Iterable[str], everything: str, parameter: str) -> UsageError:
    """The error for a `name` that there is not, with names that look like it and `everything`, what lists all."""
    close = difflib.get_close_matches(name.upper(), list(known), n=3, cutoff=0.6)
    meant = f"\nDid you mean {' or '.join(close)}?" if close else ""
    return UsageError(f"there is no {kind} {name!r}.{meant}\n'{everything}' lists all.", parameter)
