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

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [DOCS / "start.md", *sorted(DOCS.glob("tutorial/[0-9]*.md")), *sorted(DOCS.glob("howto/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```output\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def executed(page: Path) -> str:
    """The text of `page`, with the outputs that its code has now."""
    scope = {"__name__": "page"}
    number = 0

    def run(block: re.Match[str]) -> str:
        nonlocal number
        number += 1
        file = f"{page.stem}-{number}.py"
        linecache.cache[file] = (len(block[1]), None, block[1].splitlines(keepends=True), file)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], file, "exec"), scope)
        output = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        return f"```python\n{block[1]}```\n" + (f"```output\n{output}```\n" if output else "")

    return BLOCK.sub(run, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    wanted = [Path(name).absolute() for name in sys.argv[1:]] or PAGES
    for page in wanted:
        page.write_text(executed(page), encoding="utf-8")
