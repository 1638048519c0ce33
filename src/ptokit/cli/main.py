"""The ``ptokit`` command: options and help. What a command does is imported when it runs, to start quickly."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from ptokit import __version__
from ptokit.diagnostics import DiagnosticError

from .application import Application, Commands
from .campaign_command import add_campaign
from .conformance_command import add_conformance
from .exits import EXIT_ERRORS, EXIT_INTERNAL, EXIT_INTERRUPTED

_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Products of tiles are too small for threads: waiting for one another makes them up to 100 times slower."""


app = Application(
    name="ptokit",
    cls=Commands,
    help="Write, check, run and debug PTO tile programs for Ascend NPUs on any machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class Rules(StrEnum):
    """Whose rules a file is checked by."""

    ALL = "all"
    ASSEMBLER = "assembler"


class TextForm(StrEnum):
    """Text forms of a program."""

    DPS = "dps"
    SSA = "ssa"
    SYNC = "sync"
    GENERIC = "generic"


class Matmul(StrEnum):
    """How the cube unit adds up products."""

    EXACT = "exact"
    FAST = "fast"
    REF = "ref"


class Backend(StrEnum):
    """Who carries out a kernel."""

    NUMPY = "numpy"
    NATIVE = "native"


class Mode(StrEnum):
    """Who places tiles and orders pipes."""

    AUTO = "auto"
    MANUAL = "manual"


class Also(StrEnum):
    """Rules of the sanitizer that are off by default."""

    REUSE = "FLAG-REUSE-RACE"
    ALIAS = "FLAG-ALIAS"


class Order(StrEnum):
    """How much order one pipe gives by itself."""

    STRICT = "strict"
    PROFILE = "profile"


File = Annotated[str, typer.Argument(metavar="FILE", help="A .pto file; - for stdin.", show_default=False)]
Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="The .pto files, or folders of them; - for stdin.", show_default=False),
]
TargetOption = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="T", help="cpu, a2a3 or a5; needed unless the file states pto.target_arch."),
]
Extended = Annotated[
    bool, typer.Option("--extended", help="Let the cpu target run element types that only devices have.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ptokit {__version__}")
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    """Handled before the command: --version by its callback, --debug by `main`."""


@app.command(
    epilog="""Examples:

\b
  ptokit run add.pto --target a5 -a x.npy -a y.npy -a zeros:f32:64x64 --out o
  ptokit run softmax.pto -t a2a3 -a x.npy -a zeros:f32:64x256 -a 64
  ptokit run axpy.pto -t cpu --blocks 8 -a ones:f32:8x256 -a x.npy -a 8

\b
Arguments are given in the order of the kernel's parameters. Forms:
  x.npy                       an array from a file, which is left as it is
  zeros:f32:64x64             also ones:DTYPE:SHAPE and arange:DTYPE:SHAPE
  full:0.5:f16:1024           every element 0.5
  random:f16:1024:seed=3      floats in [-1, 1), integers -8..7 or 0..15
  uninit:f32:64x64            output only, starts uninitialised
  17, 0x1F, -2.5, 1e-5        a number for a scalar parameter"""
)
def run(
    file: File,
    target: TargetOption = None,
    entry: Annotated[
        str | None, typer.Option(metavar="F", help="The kernel to run, where the file has several.")
    ] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", "-a", metavar="VALUE", help="An argument; repeat in order.")
    ] = None,
    blocks: Annotated[int, typer.Option("--blocks", "-b", min=1, metavar="N", help="Blocks to launch.")] = 1,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Save every pointer argument as DIR/NAME.npy."),
    ] = None,
    matmul: Annotated[
        Matmul, typer.Option(help="Sums of products: rounded once, in f32, or in the order of k.")
    ] = Matmul.EXACT,
    vector_cores: Annotated[
        int, typer.Option(min=1, max=2, metavar="N", help="Vector cores beside each cube core of a mixed kernel.")
    ] = 2,
    extended: Extended = False,
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Look for races and uninitialised data first; errors end the run.")
    ] = False,
    backend: Annotated[
        Backend | None, typer.Option(help="Who carries it out; by default PTOKIT_BACKEND, or what is faster.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads that run native code; by default all processors.")
    ] = None,
) -> None:
    """Run a kernel and show what it left in its arguments."""
    from .run import run_file

    chosen = None if backend is None else backend.value
    options = (matmul.value, extended, sanitize, vector_cores, chosen, threads)
    run_file(file, target, entry, arg or [], blocks, out, *options)


