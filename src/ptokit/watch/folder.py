"""`Folder`: everything that a run writes, instruction by instruction, as files in a directory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from .seen import Seen

INDEX = "index.jsonl"


class Folder:
    """Call it with every `Seen`: contents go to ``NUMBER-INSTRUCTION-NAME.npy``, a line about each to ``index.jsonl``.

    Elements of types that NumPy cannot save (bf16, f8) are saved as float32, which holds them exactly; the index
    names the element type. A context manager; the index is complete when it is left, also by an exception.
    """

    def __init__(self, directory: Path) -> None:
        self.directory, self.count, self.bytes = directory, 0, 0
        directory.mkdir(parents=True, exist_ok=True)
        self._index = (directory / INDEX).open("x", encoding="utf-8")

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._index.close()

    def __call__(self, seen: Seen) -> None:
        self.count += 1
        file = None
        if seen.array is not None:
            array = seen.array if seen.array.dtype.kind in "biuf" else seen.array.astype(np.float32)
            name = re.sub(r"[^\w.-]+", "_", seen.name or seen.operand)[:60]
            file = f"{self.count:06}-{seen.instruction}-{name}.npy"
            np.save(self.directory / file, array, allow_pickle=False)
            self.bytes += array.nbytes
        line: dict[str, Any] = {"number": self.count, "file": file, "name": seen.name, "instruction": seen.instruction}
        line |= {"operand": seen.operand, "source": seen.location.file, "line": seen.line, "block": seen.block}
        line |= {"rank": seen.rank} if seen.rank >= 0 else {}
        line |= {"core": seen.core, "loops": {name: int(value) for name, value in seen.loops}, "kind": seen.kind}
        line |= {"dtype": None if seen.dtype is None else str(seen.dtype), "address": seen.address}
        self._index.write(json.dumps(line) + "\n")
