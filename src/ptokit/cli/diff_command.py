"""The options and help of ``ptokit diff``."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

import typer

from ptokit.types.choices import Backend, Matmul

from .exits import EXIT_ERRORS
from .options import Arguments, Blocks, Extended, ReportFormat, VectorCores

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
        list[str] | None, typer.Option("--target", "-t", metavar="T", help="cpu, a2a3 or a5; once or twice.")
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
    from ptokit.api.diff import diff as compare

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
