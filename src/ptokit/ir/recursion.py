"""Room on Python's stack for whatever walks over regions inside each other."""

from __future__ import annotations

import sys

SHALLOW = 16
"""Regions as deep as this, which is more than programs have, need no more room than Python gives."""

_FRAMES = 5000  # 200 levels of regions, the most that text has, need 1500: seven functions that call each other


def make_room() -> None:
    """Raise the interpreter's recursion limit: for who meets regions nested more than `SHALLOW` deep.

    A host of the library that reads no such program keeps its limit. It is never lowered again, because it is one
    number for all threads and what has been read may be checked or printed at any time.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
