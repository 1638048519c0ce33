"""Findings as Python shows them: the text of the terminal, and the same as HTML for notebooks."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Mapping, Sequence

from .finding import Diagnostic
from .render import render, summary

_STYLES = {
    "1": "font-weight:bold",
    "1;31": "font-weight:bold;color:#c22",
    "1;33": "font-weight:bold;color:#a60",
    "1;36": "font-weight:bold;color:#088",
    "1;32": "font-weight:bold;color:#272",
    "34": "color:#36c",
}
_PAINTED = re.compile("\x1b\\[([0-9;]*)m(.*?)\x1b\\[0m", re.DOTALL)


Labels = Mapping[Diagnostic, str]


def source_lines(file: str) -> list[str]:
    """The lines of a Python file or a notebook's cell as it is now; none of what is no regular file: it may not end."""
    if os.path.exists(file) and not os.path.isfile(file):
        return []
    linecache.checkcache(file)
    return linecache.getlines(file)


def text_of(diagnostics: Sequence[Diagnostic], *, color: bool = False, labels: Labels | None = None) -> str:
    """All findings with their source lines, also those of notebook cells; without a newline at the end.

    ``labels``: as for `render`.
    """
    places = [place for d in diagnostics for place in (d.location, *(note.location for note in d.remarks))]
    files = {place.file for place in places if place.file is not None}
    sources = {file: "".join(lines) for file in files if (lines := source_lines(file))}
    return render(diagnostics, color=color, sources=sources, labels=labels).removesuffix("\n")


def html_of(diagnostics: Sequence[Diagnostic], *, labels: Labels | None = None) -> str:
    """`text_of` in colour, and how many there are, as preformatted HTML."""
    from html import escape  # takes its time

    lines = [text_of(diagnostics, color=True, labels=labels)] if diagnostics else []
    text = "\n".join((*lines, summary(diagnostics) or ("" if lines else "no findings")))
    parts, end = [], 0
    for found in _PAINTED.finditer(text):
        style = _STYLES.get(found[1], "")
        parts += [escape(text[end : found.start()]), f'<span style="{style}">{escape(found[2])}</span>']
        end = found.end()
    return preformatted("".join(parts) + escape(text[end:]))


def preformatted(html: str) -> str:
    """Text in HTML whose columns stay under each other, whatever fonts the page around it chooses."""
    return f'<pre style="{_MONOSPACE}">{html}</pre>'


_MONOSPACE = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;overflow-x:auto"
