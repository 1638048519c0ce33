"""The options and help of ``run``, ``sanitize``, ``diff``, ``check``, ``prove`` and ``sync``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ptokit.types.choices import (
    Backend,
    CheckOptions,
    Goal,
    LaunchOptions,
    Matmul,
    Mode,
    ReportOptions,
    RunOptions,
    SanitizeOptions,
)

from .console import EXIT_ERRORS, EXIT_INTERRUPTED, EXIT_UNCHECKED
from .options import (
    AlsoProved,
    Arguments,
    Blocks,
    Core,
    CppEntry,
    Define,
    Diff,
    Extended,
    File,
    Files,
    Fix,
    Include,
    ProofFormat,
    ReportFormat,
    Targets,
    VectorCores,
    targets,
    with_options,
)

# The options and help of ``ptokit run``.


RUN_EPILOG = """Examples:

\b
  ptokit run add.pto --target a5 -a x.npy -a y.npy -a zeros:f32:64x64 --out o
  ptokit run softmax.pto -t a2a3 -a x.npy -a zeros:f32:64x256 -a 64
  ptokit run axpy.pto -t cpu --blocks 8 -a ones:f32:8x256 -a x.npy -a 8
  ptokit run kernels.py:scale --blocks 4 -a x.npy -a zeros:f32:256x128 -a 256
  ptokit run gemm.cpp -t a2a3 --entry 'Gemm<float, 64>' --blocks 4 -a ...
  ptokit run softmax.pto -t a2a3 -t a5 -a ...         on both, one by one
  ptokit run softmax.pto -t a5 --dump t@39 --dump sum:g=3 -a ...
  ptokit run softmax.pto -t a5 --step -a ...
  ptokit run ring.pto -t a2a3 --ranks 4 -a x.npy -a peer:x:+1 -a rank

\b
Arguments are given in the order of the kernel's parameters. Forms:
  x.npy                       an array from a file, which is left as it is
  zeros:f32:64x64             also ones:DTYPE:SHAPE and arange:DTYPE:SHAPE
  full:0.5:f16:1024           every element 0.5
  random:f16:1024:seed=3      floats in [-1, 1), integers -8..7 or 0..15
  uninit:f32:64x64            output only, starts uninitialised
  17, 0x1F, -2.5, 1e-5        a number for a scalar parameter

\b
With --ranks N, arrays have a leading axis of N. Also:
  rank, ranks                 the number of the rank, and how many there are
  peer:x:+1, peer:x:0         the array x of the next rank, of rank 0
  comm                        the communication context: windows of all ranks
  in{rank}/x.npy              a file for each rank


What --dump shows, with its block and loop variables:
  t                    %t, after every instruction that writes it
  t@39                 %t, after the instructions in line 39
  @39                  what the instructions in line 39 write
  t@39:block=0,g=3     only in that block, for that value of %g"""


@with_options
def run(
    file: File,
    target: Targets = None,
    arg: Arguments = None,
    *,
    launch: LaunchOptions,
    how: RunOptions,
    out: Annotated[
        str | None,
        typer.Option(
            *("--out", "-o"),
            metavar="DIR",
            help="Save every pointer argument as DIR/NAME.npy; of several targets, as DIR/NAME-T.npy.",
        ),
    ] = None,
    dump: Annotated[
        list[str] | None,
        typer.Option("--dump", metavar="TILE@LINE", help="Show what a tile holds after instructions; repeatable."),
    ] = None,
    dump_all: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Save all that instructions write as .npy files, with an index."),
    ] = None,
    step: Annotated[
        bool, typer.Option("--step", help="Stop after every instruction, show what it did, and ask.")
    ] = False,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Run a kernel and show what it left in its arguments."""
    from .console import said_when_interrupted
    from .run import Watching, run_file

    with said_when_interrupted(lambda: "no output was saved"):
        watching = Watching(tuple(dump or ()), dump_all, step)
        run_file(file, arg or [], launch, how, target=target or [], out=out, watching=watching)


# The options and help of ``ptokit sanitize``.


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


