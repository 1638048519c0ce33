"""The options, the help and the work of ``ptokit prove``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .console import EXIT_ERRORS, EXIT_UNCHECKED
from .options import Core, Define, File, Include, ReportFormat, targets

PROVE_EPILOG = """Examples:

\b
  ptokit prove add.pto -t a5
  ptokit prove gemm.pto -t a5 --assume "k % 64 == 0" --assume "m % 128 == 0"
  ptokit prove kernels.py:scale --blocks any
  ptokit prove add.pto -t a5 --format json

\b
A claim is proved for all arguments, refuted by arguments that ptokit sanitize
agrees about, or open with the reason. Needs pip install 'ptokit[prove]', but
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
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show N reasons of an open claim.")] = None,
    format: Annotated[ReportFormat, typer.Option(help="How to print the proof.")] = ReportFormat.TEXT,
    extended: Annotated[
        bool, typer.Option("--extended", help="Let the cpu target take element types that only devices have.")
    ] = False,
    include: Include = None,
    define: Define = None,
    core: Core = None,
) -> None:
    """Prove for all arguments that flags, pipes, blocks and bounds hold, or show arguments that break it."""
    from ptokit.api.check import At
    from ptokit.api.program import settings_for
    from ptokit.api.prove import prove as proved
    from ptokit.prove.report import Verdict

    from .console import said_when_interrupted, say

    project = settings_for(file)
    usual = project.target[0] if len(project.target) == 1 else None
    number = _blocks(blocks)
    with said_when_interrupted(lambda: "nothing was proved"):
        proof = proved(
            At(file),
            target=target,
            default_target=usual,
            entry=entry,
            assume=assume or (),
            blocks=number,
            extended=extended or project.extended,
        )
    if format is ReportFormat.JSON:
        say(json.dumps(proof.as_json(), indent=2))
    else:
        for line in proof.lines(limit):
            say(line)
        say(f"in {proof.seconds:.2f} s")
    status = {Verdict.REFUTED: EXIT_ERRORS, Verdict.OPEN: EXIT_UNCHECKED}.get(proof.verdict, 0)
    if status:
        raise typer.Exit(status)
