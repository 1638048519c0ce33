"""Execute the Python of the pages, and write what it prints below it.

``python tools/pages.py`` renews ``docs/start.md``, the tutorial and the how-to pages. The blocks of a page run one
after the other, as one session; what a block prints is in a block ``output`` after it.
`tests/test_pages_run.py` compares.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
from pathlib import Path
from typing import Any

from ptokit.site.build import BLOCK, sessions

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sessions(DOCS)


def executed(page: Path) -> str:
    """The text of `page`, with the outputs that its code has now."""
    session = Session(page)

    def shown(block: re.Match[str]) -> str:
        output = "".join(f"{line.rstrip()}\n" for line in session.run(block[1]).splitlines())
        return f"```python\n{block[1]}```\n" + (f"```output\n{output}```\n" if output else "")

    return BLOCK.sub(shown, page.read_text(encoding="utf-8"))


def run(page: Path, until: str) -> dict[str, Any]:
    """What the code of `page` has defined when it first gives the variable `until` a value."""
    session = Session(page)
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if until not in session.scope:
            session.run(block[1])
    return session.scope


class Session:
    """The blocks of a page, run one after the other."""

    def __init__(self, page: Path) -> None:
        self.scope: dict[str, Any] = {"__name__": "page"}
        self._stem, self._number = page.stem, 0

    def run(self, code: str) -> str:
        """Run a block; what it printed."""
        self._number += 1
        file = f"{self._stem}-{self._number}.py"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, file, "exec"), self.scope)
        return printed.getvalue()


if __name__ == "__main__":
    wanted = [Path(name).absolute() for name in sys.argv[1:]] or PAGES
    for page in wanted:
        page.write_text(executed(page), encoding="utf-8")
