"""The options and help of ``ptokit docs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .exits import EXIT_ERRORS

DOCS_EPILOG = """Examples:

\b
  ptokit docs                 the first page
  ptokit docs TLOAD           an instruction
  ptokit docs RACE-WAR        a rule
  ptokit docs sanitizer       a page by its name
  ptokit docs --out site      build the pages in a folder

\b
The pages are built when they are first asked for, which takes minutes and
needs pip install 'ptokit[docs]'. With PTOKIT_DOCS in the environment, the
address of pages that are built already, nothing is built."""


def docs(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="An instruction, a rule, or a page.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Build the pages anew in this folder, and open none.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the address, and open nothing.")] = False,
) -> None:
    """Open the documentation in a browser."""
    from .docs import open_page

    if not open_page(topic, out, show):
        raise typer.Exit(EXIT_ERRORS)