@app.command(
    epilog="""Examples:

\b
  ptokit sanitize add.pto -t a5 -a x.npy -a y.npy -a uninit:f32:64x64
  ptokit sanitize gemm.pto -t a2a3 --blocks 24 --order profile -a ...
  ptokit sanitize add.pto -t a5 --witness -a x.npy -a y.npy -a zeros:f32:4096
  ptokit sanitize add.pto -t a5 --html add.html -a x.npy -a y.npy -a ...

\b
Arguments are those of ptokit run. An output-only argument is written
uninit:DTYPE:SHAPE: reading it before the kernel has written it is an error.
Exit status: 0 without errors, 1 with errors, 2 for wrong usage, 3 without
errors where nobody checked the order of pipes: a program without addresses
and flags leaves it to the compiler (--mode auto accepts that)."""
)
def sanitize(
    file: File,
    target: TargetOption = None,
    entry: Annotated[
        str | None, typer.Option(metavar="F", help="The kernel to run, where the file has several.")
    ] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", "-a", metavar="VALUE", help="An argument; repeat in order.")
    ] = None,
    blocks: Annotated[int, typer.Option("--blocks", "-b", min=1, metavar="N", help="Blocks to launch.")] = 1,
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
        str | None, typer.Option(metavar="FILE", help="Write the report as a page with pictures, too.")
    ] = None,
    vector_cores: Annotated[
        int, typer.Option(min=1, max=2, metavar="N", help="Vector cores beside each cube core of a mixed kernel.")
    ] = 2,
    mode: Annotated[
        Mode | None, typer.Option(help="Who places tiles and orders pipes, where the program does not tell.")
    ] = None,
    also: Annotated[
        list[Also] | None,
        typer.Option(
            metavar="RULE-ID", help="Report FLAG-REUSE-RACE or FLAG-ALIAS, too, which are off by default; repeatable."
        ),
    ] = None,
    explain_sync: Annotated[
        bool, typer.Option("--explain-sync", help="List the flags and barriers that a program without any needs.")
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print findings.")] = Format.TEXT,
    extended: Extended = False,
) -> None:
    """Find races, missing flags, deadlocks and uninitialised data."""
    from .sanitize import sanitize_file

    more: dict[str, Any] = {"format": format.value, "extended": extended, "witness": witness, "seed": seed}
    more["html"] = html
    more["vector_cores"] = vector_cores
    more |= {"explain_sync": explain_sync, "mode": mode and mode.value, "also": [rule.value for rule in also or []]}
    status = sanitize_file(file, target, entry, arg or [], blocks, order.value, **more)
    if status:
        raise typer.Exit(status)


@app.command(
    epilog="""Examples:

\b
  ptokit check kernel.pto --target a5
  ptokit check kernels/ more/*.pto -t a5
  ptokit check kernel.pto -t a2a3 --format json | jq '.diagnostics[].rule'
  ptokit check kernel.pto -t a5 --format sarif > kernel.sarif
  ptokit check kernel.pto -t a5 --level 3       every tile has an address

Exit status: 0 without errors, 1 with errors, 2 for wrong usage."""
)
def check(
    files: Files,
    target: TargetOption = None,
    level: Annotated[
        int | None,
        typer.Option(
            "--level", "-l", min=1, max=3, metavar="N", help="Who places tiles: the assembler (1, 2), the program (3)."
        ),
    ] = None,
    auto_sync: Annotated[
        bool, typer.Option("--auto-sync", help="The assembler is to insert flags and barriers.")
    ] = False,
    rules: Annotated[Rules, typer.Option(help="All rules, or only what the reference assembler refuses.")] = Rules.ALL,
    format: Annotated[Format, typer.Option(help="How to print findings.")] = Format.TEXT,
    extended: Extended = False,
) -> None:
    """Report everything in files that the target would refuse."""
    from .check import check_files

    if not check_files(
        files,
        target,
        format=format.value,
        extended=extended,
        level=level,
        auto_sync=auto_sync,
        assembler=rules is Rules.ASSEMBLER,
    ):
        raise typer.Exit(EXIT_ERRORS)


@app.command(
    name="fmt",
    epilog="""Examples:

\b
  ptokit fmt kernel.pto
  ptokit fmt --check kernels/*.pto
  ptokit fmt --stdout kernel.pto | diff kernel.pto -

\b
Only blanks, line breaks and the places of comments change. Exit status: 0 when
done, 1 if a file has errors (it is left as it is) or would change (--check).""",
)
def fmt(
    files: Files,
    check: Annotated[bool, typer.Option("--check", help="List files that would change; write nothing.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the texts; write nothing.")] = False,
) -> None:
    """Lay out files: one operation per line, indented, comments kept."""
    from .format import format_files

    if check and stdout:
        raise typer.BadParameter("--check and --stdout exclude each other.", param_hint="--check")
    if not format_files(files, check=check, to_stdout=stdout):
        raise typer.Exit(EXIT_ERRORS)


