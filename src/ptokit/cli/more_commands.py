"""The options and help of ``time``, ``tune``, ``campaign``, ``conformance``, ``docs`` and ``lsp``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptokit.types.choices import Action, LaunchOptions, TimeOptions

from .console import EXIT_ERRORS
from .options import (
    Arguments,
    Core,
    Define,
    Include,
    ReportFormat,
    SanitizerMode,
    programs,
    targets,
    with_options,
)

# The options and help of ``ptokit time``.


TIME_EPILOG = """Examples:

\b
  ptokit time gemm.pto -t a2a3 --blocks 24 -a zeros:f16:1536x1536 -a ...
  ptokit time kernels.py:gemm --blocks 24 --part 910B2 -a ...
  ptokit time old.pto new.pto -t a5 -a ...      what got faster, which wait is gone
  ptokit time gemm.pto -t a2a3 --trace gemm.json -a ...
  ptokit time --validate                        the model against published times

\b
Arguments are those of ptokit run; nothing is written to them, and what tiles
hold is not computed. ui.perfetto.dev shows what --trace writes.
Exit status: 0, 1 if the program is refused or never ends, or a bound of the
validation is missed, 2 for wrong usage."""


@with_options
def time(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A .pto file, - for stdin, or a kernel in Python or C++: kernels.py:name, kernel.cpp.",
            show_default=False,
            autocompletion=programs,
        ),
    ] = None,
    other: Annotated[
        str | None, typer.Argument(metavar="[B]", help="Another version, to compare.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            *("--target", "-t"),
            metavar="T",
            help="a2a3 or a5; needed unless the file states pto.target_arch.",
            autocompletion=targets,
        ),
    ] = None,
    arg: Arguments = None,
    *,
    launch: LaunchOptions,
    how: TimeOptions,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the timeline as a trace for Chrome and Perfetto, too.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with what every pipe does.")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a chart of pipes and limits.")] = None,
    validate: Annotated[
        bool, typer.Option("--validate", help="Compare the model with published times instead; takes minutes.")
    ] = False,
    format: Annotated[ReportFormat, typer.Option(help="How to print the report.")] = ReportFormat.TEXT,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Say how long a kernel takes on a device, what limits it, and which waits cost something."""
    from .run import time_file, validate_model

    if validate == (file is not None):
        raise typer.BadParameter("name a file, or --validate.", param_hint="FILE")
    if file is None:
        ended = validate_model()
    else:
        files = {"trace": trace, "html": html, "svg": svg}
        ended = time_file(file, other, arg or [], launch, how, target=target, format=format, **files)
    if not ended:
        raise typer.Exit(EXIT_ERRORS)


# The options and help of ``ptokit tune``.


TUNE_EPILOG = """Examples:

\b
  ptokit tune kernels.py:gemm --space BLOCK=64,128 -a zeros:f16:1536x1536 -a ...
  ptokit tune kernels.py:gemm --space BLOCK=64,128 --space blocks=8,24 -a ...
  ptokit tune kernels.py:gemm --space BLOCK=64,128 --executor processes -j 4 -a ...

\b
Parameters of a space are pto.Static; blocks in it are numbers of blocks. There is
an argument for each other parameter, in order, as for ptokit run.
Exit status: 0, 1 if no candidate is right, 2 for wrong usage."""


def tune(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A kernel in Python: kernels.py:name.", show_default=False, autocompletion=programs
        ),
    ],
    space: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=V,V", help="A parameter and its values; repeat for others.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            *("--target", "-t"), metavar="T", help="a2a3 or a5; by default the kernel's own.", autocompletion=targets
        ),
    ] = None,
    arg: Arguments = None,
    blocks: Annotated[int, typer.Option("--blocks", "-b", metavar="N", help="Blocks to launch.")] = 1,
    part: Annotated[str | None, typer.Option(metavar="PART", help="The device whose time counts: 910B2.")] = None,
    measure: Annotated[str, typer.Option(metavar="M", help="time, or warm: just after the same launch.")] = "time",
    sanitize: Annotated[bool, typer.Option(help="Leave out what the sanitizer faults.")] = True,
    executor: Annotated[
        str | None, typer.Option(metavar="WHERE", help="Who tries them: processes, dask://HOST:PORT or ray.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="How many workers.")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="The longest a candidate may take on a worker.")] = 0,
    format: Annotated[ReportFormat, typer.Option(help="How to print the report.")] = ReportFormat.TEXT,
) -> None:
    """Try values of a kernel's compiled-in parameters, and rank those that are right by their time."""
    from .run import tune_file

    how = {"measure": measure, "target": target, "blocks": blocks, "part": part, "sanitize": sanitize}
    more = {"executor": executor, "jobs": jobs, "seconds": seconds}
    if not tune_file(file, space or [], arg or [], format=format, **how, **more):
        raise typer.Exit(EXIT_ERRORS)


# The options and help of ``ptokit campaign``.


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
            help="A target (see ptokit targets), repeatable; default what each text states.",
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
    from .campaign import last_run, run

    if paths[0] == "report":
        if len(paths) != 2 or target or default_target or do or mode or out or jobs or timeout is not None or memory:
            raise typer.BadParameter("write: ptokit campaign report FILE", param_hint="PATH")
        passed = last_run(paths[1], html, junit, format.value)
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


# The options and help of ``ptokit conformance``.


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
        str | None, typer.Option("--target", "-t", metavar="T", help="Only the cases for this target.")
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
    from .campaign import replay_folder

    if not replay_folder(directory, target, op, jobs, executor, junit, root):
        raise typer.Exit(1)


# The options and help of ``ptokit docs``.


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
    from .texts import open_page

    if not open_page(topic, out, show):
        raise typer.Exit(EXIT_ERRORS)


# The options and help of ``ptokit lsp``.


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
        typer.Option("--target", "-t", metavar="T", help="The target of files that state none (see ptokit targets)."),
    ] = None,
    tcp: Annotated[
        int | None, typer.Option("--tcp", min=1, max=65535, metavar="PORT", help="Use a TCP port of this machine.")
    ] = None,
) -> None:
    """Language server: findings as you type, hover, definitions, completion, layout."""
    from .texts import serve

    if not serve(target, tcp):
        raise typer.Exit(EXIT_ERRORS)
