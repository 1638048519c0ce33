"""The options and help of ``ptokit isa``, ``ptokit explain`` and ``ptokit layout``."""

from __future__ import annotations

from typing import Annotated

import typer

from .exits import EXIT_ERRORS

ISA_EPILOG = """Examples:

\b
  ptokit isa            list of all instructions
  ptokit isa TLOAD      operands, attributes, pipe, element types and rules"""


def isa(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An instruction, by C++ or text name.")] = None,
) -> None:
    """Reference of the instructions ptokit knows."""
    from ptokit.api.instruction import isa, listing

    from .console import show_parts

    show_parts([listing()] if name is None else isa(name).parts())


EXPLAIN_EPILOG = """Examples:

\b
  ptokit explain          list of all rules
  ptokit explain EW-04    what a rule says, why, what it accepts and rejects"""


def explain(
    id: Annotated[str | None, typer.Argument(metavar="RULE-ID", help="A rule id, as printed in brackets.")] = None,
) -> None:
    """Explain a rule that a diagnostic names."""
    from ptokit.api.rule import explain, listing
    from ptokit.diagnostics import CATALOGUE

    from .console import remark, show_parts

    if id is None:
        show_parts(listing())
        remark(f"\n{len(CATALOGUE)} rules; 'ptokit explain RULE-ID' shows one of them")
        return
    page = explain(id)
    show_parts(page.parts())
    if page.id not in CATALOGUE:
        remark(f"\n'ptokit isa {page.id}' shows the instruction")


LAYOUT_EPILOG = """Examples:

\b
  ptokit layout 'vec, 32x64xf16, blayout=col_major, slayout=row_major'
  ptokit layout 'mat, 64x64xf16, slayout=col_major' --at 17,40
  ptokit layout 'acc, 64x64xf32, blayout=col_major, slayout=row_major,
                 fractal=1024' --svg acc.svg

\b
The type is written as in a file, with or without !pto.tile_buf<...>."""


def layout(
    type: Annotated[str, typer.Argument(metavar="TYPE", help="A tile type.", show_default=False)],
    at: Annotated[
        str | None, typer.Option("--at", metavar="ROW,COL", help="Tell where one element lies, and mark it.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Draw it as SVG instead; - for stdout.")
    ] = None,
) -> None:
    """Show which element of a tile lies at which address."""
    from .layout import show_layout

    if not show_layout(type, at, svg):
        raise typer.Exit(EXIT_ERRORS)
