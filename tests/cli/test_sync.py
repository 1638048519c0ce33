"""ptokit sync: what it prints and writes, exit statuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prove.kernels import HANDED, add, flag, kernel, load, store

from .conftest import Run

pytest.importorskip("z3")

LOOP = "scf.for %i = %c0 to %n step %c1 {"
BODY = (LOOP, "%r = arith.muli %i, %c16 : index", load("%t0", "%r"), add("%t1", "%t0"), store("%t1", "%r"), "}")


def test_what_is_not_proved_says_why_and_is_not_written_in_place(tmp_path: Path, ptokit: Run) -> None:
    bad = kernel(*HANDED[1:], load("%t0", "%c0"), store("%t0", "%c0"))
    file = tmp_path / "k.pto"
    file.write_text(bad)
    ran = ptokit("sync", str(file), "-t", "a2a3", "--in-place")
    assert (ran.status, file.read_text()) == (3, bad)
    assert "nothing before it sets the flag PIPE_MTE2 to PIPE_V, id 0" in ran.err
    assert "nothing written, since it is not proved" in ran.err
    assert ptokit("sync", str(file), "-t", "a2a3", "-o", str(tmp_path / "other.pto")).status == 3
    assert flag("set", "MTE2", "MTE3") in (tmp_path / "other.pto").read_text()


def test_the_command_writes_prints_or_compares(tmp_path: Path, ptokit: Run) -> None:
    file = tmp_path / "k.pto"
    file.write_bytes(b"\xef\xbb\xbf" + kernel(*BODY).encode())
    ran = ptokit("sync", str(file), "-t", "a2a3")
    assert ran.status == 0
    assert ran.out.count("_flag[") == 12
    assert "k on a2a3: 4 flags (2 carried by loops); proved for all arguments" in ran.err
    compared = ptokit("sync", str(file), "-t", "a2a3", "--diff").out
    assert [line[0] for line in compared.splitlines()].count("+") == 14 - 1
    assert ptokit("sync", str(file), "-t", "a2a3", "--in-place").status == 0
    assert file.read_bytes() == b"\xef\xbb\xbf" + ran.out.encode()
    again = ptokit("sync", str(file), "-t", "a2a3", "--in-place")
    assert (again.status, "nothing is lacking" in again.err) == (0, True)
    assert ptokit("sync", str(file), "-t", "a2a3", "--in-place", "--diff").status == 2
    assert ptokit("sync", "-", "-t", "a2a3", "--in-place").status == 2
    assert ptokit("sync", str(tmp_path / "none.pto"), "-t", "a2a3").status == 1
    assert ptokit("sync", str(file)).status == 2
