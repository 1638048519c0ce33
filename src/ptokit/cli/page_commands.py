"""Options and help of ``isa``, ``explain``, ``layout``, ``fmt``, ``convert``, ``kernels`` and ``replay``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ptokit.diagnostics import UsageError
from ptokit.types.choices import TextForm

from .console import EXIT_ERRORS
from .options import Core, CppEntry, Define, File, Include, ReportFormat, TextFiles, instructions, rules
from .options import targets as known_targets

# The options and help of ``ptokit fmt`` and ``ptokit convert``.


FMT_EPILOG = """Examples:

\b
  ptokit fmt kernel.pto
  ptokit fmt --check kernels/*.pto
  ptokit fmt --stdout kernel.pto | diff kernel.pto -

\b
Only blanks, line breaks and the places of comments change. Exit status: 0 when
done, 1 if a file cannot be read (it is left as it is) or would change (--check)."""


def fmt(
    files: TextFiles,
    check: Annotated[bool, typer.Option("--check", help="List files that would change; write nothing.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the texts; write nothing.")] = False,
) -> None:
    """Lay out files: one operation per line, indented, comments kept."""
    from .texts import format_files

    if check and stdout:
        raise typer.BadParameter("--check and --stdout exclude each other.", param_hint="--check")
    if not format_files(files, check=check, to_stdout=stdout):
        raise typer.Exit(EXIT_ERRORS)


CONVERT_EPILOG = """Examples:

\b
  ptokit convert kernel.pto --to generic
  ptokit convert kernel.pto --to ssa -o kernel_ssa.pto
  ptokit convert kernel_ssa.pto --to dps
  ptokit convert gemm.cpp -t a2a3 --entry 'Gemm<float, 64>' --to dps -o gemm.pto
  ptokit convert kernels.py:scale --to cpp -o scale.cpp

\b
Forms:
  dps      level 2: pto.tadd ins(%a, %b : T, T) outs(%d : T)
  ssa      level 1: %d = pto.tadd %a, %b : (T, T) -> T
  sync     as the manual writes it: tadd %d, %a, %b : (T, T, T)
  generic  what every MLIR tool reads: "pto.tadd"(%a, %b, %d) : (T, T, T) -> ()
  cpp      C++ for the PTO library, and for ptokit: TADD(d, a, b); with a launcher

The file may be in any form. The new text means the same program; comments are
not kept. Exit status: 0 when done, 1 if the file has errors or the form cannot
express something in it (nothing is written then), 2 for wrong usage."""


def convert(
    file: File,
    to: Annotated[TextForm, typer.Option("--to", help="The form to write.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="T", help="Of C++, read or written: a2a3 or a5.", autocompletion=known_targets
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="OUT", help="The file to write instead of stdout.")
    ] = None,
    entry: CppEntry = None,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Write a file in another text form."""
    from .texts import convert_file

    if not convert_file(file, to.value, out, target):
        raise typer.Exit(EXIT_ERRORS)


# The options and help of ``ptokit isa``, ``ptokit explain`` and ``ptokit layout``.


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
    from ptokit.api import target_page

    from .console import say, show_parts

    page = target_page.targets(*(names or ()))
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


# The options and help of ``ptokit kernels`` and ``ptokit replay``, and what they do.


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
  ptokit replay suites/* -t a5 --format json | jq '.[] | select(.ok | not).name'

\b
A suite is a folder with main.cpp, kernels beside it and, mostly, gen_data.py.
Its script and its host program are EXECUTED: replay only what you would run.
Exit status: 0 if at least one test ran and all passed, else 1; 2 for wrong
usage."""

OneTarget = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="T",
        help="A target (see ptokit targets).",
        show_default=False,
        autocompletion=known_targets,
    ),
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
    from ptokit.api.files import listed
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
        bool, typer.Option("--sanitize", help="Launch every kernel under observation, too; show the findings.")
    ] = False,
    include: Include = None,
    format: Annotated[ReportFormat, typer.Option(help="How to print the report.")] = ReportFormat.TEXT,
) -> None:
    """Replay device tests: their own host program, data and comparison judge kernels that run here."""
    from ptokit.api.files import replayed

    from .console import Progress, say, show_diagnostics

    reports = []
    for folder in folders:
        with Progress(f"replay {folder}", "tests", waits=True) as progress:
            report = replayed(folder, target, test or [], sanitize, progress)
        reports.append(report)
        if format is ReportFormat.JSON:
            continue
        for outcome in report.tests:
            rules = f"  ({', '.join(outcome.rules)})" if outcome.rules else ""
            if outcome.outcome != "passed" or rules:
                say(f"{outcome.name}: {outcome.outcome}{': ' if outcome.reason else ''}{outcome.reason}{rules}")
        failure = f": {report.failure}" if report.failure else ""
        say(f"{report.name} on {report.target}: {report.passed} of {len(report.tests)} tests passed{failure}")
        show_diagnostics(report.findings)
    if format is ReportFormat.JSON:
        say(json.dumps([report.as_json() for report in reports], indent=2))
    if not all(report.ok for report in reports):
        raise typer.Exit(EXIT_ERRORS)
