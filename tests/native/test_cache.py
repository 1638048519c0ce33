"""Object code on disk: used where it is whole and ours, ignored otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptokit.native import cache


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
    assert [cache.cached("text", "here", make) for _ in range(3)] == [b"text" * 9] * 3
    assert make.times == 1


@pytest.mark.parametrize(("text", "identity"), [("other", "here"), ("text", "there")])
def test_what_decides_the_code_is_in_the_key(folder: Path, text: str, identity: str) -> None:
    make = Maker()
    cache.cached("text", "here", make)
    cache.cached(text, identity, make)
    assert make.times == 2


def broken(data: bytes) -> list[bytes]:
    changed = bytearray(data)
    changed[-1] ^= 1
    return [b"", data[:-1], data + b"x", bytes(changed), b"something else", data[1:]]


@pytest.mark.parametrize("way", range(6))
def test_a_broken_entry_is_replaced(folder: Path, way: int) -> None:
    make = Maker()
    cache.cached("text", "here", make)
    path = entry(folder)
    whole = path.read_bytes()
    path.write_bytes(broken(whole)[way])
    assert cache.cached("text", "here", make) == b"text" * 9
    assert make.times == 2
    assert entry(folder).read_bytes() == whole


def test_an_entry_of_another_key_is_not_used(folder: Path) -> None:
    make = Maker()
    cache.cached("text", "here", make)
    data = entry(folder).read_bytes()
    cache.cached("more", "here", make)
    for path in folder.iterdir():
        path.write_bytes(data)
    cache.cached("more", "here", make)
    assert make.times == 3


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_an_entry_that_others_may_write_to_is_not_used(folder: Path) -> None:
    make = Maker()
    cache.cached("text", "here", make)
    entry(folder).chmod(0o666)
    cache.cached("text", "here", make)
    assert make.times == 2


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PTOKIT_CACHE", str(tmp_path / "file" / "below"))
    assert cache.cached("text", "here", Maker()) == b"text" * 9


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CACHE", "off")
    make = Maker()
    cache.cached("text", "here", make)
    cache.cached("text", "here", make)
    assert make.times == 2


def test_what_llvm_refuses_runs_on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptokit.diagnostics import DiagnosticError
    from ptokit.native import compiler

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