@app.command(
    epilog="""Examples:

\b
  ptokit convert kernel.pto --to generic
  ptokit convert kernel.pto --to ssa -o kernel_ssa.pto
  ptokit convert kernel_ssa.pto --to dps

\b
Forms:
  dps      level 2: pto.tadd ins(%a, %b : T, T) outs(%d : T)
  ssa      level 1: %d = pto.tadd %a, %b : (T, T) -> T
  sync     as the manual writes it: tadd %d, %a, %b : (T, T, T)
  generic  what every MLIR tool reads: "pto.tadd"(%a, %b, %d) : (T, T, T) -> ()

The file may be in any form. The new text means the same program; comments are
not kept. Exit status: 0 when done, 1 if the file has errors or the form cannot
express something in it (nothing is written then), 2 for wrong usage."""
)
def convert(
    file: File,
    to: Annotated[TextForm, typer.Option("--to", help="The form to write.", show_default=False)],
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="OUT", help="The file to write instead of stdout.")
    ] = None,
) -> None:
    """Write a file in another text form."""
    from .convert import convert_file

    if not convert_file(file, to.value, out):
        raise typer.Exit(EXIT_ERRORS)


@app.command(
    epilog="""Examples:

\b
  ptokit isa            list of all instructions
  ptokit isa TLOAD      operands, attributes, pipe, element types and rules"""
)
def isa(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An instruction, by C++ or text name.")] = None,
) -> None:
    """Reference of the instructions ptokit knows."""
    from .isa import list_instructions, show_instruction

    if name is None:
        list_instructions()
    else:
        show_instruction(name)


@app.command(
    epilog="""Examples:

\b
  ptokit explain          list of all rules
  ptokit explain EW-04    what a rule says, why, what it accepts and rejects"""
)
def explain(
    rule: Annotated[str | None, typer.Argument(metavar="RULE-ID", help="A rule id, as printed in brackets.")] = None,
) -> None:
    """Explain a rule that a diagnostic names."""
    from .explain import list_rules, show_rule

    if rule is None:
        list_rules()
    else:
        show_rule(rule)


@app.command(
    epilog="""Examples:

\b
  ptokit layout 'vec, 32x64xf16, blayout=col_major, slayout=row_major'
  ptokit layout 'mat, 64x64xf16, slayout=col_major' --at 17,40
  ptokit layout 'acc, 64x64xf32, blayout=col_major, slayout=row_major,
                 fractal=1024' --svg acc.svg

\b
The type is written as in a file, with or without !pto.tile_buf<...>."""
)
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
    from .layout import show_layout

    if not show_layout(type, at, svg):
        raise typer.Exit(EXIT_ERRORS)


add_conformance(app)
add_campaign(app)


@app.command(
    epilog="""Examples:

\b
  ptokit lsp                  what an editor starts; it talks over stdin
  ptokit lsp --target a5      check files for a5 that state no target
  ptokit lsp --tcp 2087       serve one editor on 127.0.0.1:2087

\b
Needs pip install 'ptokit[lsp]'. docs/editors.md tells how to set up editors."""
)
def lsp(
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="T", help="The target of files that state none: cpu, a2a3 or a5."),
    ] = None,
    tcp: Annotated[
        int | None, typer.Option("--tcp", min=1, max=65535, metavar="PORT", help="Use a TCP port of this machine.")
    ] = None,
) -> None:
    """Language server: findings as you type, hover, definitions, completion, layout."""
    from .lsp import serve

    if not serve(target, tcp):
        raise typer.Exit(EXIT_ERRORS)


def main() -> None:
    """Run the command line. Exits with 0, 1 (errors in the input), 2 (usage), 130 (interrupted) or 70 (our bug)."""
    try:
        from .console import prepare_streams, show_diagnostics, written_out

        prepare_streams()
        for library in _BLAS:  # read when NumPy is imported
            os.environ.setdefault(library, "1")
        with written_out():
            app(prog_name="ptokit")
    except DiagnosticError as error:
        show_diagnostics(error.diagnostics)
        sys.exit(EXIT_ERRORS)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        if isinstance(error, OSError) and error.filename is not None:  # no bug: a file that cannot be used
            sys.stderr.write(f"ptokit: cannot use {str(error.filename)[:300]!a}: {error.strerror}\n")
            sys.exit(EXIT_ERRORS)
        text = " ".join(f"{type(error).__name__}: {error}".split())
        sys.stderr.write(f"ptokit: internal error: {text[:300]}; please report it (--debug shows the traceback)\n")
        sys.exit(EXIT_INTERNAL)


if __name__ == "__main__":
    main()
