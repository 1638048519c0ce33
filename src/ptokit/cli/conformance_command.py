"""The options and help of ``ptokit conformance``."""

from __future__ import annotations

from typing import Annotated

import typer

CONFORMANCE_EPILOG = """Examples:

\b
  ptokit conformance tests/data/vectors
  ptokit conformance tests/data/vectors --op TLOAD --target a5
  ptokit conformance tests/data/programs --jobs 4 --junit results.xml

docs/conformance.md has the forms of cases and how they are judged. Exit
status: 0 if nothing failed, 1 with failures or a broken folder, 2 for wrong
usage."""


def conformance(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="A folder of cases, with a manifest.json.", show_default=False)
    ],
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="T", help="Only the cases for cpu, a2a3 or a5.")
    ] = None,
    op: Annotated[
        str | None, typer.Option("--op", metavar="NAME", help="Only the cases of an instruction or kernel.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, metavar="N", help="Processes to use.")] = 1,
    executor: Annotated[str, typer.Option(metavar="WHERE", help="processes, dask://HOST:PORT or ray.")] = "processes",
    junit: Annotated[str | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML, too.")] = None,
    root: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where to look for programs the folder does not have.")
    ] = None,
) -> None:
    """Replay conformance cases and report differences."""
    from .conformance import replay_folder

    if not replay_folder(directory, target, op, jobs, executor, junit, root):
        raise typer.Exit(1)
