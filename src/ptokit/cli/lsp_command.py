"""The options and help of ``ptokit lsp``."""

from __future__ import annotations

from typing import Annotated

import typer

from .exits import EXIT_ERRORS

LSP_EPILOG = """Examples:

\b
  ptokit lsp                  what an editor starts; it talks over stdin
  ptokit lsp --target a5      check files for a5 that state no target
  ptokit lsp --tcp 2087       serve one editor on 127.0.0.1:2087

\b
Needs pip install '.[lsp]' in a clone. docs/editors.md tells how to set up editors."""


def lsp(
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="T", help="The target of files that state none: cpu, a2a3 or a5."),
    ] = None,
    tcp: Annotated[
        int | None, typer.Option("--tcp", min=1, max=65535, metavar="PORT", help="Use a TCP port of this machine.")
    ] = None,
) -> None:
    """Language server: findings as you type, hover, definitions, completion, layout."""
    from .lsp import serve

    if not serve(target, tcp):
        raise typer.Exit(EXIT_ERRORS)
