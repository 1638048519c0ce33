"""``ptokit run``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ptokit.api.arguments import read_arguments
from ptokit.api.launch import prepare
from ptokit.api.settings import settings_for
from ptokit.api.source import At

from .console import remark, show_diagnostics, show_parts
from .outputs import check_directory, save_arrays
from .progress import Progress
from .watch import Watching


def run_file(
    file: str,
    arg_texts: Sequence[str],
    *,
    target: str | None,
    entry: str | None,
    blocks: int,
    out: str | None,
    vector_cores: int,
    extended: bool,
    watching: Watching,
    **how: Any,
) -> None:
    """Run a kernel of `file`, print a table of its pointer arguments and save them to the directory `out`.

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
    options: dict[str, Any] = {"entry": entry, "vector_cores": vector_cores}
    project = settings_for(file)
    options |= {"extended": extended or project.extended, "default_target": project.only_target}
    kernel = prepare(At(file), arguments, target=target, **options)
    show_diagnostics(kernel.diagnostics)
    if directory is not None:
        check_directory(directory, kernel.array_names)
    if watching.wanted:
        with watching.observer(kernel) as observer:
            result = kernel.run(blocks, keep=True, observer=observer, **how)
    else:
        with Progress(f"{kernel.program.name} on {kernel.program.target.name}") as progress:
            result = kernel.run(blocks, keep=True, progress=progress, **how)
    show_diagnostics(result.races)
    if directory is not None:
        saved = {name: array for name, array in result.arrays.items() if not isinstance(array, np.memmap)}
        save_arrays(directory, saved)
    show_parts(result.parts())
    if directory is not None:
        remark(f"saved {len(saved)} array{'s' * (len(saved) != 1)} in {directory}")
