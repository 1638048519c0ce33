"""Whatever the file holds: diagnostics with a rule and status 1, quickly, never a traceback."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from .conftest import KERNELS, Run

TEXT = (KERNELS / "softmax.pto").read_text()

BAD = {
    "empty": b"",
    "binary garbage": bytes(random.Random(1).randrange(256) for _ in range(5000)),
    "NUL bytes": b"\0" * 1000,
    "not UTF-8": b"module { // \xff\xfe\n}",
    "UTF-16": TEXT.encode("utf-16"),
    "prose": b"Dear assembler, please add two vectors.\n" * 20,
    "unknown op": TEXT.replace("pto.texp", "pto.texq").encode(),
    "wrong type": TEXT.replace("16x512xf32, valid", "16x512xq32, valid").encode(),
    "undefined value": TEXT.replace("ins(%xs", "ins(%nope").encode(),
    "cut in the middle": TEXT[: len(TEXT) // 2].encode(),
    "cut in a token": TEXT[: TEXT.index("partition_view") + 4].encode(),
    "missing brace": TEXT.rstrip().removesuffix("}").encode(),
    "a 10 MB word": b"a" * 10_000_000,
    "a 10 MB line of ops": b"module { " + b"pto.nothing " * 850_000 + b"}",
    "a 10 MB line of brackets": b"(" * 10_000_000,
    "a 10 MB line of angles": b"<" * 10_000_000,
    "a 10 MB string": b'module attributes {a = "' + b"x" * 10_000_000,
    "a 10 MB comment": b"//" + b"x" * 10_000_000,
    "deep regions": b"module " + b"{ module " * 100_000,
    "deep attributes": b"module attributes " + b"{a = " * 100_000,
    "deep types": b"func.func @f(%x: " + b"!pto.ptr<" * 100_000,
    "deep loops": b"func.func @f(%n: index) { " + b"scf.for %i = %n to %n step %n { " * 5_000,
    "a huge number": b"func.func @f() { %x = arith.constant " + b"9" * 100_000 + b" : index return }",
    "huge dimensions": b"func.func @f() { %x = pto.alloc_tile : !pto.tile_buf<vec, " + b"9" * 5_000 + b"x1xf32> }",
    "control characters": b"module \x1b[31m { \x07 }",
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_diagnosed(ptokit: Run, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "bad.pto"
    file.write_bytes(BAD[kind])
    ran = ptokit("check", file, "-t", "a5")
    if kind == "a 10 MB comment":
        assert ran.status in (0, 1)  # a file without kernels
    else:
        assert ran.status == 1
        assert ": error: " in ran.err
    assert "\x1b" not in ran.err
    assert "Traceback" not in ran.err
    assert max(map(len, ran.err.splitlines()), default=0) < 1000


@pytest.mark.parametrize("kind", ["binary garbage", "unknown op", "cut in the middle", "undefined value"])
def test_bad_files_give_valid_json(ptokit: Run, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "bad.pto"
    file.write_bytes(BAD[kind])
    ran = ptokit("check", file, "-t", "a5", "--format", "json")
    assert ran.status == 1
    report = json.loads(ran.out)
    assert report["summary"]["errors"] == sum(d["severity"] == "error" for d in report["diagnostics"]) > 0
    assert all(d["file"] == str(file) for d in report["diagnostics"])


@pytest.mark.parametrize("kind", ["binary garbage", "unknown op", "cut in the middle", "empty"])
def test_bad_files_do_not_run_and_write_nothing(ptokit: Run, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "bad.pto"
    file.write_bytes(BAD[kind])
    ran = ptokit("run", file, "-t", "a5", "-a", "zeros:f32:16x512", "-o", tmp_path / "out")
    assert ran.status == 1
    assert ": error: " in ran.err
    assert os.listdir(tmp_path) == ["bad.pto"]


@pytest.mark.parametrize("name", ["missing.pto", "directory", "missing/deep.pto", "nul\0byte.pto"])
def test_files_that_cannot_be_read(ptokit: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()
    for command in ("check", "run"):
        ran = ptokit(command, tmp_path / name, "-t", "a5")
        assert ran.status == 1
        assert "error: " in ran.err


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_never_escape(ptokit: Run, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    text = list(TEXT)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                del text[at : at + rng.randrange(1, 40)]
            case 1:
                text.insert(at, rng.choice("%!#<>(){}[],:=-0x\"'\n\t?*@^"))
            case 2:
                text[at] = rng.choice("%!#<>(){}[],:=-0x\"'?*@^abc")
            case _:
                other = rng.randrange(len(text))
                text[at:at] = text[other : other + rng.randrange(1, 60)]
    file = tmp_path / "bad.pto"
    file.write_text("".join(text))
    assert ptokit("check", file, "-t", "a5").status in (0, 1)
    args = ["-a", "zeros:f32:16x512", "-a", "zeros:f32:16x512", "-a", "16"]
    assert ptokit("run", file, "-t", "a5", *args).status in (0, 1)
