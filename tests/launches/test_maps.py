"""Arguments that are mapped from files, or lie in one another, on their way to workers."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.launches import arrays
from ptokit.launches.arrays import MissingError, describe_file, open_file
from ptokit.launches.launch import launch
from ptokit.machine import buffers

from ..run.mapped import PAGE, Memories
from .conftest import Inline
from .test_launch import rows

WIDTH = 16
ROWS = 6


@pto.kernel(target="a5")
def mixes(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], shift: int) -> None:
    """Reads x and y, changes a row of y, and stores in z what was read."""
    row = pto.get_block_idx()
    a = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH)
    b = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH)
    c = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH)
    pto.TLOAD(a, pto.GlobalTensor(x, (ROWS, WIDTH))[row : row + 1])
    pto.TLOAD(b, pto.GlobalTensor(y, (ROWS, WIDTH))[row + shift : row + shift + 1])
    pto.TADDS(c, a, 3.0)
    pto.TSTORE(pto.GlobalTensor(y, (ROWS, WIDTH))[row : row + 1], c)
    pto.TADD(b, b, a)
    pto.TSTORE(pto.GlobalTensor(z, (ROWS, WIDTH))[row : row + 1], b)


def by_hand(x: np.ndarray, y: np.ndarray, z: np.ndarray, shift: int, blocks: int) -> None:
    for row in range(blocks):
        a, b = x[row].copy(), y[row + shift].copy()
        y[row] = a + np.float32(3)
        z[row] = b + a


def left_by(go: Any, seed: int, folder: Path) -> tuple[list[bytes], list[str], int]:
    """What a run leaves in its arguments and in files, of what kinds they are, and what it returns."""
    folder.mkdir(parents=True)
    made = Memories(seed, folder)
    rng = random.Random(seed)
    order = rng.sample("xyz", 3)
    args = {name: made.array(ROWS * WIDTH, write=name != "x").reshape(ROWS, WIDTH) for name in order}
    made.disturb()
    shift, blocks = rng.choice([(0, ROWS), (0, ROWS), (1, ROWS - 1)])
    with np.errstate(all="ignore"):
        count = go(args["x"], args["y"], args["z"], shift, blocks)
    found = [args[name].tobytes() for name in "xyz"]
    found += [path.read_bytes() for path in sorted(folder.iterdir()) if path.exists()]
    args.clear()
    made.close()
    return found, made.kinds, count or 0


def compare(seeds: range, folder: Path, monkeypatch: pytest.MonkeyPatch, where: Any = None) -> None:
    program = mixes.compile(pto.f32, pto.f32, pto.f32, 1)
    tasks = files = 0

    def plain(x: Any, y: Any, z: Any, shift: int, blocks: int) -> None:
        program.launch([x, y, z, shift], blocks)

    def in_order(x: Any, y: Any, z: Any, shift: int, blocks: int) -> None:
        program.launch([x, y, z, shift], blocks, chunk=1)

    def divided(x: Any, y: Any, z: Any, shift: int, blocks: int) -> int:
        nonlocal files
        executor = Inline() if where is None else where
        launch(program, [x, y, z, shift], blocks, executor=executor, jobs=2, say=lambda _: None)
        sent = getattr(executor, "tasks", [])
        files += any("file" in (a.get("source") or a.get("target") or ()) for task in sent for a in task.given["args"])
        return len(sent)

    for seed in seeds:
        monkeypatch.setattr(arrays, "SMALL", seed % 2 << 16)
        by_numpy, kinds, _ = left_by(by_hand, seed, folder / f"{seed} by hand")
        one_by_one, _, _ = left_by(in_order, seed, folder / f"{seed} in order")
        assert one_by_one == by_numpy, (seed, kinds)
        wanted, _, _ = left_by(plain, seed, folder / f"{seed} plain")
        other, _, count = left_by(divided, seed, folder / f"{seed} divided")
        assert other == wanted, (seed, kinds)
        tasks += count > 1
    assert where or len(seeds) // 10 < tasks < len(seeds) * 9 // 10
    assert where or files > len(seeds) // 20


def test_random_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(40), tmp_path, monkeypatch)


def test_random_memories_on_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(60, 64), tmp_path, monkeypatch, "processes")


@pytest.mark.campaign
def test_many_random_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(1000, 6000), tmp_path, monkeypatch)


# --- files -----------------------------------------------------------------------------------------------------------


def on_file(path: Path, first: int = 0, mode: Any = "r+") -> np.ndarray:
    data = np.random.default_rng(1).integers(0, 99, 4 * PAGE // 4).astype(np.float32)
    data.tofile(path)
    return np.memmap(path, np.float32, mode, 4 * first, (40, 32))


@pytest.mark.parametrize("first", [0, 1, 40, PAGE // 4, PAGE // 4 + 3, 2 * PAGE // 4 + 100])
@pytest.mark.parametrize("skip", [0, 3, 40])
def test_where_an_array_begins_in_its_file(tmp_path: Path, first: int, skip: int) -> None:
    x = on_file(tmp_path / "f", first)[: 40 - skip % 40].reshape(-1)[skip:]
    for view in (x, np.asarray(x), x.view(np.uint32)):
        given = describe_file(view)
        assert given is not None
        assert (given["file"], given["offset"]) == (str(tmp_path / "f"), 4 * (first + skip))
        assert open_file(given, x.nbytes, write=False).tobytes() == x.tobytes()


def test_only_memory_of_a_file_is_a_file(tmp_path: Path) -> None:
    x = on_file(tmp_path / "f")
    for other in (np.zeros(40), on_file(tmp_path / "g", mode="c"), np.array(x), arrays.empty(4096)):
        assert describe_file(other) is None


def test_a_file_that_was_replaced_is_not_opened(tmp_path: Path) -> None:
    x = on_file(tmp_path / "f")
    given = describe_file(x)
    os.replace(tmp_path / "f", tmp_path / "kept")
    assert describe_file(x) == {**(given or {}), "file": str(tmp_path / "kept")}
    on_file(tmp_path / "new")
    os.replace(tmp_path / "new", tmp_path / "f")
    assert given is not None
    with pytest.raises(MissingError):
        open_file(given, x.nbytes, write=False)
    (tmp_path / "kept").unlink()
    assert describe_file(x) is None


@pytest.mark.parametrize("what", ["gone", "pipe", "folder", "size", "device", "inode", "machine"])
def test_another_file_is_missing(tmp_path: Path, what: str) -> None:
    x = on_file(tmp_path / "f")
    given = describe_file(x)
    assert given is not None
    if what in ("gone", "pipe", "folder"):
        (tmp_path / "f").unlink()
        {"gone": lambda _: None, "pipe": os.mkfifo, "folder": os.mkdir}[what](tmp_path / "f")
        assert describe_file(x) is None
    else:
        position = ["device", "inode", "size", "machine"].index(what)
        given["identity"][position] = "other" if what == "machine" else given["identity"][position] + 1
    for write in (False, True):
        with pytest.raises(MissingError):
            open_file(given, x.nbytes, write=write)


def test_what_is_read_from_a_file_that_was_replaced(tmp_path: Path) -> None:
    """The array keeps the file that it was mapped from."""
    x = on_file(tmp_path / "f", mode="r")
    wanted = x * np.float32(1.5)
    np.full(4 * PAGE // 4, -1, np.float32).tofile(tmp_path / "new")
    os.replace(tmp_path / "new", tmp_path / "f")
    y = np.zeros((40, 32), np.float32)
    rows[10](x, y, 40, 1.5, executor="processes")
    assert (y == wanted).all()


def test_what_is_written_to_a_file_that_was_replaced(tmp_path: Path) -> None:
    x = np.ones((40, 32), np.float32)
    y = on_file(tmp_path / "f")
    np.full(4 * PAGE // 4, -1, np.float32).tofile(tmp_path / "new")
    os.replace(tmp_path / "new", tmp_path / "f")
    rows[10](x, y, 40, 1.5, executor="processes")
    assert (y == 1.5).all()
    assert (np.fromfile(tmp_path / "f", np.float32) == -1).all()


@pytest.mark.parametrize("first", ["x", "y"])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_two_maps_of_a_file_are_the_same_memory(tmp_path: Path, first: str, mode: Any) -> None:
    on_file(tmp_path / "f")
    os.link(tmp_path / "f", tmp_path / "g")

    def x_of() -> np.ndarray:
        return np.memmap(tmp_path / "f", np.float32, mode, 0, (40, 32))

    def y_of() -> np.ndarray:
        return np.memmap(tmp_path / "g", np.float32, "r+", 4 * 32, (40, 32))

    x, y = (x_of(), y_of()) if first == "x" else (y_of(), x_of())[::-1]
    program = rows.compile(x, y, 40, 1.5)
    wanted = np.fromfile(tmp_path / "f", np.float32).reshape(-1, 32)
    program.launch([wanted[:40], wanted[1:41], 40, 1.5], 10)
    said: list[str] = []
    launch(program, [x, y, 40, 1.5], 10, executor=Inline(), jobs=2, say=said.append)
    assert said == ["this process runs all blocks of rows: arguments x and y overlap"]
    assert np.fromfile(tmp_path / "f", np.float32).tobytes() == wanted.tobytes()


@pto.kernel(target="a5")
def adds(a: pto.Ptr[pto.f32], b: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
    row = pto.get_block_idx()
    t = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH)
    u = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH)
    pto.TLOAD(t, pto.GlobalTensor(a, (8, WIDTH))[row : row + 1])
    pto.TLOAD(u, pto.GlobalTensor(b, (8, WIDTH))[row : row + 1])
    pto.TADD(t, t, u)
    pto.TSTORE(pto.GlobalTensor(y, (8, WIDTH))[row : row + 1], t)


@pytest.mark.parametrize(("places", "told"), [((0, 0, 9), ""), ((0, 9, 1), "a and y"), ((9, 1, 0), "b and y")])
def test_only_what_is_written_must_lie_apart(places: tuple[int, int, int], told: str) -> None:
    memory = np.random.default_rng(1).random((20, WIDTH), np.float32)
    args = [memory[first : first + 8] for first in places]
    wanted = memory.copy()
    adds.compile(*args).launch([wanted[first : first + 8] for first in places], 8)
    said: list[str] = []
    executor = Inline()
    launch(adds.compile(*args), args, 8, executor=executor, jobs=2, say=said.append)
    assert memory.tobytes() == wanted.tobytes()
    assert said == [f"this process runs all blocks of adds: arguments {told} overlap"] * bool(told)
    assert len(executor.tasks) == (0 if told else 8)


def test_the_writer_may_come_first() -> None:
    @pto.kernel(target="a5")
    def back(y: pto.Ptr[pto.f32], x: pto.Ptr[pto.f32]) -> None:
        row = pto.get_block_idx()
        t = pto.Tile(pto.TileType.Vec, pto.f32, 1, WIDTH)
        pto.TLOAD(t, pto.GlobalTensor(x, (8, WIDTH))[row : row + 1])
        pto.TSTORE(pto.GlobalTensor(y, (8, WIDTH))[row : row + 1], t)

    memory = np.random.default_rng(1).random((9, WIDTH), np.float32)
    wanted = memory.copy()
    back.compile(pto.f32, pto.f32).launch([wanted[1:], wanted[:8]], 8)
    said: list[str] = []
    args = [memory[1:], memory[:8]]
    launch(back.compile(*args), args, 8, executor=Inline(), jobs=2, say=said.append)
    assert said == ["this process runs all blocks of back: arguments y and x overlap"]
    assert memory.tobytes() == wanted.tobytes()


def test_views_with_strides_are_refused_as_ever(tmp_path: Path) -> None:
    x = on_file(tmp_path / "f")[:, ::2]
    with pytest.raises(pto.DiagnosticError, match="not contiguous"):
        launch(rows.compile(x, x, 40, 1.5), [x, x.copy(), 40, 1.5], 10, executor=Inline(), jobs=2)


@pytest.mark.parametrize("second", [{"offset": PAGE}, {"offset": 2 * PAGE}, {"offset": PAGE, "path": "other"}])
def test_mappings_beside_each_other_are_one_only_if_the_file_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: dict[str, Any]
) -> None:
    x = on_file(tmp_path / "f")
    (whole,) = (buffers.pieces([x]) or [])[0]
    first = whole._replace(end=whole.start + PAGE)
    parts = [first, first._replace(start=first.end, end=first.end + PAGE, **second)]
    own = buffers.pieces
    monkeypatch.setattr(arrays, "pieces", lambda given: [parts] if given[0] is x else own(given))
    assert (describe_file(x) is not None) == (second == {"offset": PAGE})


def test_a_file_whose_name_is_what_the_system_calls_a_deleted_one(tmp_path: Path) -> None:
    x = on_file(tmp_path / "f")
    (tmp_path / "f").unlink()
    on_file(tmp_path / "f (deleted)")
    assert describe_file(x) is None
