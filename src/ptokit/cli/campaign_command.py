"""The options and help of ``ptokit campaign``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class TableFormat(StrEnum):
    """How a report of many cases is printed."""

    TEXT = "text"
    JSON = "json"


class Action(StrEnum):
    """What a campaign does with a program."""

    CHECK = "check"
    RUN = "run"
    SANITIZE = "sanitize"
    COMPARE = "compare"
    TIME = "time"


EPILOG = """Examples:

\b
  ptokit campaign kernels/                     check, run and sanitize them all
  ptokit campaign kernels/ -t a2a3 -t a5
  ptokit campaign kernels/ --do check -j 4
  ptokit campaign nightly.toml --html nightly.html
  ptokit campaign nightly.toml --executor dask://10.0.0.5:8786
  ptokit campaign report nightly.sqlite --junit nightly.xml

\b
A TOML file says which programs, targets, arguments and answers there are
(docs/campaigns.md). Interrupted, the same command goes on where it stopped.
Exit status: 0 if every case passed, 1 if not, 2 for wrong usage."""


def add_campaign(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=EPILOG)(campaign)


def campaign(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="A TOML file, or .pto files and folders of them; report FILE shows results that are there.",
            show_default=False,
        ),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="T", help="cpu, a2a3 or a5, repeatable; default what each text states."),
    ] = None,
    do: Annotated[
        list[Action] | None, typer.Option("--do", help="What to do with each program; repeatable.", show_default=False)
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="The file of results; default NAME.sqlite.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, max=256, metavar="N", help="Processes; default one per core.")
    ] = None,
    executor: Annotated[str, typer.Option(metavar="WHERE", help="processes, dask://HOST:PORT or ray.")] = "processes",
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as a page, too.")] = None,
    junit: Annotated[str | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML, too.")] = None,
    format: Annotated[TableFormat, typer.Option(help="How to print the report.")] = TableFormat.TEXT,
) -> None:
    """Check, run, sanitize and compare many programs, and keep every result."""
    from .campaign import report, run

    if paths[0] == "report":
        if len(paths) != 2 or target or do or out or jobs:
            raise typer.BadParameter("write: ptokit campaign report FILE", param_hint="PATH")
        passed = report(paths[1], html, junit, format.value)
    else:
        actions = [action.value for action in do or []]
        passed = run(paths, target or [], actions, out, jobs, executor, html, junit, format.value)
    if not passed:
        raise typer.Exit(1)
