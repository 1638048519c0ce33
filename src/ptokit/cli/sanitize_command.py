"""The options and help of ``ptokit sanitize``."""

from __future__ import annotations

from typing import Annotated

import typer

from ptokit.types.choices import Order

from .options import (
    Also,
    Arguments,
    Blocks,
    Core,
    Define,
    Diff,
    Entry,
    ErrorOnWarning,
    Extended,
    File,
    FindingsFormat,
    Fix,
    Format,
    Ignore,
    Include,
    MaxErrors,
    Ranks,
    SanitizerMode,
    Select,
    Targets,
    VectorCores,
)

SANITIZE_EPILOG = """Examples:

\b
  ptokit sanitize add.pto -t a5                         arguments made from the text
  ptokit sanitize add.pto -t a5 -a x.npy -a y.npy -a uninit:f32:64x64
  ptokit sanitize kernels.py:scale --blocks 4 -a x.npy -a uninit:f32:256x128
  ptokit sanitize gemm.pto -t a2a3 --blocks 24 --order profile -a ...
  ptokit sanitize gemm.cpp -t a2a3 --entry 'Gemm<float, 64>' --blocks 4 -a ...
  ptokit sanitize add.pto -t a2a3 -t a5 -a ...          for each of them
  ptokit sanitize add.pto -t a5 --witness -a x.npy -a y.npy -a zeros:f32:4096
  ptokit sanitize add.pto -t a5 --html add.html -a x.npy -a y.npy -a ...
  ptokit sanitize add.pto -t a5 -a ... --fix            write the fixes

\b
Arguments are those of ptokit run. An output-only argument is written
uninit:DTYPE:SHAPE: reading it before the kernel has written it is an error.
Exit status: 0 without errors, 1 with errors, 2 for wrong usage, 3 without
errors where nobody checked the order of pipes: a program without addresses
and flags leaves it to the compiler (--mode auto accepts that)."""


def sanitize(
    file: File,
    target: Targets = None,
    entry: Entry = None,
    arg: Arguments = None,
    blocks: Blocks = 1,
    ranks: Ranks = None,
    order: Annotated[
        Order, typer.Option(help="Order within a pipe: complete, or as far as the target promises it.")
    ] = Order.STRICT,
    witness: Annotated[
        bool, typer.Option("--witness", help="Run once more for each race, the other way round; show what changes.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Run once more in another legal order; show what changes.")
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the report as a page with pictures, too; of several targets FILE-T."),
    ] = None,
    vector_cores: VectorCores = 2,
    mode: SanitizerMode = None,
    also: Annotated[
        list[Also] | None,
        typer.Option(
            metavar="RULE-ID", help="Report FLAG-REUSE-RACE or FLAG-ALIAS, too, which are off by default; repeatable."
        ),
    ] = None,
    explain_sync: Annotated[
        bool, typer.Option("--explain-sync", help="List the flags and barriers that a program without any needs.")
    ] = False,
    select: Select = None,
    ignore: Ignore = None,
    max_errors: MaxErrors = None,
    error_on_warning: ErrorOnWarning = False,
    format: FindingsFormat = Format.TEXT,
    extended: Extended = False,
    fix: Fix = False,
    diff: Diff = False,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Find races, missing flags, deadlocks and uninitialised data."""
    from .reporting import Reporting
    from .sanitize import sanitize_file

    status = sanitize_file(
        file,
        arg or [],
        Reporting(format.value, select, ignore, max_errors, error_on_warning),
        html=html,
        blocks=blocks,
        ranks=ranks,
        target=target or [],
        entry=entry,
        order=order.value,
        witness=witness,
        seed=seed,
        explain_sync=explain_sync,
        mode=mode and mode.value,
        also=[rule.value for rule in also or []],
        vector_cores=vector_cores,
        extended=extended,
        fix=None if not fix and not diff else not diff,
    )
    if status:
        raise typer.Exit(status)
