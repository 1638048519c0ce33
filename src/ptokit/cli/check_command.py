"""The options and help of ``ptokit check``."""

from __future__ import annotations

from typing import Annotated

import typer

from ptokit.types.choices import RuleSet

from .exits import EXIT_ERRORS
from .options import (
    Arguments,
    Core,
    CppEntry,
    Define,
    Diff,
    ErrorOnWarning,
    Extended,
    Files,
    FindingsFormat,
    Fix,
    Format,
    Ignore,
    Include,
    MaxErrors,
    Select,
    Targets,
)

CHECK_EPILOG = """Examples:

\b
  ptokit check kernel.pto --target a5
  ptokit check kernels/ more/*.pto -t a5
  ptokit check kernel.pto -t a2a3 --format json | jq '.diagnostics[].rule'
  ptokit check kernel.pto -t a5 --format sarif > kernel.sarif
  ptokit check kernels/ -t a2a3 -t a5 --format github --error-on-warning
  ptokit check kernels/ -t a5 --ignore TILE --ignore EW-04
  ptokit check kernel.pto -t a5 --level 3       every tile has an address
  ptokit check kernels.py                       every kernel in it
  ptokit check kernels.py:gemm -a x.npy -a ...  types are those of arguments
  ptokit check gemm.cpp -t a2a3 --entry 'Gemm<float, 64>' -I include

Exit status: 0 without errors, 1 with errors, 2 for wrong usage."""


def check(
    files: Files,
    target: Targets = None,
    arg: Arguments = None,
    level: Annotated[
        int | None,
        typer.Option(
            "--level", "-l", min=1, max=3, metavar="N", help="Who places tiles: the assembler (1, 2), the program (3)."
        ),
    ] = None,
    auto_sync: Annotated[
        bool, typer.Option("--auto-sync", help="The assembler is to insert flags and barriers.")
    ] = False,
    rules: Annotated[
        RuleSet | None, typer.Option(help="All rules, or only what the reference assembler refuses; by default all.")
    ] = None,
    select: Select = None,
    ignore: Ignore = None,
    max_errors: MaxErrors = None,
    error_on_warning: ErrorOnWarning = False,
    format: FindingsFormat = Format.TEXT,
    extended: Extended = False,
    fix: Fix = False,
    diff: Diff = False,
    entry: CppEntry = None,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Report everything in files that the target would refuse."""
    from .check import check_files
    from .reporting import Reporting

    reporting = Reporting(format.value, select, ignore, max_errors, error_on_warning)
    passed = check_files(
        files,
        arg or [],
        reporting,
        target=target or [],
        level=level,
        auto_sync=auto_sync,
        rules=rules and rules.value,
        extended=extended,
        fix=None if not fix and not diff else not diff,
    )
    if not passed:
        raise typer.Exit(EXIT_ERRORS)
