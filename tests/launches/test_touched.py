"""Which bytes blocks touch: elements that share one, channels, copies of nothing."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.launches.access import Footprints, Runs, _Watch
from ptokit.launches.launch import launch
from ptokit.machine.buffers import Buffer
from ptokit.machine.global_memory import View
from ptokit.types.enums import Layout

from .conftest import Inline
from .test_launch import both, same


def noted(view: View, blocks: int, *, write: bool) -> Runs:
    """The runs of blocks that touch a view."""
    watch = _Watch({"x"})
    machine = SimpleNamespace(block_idx=np.arange(blocks), blocks=blocks)
    moment: Any = SimpleNamespace(machine=machine)
    watch._view(moment, view, write, exact=True)
    return watch.footprints.of("x", write=write)


def touched(dims: list[int], strides: list[int], offset: int) -> set[int]:
    """The bytes of all elements, one by one."""
    places = itertools.product(*(range(n) for n in dims))
    return {(offset + sum(i * s for i, s in zip(place, strides))) // 2 for place in places}


def test_bytes_of_odd_and_even_elements() -> None:
    rng = random.Random(1)
    buffer = Buffer("x", np.zeros(4000, np.uint8), pto.e2m1)
    for _ in range(500):
        dims = [rng.randint(1, 3), rng.randint(1, 3), rng.choice([1, 2, 3, 4, 5, 7])]
        strides = [rng.randint(-40, 40), rng.randint(-20, 20), rng.choice([1, 1, -1])]
        offsets = [rng.randint(200, 250) for _ in range(rng.choice([1, 1, 2, 3]))]
        offset: Any = np.array(offsets) if len(offsets) > 1 else offsets[0]
        write = rng.random() < 0.5
        view = View(buffer, offset, tuple(dims), tuple(strides), pto.e2m1, Layout.ND)
        runs = noted(view, len(offsets), write=write)
        for block, first in enumerate(offsets):
            bytes_ = touched(dims, strides, first)
            mine = runs.blocks == block
            assert mine.sum() == 1
            low, end = int(runs.starts[mine][0]), int(runs.ends[mine][0])
            assert low == min(bytes_)
            more = len({n % 2 for n in offsets}) == 2  # one length for all blocks
            assert max(bytes_) + 1 <= end <= max(bytes_) + 1 + more


@pto.kernel(target="a5")
def halves(x: pto.Ptr[pto.e2m1], y: pto.Ptr[pto.e2m1], step: int, start: int) -> None:
    """Copies 64 elements from and to places that may begin in the middle of a byte."""
    t = pto.Tile(pto.TileType.Vec, pto.e2m1, 1, 64)
    first = pto.get_block_idx() * step + start
    pto.TLOAD(t, pto.GlobalTensor(x, (4096,))[first : first + 64])
    pto.TSTORE(pto.GlobalTensor(y, (4096,))[first : first + 64], t)


@pytest.mark.parametrize("start", [0, 1, 2, 3])
@pytest.mark.parametrize("step", [63, 64, 65, 66, 67, 128])
def test_blocks_that_share_a_byte_stay_together(step: int, start: int) -> None:
    x = np.random.default_rng(1).integers(0, 256, 2048).astype(np.uint8)
    program = halves.compile(pto.e2m1, pto.e2m1, step, start)
    one, other, executor = both(program, [x, np.zeros_like(x), step, start], 5, say=lambda _: None)
    same(one, other)
    bytes_ = [touched([64], [1], block * step + start) for block in range(5)]
    apart = not any(a & b for a, b in itertools.combinations(bytes_, 2))
    assert apart >= (len(executor.tasks) > 1)
    if step % 2 == 0:  # else it may be told that they share a byte that they do not
        assert apart == (len(executor.tasks) > 1)


def test_channels_inside_of_an_element_of_a_view() -> None:
    """Of a view for convolutions, each element has 32 bytes of channels."""
    buffer = Buffer("x", np.zeros(4000, np.uint8), pto.f16)
    dims, strides = [1, 2, 1, 2, 3], [0, 400, 0, 80, 16]
    runs = noted(View(buffer, 8, tuple(dims), tuple(strides), pto.f16, Layout.NDC1HWC0), 1, write=True)
    found = {byte for start, end in zip(runs.starts, runs.ends) for byte in range(start, end)}
    places = itertools.product(*(range(n) for n in dims))
    firsts = [8 + sum(i * s for i, s in zip(place, strides)) for place in places]
    assert found == {2 * first + byte for first in firsts for byte in range(32)}


@pto.kernel(target="a5")
def copies(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.i32], rows: int) -> None:
    pto.mte_gm_ub(x, pto.castptr(0, pto.f32), 0, 128, rows, 128, 128)
    pto.mte_ub_gm(pto.castptr(0, pto.f32), x, 128, rows, 128, 128)
    y[pto.get_block_idx()] = 1


def test_copies_of_no_rows_touch_nothing() -> None:
    arrays = [np.zeros(1, np.float32), np.zeros(8, np.int32)]
    one, other, executor = both(copies.compile(*arrays, 0), [*arrays, 0], 8)
    same(one, other)
    assert len(executor.tasks) == 8


@pto.kernel(target="a5")
def moves(x: pto.Ptr[pto.f32], n: int) -> None:
    """Each block copies its row to one further down."""
    row = x + pto.get_block_idx() * 32
    pto.mte_gm_ub(row, pto.castptr(0, pto.f32), 0, 128, 1, 128, 128)
    pto.mte_ub_gm(pto.castptr(0, pto.f32), row + n * 32, 128, 1, 128, 128)


def test_what_a_copy_reads_is_there() -> None:
    x = np.arange(512, dtype=np.float32)
    one, other, executor = both(moves.compile(x, 8), [x, 8], 8)
    same(one, other)
    assert other[0][256:].tolist() == x[:256].tolist()
    assert len(executor.tasks) > 1


@pto.kernel(target="a5")
def scattered(x: pto.Ptr[pto.f32], i: pto.Ptr[pto.i32], y: pto.Ptr[pto.f32]) -> None:
    """Each block writes its row in the order of the indices."""
    first = pto.get_block_idx() * 64
    tile, index = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64), pto.Tile(pto.TileType.Vec, pto.i32, 1, 64)
    pto.TLOAD(tile, pto.GlobalTensor(x, (1024,))[first : first + 64])
    pto.TLOAD(index, pto.GlobalTensor(i, (64,)))
    pto.MSCATTER(pto.GlobalTensor(y, (1024,))[first : first + 64], tile, index, mode=pto.Coalesce.Elem)


def test_places_that_only_the_run_knows() -> None:
    rng = np.random.default_rng(2)
    x, i = rng.random(1024, np.float32), rng.permutation(64).astype(np.int32)
    arrays = [x, i, np.zeros(1024, np.float32)]
    told: list[str] = []
    one, other, _ = both(scattered.compile(*arrays), arrays, 16, say=told.append)
    same(one, other)
    assert told[0].endswith("blocks 0 and 1 use the same bytes of argument y, and one of them writes")
    assert (other[2].reshape(16, 64)[:, i] == x.reshape(16, 64)).all()


@pto.kernel(target="a5")
def marked(y: pto.Ptr[pto.f32]) -> None:
    first = pto.get_block_idx() * 64
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
    pto.TEXPANDS(tile, 1.0)
    pto.castptr(0, pto.f32)[3] = 7.5
    pto.TSTORE(pto.GlobalTensor(y, (1024,))[first : first + 64], tile)


def test_numbers_stored_on_chip_concern_nobody_else() -> None:
    y = np.zeros(1024, np.float32)
    one, other, executor = both(marked.compile(y), [y], 16)
    same(one, other)
    assert len(executor.tasks) > 1


@pto.kernel(target="a5")
def shifted(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.i32], start: int) -> None:
    y[pto.get_block_idx()] = 1
    pto.mte_gm_ub(x + start, pto.castptr(0, pto.f32), 0, 128, 1, 128, 128)


@pytest.mark.parametrize("start", [-1, -64, 33])
def test_copies_from_outside_of_an_array_are_told_as_ever(start: int) -> None:
    told, left = [], []
    program = shifted.compile(pto.f32, pto.i32, 1)
    for go in (program.launch, lambda *a: launch(*(program, *a), executor=Inline(), jobs=2, say=lambda _: None)):
        x, y = np.zeros(64, np.float32), np.zeros(8, np.int32)
        with pytest.raises(pto.DiagnosticError) as caught:
            go([x, y, start], 8)
        told.append([(d.rule, d.location, d.message) for d in caught.value.diagnostics])
        left.append(y.tobytes())
    assert told[0] == told[1]
    assert left[0] == left[1]


def test_many_parts_are_all_kept() -> None:
    found = Footprints()
    for k in range(300):
        found.add("x", True, Runs(*(np.array([n], np.int64) for n in (10 * k, 10 * k + 4, k))))
    kept = found.of("x", write=True)
    assert kept.starts.tolist() == [10 * k for k in range(300)]
    assert kept.blocks.tolist() == list(range(300))
