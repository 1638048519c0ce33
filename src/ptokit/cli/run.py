"""``ptokit run``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ptokit.api.arguments import read_arguments
from ptokit.api.check import for_each, to_look_at
from ptokit.api.findings import ByTarget, labels, merged
from ptokit.api.launch import RunResult, prepare
from ptokit.api.settings import settings_for
from ptokit.api.source import At
from ptokit.diagnostics.render import visible_name
from ptokit.targets import Target

from .console import remark, say, show_diagnostics, show_parts
from .outputs import check_directory, save_arrays
from .progress import Progress
from .watch import Watching


def run_file(
    file: str,
    arg_texts: Sequence[str],
    *,
    target: Sequence[str],
    entry: str | None,
    blocks: int,
    out: str | None,
    vector_cores: int,
    extended: bool,
    ranks: int | None,
    watching: Watching,
    **how: Any,
) -> None:
    """Run a kernel of `file`, print a table of its pointer arguments and save them to the directory `out`.

    On several targets it runs on one after the other; tables are printed and arrays saved once all have ended.
    ``how``: as for `ptokit.api.launch.Prepared.run`. Raises `DiagnosticError` and writes nothing if the input is
    refused.
    """
    arguments = read_arguments(arg_texts)
    watching.check()
    if out == "":
        raise typer.BadParameter("it is empty; . is the current directory.", param_hint="--out")
    directory = None if out is None else Path(out)
    if directory is not None:
        check_directory(directory)
    project = settings_for(file)
    program, targets, usual = to_look_at(At(file), target, project.target, entry)
    options: dict[str, Any] = {"entry": entry, "vector_cores": vector_cores, "default_target": usual}
    options |= {"extended": extended or project.extended, "ranks": ranks}
    kernels = for_each(targets, lambda each: prepare(program, arguments, target=each, **options))
    _remarks({name: kernel.diagnostics for name, kernel in kernels.items()})
    suffixes = {name: f"-{name}" if len(kernels) > 1 else "" for name in kernels}
    if directory is not None:
        names = [f"{array}{suffixes[name]}" for name, kernel in kernels.items() for array in kernel.array_names]
        check_directory(directory, names)

    def run(each: Target | None) -> RunResult:
        name = "" if each is None else each.name
        kernel = kernels[name]
        if not watching.wanted:
            with Progress(f"{kernel.program.name} on {kernel.program.target.name}") as progress:
                return kernel.run(blocks, keep=True, progress=progress, **how)
        if len(kernels) > 1:
            say(f"on {name}:")
        with watching.within(suffixes[name]).observer(kernel) as observer:
            return kernel.run(blocks, keep=True, observer=observer, **how)

    results = for_each(targets, run)
    _remarks({name: result.races for name, result in results.items()})
    if directory is not None:
        saved = {
            f"{array}{suffixes[name]}": contents
            for name, result in results.items()
            for array, contents in result.arrays.items()
            if not isinstance(contents, np.memmap)
        }
        save_arrays(directory, saved)
    for number, result in enumerate(results.values()):
        if number:
            say()
        show_parts(result.parts())
    if directory is not None:
        remark(f"saved {len(saved)} array{'s' * (len(saved) != 1)} in {visible_name(str(directory))}")


def _remarks(found: ByTarget) -> None:
    """Show findings that have not kept a kernel from running."""
    show_diagnostics(merged(found), labels(found))
