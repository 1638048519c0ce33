"""The options and help of ``ptokit campaign``."""

from __future__ import annotations

from typing import Annotated

import typer

from ptokit.types.choices import Action

from .completion import programs, targets
from .options import ReportFormat, SanitizerMode

CAMPAIGN_EPILOG = """Examples:

\b
  ptokit campaign kernels/                     check, run and sanitize them all
  ptokit campaign kernels/ -t a2a3 -t a5
  ptokit campaign kernels/ --do check,run -j 4
  ptokit campaign nightly.toml --html nightly.html
  ptokit campaign nightly.toml --executor dask://10.0.0.5:8786
  ptokit campaign report nightly.sqlite --junit nightly.xml

\b
A TOML file says which programs, targets, arguments and answers there are
(docs/campaigns.md). Interrupted, the same command goes on where it stopped.
Exit status: 0 if every case passed, 1 if not, 2 for wrong usage."""


def campaign(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="A TOML file, or programs and folders of them; report FILE shows results that are there.",
            show_default=False,
            autocompletion=programs,
        ),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="T",
            help="cpu, a2a3 or a5, repeatable; default what each text states.",
            autocompletion=targets,
        ),
    ] = None,
    default_target: Annotated[
        str | None, typer.Option(metavar="T", help="The target of texts that state none.")
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option("--do", metavar="ACTIONS", help=f"{','.join(Action)}; default the first three."),
    ] = None,
    mode: SanitizerMode = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="The file of results; default NAME.sqlite.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, max=256, metavar="N", help="Processes; default one per core.")
    ] = None,
    executor: Annotated[str, typer.Option(metavar="WHERE", help="processes, dask://HOST:PORT or ray.")] = "processes",
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Limit of each case; default 300, 0 for none.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="BYTES", help="Limit of each case, such as 4GiB; default none.")
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write the report as a page, too.")] = None,
    junit: Annotated[str | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML, too.")] = None,
    format: Annotated[ReportFormat, typer.Option(help="How to print the report.")] = ReportFormat.TEXT,
) -> None:
    """Check, run, sanitize and compare many programs, and keep every result."""
    from .campaign import report, run

    if paths[0] == "report":
        if len(paths) != 2 or target or default_target or do or mode or out or jobs or timeout is not None or memory:
            raise typer.BadParameter("write: ptokit campaign report FILE", param_hint="PATH")
        passed = report(paths[1], html, junit, format.value)
    else:
        passed = run(
            paths,
            out,
            jobs,
            executor,
            html,
            junit,
            format.value,
            targets=target or [],
            default=default_target,
            do=do or [],
            timeout=timeout,
            memory=memory,
            mode=mode and mode.value,
        )
    if not passed:
        raise typer.Exit(1)
