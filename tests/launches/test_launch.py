"""Launches on other processes leave the bytes of one process."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.launch import Query
from ptokit.launches import arrays
from ptokit.launches.launch import LaunchWarning, launch
from ptokit.run import Program
from ptokit.run.backends import redirected

from .conftest import Inline, compiled

pytestmark = pytest.mark.filterwarnings("error")


@pto.kernel(target="a5")
def rows(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int, factor: float) -> None:
    top = pto.get_block_idx() * 4
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 4, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 4])
    pto.TMULS(tile, tile, factor)
    pto.TSTORE(pto.GlobalTensor(y, (n, 32))[top : top + 4], tile)


@pto.kernel(target="a5")
def columns(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int, width: int) -> None:
    """Blocks lie beside each other, and each adds to what is there."""
    left = pto.get_block_idx() * 8
    a = pto.Tile(pto.TileType.Vec, pto.f32, 16, 8)
    b = pto.Tile(pto.TileType.Vec, pto.f32, 16, 8)
    pto.TLOAD(a, pto.GlobalTensor(x, (n, width))[0:16, left : left + 8])
    pto.TLOAD(b, pto.GlobalTensor(y, (n, width))[0:16, left : left + 8])
    pto.TADD(a, a, b)
    pto.TSTORE(pto.GlobalTensor(y, (n, width))[0:16, left : left + 8], a)


def both(program: Program, args: list[Any], blocks: int, **options: Any) -> tuple[list[Any], list[Any], Inline]:
    """The arguments after a launch in this process, and after one on an executor."""
    one = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    other = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    program.launch(one, blocks)
    executor = Inline()
    launch(program, other, blocks, executor=executor, jobs=2, **options)
    return one, other, executor


def same(one: list[Any], other: list[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes()


RNG = np.random.default_rng(1)


@pytest.mark.parametrize("size", [40, 4000], ids=["small", "shared"])
def test_rows_are_divided(size: int) -> None:
    x = RNG.random((size, 32), np.float32)
    program = rows.compile(x, x, size, 1.5)
    one, other, executor = both(program, [x, np.zeros_like(x), size, 1.5], size // 4)
    same(one, other)
    assert len(executor.tasks) == (5 if size == 40 else 8)
    shared = {next(iter(a["source"] or a["target"])) for a in executor.tasks[0].given["args"][:2]}
    assert shared == ({"bytes"} if size == 40 else {"shared"})


@pytest.mark.parametrize("width", [128, 4096])
def test_columns_are_divided_and_what_they_read_and_write_is_intact(width: int) -> None:
    x, y = RNG.random((16, width), np.float32), RNG.random((16, width), np.float32)
    program = columns.compile(x, y, 16, width)
    one, other, executor = both(program, [x, y, 16, width], width // 8)
    same(one, other)
    assert len(executor.tasks) == 8


def test_only_what_blocks_read_and_write_travels() -> None:
    x = RNG.random((40, 32), np.float32)
    program = rows.compile(x, x, 40, 1.5)
    _, _, executor = both(program, [x, np.zeros_like(x), 40, 1.5], 10)
    run = 16  # bytes that name a run
    assert [sum(map(len, task.data)) for task in executor.tasks] == [2 * (2 * 4 * 32 * 4) + 3 * run] * 5


def test_where_nothing_can_be_shared_bytes_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on another machine."""

    def nowhere(name: str, nbytes: int) -> Any:
        raise arrays.MissingError(name)

    monkeypatch.setattr("ptokit.launches.launch.opened", nowhere)
    x, y = RNG.random((16, 4096), np.float32), RNG.random((16, 4096), np.float32)
    one, other, executor = both(columns.compile(x, y, 16, 4096), [x, y, 16, 4096], 512)
    same(one, other)
    assert len(executor.tasks) == 16


def test_files_are_opened_by_name(tmp_path: Any) -> None:
    x = RNG.random((4000, 32), np.float32)
    np.save(tmp_path / "x.npy", x)
    source = np.load(tmp_path / "x.npy", mmap_mode="r")
    target = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.float32, x.shape)
    program = rows.compile(x, x, 4000, 1.5)
    executor = Inline()
    launch(program, [source, target, 4000, 1.5], 1000, executor=executor, jobs=2)
    assert (target == x * np.float32(1.5)).all()
    assert [next(iter(a["source"] or a["target"])) for a in executor.tasks[0].given["args"][:2]] == ["file", "file"]
    assert not any(task.data for task in executor.tasks)


def test_files_that_are_read_and_written_change_once(tmp_path: Any) -> None:
    x, y = RNG.random((16, 4096), np.float32), RNG.random((16, 4096), np.float32)
    np.save(tmp_path / "y.npy", y)
    mapped = np.load(tmp_path / "y.npy", mmap_mode="r+")
    launch(columns.compile(x, y, 16, 4096), [x, mapped, 16, 4096], 512, executor=Inline(), jobs=2)
    assert (mapped == x + y).all()