@with_options
def sanitize(
    file: File,
    target: Targets = None,
    arg: Arguments = None,
    *,
    launch: LaunchOptions,
    how: SanitizeOptions,
    reporting: ReportOptions,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the report as a page with pictures, too; of several targets FILE-T."),
    ] = None,
    fix: Fix = False,
    diff: Diff = False,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Find races, missing flags, deadlocks and uninitialised data."""
    from .check import sanitize_file

    mending = None if not fix and not diff else not diff
    status = sanitize_file(file, arg or [], launch, how, reporting, target=target or [], html=html, fix=mending)
    if status:
        raise typer.Exit(status)


# The options and help of ``ptokit diff``.


T = TypeVar("T")

DIFF_EPILOG = """Examples:

\b
  ptokit diff old.pto new.pto -t a5 -a random:f32:64x64 -a zeros:f32:64x64
  ptokit diff gemm.pto -t a2a3 -t a5 -a x.npy -a y.npy -a zeros:f32:64x64
  ptokit diff gemm.pto -t a5 --matmul exact --matmul fast --rtol 1e-5 -a ...
  ptokit diff softmax.pto -t a5 --backend numpy --backend native -a ...

\b
An option given once is for both sides, given twice the first is for A, the
second for B. Arguments are those of ptokit run; both sides get copies.
Exit status: 0 if nothing differs, 1 if something does or a program is refused,
2 for wrong usage."""


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A .pto file.", show_default=False)],
    b: Annotated[
        str | None, typer.Argument(metavar="[B]", help="Another one; by default A again.", show_default=False)
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="T", help="A target (see ptokit targets); once or twice."),
    ] = None,
    entry: Annotated[
        list[str] | None, typer.Option(metavar="F", help="The kernel, where the file has several; once or twice.")
    ] = None,
    arg: Arguments = None,
    blocks: Blocks = 1,
    matmul: Annotated[list[Matmul] | None, typer.Option(help="How the cube unit adds up; once or twice.")] = None,
    backend: Annotated[list[Backend] | None, typer.Option(help="Who carries it out; once or twice.")] = None,
    rtol: Annotated[float, typer.Option(metavar="X", help="Let numbers differ by X times that of B.")] = 0.0,
    atol: Annotated[float, typer.Option(metavar="X", help="Let numbers differ by X.")] = 0.0,
    vector_cores: VectorCores = 2,
    format: Annotated[ReportFormat, typer.Option(help="How to print what differs.")] = ReportFormat.TEXT,
    extended: Extended = False,
) -> None:
    """Find the first instruction whose results differ between two kernels or ways of running."""
    from ptokit.api.sanitize import diff as compare

    from .console import show_diagnostics, show_parts

    options: dict[str, Any] = {
        "target": _pair("--target", target or [], None),
        "entry": _pair("--entry", entry or [], None),
        "matmul": _pair("--matmul", [mode.value for mode in matmul or ()], "exact"),
        "backend": _pair("--backend", [backend.value for backend in backend or ()], None),
    }
    more: dict[str, Any] = {"vector_cores": vector_cores, "extended": extended, "rtol": rtol, "atol": atol}
    report = compare(a, b, arg or [], blocks=blocks, **options, **more)
    if format is ReportFormat.JSON:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        for found in report.diagnostics:
            show_diagnostics(found)
        show_parts(report.parts())
    if not report.same:
        raise typer.Exit(EXIT_ERRORS)


def _pair(option: str, given: list[T], otherwise: T) -> T | tuple[T, T]:
    """One value for both sides, or one for each."""
    if len(given) > 2:
        raise typer.BadParameter(f"it is given {len(given)} times; there are two sides.", param_hint=option)
    if len(given) == 2:
        return given[0], given[1]
    return given[0] if given else otherwise


# The options and help of ``ptokit check``.


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
  ptokit check add.pto -t a5 --also SYNC-SUPERFLUOUS    what nothing needs
  ptokit check gemm.cpp -t a2a3 --entry 'Gemm<float, 64>' -I include

Exit status: 0 without errors, 1 with errors, 2 for wrong usage."""


