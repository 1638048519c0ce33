"""Files and numbers that end elsewhere in an error of ptokit's own end in a finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

KERNEL = """module attributes {pto.target_arch = "a5"} {
  func.func @k(%x: !pto.ptr<f32>) attributes {pto.entry} {
    return
  }
}
"""
RAISES = {
    "a message that cannot be made": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()\n",
    "a message that is no text": "class E(Exception):\n    def __str__(self): return 7\nraise E()\n",
    "a message that ends the program": "class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E()\n",
    "no exception": "class E(BaseException): pass\nraise E('x')\n",
    "the end of a generator": "raise GeneratorExit('x')\n",
}


@pytest.mark.parametrize("what", RAISES)
@pytest.mark.parametrize("command", [("check",), ("run", "-a", "1"), ("sanitize", "-a", "1")])
def test_whatever_a_kernel_file_raises_is_a_finding(
    what: str, command: tuple[str, ...], ptokit: Run, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    path.write_text(RAISES[what])
    ran = ptokit(command[0], path, *command[1:])
    assert (ran.status, "[LANG-FILE]" in ran.err, "Traceback" in ran.err) == (1, True, False)


@pytest.mark.parametrize("blocks", [1 << 31, 1 << 32, 1 << 63, 10**30])
@pytest.mark.parametrize("command", [("run",), ("run", "--backend", "native"), ("run", "--jobs", "2"), ("sanitize",)])
def test_more_blocks_than_have_numbers_are_refused(
    blocks: int, command: tuple[str, ...], ptokit: Run, tmp_path: Path
) -> None:
    path = tmp_path / "k.pto"
    path.write_text(KERNEL)
    ran = ptokit(command[0], path, "-a", "zeros:f32:4", "--blocks", blocks, *command[1:])
    assert (ran.status, "[RUN-BLOCKS]" in ran.err) == (1, True)


@pytest.mark.parametrize("value", ["1e999", "-1e999", "NaN", '"many"', "[1]"])
@pytest.mark.parametrize("suite", ["sync", "programs"])
def test_numbers_of_a_manifest_that_are_none_are_refused(suite: str, value: str, ptokit: Run, tmp_path: Path) -> None:
    entry = {"file": "k.pto", "id": "k", "targets": ["a5"], "args": {}, "expect": {"a5": []}, "blocks": "HERE"}
    if suite == "programs":
        entry["outputs"] = []
    manifest = json.dumps({"format": suite, "kind": suite, "suite": suite, "cases": [entry]})
    (tmp_path / "manifest.json").write_text(manifest.replace('"HERE"', value))
    (tmp_path / "k.pto").write_text(KERNEL)
    ran = ptokit("conformance", tmp_path)
    assert (ran.status, "internal error" in ran.err) == (1, False)


@pytest.mark.parametrize("page", [".", "", ".."])
def test_a_page_for_each_of_several_targets_needs_a_file(page: str, ptokit: Run, tmp_path: Path) -> None:
    path = tmp_path / "k.pto"
    path.write_text(KERNEL)
    ran = ptokit("sanitize", path, "-t", "a5", "-t", "cpu", "-a", "zeros:f32:4", "--html", page)
    assert (ran.status, "[CLI-04]" in ran.err) == (1, True)
