"""Which files a function opens to read, so that a change of them can be told later."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_SYSTEM = ("/proc/", "/sys/", "/dev/")
_CODE = (".py", ".pyc", ".so", ".pyd")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

_listeners: list[set[str]] = []


@contextmanager
def files_read() -> Iterator[set[str]]:
    """The paths of files that this process opens to read in the meantime, without those of code."""
    _listen()
    found = set[str]()
    _listeners.append(found)
    try:
        yield found
    finally:
        _listeners.remove(found)


@cache
def _listen() -> None:
    """Hear of every file that is opened; Python has no way to end that."""
    sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _listeners:
        return
    path, mode, flags = arguments
    if not isinstance(path, (str, bytes)):
        return
    new = bool(set("wax") & set(mode)) if isinstance(mode, str) else isinstance(flags, int) and bool(flags & _NEW)
    name = os.fsdecode(path)
    if not new and not name.endswith(_CODE) and not name.startswith(_SYSTEM):
        for found in _listeners:
            found.add(name)
