"""Pages whose code runs, as notebooks: the same text, code and outputs, to open in Jupyter and change."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SESSIONS = ("start.md", "tutorial/[0-9]*.md", "howto/*.md")
"""Pages whose Python runs from the first block to the last, as one session."""

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```output\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
"""A block of code, and the block after it that shows what it prints."""

_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)#:]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")


def sessions(docs: Path) -> list[Path]:
    """The pages below `docs` with code that runs, in the order of reading."""
    found = (page for pattern in SESSIONS for page in sorted(docs.glob(pattern)))
    return [page for page in found if BLOCK.search(page.read_text(encoding="utf-8"))]


def notebook(page: Path) -> str:
    """A page with code as a notebook (JSON of nbformat 4.5), with outputs.

    Links to other pages become words, since a notebook lies anywhere, and pictures become part of it.
    """
    cells = list(_cells(page))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    language = {"name": "python"}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": language}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cells(page: Path) -> Iterator[dict[str, Any]]:
    text = page.read_text(encoding="utf-8")
    end = count = 0
    for block in BLOCK.finditer(text):
        yield from _words(text[end : block.start()], page)
        count, end = count + 1, block.end()
        printed = [] if block[2] is None else [{"output_type": "stream", "name": "stdout", "text": block[2]}]
        code = block[1].rstrip("\n")
        yield {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": printed, "source": code}
    yield from _words(text[end:], page)


def _words(text: str, page: Path) -> Iterator[dict[str, Any]]:
    def inside(image: re.Match[str]) -> str:
        file = page.parent / image[2]
        kind = {".svg": "svg+xml"}.get(file.suffix, file.suffix.lstrip("."))
        return f"![{image[1]}](data:image/{kind};base64,{base64.b64encode(file.read_bytes()).decode()})"

    words = _LINK.sub(r"\1", _IMAGE.sub(inside, text)).strip()
    if words:
        yield {"cell_type": "markdown", "metadata": {}, "source": words}
