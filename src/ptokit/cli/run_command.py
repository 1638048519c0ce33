"""The options and help of ``ptokit run``."""

from __future__ import annotations

from typing import Annotated

import typer

from ptokit.types.choices import Backend, Matmul

from .options import (
    Arguments,
    Blocks,
    Core,
    Define,
    Entry,
    Extended,
    File,
    Include,
    MatmulMode,
    Ranks,
    Targets,
    VectorCores,
)

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


def run(
    file: File,
    target: Targets = None,
    entry: Entry = None,
    arg: Arguments = None,
    blocks: Blocks = 1,
    ranks: Ranks = None,
    out: Annotated[
        str | None,
        typer.Option(
            *("--out", "-o"),
            metavar="DIR",
            help="Save every pointer argument as DIR/NAME.npy; of several targets, as DIR/NAME-T.npy.",
        ),
    ] = None,
    matmul: MatmulMode = Matmul.EXACT,
    vector_cores: VectorCores = 2,
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
    executor: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Run blocks on other processes: processes, dask://HOST:PORT or ray."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, max=256, metavar="N", help="How many; default one per core.")
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
    from .exits import said_when_interrupted
    from .run import run_file
    from .watch import Watching

    with said_when_interrupted(lambda: "no output was saved"):
        run_file(
            file,
            arg or [],
            target=target or [],
            entry=entry,
            blocks=blocks,
            ranks=ranks,
            out=out,
            matmul=matmul.value,
            vector_cores=vector_cores,
            extended=extended,
            sanitize=sanitize,
            backend=backend and backend.value,
            threads=threads,
            executor=executor,
            jobs=jobs,
            watching=Watching(tuple(dump or ()), dump_all, step),
        )
