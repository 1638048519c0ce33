"""Arrays with all kinds of memory, some of it the same: files under several names, views, shared and private maps."""

from __future__ import annotations

import mmap
import os
import random
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np

PAGE = mmap.ALLOCATIONGRANULARITY


class Memories:
    """Makes arrays of f32 in a folder; the same seed makes the same in another folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.folder = folder
        self.files: list[Path] = []
        self.arrays: list[np.ndarray] = []
        self.kinds: list[str] = []
        self._keep: list[Any] = []
        self._shared: list[SharedMemory] = []
        self._made = 0
        for _ in range(self.rng.choice([1, 1, 2])):
            self._file(self._name())

    def _name(self) -> Path:
        self._made += 1
        return self.folder / f"file {self._made}"

    def _file(self, path: Path) -> None:
        """A file of several pages and a bit, and with other names if luck has it."""
        data = np.random.default_rng(self._made).integers(0, 99, 4 * PAGE // 4 + 32).astype(np.float32)
        data.tofile(path)
        self.files.append(path)
        if self.rng.random() < 0.3:
            other = self._name()
            (os.link if self.rng.random() < 0.5 else os.symlink)(path, other)
            self.files.append(other)

    def array(self, elements: int, *, write: bool) -> np.ndarray:
        """One more array of so many elements, at most 4 pages."""
        rng = self.rng
        kind = rng.choice(["map", "map", "map", "private", "plain", "raw", "shared", "again", "view"])
        if kind in ("again", "view") and not any(a.flags.writeable or not write for a in self.arrays):
            kind = "map"
        first = rng.choice([0, 1, 16, 32, PAGE // 4 - 8, PAGE // 4, PAGE // 4 + 16, 2 * PAGE // 4 + 32])
        path = rng.choice(self.files)
        if kind == "map":
            mode = rng.choice(["r+"] if write else ["r", "r+", "r+"])
            array: np.ndarray = np.memmap(path, np.float32, mode, 4 * first, (elements,))
        elif kind == "private":
            array = np.memmap(path, np.float32, "c", 4 * first, (elements,))
            if rng.random() < 0.5:
                array[rng.randrange(elements)] += 1  # the page is no longer that of the file
        elif kind == "raw":  # of a mapping that no array names
            with path.open("r+b") as file:
                mapping = mmap.mmap(file.fileno(), 0)
            array = np.frombuffer(mapping, np.float32)[first : first + elements]
        elif kind == "shared":
            array = self._of_shared_memory(elements, first % 100)
        elif kind in ("again", "view"):
            base = rng.choice([a for a in self.arrays if a.flags.writeable or not write])
            array = np.asarray(base) if kind == "view" else base
            array = array.reshape(-1)
            start = rng.choice([0, 0, 8, 16, len(array) // 2])
            array = array[start : start + elements]
            if len(array) < elements:
                array = base.reshape(-1)[:elements]
        else:
            array = np.arange(elements, dtype=np.float32)
        if len(array) < elements:
            array = np.arange(elements, dtype=np.float32)
        self.arrays.append(array)
        self.kinds.append(kind)
        return array

    def _of_shared_memory(self, elements: int, first: int) -> np.ndarray:
        """Part of a block of shared memory, new or opened a second time."""
        if self._shared and self.rng.random() < 0.6:
            memory = SharedMemory(self._shared[0].name)
        else:
            memory = SharedMemory(create=True, size=8 * PAGE)
            self._shared.append(memory)
        self._keep.append(memory)
        return np.ndarray(elements, np.float32, memory.buf, 4 * first)

    def disturb(self) -> None:
        """What happens to files while they are mapped: some are replaced, or gone."""
        for path in list(self.files):
            chance = self.rng.random()
            if chance < 0.25:
                new = self._name()
                np.full(4 * PAGE // 4 + 32, -1, np.float32).tofile(new)
                os.replace(new, path)
            elif chance < 0.4:
                path.unlink()

    def close(self) -> None:
        """Give shared memory back."""
        self.arrays.clear()
        for memory in self._shared:
            memory.unlink()
        for memory in self._keep:
            try:
                memory.close()
            except BufferError:  # an array of it is still there
                memory.close = lambda: None