# --- blocks that stay together ---------------------------------------------------------------------------------------


@pto.kernel(target="a5")
def in_line(x: pto.Ptr[pto.f32], n: int) -> None:
    """Each block reads what the one before has written."""
    top = pto.get_block_idx()
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 1])
    pto.TADDS(tile, tile, 1.0)
    pto.TSTORE(pto.GlobalTensor(x, (n, 32))[top + 1 : top + 2], tile)


@pto.kernel(target="a5")
def adds(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
    top = pto.get_block_idx()
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 1])
    pto.TSTORE(pto.GlobalTensor(y, (1, 32)), tile, atomic=pto.AtomicType.AtomicAdd)


@pto.kernel(target="a5")
def last_wins(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
    top = pto.get_block_idx()
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 1])
    pto.TSTORE(pto.GlobalTensor(y, (1, 32)), tile)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (in_line, "blocks 0 and 1 use the same bytes of argument x, and one of them writes"),
        (adds, "blocks 0 and 1 use the same bytes of argument y, and one of them writes"),
        (last_wins, "blocks 0 and 1 use the same bytes of argument y, and one of them writes"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("size", [40, 4000])
def test_blocks_that_share_memory_run_on_one_worker(kernel: pto.Kernel, why: str, size: int) -> None:
    blocks = 16
    x, y = RNG.random((size, 32), np.float32), np.zeros((size, 32), np.float32)
    args = [x, size] if kernel is in_line else [x, y, size]
    program = kernel.compile(*args)
    said: list[str] = []
    one, other, executor = both(program, args, blocks, say=said.append)
    same(one, other)
    assert said == [f"one worker runs all blocks of {kernel.name}: {why}"]
    assert len(executor.tasks) == 1


ONE = "!pto.partition_tensor_view<1xi32>"
SHORT = "!pto.tile_buf<vec, 1x8xi32, valid=1x1>"
SPEAKING = """
func.func @k(%x: !pto.ptr<i32>, %y: !pto.ptr<i32>) attributes {{pto.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %b64 = pto.get_block_idx
  %b = arith.index_cast %b64 : i64 to index
  %xv = pto.make_tensor_view %x, shape = [%c1], strides = [%c1] : !pto.tensor_view<?xi32>
  %s = pto.partition_view %xv, offsets = [%c0], sizes = [%c1]
    : !pto.tensor_view<?xi32> -> !pto.partition_tensor_view<1xi32>
  %yv = pto.make_tensor_view %y, shape = [%c1], strides = [%c1] : !pto.tensor_view<?xi32>
  %p = pto.partition_view %yv, offsets = [%c0], sizes = [%c1]
    : !pto.tensor_view<?xi32> -> !pto.partition_tensor_view<1xi32>
  {body}
  pto.store_scalar %one, %y[%b] : !pto.ptr<i32>, i32
  return
}}
"""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("pto.syncall", "they meet in SYNCALL"),
        (
            "pto.comm.tnotify(%s, %one : !pto.partition_tensor_view<1xi32>, i32)"
            " {notifyOp = #pto<notify_op atomic_add>}",
            "they talk to each other by TNOTIFY",
        ),
        (
            f"%t = pto.alloc_tile : {SHORT}\npto.tload ins(%s : {ONE}) outs(%t : {SHORT})\n"
            f"pto.comm.tbroadcast(%s, recv(%t), group(%p, %p) : {ONE}, {SHORT}, {ONE}, {ONE})",
            "they talk to each other by comm.tbroadcast",
        ),
        (
            "%old = pto.load_scalar %y[%b] : !pto.ptr<i32> -> i32",
            "they read numbers from argument y, which the kernel writes",
        ),
        ("", ""),
    ],
)
def test_blocks_that_talk_to_each_other_run_on_one_worker(body: str, why: str) -> None:
    program = compiled(SPEAKING.format(body=body), "a2a3")
    said: list[str] = []
    one, other, executor = both(program, [np.zeros(1, np.int32), np.zeros(8, np.int32)], 8, say=said.append)
    same(one, other)
    assert said == ([f"one worker runs all blocks of k: {why}"] if why else [])
    assert len(executor.tasks) == (1 if why else 8)


ASKING = """
func.func @k(%y: !pto.ptr<i32>, %block: i32, %of: i32) attributes {pto.entry} {
  %b = arith.index_cast %block : i32 to index
  pto.store_scalar %of, %y[%b] : !pto.ptr<i32>, i32
  return
}
"""


