"""Object code on disk: used where it is whole and ours, ignored otherwise."""

from __future__ import annotations

import errno
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ptokit.backends.native import compiler


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTOKIT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


class Maker:
    """Makes code, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, text: str) -> bytes:
        self.times += 1
        return text.encode() * 9


def entry(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_an_entry_is_used_again(folder: Path) -> None:
    make = Maker()
    assert [compiler.cached("text", "here", make) for _ in range(3)] == [b"text" * 9] * 3
    assert make.times == 1


@pytest.mark.parametrize(("text", "identity"), [("other", "here"), ("text", "there")])
def test_what_decides_the_code_is_in_the_key(folder: Path, text: str, identity: str) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    compiler.cached(text, identity, make)
    assert make.times == 2


def broken(data: bytes) -> list[bytes]:
    changed = bytearray(data)
    changed[-1] ^= 1
    return [b"", data[:-1], data + b"x", bytes(changed), b"something else", data[1:]]


@pytest.mark.parametrize("way", range(6))
def test_a_broken_entry_is_replaced(folder: Path, way: int) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    path = entry(folder)
    whole = path.read_bytes()
    path.write_bytes(broken(whole)[way])
    assert compiler.cached("text", "here", make) == b"text" * 9
    assert make.times == 2
    assert entry(folder).read_bytes() == whole


def test_an_entry_of_another_key_is_not_used(folder: Path) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    data = entry(folder).read_bytes()
    compiler.cached("more", "here", make)
    for path in folder.iterdir():
        path.write_bytes(data)
    compiler.cached("more", "here", make)
    assert make.times == 3


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_an_entry_that_others_may_write_to_is_not_used(folder: Path) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    entry(folder).chmod(0o666)
    compiler.cached("text", "here", make)
    assert make.times == 2


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PTOKIT_CACHE", str(tmp_path / "file" / "below"))
    assert compiler.cached("text", "here", Maker()) == b"text" * 9


# --- where it is -----------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nobody knows this user, as in a container that is started with a number for a user."""
    for name in ("PTOKIT_CACHE", "XDG_CACHE_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)

    def unknown(_: object) -> None:
        raise KeyError("getpwuid(): uid not found: 12345")

    if sys.platform != "win32":
        import pwd

        monkeypatch.setattr(pwd, "getpwuid", unknown)
        monkeypatch.setattr(pwd, "getpwnam", unknown)
    return monkeypatch


def test_a_user_without_a_home_has_machine_code_without_a_cache(stranger: pytest.MonkeyPatch) -> None:
    make = Maker()
    assert [compiler.cached("text", "here", make) for _ in range(2)] == [b"text" * 9] * 2
    assert make.times == 2


def test_such_a_user_can_name_a_folder(stranger: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stranger.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiler.folder() == tmp_path / "ptokit"
    stranger.setenv("PTOKIT_CACHE", str(tmp_path / "c"))
    assert compiler.folder() == tmp_path / "c"


@pytest.mark.parametrize(("name", "value"), [("HOME", "here"), ("XDG_CACHE_HOME", "here")])
def test_a_home_that_is_no_absolute_path_is_none(name: str, value: str, stranger: pytest.MonkeyPatch) -> None:
    stranger.setenv(name, value)
    assert compiler.folder() is None


def test_the_home_is_written_as_shells_do(stranger: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stranger.setenv("HOME", str(tmp_path))
    stranger.chdir(tmp_path)
    stranger.setenv("PTOKIT_CACHE", "~/kept")
    compiler.cached("text", "here", Maker())
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    stranger.setenv("PTOKIT_CACHE", "~nobody-of-this-name/kept")
    assert compiler.folder() is None


# --- what stands in the way ------------------------------------------------------------------------------------------


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(compiler._MARK)
        file.truncate(1 << 42)


def linked(path: Path) -> None:
    path.symlink_to(path.name)


def bound_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


OBSTACLES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": bound_socket,
    "folder": Path.mkdir,
    "loop of links": linked,
    "link to nowhere": lambda path: path.symlink_to("/nonexistent/x"),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "huge file": sparse,
}


@pytest.mark.skipif(sys.platform == "win32", reason="no such files")
@pytest.mark.parametrize("what", OBSTACLES)
def test_what_is_no_entry_holds_nobody_up(what: str, folder: Path) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    path = entry(folder)
    path.unlink()
    OBSTACLES[what](path)
    got: list[bytes] = []
    thread = threading.Thread(
        target=lambda: got.extend(compiler.cached("text", "here", make) for _ in range(3)), daemon=True
    )
    thread.start()
    thread.join(10)
    assert got == [b"text" * 9] * 3
    assert make.times == (4 if what == "folder" else 2)  # a folder stays; all else is replaced
    assert not list(folder.glob("*.part"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_an_entry_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    compiler.cached("text", "here", make)
    assert make.times == 2


def failing(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EMFILE, errno.EDQUOT])
def test_a_folder_that_takes_no_entry_is_no_error(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    monkeypatch.setattr(tempfile, "mkstemp", failing(number))
    assert [compiler.cached("text", "here", make) for _ in range(2)] == [b"text" * 9] * 2
    assert make.times == 2


def test_entries_of_a_read_only_file_system_are_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    compiler.cached("text", "here", make)
    os.utime(entry(folder), (1, 1))
    for name in ("utime", "unlink", "replace", "mkdir"):
        monkeypatch.setattr(os, name, failing(errno.EROFS))
    assert compiler.cached("text", "here", make) == b"text" * 9
    assert make.times == 1


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file may become larger, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    import signal

    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("size", [0, 1, 40, 60])
def test_a_full_disk_keeps_no_half_of_an_entry(size: int, folder: Path) -> None:
    make = Maker()
    with disk_of(size):
        assert compiler.cached("text", "here", make) == b"text" * 9
    assert not list(folder.iterdir())
    compiler.cached("text", "here", make)
    compiler.cached("text", "here", make)
    assert make.times == 2


@pytest.mark.parametrize("seed", range(60))
def test_any_broken_bytes_are_found(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    make = Maker()
    compiler.cached("text", "here", make)
    path = entry(folder)
    whole = path.read_bytes()
    data = bytearray(whole)
    for _ in range(rng.choice([1, 2, 30])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    path.write_bytes(data)
    assert compiler.cached("text", "here", make) == b"text" * 9
    assert make.times == (1 if bytes(data) == whole else 2)


# --- how large it becomes --------------------------------------------------------------------------------------------

KEYS = [f"{number:064x}" for number in range(100)]


def fill(folder: Path, count: int, size: int = 1000, age: int = 10_000) -> None:
    """Entries of `size` bytes, the first of which were used longest ago."""
    for number, key in enumerate(KEYS[:count]):
        compiler.write(folder / f"{key}.o", key, b"x" * (size - compiler._HEAD))
        os.utime(folder / f"{key}.o", (time.time() - age + number,) * 2)


def kept(folder: Path) -> list[int]:
    return sorted(int(path.stem, 16) for path in folder.glob("*.o"))


@pytest.mark.parametrize(
    ("stated", "size"),
    [("", 512 << 20), ("1000", 1000), ("4k", 4096), ("2M", 2 << 20), ("3 GiB", 3 << 30), ("1GB", 1 << 30), ("0", 0)]
    + [(wrong, 512 << 20) for wrong in ("much", "-1", "1T", "1.5G", "9" * 40)],
)
def test_the_allowed_size(stated: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CACHE_SIZE", stated)
    assert compiler.allowed_bytes() == size


def test_the_entries_used_longest_ago_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(folder, 20)
    assert len(kept(folder)) == 20
    assert compiler.read(folder / f"{KEYS[3]}.o", KEYS[3])  # used now
    os.utime(folder / f"{KEYS[5]}.o", (time.time() + 1e6,) * 2)  # by a clock that was wrong
    assert compiler.read(folder / f"{KEYS[5]}.o", KEYS[5])
    monkeypatch.setenv("PTOKIT_CACHE_SIZE", "10000")
    monkeypatch.setattr(compiler, "_written", {})
    compiler.write(folder / f"{KEYS[50]}.o", KEYS[50], b"x" * (1000 - compiler._HEAD))
    assert kept(folder) == [3, 5, 15, 16, 17, 18, 19, 50]
    assert (folder / f"{KEYS[5]}.o").stat().st_mtime < time.time() + 1


def test_a_folder_within_its_size_keeps_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CACHE_SIZE", "20000")
    fill(folder, 20)
    assert kept(folder) == list(range(20))


def test_the_size_holds_in_a_long_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CACHE_SIZE", "16000")
    largest = 0
    for number in range(100):
        compiler.write(folder / f"{KEYS[number]}.o", KEYS[number], b"x" * (1000 - compiler._HEAD))
        os.utime(folder / f"{KEYS[number]}.o", (1000 + number,) * 2)
        largest = max(largest, len(kept(folder)))
    assert 16 <= largest <= 18
    assert kept(folder)[-1] == 99


def test_the_size_is_looked_at_seldom(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looked.append(path) or scan(path))
    monkeypatch.setattr(compiler, "_written", {})
    fill(folder, 50)
    for key in KEYS[:50]:
        assert compiler.read(folder / f"{key}.o", key)
    assert len(looked) == 1


def test_only_files_of_the_cache_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    mine = ["notes.txt", "a.o", "tmp", "tmpx", f"{KEYS[0]}.o.bak", "sub.part", f"{KEYS[1].upper().replace('0', 'A')}.o"]
    for name in [*mine, "tmpabcd1234.part", "tmpyoung123.part"]:
        (folder / name).write_bytes(b"x" * 100)
        os.utime(folder / name, (1, 1))
    os.utime(folder / "tmpyoung123.part")
    (folder / f"{KEYS[60]}.o").mkdir()
    (folder / f"{KEYS[61]}.o").symlink_to("notes.txt")
    monkeypatch.setenv("PTOKIT_CACHE_SIZE", "1")
    monkeypatch.setattr(compiler, "_written", {})
    compiler.write(folder / f"{KEYS[2]}.o", KEYS[2], b"x")
    left = {path.name for path in folder.iterdir()}
    assert left == {*mine, "tmpyoung123.part", f"{KEYS[60]}.o", f"{KEYS[61]}.o"}


WRITER = """
import os, random, sys
from pathlib import Path
from ptokit.backends.native import compiler
rng = random.Random(int(sys.argv[1]))
for _ in range(400):
    text = str(rng.randrange(60))
    made = compiler.cached(text, "here", lambda text: text.encode() * 500)
    assert made == text.encode() * 500, text
    if rng.random() < 0.02:
        entries = list(compiler.folder().glob("*.o"))
        path = rng.choice(entries) if entries else None
        if path is not None:
            try:
                rng.choice([lambda: path.write_bytes(b"half"), path.unlink])()
            except OSError:
                pass
"""


def test_processes_that_write_read_and_remove_at_once(folder: Path) -> None:
    environment = {**os.environ, "PTOKIT_CACHE_SIZE": "20000"}
    command = [sys.executable, "-c", WRITER]
    running = [subprocess.Popen([*command, str(n)], env=environment, stderr=subprocess.PIPE) for n in range(4)]
    assert [process.communicate(timeout=60)[1] for process in running] == [b""] * 4
    assert [process.returncode for process in running] == [0] * 4
    assert sum(path.stat().st_size for path in folder.iterdir()) < 40_000
    assert not list(folder.glob("*.part"))


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CACHE", "off")
    make = Maker()
    compiler.cached("text", "here", make)
    compiler.cached("text", "here", make)
    assert make.times == 2


def test_what_llvm_refuses_runs_on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptokit.backends.native import compiler
    from ptokit.diagnostics import DiagnosticError

    from ..run.test_backends import LOOP, PTRS, compiled, rows

    def refuse(text: str) -> bytes:
        raise RuntimeError("no")

    pytest.importorskip("llvmlite")
    monkeypatch.setattr(compiler, "object_code", refuse)
    monkeypatch.setenv("PTOKIT_CACHE", "off")
    monkeypatch.setenv("PTOKIT_BACKEND", "native")
    y = rows()
    program = compiled(PTRS, LOOP)
    program.launch([rows(), y, 2])
    assert (y == 4).all()
    with pytest.raises(DiagnosticError, match="LLVM does not compile it: no"):
        program.launch([rows(), rows(), 2], backend="native")
