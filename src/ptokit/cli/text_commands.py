"""The options and help of ``ptokit fmt`` and ``ptokit convert``."""

from __future__ import annotations

from typing import Annotated

import typer

from ptokit.types.choices import TextForm

from .completion import targets
from .console import EXIT_ERRORS
from .options import Core, CppEntry, Define, File, Include, TextFiles

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

\b
Forms:
  dps      level 2: pto.tadd ins(%a, %b : T, T) outs(%d : T)
  ssa      level 1: %d = pto.tadd %a, %b : (T, T) -> T
  sync     as the manual writes it: tadd %d, %a, %b : (T, T, T)
  generic  what every MLIR tool reads: "pto.tadd"(%a, %b, %d) : (T, T, T) -> ()

The file may be in any form. The new text means the same program; comments are
not kept. Exit status: 0 when done, 1 if the file has errors or the form cannot
express something in it (nothing is written then), 2 for wrong usage."""


def convert(
    file: File,
    to: Annotated[TextForm, typer.Option("--to", help="The form to write.", show_default=False)],
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="T", help="Of C++: cpu, a2a3 or a5.", autocompletion=targets)
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