def test_numbers_that_each_core_supplies() -> None:
    args = [np.zeros(8, np.int32), Query.BLOCK_IDX, Query.BLOCK_NUM]
    one, other, executor = both(compiled(ASKING), args, 8)
    same(one, other)
    assert other[0].tolist() == [8] * 8
    assert len(executor.tasks) == 8


def test_a_launch_that_cannot_be_divided_warns() -> None:
    x = np.zeros((20, 32), np.float32)
    with pytest.warns(LaunchWarning, match="one worker runs all blocks of in_line"):
        launch(in_line.compile(x, 20), [x, 20], 8, executor=Inline(), jobs=2)


def test_arguments_that_overlap_stay_together() -> None:
    x = RNG.random((80, 32), np.float32)
    program = rows.compile(x, x, 40, 1.5)
    said: list[str] = []
    launch(program, [x[:40], x[20:60], 40, 1.5], 10, executor=Inline(), jobs=2, say=said.append)
    assert said == ["this process runs all blocks of rows: arguments x and y overlap"]


# --- what goes wrong, what is printed --------------------------------------------------------------------------------


@pto.kernel(target="a5")
def speaks(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
    top = pto.get_block_idx()
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 1])
    pto.TPRINT(tile)
    pto.TSTORE(pto.GlobalTensor(y, (n, 32))[top : top + 1], tile)


def test_what_blocks_print_appears_in_their_order() -> None:
    x = RNG.random((24, 32), np.float32)
    program = speaks.compile(x, x, 24)
    texts: list[list[str]] = [[], []]
    with redirected(texts[0].append):
        program.launch([x, x.copy(), 24], 24)
    with redirected(texts[1].append):
        launch(program, [x, x.copy(), 24], 24, executor=Inline(), jobs=2)
    assert "".join(texts[0]).replace(".py", "") != ""
    assert len("".join(texts[0]).splitlines()) == len("".join(texts[1]).splitlines())


@pytest.mark.parametrize("size", [24, 3000])
def test_wrong_arguments_are_refused_as_ever(size: int) -> None:
    x = np.zeros((size, 32), np.float16)
    program = rows.compile(pto.f32, pto.f32, size, 1.5)
    with pytest.raises(DiagnosticError) as caught:
        launch(program, [x, x, size, 1.5], 6, executor=Inline(), jobs=2)
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-ARG-DTYPE", "RUN-ARG-DTYPE"]


def test_a_block_that_fails_costs_the_others_nothing() -> None:
    """What is told, and what all others leave, is that of one process."""
    x = RNG.random((40, 32), np.float32)
    program = rows.compile(x, x, 40, 1.5)
    left, told = [], []
    for go in (program.launch, lambda *a: launch(*(program, *a), executor=Inline(), jobs=2, say=lambda _: None)):
        y = np.zeros((34, 32), np.float32)
        with pytest.raises(DiagnosticError) as caught:
            go([x, y, 40, 1.5], 10)
        told.append([(d.rule, d.location, d.message, [n.message for n in d.notes]) for d in caught.value.diagnostics])
        left.append(y.tobytes())
    assert told[0] == told[1]
    assert left[0] == left[1]


@pto.kernel(target="a2a3")
def narrow(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int, valid: int) -> None:
    """A tile without valid elements is stored nowhere, whatever its view has."""
    top = pto.get_block_idx()
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32, valid_col=valid)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 1, 0:valid])
    pto.TSTORE(pto.GlobalTensor(y, (n, 32))[top : top + 1], tile)


@pytest.mark.parametrize("size", [24, 1200])
def test_what_is_not_stored_is_kept(size: int) -> None:
    x, y = RNG.random((size, 32), np.float32), RNG.random((size, 32), np.float32)
    program = narrow.compile(x, y, size, 0)
    one, other, executor = both(program, [x, y, size, 0], size)
    assert (one[1] == y).all()
    same(one, other)
    assert len(executor.tasks) == 8


class Leaving(Inline):
    """Loses the workers that begin at block 4, as often as is said."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if [entry["id"] for entry in args[0]] != ["4"] or not self.times:
            return super().submit(fn, *args, **kwargs)
        self.times -= 1
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("worker gone"))
        return future


@pytest.mark.parametrize("times", [1, 2])
def test_blocks_whose_worker_is_lost_twice_did_not_run(times: int) -> None:
    x = RNG.random((40, 32), np.float32)
    y = np.zeros_like(x)
    program = rows.compile(x, x, 40, 1.5)
    if times == 1:
        launch(program, [x, y, 40, 1.5], 10, executor=Leaving(times), jobs=2)
        assert (y == x * np.float32(1.5)).all()
        return
    with pytest.raises(DiagnosticError, match=r"blocks? 4") as caught:
        launch(program, [x, y, 40, 1.5], 10, executor=Leaving(times), jobs=2)
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-LOST"]
