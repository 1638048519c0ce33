"""What decides about machine code is in the key of its cache; entries that others could have written are not used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native import compiler


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o622, 0o660, 0o666])
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners")
def test_an_entry_that_anybody_else_may_write_to(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "k.o"
    compiler.write(path, "k", b"code")
    assert compiler.read(path, "k") == b"code"
    path.chmod(mode)
    assert compiler.read(path, "k") is None
    path.chmod(0o644)
    assert compiler.read(path, "k") == b"code"


def test_what_the_processor_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines of one name may differ: one of them may be told to leave something out."""
    before = compiler.identity()
    assert compiler.identity() == before
    monkeypatch.setattr(compiler, "features", lambda: "-fma")
    assert compiler.identity() != before


@pytest.mark.parametrize("name", ["get_host_cpu_name", "get_default_triple"])
def test_which_machine_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiler.identity()
    monkeypatch.setattr(compiler.llvm, name, lambda: "another")
    assert compiler.identity() != before


@pytest.mark.parametrize("name", ["LEVEL", "llvmlite"])
def test_what_makes_the_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiler.identity()
    if name == "LEVEL":
        monkeypatch.setattr(compiler, "LEVEL", 3)
    else:
        monkeypatch.setattr(compiler.llvmlite, "__version__", "0.0.1")
    assert compiler.identity() != before
