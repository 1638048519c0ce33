"""What blocks read of the arguments that they write."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.launches.access import footprints
from ptokit.launches.worker import _program


@pto.kernel(target="a5")
def added(y: pto.Ptr[pto.f32], n: int) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TEXPANDS(tile, 1.0)
    row = pto.get_block_idx() * 32
    pto.TSTORE(pto.GlobalTensor(y + row, (1, 32)), tile, atomic=pto.AtomicType.AtomicAdd)


@pto.kernel(target="a5")
def stored(y: pto.Ptr[pto.f32], n: int) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TEXPANDS(tile, 1.0)
    row = pto.get_block_idx() * 32
    pto.TSTORE(pto.GlobalTensor(y + row, (1, 32)), tile)


@pytest.mark.parametrize(("kernel", "reads"), [(added, True), (stored, False)])
def test_an_atomic_store_reads_what_it_changes(kernel: pto.Kernel, reads: bool) -> None:
    """Else a worker would add to a file in its place, and once more if its task is repeated."""
    program = kernel.compile(pto.f32, 4)
    found = footprints(program, [np.zeros(128, np.float32), 4], 4)
    for write, expected in ((True, True), (False, reads)):
        runs = found.of("y", write=write)
        places = [(0, 128), (128, 256), (256, 384), (384, 512)] if expected else []
        assert list(zip(runs.starts.tolist(), runs.ends.tolist())) == places


@pytest.mark.parametrize("extended", [False, True])
def test_a_worker_compiles_what_the_caller_has(extended: bool) -> None:
    text = "func.func @k(%p: !pto.ptr<f32>) attributes {pto.entry} {\nreturn\n}\n"
    for cores in (1, 2):
        program = _program(text, "a5", "k", extended, cores)
        assert (program.extended, program.target.name, program.name) == (extended, "a5", "k")
