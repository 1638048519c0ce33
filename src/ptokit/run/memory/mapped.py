"""Arguments that are mapped from files: what a launch has gone through need not stay in memory."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

REST_SECONDS = 0.1
"""How often pages are given back: often enough for the fastest launch to hold some hundred megabytes of them."""


@contextmanager
def pages_given_back(args: Sequence[Any]) -> Iterator[None]:
    """While a launch runs, let the system take the pages of mapped arguments again; what was written is in the file."""
    shared = [a for a in args if isinstance(a, np.memmap) and a.mode != "c"]  # a private copy would be lost
    maps = [m for a in shared if (m := getattr(a, "_mmap", None)) is not None]
    if not maps or not hasattr(mmap, "MADV_DONTNEED"):  # as on Windows
        yield
        return
    over = threading.Event()

    def give_back() -> None:
        while not over.wait(REST_SECONDS):
            for mapping in maps:
                mapping.madvise(mmap.MADV_DONTNEED)

    worker = threading.Thread(target=give_back, daemon=True)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()