@with_options
def check(
    files: Files,
    target: Targets = None,
    arg: Arguments = None,
    *,
    how: CheckOptions,
    reporting: ReportOptions,
    also: AlsoProved = None,
    fix: Fix = False,
    diff: Diff = False,
    entry: CppEntry = None,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Report everything in files that the target would refuse."""
    from .check import check_files

    mending = None if not fix and not diff else not diff
    if not check_files(files, arg or [], how, reporting, target=target or [], also=also or (), fix=mending):
        raise typer.Exit(EXIT_ERRORS)


# The options and help of ``ptokit prove``.


PROVE_EPILOG = """Examples:

\b
  ptokit prove add.pto -t a5
  ptokit prove gemm.pto -t a5 --assume "k % 64 == 0" --assume "m % 128 == 0"
  ptokit prove kernels.py:scale --blocks any
  ptokit prove kernel.cpp -t a2a3 --assume "x is y"       in place
  ptokit prove add.pto -t a5 --html proof.html
  ptokit prove add.pto -t a5 --format json

\b
A claim is proved for all arguments, refuted by arguments that ptokit sanitize
agrees about, or open with the reason. Kernels carry assumptions of their own:
pto.assume. Needs pip install 'ptokit[prove]', but
for kernels in which constants alone decide addresses, control flow and flags.
Exit status: 0 if all claims are proved, 1 if one is refuted or the program has
errors, 2 for wrong usage, 3 if one is open."""


def _blocks(text: str) -> int | None:
    if text == "any":
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise typer.BadParameter(f"{text!r} is neither any nor a number from 1 to 65535.", param_hint="--blocks")
    return int(text)


def prove(
    file: File,
    target: Annotated[
        str | None,
        typer.Option(
            *("--target", "-t"),
            metavar="T",
            help="The target; needed unless the file states pto.target_arch.",
            autocompletion=targets,
        ),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help='Of the parameters and blocks: "n % 16 == 0"; repeatable.'),
    ] = None,
    blocks: Annotated[str, typer.Option(metavar="N|any", help="For how many blocks.")] = "any",
    entry: Annotated[str | None, typer.Option(metavar="F", help="The kernel, where the file has several.")] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Who places tiles and orders pipes, where the program does not tell.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Ask the solver at most N questions (10000); the rest is open."),
    ] = None,
    reasons: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show N reasons of an open claim.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the proof as a page with the lines that matter, too.")
    ] = None,
    format: Annotated[ProofFormat, typer.Option(help="How to print the proof.")] = ProofFormat.TEXT,
    extended: Annotated[
        bool, typer.Option("--extended", help="Let the cpu target take element types that only devices have.")
    ] = False,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Prove for all arguments that flags, pipes, blocks and bounds hold, or show arguments that break it."""
    from ptokit.api.check import At
    from ptokit.api.findings import sarif_text
    from ptokit.api.program import settings_for, split
    from ptokit.api.prove import page, refuted
    from ptokit.api.prove import prove as proved
    from ptokit.diagnostics import Diagnostics
    from ptokit.diagnostics.render import visible_name
    from ptokit.prove.report import Verdict

    from .console import Progress, remark, said_when_interrupted, say
    from .outputs import REPORT_FILE, check_writable, write_whole

    project = settings_for(file)
    usual = project.target[0] if len(project.target) == 1 else None
    number = _blocks(blocks)
    if html is not None:
        check_writable(html, "the page", REPORT_FILE)
    with (
        said_when_interrupted(lambda: "nothing was proved"),
        Progress(f"prove {file}", waits=True) as bar,
    ):
        proof = proved(
            At(file, project.assume),
            target=target,
            default_target=usual,
            entry=entry,
            assume=assume or (),
            blocks=number,
            mode=mode,
            extended=extended or project.extended,
            limit=limit,
            progress=bar.says,
        )
    if html is not None:
        write_whole(html, page(proof).encode(errors="replace"), "the page", REPORT_FILE)
        remark(f"page written to {visible_name(str(html))}")
    if format is ProofFormat.JSON:
        say(json.dumps(proof.as_json(), indent=2))
    elif format is ProofFormat.SARIF:
        facts = {proof.target: {"proof": proof.as_json()}}
        say(sarif_text([{proof.target: Diagnostics(refuted(proof, split(str(file))[0]))}], facts))
    else:
        for line in proof.lines(reasons):
            say(line)
        say(f"in {proof.seconds:.2f} s{proof.solver and f', {proof.solver}'}")
    if proof.stopped:
        raise typer.Exit(EXIT_INTERRUPTED)
    status = {Verdict.REFUTED: EXIT_ERRORS, Verdict.OPEN: EXIT_UNCHECKED}.get(proof.verdict, 0)
    if status:
        raise typer.Exit(status)


# The options and help of ``ptokit sync``.


SYNC_EPILOG = """Examples:

\b
  ptokit sync add.pto -t a5                       the text with flags
  ptokit sync add.pto -t a5 --in-place            only if it is proved; --diff shows it
  ptokit sync gemm.pto -t a2a3 --assume "k > 0" -o gemm_flags.pto
  ptokit sync kernels.py:scale --diff
  ptokit sync add.pto -t a5 --launch -a 64 -o o.pto    for this launch alone, not proved
  ptokit sync add.pto -t a5 --minimise --diff     what is superfluous, and why
  ptokit sync gemm.pto -t a2a3 --for overlap      no slower than with more flags
  ptokit sync --compare old.pto new.pto -t a5     what new.pto does not order any more

\b
Flags that the program has stay. What is inserted is proved for all arguments, as
by ptokit prove, and none of it can be left out. The report is on stderr.
Needs pip install 'ptokit[prove]'.
Exit status: 0 if the order of pipes is proved, 1 if the program has errors, 2
for wrong usage, 3 if it is not proved; the text is written then, too, but not
in place. With --compare: 0 if B orders all that A does, 1 if it does not, 3 if
not everything could be compared."""


def sync(
    file: File,
    other: Annotated[
        str | None, typer.Argument(metavar="[B]", help="With --compare, another version.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            *("--target", "-t"),
            metavar="T",
            help="The target; needed unless the file states pto.target_arch.",
            autocompletion=targets,
        ),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help='Of the parameters and blocks: "n % 16 == 0"; repeatable.'),
    ] = None,
    blocks: Annotated[str, typer.Option(metavar="N|any", help="For how many blocks.")] = "any",
    entry: Annotated[str | None, typer.Option(metavar="F", help="The kernel, where the file has several.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the text to this file.")] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print what changes instead of the text.")] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="Write the text to the file itself.")] = False,
    minimise: Annotated[
        bool, typer.Option("--minimise", help="Take out flags and barriers that others make superfluous, and add none.")
    ] = False,
    goal: Annotated[
        Goal, typer.Option("--for", help="As few flags as possible, or as few as cost no time.")
    ] = Goal.COUNT,
    launch: Annotated[bool, typer.Option("--launch", help="For one launch alone, by running it; not proved.")] = False,
    arg: Arguments = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Say what only one of two versions orders, and write nothing.")
    ] = False,
    format: Annotated[ReportFormat, typer.Option(help="How to print a comparison.")] = ReportFormat.TEXT,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ask the solver at most N questions (10000) at a time.")
    ] = None,
    extended: Annotated[
        bool, typer.Option("--extended", help="Let the cpu target take element types that only devices have.")
    ] = False,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Insert the flags that a program lacks between its pipes, and prove them for all arguments."""
    from .texts import check_sync, compare_files, synchronise_file

    options = {"target": target, "assume": assume or (), "entry": entry, "limit": limit, "extended": extended}
    given: dict[str, object] = {"--compare": compare, "--launch": launch, "--minimise": minimise, "--arg": arg}
    given |= {"--format": format is not ReportFormat.TEXT, "--for overlap": goal is not Goal.COUNT, "--limit": limit}
    given |= {"--out": out is not None, "--diff": diff, "--in-place": in_place, "--assume": assume}
    check_sync({name for name, value in given.items() if value}, 1 if other is None else 2)
    if other is not None:
        status = compare_files(file, other, format, blocks=_blocks(blocks), **options)
        if status:
            raise typer.Exit(status)
        return
    options |= {"minimise": minimise, "goal": goal, "launch": launch, "args": arg or ()}
    if not synchronise_file(file, out, diff=diff, in_place=in_place, blocks=_blocks(blocks), **options):
        raise typer.Exit(EXIT_UNCHECKED)
