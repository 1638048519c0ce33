"""Which arguments have bytes in common: what is written through one is seen through the other."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.machine import buffers
from ptokit.machine.buffers import overlaps

from .mapped import PAGE, Memories


def seen(a: np.ndarray, b: np.ndarray) -> bool:
    """True if changing `a` changes `b`."""
    before, old = b.tobytes(), a.copy()
    a += 1000
    changed = b.tobytes() != before
    a[:] = old
    return changed


def compare(seeds: range, folder: Path) -> tuple[int, int]:
    """How many pairs have bytes in common, and how many are at different addresses."""
    common = apart = 0
    for seed in seeds:
        (folder / str(seed)).mkdir()
        made = Memories(seed, folder / str(seed))
        written = [made.rng.random() < 0.5 for _ in range(4)]
        arrays = [made.array(made.rng.choice([4, 16, 64, PAGE // 4 + 8]), write=write) for write in written]
        made.disturb()
        own = [a for a, kind in zip(arrays, made.kinds) if kind == "private"]
        private = [any(np.shares_memory(a, b) for b in own) for a in arrays]
        found = overlaps(arrays, written)
        for j in range(4):
            for i in range(j):
                told = (i, j) in found
                ends = [e for e in (i, j) if written[e]]
                met = any(seen(arrays[e], arrays[i + j - e]) for e in ends)
                assert told >= met, (seed, i, j, made.kinds)
                if not private[i] and not private[j]:
                    assert told == met, (seed, i, j, made.kinds)
                common += met
                apart += met and not np.shares_memory(arrays[i], arrays[j])
        del arrays
        made.close()
    return common, apart


def test_random_memories(tmp_path: Path) -> None:
    common, apart = compare(range(60), tmp_path)
    assert common > 30
    assert apart > 10


@pytest.mark.campaign
def test_many_random_memories(tmp_path: Path) -> None:
    compare(range(1000, 4000), tmp_path)


def two(path: Path, first: int, second: int, elements: int = 8) -> list[np.ndarray]:
    np.zeros(3 * PAGE, np.uint8).tofile(path)
    return [np.memmap(path, np.uint8, "r+", offset, (elements,)) for offset in (first, second)]


NEAR = [(0, 0, True), (0, 7, True), (7, 0, True), (0, 8, False), (8, 0, False)]
FAR = [(PAGE - 4, PAGE, True), (PAGE, PAGE - 4, True), (PAGE, 0, False), (2 * PAGE + 3, 2 * PAGE + 10, True)]


@pytest.mark.parametrize(("first", "second", "met"), [*NEAR, *FAR, (2 * PAGE, PAGE, False)])
def test_edges(tmp_path: Path, first: int, second: int, met: bool) -> None:
    assert overlaps(two(tmp_path / "f", first, second), [False, True]) == [(0, 1)] * met
    assert overlaps(two(tmp_path / "f", first, second), [True, False]) == [(0, 1)] * met
    assert overlaps(two(tmp_path / "f", first, second), [False, False]) == []


def test_plain_arrays_do_not_ask_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "TABLE", None)
    x = np.zeros(9)
    assert overlaps([x, x[3:], np.zeros(9)], [True, False, True]) == [(0, 1)]
    assert overlaps([x[:3], x[3:]], [True, True]) == []


def test_where_the_system_does_not_tell_all_files_count_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "TABLE", tmp_path / "none")
    a, b = two(tmp_path / "f", 0, PAGE)
    x = np.zeros(9)
    assert overlaps([a, x, b, x], [False, False, True, False]) == [(0, 2)]
    assert overlaps([a, x, x[1:]], [True, False, True]) == [(1, 2)]


def test_a_name_with_strange_letters(tmp_path: Path) -> None:
    path = tmp_path / "a\nb (deleted)"
    a, b = two(path, 0, 4)
    found = buffers.pieces([a, b])
    assert found is not None
    assert [piece.path for part in found for piece in part] == [str(path)] * 2
    os.unlink(path)
    assert overlaps([a, b], [True, True]) == [(0, 1)]


def test_parts_of_a_mapping_with_other_rights(tmp_path: Path) -> None:
    """The system keeps what is advised differently as several mappings."""
    np.zeros(4 * PAGE, np.uint8).tofile(tmp_path / "f")
    with (tmp_path / "f").open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0)
    mapping.madvise(mmap.MADV_RANDOM, PAGE, PAGE)
    whole = np.frombuffer(mapping, np.uint8)
    other = np.memmap(tmp_path / "f", np.uint8, "r+", 3 * PAGE + 5, (8,))
    found = buffers.pieces([whole])
    assert found is not None
    assert len(found[0]) == 3
    assert overlaps([whole, other], [True, False]) == [(0, 1)]
    assert overlaps([whole[: 3 * PAGE + 5], other], [True, False]) == []


@pto.kernel(target="a5")
def keeps(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32]) -> None:
    """The tile holds what x was before y is written."""
    old = pto.Tile(pto.TileType.Vec, pto.f32, 4, 32)
    new = pto.Tile(pto.TileType.Vec, pto.f32, 4, 32)
    pto.TLOAD(old, pto.GlobalTensor(x, (4, 32)))
    pto.TEXPANDS(new, 7.0)
    pto.TSTORE(pto.GlobalTensor(y, (4, 32)), new)
    pto.TSTORE(pto.GlobalTensor(z, (4, 32)), old)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_tile_keeps_what_a_second_map_of_the_file_changes(tmp_path: Path, backend: str) -> None:
    np.arange(128, dtype=np.float32).tofile(tmp_path / "f")
    x, y = (np.memmap(tmp_path / "f", np.float32, "r+", 0, (4, 32)) for _ in range(2))
    z = np.zeros((4, 32), np.float32)
    keeps.compile(x, y, z).launch([x, y, z], backend=backend)
    assert z.reshape(-1).tolist() == list(range(128))
    assert (x == 7).all()
