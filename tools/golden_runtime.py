"""What host programs of golden suites call: files, memory, and the runtime of the device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from golden_words import SLACK, NotReplayedError, Place, Pointer, as_bytes, as_number, size_of

if TYPE_CHECKING:
    from golden_program import Program


def _put(place: Any, value: Any) -> None:
    """Store through the address of a variable."""
    if isinstance(place, Place):
        if "held" in place.scope and not place.name:
            place.scope["held"][place.scope["index"]] = value
        else:
            place.scope[place.name] = value
    elif isinstance(place, Pointer):
        raise NotReplayedError("address of an address")


BEHIND = 1 << 18
"""Bytes behind what is allocated on the device, which has whole pages: some kernels read what is there."""


def _allocate(program: Program, place: Any, size: int, *rest: Any) -> int:
    kind = place.kind.rstrip("*[]") if isinstance(place, Place) else ""
    _put(place, Pointer(bytearray(int(size) + (BEHIND if rest else SLACK)), 0, kind if kind != "void" else ""))
    return 0


def _copy(program: Program, dst: Any, src: Any, size: int) -> int:
    data = src.held(size) if isinstance(src, Pointer) else b""
    if isinstance(src, Place):
        data = as_bytes(src.kind, src.scope[src.name])[:size]
    if isinstance(dst, Pointer):
        dst.store(data)
    else:
        dst.scope[dst.name] = as_number(dst.kind, data[: size_of(dst.kind)])
    return 0


def _fill(program: Program, dst: Pointer, value: int, size: int) -> int:
    dst.store(bytes([int(value) & 0xFF]) * int(size))
    return 0


def _text(given: Any) -> str:
    """A text, or what is in an array of characters."""
    return given if isinstance(given, str) else bytes(given.memory).partition(b"\0")[0].decode()


def _read(program: Program, path: Any, size: Any, buffer: Any, room: int) -> bool:
    try:
        data = (program.folder / _text(path)).read_bytes()
    except OSError:
        return False
    if not data or len(data) > room:
        return False
    _copy(program, buffer, Pointer(bytearray(data)), len(data))
    if isinstance(size, Place):
        _put(size, len(data))
    return True


def _write(program: Program, path: Any, buffer: Any, size: int) -> bool:
    if not isinstance(buffer, Pointer):
        return False
    (program.folder / _text(path)).write_bytes(buffer.held(int(size)))
    return True


def _open(program: Program, path: Any, mode: str) -> Path | int:
    file = program.folder / _text(path)
    if "w" in mode:
        file.write_bytes(b"")
    return file if file.exists() else 0


def _append(program: Program, buffer: Pointer, size: int, count: int, file: Path) -> int:
    with file.open("ab") as opened:
        opened.write(buffer.held(size * count))
    return count


def _take(program: Program, buffer: Pointer, size: int, count: int, file: Path) -> int:
    data = file.read_bytes()[: size * count]
    buffer.store(data)
    return len(data) // size


def _directory(program: Program, path: Any, mode: int) -> int:
    (program.folder / _text(path)).mkdir(exist_ok=True)
    return 0


def _format(program: Program, out: Pointer, room: int, form: str, *args: Any) -> int:
    text = form.replace("%zu", "%d").replace("%u", "%d") % args
    out.store(text.encode() + b"\0")
    return len(text)


def _nothing(program: Program, *args: Any) -> int:
    return 0


RUNTIME: dict[str, Callable[..., Any]] = {
    "ReadFile": _read,
    "WriteFile": _write,
    "fopen": _open,
    "fwrite": _append,
    "fread": _take,
    "aclrtMalloc": _allocate,
    "aclrtMallocHost": _allocate,
    "aclrtMemcpy": lambda p, dst, room, src, size, way: _copy(p, dst, src, int(size)),
    "aclrtMemset": lambda p, dst, room, value, size: _fill(p, dst, value, size),
    "memcpy": _copy,
    "memset": _fill,
    "strcmp": lambda p, a, b: int(a != b),
    "strncmp": lambda p, a, b, n: int(a[:n] != b[:n]),
    "string": lambda p, text="": text,
    "to_string": lambda p, n: str(n),
    "getenv": _nothing,
    "atoi": lambda p, text: int(text),
    "mkdir": _directory,
    "snprintf": _format,
    "fill_n": lambda p, to, count, value: to.store(as_bytes(to.kind, value) * int(count)),
    "min": lambda p, a, b: min(a, b),
    "max": lambda p, a, b: max(a, b),
    **dict.fromkeys(
        "fclose aclInit aclFinalize aclrtSetDevice aclrtResetDevice aclrtCreateStream aclrtDestroyStream aclrtFree "
        "aclrtSynchronizeStream aclrtFreeHost aclGetRecentErrMsg aclrtCreateContext aclrtDestroyContext".split(),
        _nothing,
    ),
}
"""By name, without namespace; the first argument is the program."""
