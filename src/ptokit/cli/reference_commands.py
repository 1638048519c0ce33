"""The options and help of ``ptokit isa``, ``ptokit explain`` and ``ptokit layout``."""

from __future__ import annotations

from typing import Annotated

import typer

from ptokit.api.errors import UsageError

from .completion import instructions, rules
from .completion import targets as known_targets
from .console import EXIT_ERRORS
from .options import ReportFormat

ISA_EPILOG = """Examples:

\b
  ptokit isa                   all instructions, a line each, by family
  ptokit isa --search reduce   those whose name or sentence has a word
  ptokit isa TLOAD             operands, attributes, pipe, types and rules"""

Search = Annotated[
    str | None, typer.Option("--search", metavar="WORD", help="List what has this word in its name or sentence.")
]


def isa(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="An instruction, by C++ or text name.", autocompletion=instructions),
    ] = None,
    search: Search = None,
) -> None:
    """Reference of the instructions ptokit knows."""
    from ptokit.api.instruction import isa, listing
    from ptokit.isa.table import TABLE

    from .console import remark, show_list, show_parts

    if name is not None and search is None:
        show_parts(isa(name).parts())
        return
    _one_of(name, search)
    found = list(listing(search or ""))
    if not found:
        raise UsageError(f"no instruction has {search!r} in its name or sentence; 'ptokit isa' lists all.", "search")
    show_list(found)
    if search is None:
        remark(f"{len(TABLE)} instructions; 'ptokit isa NAME' shows one of them, --search WORD finds some")


EXPLAIN_EPILOG = """Examples:

\b
  ptokit explain                  all rules, a line each, by family
  ptokit explain --search valid   those whose sentence has a word
  ptokit explain EW-04            what a rule says, why, what it accepts"""


def explain(
    id: Annotated[
        str | None, typer.Argument(metavar="RULE-ID", help="A rule id, as printed in brackets.", autocompletion=rules)
    ] = None,
    search: Search = None,
) -> None:
    """Explain a rule that a diagnostic names."""
    from ptokit.api.rule import explain, listing
    from ptokit.diagnostics import CATALOGUE

    from .console import remark, show_list, show_parts

    if id is None or search is not None:
        _one_of(id, search)
        found = list(listing(search or ""))
        if not found:
            raise UsageError(f"no rule has {search!r} in its id or sentence; 'ptokit explain' lists all.", "search")
        show_list(found)
        remark(f"\n{len(CATALOGUE)} rules; 'ptokit explain RULE-ID' shows one of them")
        return
    page = explain(id)
    show_parts(page.parts())
    if page.id not in CATALOGUE:
        remark(f"\n'ptokit isa {page.id}' shows the instruction")


def _one_of(name: str | None, search: str | None) -> None:
    if name is not None and search is not None:
        raise UsageError("a name and --search go not together: the one shows a page, the other a list.", "search")


TARGETS_EPILOG = """Examples:

\b
  ptokit targets                  all targets side by side
  ptokit targets a5 kirin9030     what differs: sizes, types, instructions
                                  that only one has, rules that bind only there
  ptokit targets --format json | jq '.a6.lacking'"""


def targets(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET...", help="All by default; of two, what differs.", autocompletion=known_targets),
    ] = None,
    format: Annotated[ReportFormat, typer.Option(help="How to print it.")] = ReportFormat.TEXT,
) -> None:
    """Show the targets side by side, or what differs between two."""
    from ptokit.api.target_page import targets

    from .console import say, show_parts

    page = targets(*(names or ()))
    if format is ReportFormat.JSON:
        say(page.json())
        return
    show_parts(page.parts())


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
    from .texts import show_layout

    if not show_layout(type, at, svg):
        raise typer.Exit(EXIT_ERRORS)
