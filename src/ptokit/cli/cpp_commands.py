"""The options and help of ``ptokit kernels`` and ``ptokit replay``, and what they do."""

from __future__ import annotations

from typing import Annotated

import typer

from .completion import targets
from .console import EXIT_ERRORS
from .options import Core, CppEntry, Define, Include

KERNELS_EPILOG = """Examples:

\b
  ptokit kernels gemm.cpp -t a2a3
  ptokit kernels gemm.cpp -t a5 --entry 'Gemm<float, 64>' -I include

\b
A template is a kernel once it has arguments: where the file instantiates it, or
with --entry. Exit status: 0, or 1 if the file cannot be compiled or a kernel of
it not be lifted; 2 for wrong usage."""

REPLAY_EPILOG = """Examples:

\b
  ptokit replay tests/npu/a5/src/st/testcase/tadd -t a5
  ptokit replay tests/npu/a2a3/src/st/testcase/t* -t a2a3 --sanitize
  ptokit replay suites/tmatmul -t a5 --test TMATMULTest.case1 -I include

\b
A suite is a folder with main.cpp, kernels beside it and, mostly, gen_data.py.
Its script and its host program are EXECUTED: replay only what you would run.
Exit status: 0 if at least one test ran and all passed, else 1; 2 for wrong
usage."""

OneTarget = Annotated[
    str,
    typer.Option("--target", "-t", metavar="T", help="cpu, a2a3 or a5.", show_default=False, autocompletion=targets),
]


def kernels(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A C++ file.", show_default=False)],
    target: OneTarget,
    entry: CppEntry = None,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """List the kernels of a C++ file, with their parameters and cores."""
    from ptokit.api.cpp_file import listed
    from ptokit.diagnostics import Diagnostics

    from .console import say, show_diagnostics

    found = Diagnostics()
    for line in listed(file, target, found):
        say(line)
    show_diagnostics(found.sorted())
    if found.errors:
        raise typer.Exit(EXIT_ERRORS)


def replay(
    folders: Annotated[
        list[str], typer.Argument(metavar="FOLDER...", help="The suites; their code is executed.", show_default=False)
    ],
    target: OneTarget,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="NAME", help="Only this test; repeatable.", show_default=False),
    ] = None,
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Launch every kernel under observation, too; name the rules.")
    ] = False,
    include: Include = None,
) -> None:
    """Replay device tests: their own host program, data and comparison judge kernels that run here."""
    from ptokit.api.cpp_file import replayed

    from .console import say

    good = True
    for folder in folders:
        report = replayed(folder, target, test or [], sanitize)
        for outcome in report.tests:
            rules = f"  ({', '.join(outcome.rules)})" if outcome.rules else ""
            if outcome.outcome != "passed" or rules:
                say(f"{outcome.name}: {outcome.outcome}{': ' if outcome.reason else ''}{outcome.reason}{rules}")
        failure = f": {report.failure}" if report.failure else ""
        say(f"{report.name} on {report.target}: {report.passed} of {len(report.tests)} tests passed{failure}")
        good &= report.ok
    if not good:
        raise typer.Exit(EXIT_ERRORS)
