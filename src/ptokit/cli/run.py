"""``ptokit run``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from pathlib import Path

import numpy as np
import typer

from ptokit.arguments.npy import as_parameter
from ptokit.diagnostics import DiagnosticError

from .args import make, read_arguments
from .console import bold, remark, say, show_diagnostics
from .load import load, parse_target
from .outputs import check_directory, file_names, save_arrays
from .progress import Progress
from .summary import Result, show_results


def run_file(
    file: str,
    target_name: str | None,
    entry: str | None,
    arg_texts: Sequence[str],
    blocks: int,
    out: str | None,
    matmul: str,
    extended: bool,
    sanitized: bool = False,
    vector_cores: int = 2,
    backend: str | None = None,
    threads: int | None = None,
) -> None:
    """Run a kernel of `file`, print a table of its pointer arguments and save them to the directory `out`.

    ``sanitized``: the sanitizer looks at the kernel first, and its errors count as refusal.
    Raises `DiagnosticError` and writes nothing if the input is refused.
    """
    wanted = parse_target(target_name)
    arguments = read_arguments(arg_texts)
    if out == "":
        raise typer.BadParameter("it is empty; . is the current directory.", param_hint="--out")
    directory = None if out is None else Path(out)
    if directory is not None:
        check_directory(directory)

    module, target, found = load(file, wanted, extended=extended)
    if found.errors:
        raise DiagnosticError(found.sorted())
    show_diagnostics(found)

    from ptokit.run import compile_program

    program = compile_program(module, target, entry=entry, extended=extended, vector_cores=vector_cores)
    names = file_names([param.name for param in program.params])
    if directory is not None:
        check_directory(directory, [name for name, param in zip(names, program.params) if param.dtype is not None])
    values = make(arguments)
    for i, (value, param) in enumerate(zip(values, program.params)):
        if param.dtype is not None:
            values[i] = as_parameter(value, param.dtype)
    if sanitized:
        from .sanitize import refuse_races

        show_diagnostics(refuse_races(module, target, values, blocks, entry, extended, vector_cores))
    before = [value if isinstance(value, np.memmap) else copy(value) for value in values]

    start = time.perf_counter()
    with Progress(f"{program.name} on {target.name}") as progress:
        program.launch(values, blocks, matmul=matmul, progress=progress, backend=backend, threads=threads)
    seconds = time.perf_counter() - start

    results = [
        Result(name, param.dtype, old, new)
        for name, param, old, new in zip(names, program.params, before, values, strict=True)
        if isinstance(new, np.ndarray)
    ]
    if directory is not None:
        results_in_memory = [result for result in results if not isinstance(result.after, np.memmap)]
        save_arrays(directory, {result.name: result.after for result in results_in_memory})

    say(f"{bold(program.name)} on {target.name}: {_count(blocks, 'block')} in {_duration(seconds)}")
    if results:
        say()
        show_results(results)
    if directory is not None:
        remark(f"saved {_count(len(results_in_memory), 'array')} in {directory}")


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
