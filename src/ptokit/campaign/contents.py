"""Contents of files as digests, each file read once as long as it stays the same."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from typing import Any

ABSENT = "absent"
"""Instead of a digest where there is no such file, or one that cannot be read."""

SETTLED_SECONDS = 2.0
"""How long a file must have been left alone for its times to tell the next change: no file system has longer ticks."""

_CHUNK = 1 << 20

Stamp = tuple[int, ...]
"""Device, inode, size, and the times of the last change of contents and of anything (ns), which nobody can set back."""

_known: dict[str, tuple[Stamp, str]] = {}


def digest(data: bytes | str) -> str:
    """128 bits of SHA-256 in hexadecimal."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()[:32]


def digest_of_file(path: str) -> str:
    """The digest of what a file holds; `ABSENT` if there is none to read. ``{rank}`` in the path: of all ranks' files.

    A file is read in pieces, and not again while its stamp stays the same, if the stamp is old enough to be trusted.
    """
    if "{rank}" in path:
        return _of_ranks(path)
    try:
        # A pipe must not hold us up: it is opened without waiting, and then refused.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return ABSENT
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return ABSENT
        known = _known.get(path)
        if known is not None and known[0] == _stamp(before):
            return known[1]
        state, now = hashlib.sha256(), time.time()
        while piece := os.read(handle, _CHUNK):
            state.update(piece)
        after = os.fstat(handle)
    except OSError:
        return ABSENT
    finally:
        os.close(handle)
    found = state.hexdigest()[:32]
    if _stamp(before) == _stamp(after) and now - max(after.st_mtime, after.st_ctime) > SETTLED_SECONDS:
        _known[path] = (_stamp(after), found)
    else:
        _known.pop(path, None)
    return found


def digests(paths: Iterable[str]) -> dict[str, str]:
    """The digests of those files that are there."""
    return {path: found for path in sorted(paths) if (found := digest_of_file(path)) != ABSENT}


def remembered(paths: Iterable[str]) -> dict[str, Any]:
    """What `remember` on another process can use, as JSON: of each file its stamp and its digest."""
    return {path: [list(_known[path][0]), _known[path][1]] for path in paths if path in _known}


def remember(entries: Mapping[str, Any]) -> None:
    """Take over what `remembered` gave; it counts where a file has the same stamp here."""
    for path, entry in entries.items():
        if path not in _known:
            _known[path] = (tuple(entry[0]), entry[1])


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _of_ranks(path: str) -> str:
    """One digest of the files of all ranks that are there."""
    names = sorted(glob.glob(glob.escape(path).replace("{rank}", "[0-9]*")))
    return digest("\n".join(f"{name} {digest_of_file(name)}" for name in names)) if names else ABSENT
