"""Arguments that are mapped from files: what a launch has gone through need not stay in memory."""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

REST_SECONDS = 0.1
"""How often pages are given back: often enough for the fastest launch to hold some hundred megabytes of them."""


class MappedArguments:
    """The arguments of a launch that are mapped from files and shared with them."""

    def __init__(self, args: Sequence[Any]) -> None:
        shared = [a for a in args if isinstance(a, np.memmap) and a.mode != "c"]  # a private copy would be lost
        self._maps = [m for a in shared if (m := getattr(a, "_mmap", None)) is not None]
        if not hasattr(mmap, "MADV_DONTNEED"):  # Windows
            self._maps = []
        self._next = time.monotonic() + REST_SECONDS

    def give_back(self) -> None:
        """Let the system take the pages seen so far; what was written is in the file. Does so now and then only."""
        if self._maps and time.monotonic() >= self._next:
            for mapping in self._maps:
                mapping.madvise(mmap.MADV_DONTNEED)
            self._next = time.monotonic() + REST_SECONDS
