"""From LLVM text to machine code, in memory and on disk.

An entry holds a checksum of itself; one that is broken or incomplete is not used, nor one that belongs to somebody else
or that others may write to. Entries are written to a file of their own first and then renamed, so that two processes do
not meet a half. Whatever is wrong with the folder or an entry, code is made again, and nothing waits.

The folder is bounded: a process that adds entries now and then removes those that were used longest ago. The time of an
entry's file is that of its last use.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

import ptokit

# Machine code on disk, under a key of everything that decides it.


_MARK = b"ptokit object code 1\n"
_HEAD = len(_MARK) + 32

DEFAULT_BYTES = 512 << 20
"""How large the folder may become, where ``PTOKIT_CACHE_SIZE`` does not say."""

KEPT_SHARE = 0.8
"""What removing leaves of the allowed size, so that the next entry does not remove again."""

ROUND_BYTES = 32 << 20
"""A process looks at the size of the folder when it first adds an entry, and after so many bytes more, or an eighth of
what is allowed."""

LARGEST_BYTES = 1 << 30
"""No kernel has so much code: a larger file is no entry."""

USED_SECONDS = 3600
"""The time of use of an entry is set anew if it is older than this."""

ABANDONED_SECONDS = 3600
"""A file that was being written for so long has lost its writer."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_written: dict[Path, int] = {}
"""Bytes written to a folder since it was looked at."""


def folder() -> Path | None:
    """Where entries are kept; None if ``PTOKIT_CACHE=off`` says nowhere, or if there is no home to put them."""
    stated = os.environ.get("PTOKIT_CACHE")
    if stated == "off":
        return None
    try:
        if stated:
            return Path(stated).expanduser()
        found = _usual()
    except RuntimeError:  # there is no such user, or nobody knows where ours is at home
        return None
    return found if found.is_absolute() else None


def _usual() -> Path:
    """The place of this system. Raises `RuntimeError` without a home."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "ptokit" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ptokit"
    stated = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(stated) if os.path.isabs(stated) else Path.home() / ".cache") / "ptokit"


def allowed_bytes() -> int:
    """How large the folder may become: ``PTOKIT_CACHE_SIZE``, such as 2G; what is no size counts as not stated."""
    found = re.fullmatch(r"(\d{1,15})\s*([KMG]?)(I?B)?", os.environ.get("PTOKIT_CACHE_SIZE", "").strip().upper())
    return DEFAULT_BYTES if found is None else int(found[1]) * _UNITS[found[2]]


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
        # Opened without waiting: a pipe would have us wait for its writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _own(status) or status.st_size > LARGEST_BYTES:
            return None
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read()
    except OSError:
        return None
    finally:
        os.close(handle)
    code = data[_HEAD:]
    if not data.startswith(_MARK) or data[len(_MARK) : _HEAD] != _checksum(key, code):
        return None
    if abs(time.time() - status.st_mtime) > USED_SECONDS:
        with suppress(OSError):
            os.utime(path)
    return code


def write(path: Path, key: str, code: bytes) -> None:
    """Keep an entry, and the folder within its bound; a folder that cannot be written to is no error."""
    data = _MARK + _checksum(key, code) + code
    with suppress(OSError, ValueError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        allowed = allowed_bytes()
        _written[path.parent] = written = _written.get(path.parent, ROUND_BYTES) + len(data)
        if written > min(ROUND_BYTES, allowed // 8):
            _written[path.parent] = 0
            _bound(path.parent, allowed)


def _bound(where: Path, allowed: int) -> None:
    """Remove the entries that were used longest ago, where all of them are larger than allowed, and abandoned files.

    Only files that this module wrote are touched. Several processes may do so at once: an entry that another one has
    removed is gone, and code that was read from one stays good.
    """
    found: list[tuple[float, int, str]] = []
    now = time.time()
    with os.scandir(where) as entries:
        for entry in entries:
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    continue
                if _ENTRY.fullmatch(entry.name):
                    found.append((status.st_mtime, status.st_size, entry.path))
                elif _PART.fullmatch(entry.name) and now - status.st_mtime > ABANDONED_SECONDS:
                    os.unlink(entry.path)
    total = sum(size for _, size, _ in found)
    if total <= allowed:
        return
    for _, size, path in sorted(found):
        if total <= allowed * KEPT_SHARE:
            break
        with suppress(OSError):
            os.unlink(path)
        total -= size


_ENTRY = re.compile(r"[0-9a-f]{64}\.o")
_PART = re.compile(r"tmp\w+\.part")


# From LLVM text to machine code in memory.


LEVEL = 2


@cache
def host() -> Any:
    """The machine that code is made for: this one."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features(), opt=LEVEL, jit=True)


@cache
def features() -> str:
    """What this processor knows, without vectors of 512 bits."""
    found: str = llvm.get_host_cpu_features().flatten()
    return found


def has(feature: str) -> bool:
    """True if this processor knows something."""
    return bool(llvm.get_host_cpu_features().get(feature))


def identity() -> str:
    """Everything but the text that decides about the code."""
    version = ".".join(map(str, llvm.llvm_version_info))
    parts = (llvmlite.__version__, version, llvm.get_default_triple(), llvm.get_host_cpu_name(), features(), LEVEL)
    return "\n".join(map(str, parts))


def triple() -> str:
    found: str = llvm.get_default_triple()
    return found


def object_code(text: str) -> bytes:
    """Machine code for a module. Raises `RuntimeError` if LLVM refuses the text."""
    machine = host()
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization = False  # vectors are written as such
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


class Loaded:
    """Machine code in memory, as long as the object lives. ``call(state, first, last, arguments)``."""

    def __init__(self, code: bytes) -> None:
        empty = llvm.parse_assembly(f'target triple = "{triple()}"')
        self._engine = llvm.create_mcjit_compiler(empty, host_copy())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.call = self._function("run")
        self.scan = self._function("scan")

    def _function(self, name: str) -> Any:
        """A function of the code; calling it does nothing but fail where there is none."""
        signature = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        return signature(self._engine.get_function_address(f"ptokit_{name}"))


def host_copy() -> Any:
    """A machine of its own for an engine, which takes possession of it."""
    host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features(), opt=LEVEL, jit=True)
