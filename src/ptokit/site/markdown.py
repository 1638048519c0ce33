"""The parts of a page, which a terminal shows in its own way, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from ptokit.api.parts import Part, Table


class Link(Protocol):
    """Where a page that is written links to, relative to itself."""

    def __call__(self, name: str) -> str | None:
        """The page of a rule or an instruction; None for what is neither."""

    def cited(self, text: str) -> Iterable[tuple[int, int, str]]:
        """Where in `text` sections of this documentation are cited, from and to, and their pages."""


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~&])")
_NAME = re.compile(r"[A-Za-z][\w.]*(?:-[A-Za-z0-9]+)*")


def escaped(text: str) -> str:
    """`text` as it stands, whatever Markdown makes of its characters."""
    return _SPECIAL.sub(r"\\\1", text)


def linked(text: str, link: Link) -> str:
    """`text`, with a link at each name that has a page. Names of lower case are words, too, and get none."""
    names = ((n.start(), n.end(), link(n[0]) if n[0].upper() == n[0] else None) for n in _NAME.finditer(text))
    out, end = [], 0
    for start, stop, page in sorted([*link.cited(text), *(n for n in names if n[2] is not None)]):
        if start >= end:
            out += [escaped(text[end:start]), f"[{escaped(text[start:stop])}]({page})"]
            end = stop
    return "".join([*out, escaped(text[end:])])


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown already."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(lines: Iterable[str], language: str = "text") -> str:
    """A block of code."""
    return "\n".join([f"```{language}", *lines, "```"])


def markdown(parts: Iterable[Part], link: Link) -> str:
    """Parts as Markdown: titles become headings, facts a table, indented lines and code blocks."""
    out: list[str] = []
    facts: list[list[str]] = []
    block: list[str] = []
    quoted = False  # whether the block is code even where it has one line

    def flush() -> None:
        nonlocal quoted
        if facts:
            out.append(table(("", ""), facts))
            facts.clear()
        if block:
            out.append(code(block, _language(block)) if quoted or len(block) > 1 else linked(block[0].strip(), link))
            block.clear()
        quoted = False

    for part in parts:
        if isinstance(part, Table):
            flush()
            code_in = {i for i, header in enumerate(part.headers) if header in _CODE}
            rows = [[_code(c) if i in code_in else linked(c, link) for i, c in enumerate(row)] for row in part.rows]
            out.append(table([escaped(h) for h in part.headers], rows))
        elif part.code:
            block.append(f"{part.first[4:]}{part.text}")
            quoted = True
        elif part.strong and not part.text:
            flush()
            out.append(f"## {escaped(part.strong)}")
        elif part.strong:
            flush()
            out.append(f"`{part.strong}` {linked(part.text.strip(), link)}")
        elif part.first:
            facts.append([escaped(part.first.strip()), linked(part.text, link)])
        elif part.indent:
            block.append(part.text)
        else:
            flush()
            if part.text:
                out.append(linked(part.text, link))
    flush()
    return "\n\n".join(out) + "\n"


_CODE = {"text", "text key"}  # columns whose cells are text of a program


def _code(cell: str) -> str:
    return f"`{cell}`".replace("|", "\\|") if cell.strip(" -") else escaped(cell)


def _language(lines: Sequence[str]) -> str:
    return "python" if lines[0].startswith(("@pto.", "def ", "with ")) else "text"
