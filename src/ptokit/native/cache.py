"""Machine code on disk, under a key of everything that decides it.

An entry holds a checksum of itself; one that is broken or incomplete is not used, nor one that belongs to somebody else
or that others may write to. Entries are written to a file of their own first and then renamed, so that two processes do
not meet a half.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import ptokit

_MARK = b"ptokit object code 1\n"


def folder() -> Path | None:
    """Where entries are kept; None if that is switched off by ``PTOKIT_CACHE=off``."""
    stated = os.environ.get("PTOKIT_CACHE")
    if stated == "off":
        return None
    if stated:
        return Path(stated)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "ptokit" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ptokit"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ptokit"


def cached(text: str, identity: str, make: Callable[[str], bytes]) -> bytes:
    """Code for `text`, from the cache or made. ``identity``: whatever else decides it."""
    where = folder()
    if where is None:
        return make(text)
    key = hashlib.sha256(f"{ptokit.__version__}\n{identity}\n{text}".encode()).hexdigest()
    path = where / f"{key}.o"
    found = read(path, key)
    if found is None:
        found = make(text)
        write(path, key, found)
    return found


def _own(status: os.stat_result) -> bool:
    """True if the file is ours and nobody else may write to it; where there are no such owners, always."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _checksum(key: str, code: bytes) -> bytes:
    return hashlib.sha256(key.encode() + code).digest()


def read(path: Path, key: str) -> bytes | None:
    """The code of an entry; None if there is none that can be trusted."""
    try:
        with path.open("rb") as file:
            if not _own(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    code = data[len(_MARK) + 32 :]
    if not data.startswith(_MARK) or data[len(_MARK) : len(_MARK) + 32] != _checksum(key, code):
        return None
    return code


def write(path: Path, key: str, code: bytes) -> None:
    """Keep an entry; a folder that cannot be written to is no error."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MARK + _checksum(key, code) + code)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError:
        pass
