"""What check, fmt and convert read: several files, folders, stdin, pipes; and what they call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from .conftest import KERNELS, Run

CLEAN = "func.func @f() {\n  return\n}\n"
UGLY = "func.func @f( ) { return }"
BROKEN = "func.func @f() {\n  pto.tadq\n  return\n}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: folders with clean, broken and hidden files."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("a/clean.pto", CLEAN), ("a/b/broken.pto", BROKEN), ("ugly.pto", UGLY)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "a" / ".git").mkdir()
    (tmp_path / "a" / ".git" / "hidden.pto").write_text(BROKEN)
    (tmp_path / "a" / "notes.txt").write_text("no kernel")
    return tmp_path


def piped(text: bytes, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "ptokit", *args],
        input=text,
        capture_output=True,
        timeout=60,
        env={**os.environ, **env},
    )


def test_several_files_and_folders_are_checked(ptokit: Run, here: Path) -> None:
    ran = ptokit("check", "ugly.pto", "a", "-t", "a5")
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "ugly.pto: no findings for a5, level 2",
        "a/clean.pto: no findings for a5, level 2",
    ]
    assert ran.err.startswith("a/b/broken.pto:2:3: error: ")
    assert ran.err.splitlines()[-2:] == ["a/b/broken.pto: 1 error", "3 files: 1 error"]
    assert ptokit("check", "ugly.pto", "a/clean.pto", "ugly.pto", "-t", "a5").status == 0


def test_one_report_tells_of_all_files(ptokit: Run, here: Path) -> None:
    (here / "b.pto").write_text(BROKEN)
    ran = ptokit("check", "b.pto", "a", "-t", "a5", "--format", "json")
    report = json.loads(ran.out)
    assert [d["file"] for d in report["diagnostics"]] == ["a/b/broken.pto", "b.pto"]
    assert report["summary"] == {"errors": 2, "warnings": 0, "left_out": 0}
    log = json.loads(ptokit("check", "b.pto", "a", "-t", "a5", "--format", "sarif").out)
    places = [r["locations"][0]["physicalLocation"] for r in log["runs"][0]["results"]]
    assert [p["artifactLocation"]["uri"] for p in places] == ["a/b/broken.pto", "b.pto"]


def test_a_folder_without_kernels(ptokit: Run, here: Path) -> None:
    (here / "empty").mkdir()
    for command in (("check", "empty", "-t", "a5"), ("fmt", "empty")):
        ran = ptokit(*command)
        what = "no .pto file, and no file of Python or C++ with a kernel," if command[0] == "check" else "no .pto file"
        assert (ran.status, ran.out) == (1, "")
        assert ran.err == f"empty: error: there is {what} in this folder [TEXT-FILE]\n"


IN_PYTHON = """
import ptokit as pto
print("executed")

@pto.kernel(target="a2a3")
def f(x: pto.Ptr[pto.f32]):
    pto.TADDD(x, x)
"""


def test_a_folder_has_kernels_in_python_too(ptokit: Run, here: Path) -> None:
    (here / "a" / "kernels.py").write_text(IN_PYTHON)
    (here / "a" / "other.py").write_text("raise SystemExit('executed')")
    (here / "a" / "broken.py").write_text("def f(:")
    ran = ptokit("check", "a", "-t", "a5", "--format", "json")
    found = {(d["file"], d["rule"]) for d in json.loads(ran.out)["diagnostics"]}
    assert ("a/kernels.py", "LANG-NAME") in found
    assert {file for file, _ in found} == {"a/b/broken.pto", "a/kernels.py"}
    assert ran.err.strip() == "executed"


def test_folders_are_laid_out(ptokit: Run, here: Path) -> None:
    (here / "a" / "ugly.pto").write_text(UGLY)
    ran = ptokit("fmt", "a")
    assert ran.status == 1
    assert (here / "a" / "ugly.pto").read_text() == CLEAN
    assert (here / "a" / "b" / "broken.pto").read_text() == BROKEN


def test_check_reads_stdin() -> None:
    ran = piped(BROKEN.encode(), "check", "-", "-t", "a5")
    assert ran.returncode == 1
    head, quote, caret = ran.stderr.decode().splitlines()[:3]
    assert head.startswith("<stdin>:2:3: error: ")
    assert (quote, caret[:11]) == ("    2 |   pto.tadq", "      |   ^")
    assert ran.stderr.decode().splitlines()[-1] == "<stdin>: 1 error"
    log = json.loads(piped(BROKEN.encode(), "check", "-", "-t", "a5", "--format", "sarif").stdout)
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 3, "endColumn": 11}


def test_stdin_goes_through_fmt_and_convert_byte_by_byte() -> None:
    text = f"// Größe 𝛼\n{UGLY}".encode()
    ran = piped(text, "fmt", "-", PYTHONIOENCODING="ascii")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"// Größe 𝛼\n{CLEAN}".encode(), b"")
    assert piped(text, "fmt", "--check", "-").stdout == b"<stdin>\n"
    ran = piped(UGLY.encode(), "convert", "-", "--to", "generic")
    assert ran.stdout.startswith(b'"builtin.module"')
    assert piped(BROKEN.encode(), "fmt", "-").stdout == b""


def test_run_reads_stdin() -> None:
    text = (KERNELS / "vec_add.pto").read_bytes()
    args = ["-a", "ones:f32:64", "-a", "ones:f32:64", "-a", "zeros:f32:64", "-a", "64"]
    ran = piped(text, "run", "-", "-t", "a5", *args)
    assert (ran.returncode, ran.stdout.split(b":")[0]) == (0, b"vec_add on a5")
    ran = piped(BROKEN.encode(), "sanitize", "-", "-t", "a5")
    assert ran.stderr.splitlines()[-1] == b"<stdin>: 1 error"


def test_a_pipe_is_quoted_and_not_replaced(ptokit: Run, here: Path) -> None:
    os.mkfifo("pipe")
    for command, text in (("check", BROKEN), ("fmt", UGLY)):
        threading.Thread(target=Path("pipe").write_text, args=(text,)).start()
        ran = ptokit(command, "pipe", *(["-t", "a5"] if command == "check" else []))
        assert ran.status == 1
        assert ("    2 |   pto.tadq" if command == "check" else "it is a pipe or a device [CLI-05]") in ran.err
    assert Path("pipe").is_fifo()


def test_convert_keeps_links_and_permissions_and_writes_to_devices(ptokit: Run, here: Path) -> None:
    (here / "out.pto").write_text("")
    (here / "out.pto").chmod(0o640)
    (here / "link.pto").symlink_to("out.pto")
    assert ptokit("convert", "ugly.pto", "--to", "dps", "-o", "link.pto").status == 0
    assert (here / "link.pto").is_symlink()
    assert (here / "out.pto").read_text().startswith("module")
    assert (here / "out.pto").stat().st_mode & 0o777 == 0o640
    assert ptokit("convert", "ugly.pto", "--to", "dps", "-o", os.devnull).status == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("data", "place", "quote"),
    [
        (b"// a\n// caf\xe9 au lait", "2:7: error: byte 0xe9", "    2 | // caf\ufffd au lait"),
        (b"\xef\xbb\xbf// \xff", "1:4: error: byte 0xff", "    1 | // \ufffd"),
        (b"\xff\xfe/\0", "1:1: error: byte 0xff", "hint: the file seems to be UTF-16 text: save it as UTF-8"),
    ],
)
def test_the_byte_that_is_not_text_is_marked(ptokit: Run, here: Path, data: bytes, place: str, quote: str) -> None:
    (here / "k.pto").write_bytes(data)
    ran = ptokit("check", "k.pto", "-t", "a5")
    assert ran.status == 1
    assert ran.err.startswith(f"k.pto:{place} is not UTF-8 text [TEXT-BINARY]\n")
    assert quote in ran.err


def test_columns_of_a_first_line_with_a_byte_order_mark(ptokit: Run, here: Path) -> None:
    (here / "k.pto").write_bytes(b"\xef\xbb\xbfmodul {}")
    ran = ptokit("check", "k.pto", "-t", "a5")
    assert ran.err.splitlines()[1:3] == ["    1 | modul {}", "      | ^^^^^"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
def test_a_file_without_an_end(ptokit: Run) -> None:
    ran = ptokit("check", "/dev/zero", "-t", "a5")
    assert ran.status == 1
    assert ran.err.startswith("/dev/zero: error: the file has more than 134217728 bytes [TEXT-SIZE]")


def test_names_stay_in_one_line(ptokit: Run, here: Path) -> None:
    (here / "a\nb.pto").write_text(BROKEN)
    ran = ptokit("check", "a\nb.pto", "-t", "a5")
    assert [line.split(":")[0] for line in ran.err.splitlines() if "error" in line] == ["a\\nb.pto"] * 2
    assert ptokit("check", "", "-t", "a5").err.startswith(": error: cannot read the file: No such file")


def test_a_carriage_return_ends_a_line(ptokit: Run, here: Path) -> None:
    text = f"// a comment\r{BROKEN}".replace("\n", "\r")
    (here / "k.pto").write_bytes(text.encode())
    ran = ptokit("check", "k.pto", "-t", "a5")
    assert ran.err.startswith("k.pto:3:3: error: unknown operation 'pto.tadq'")
    assert ran.err.splitlines()[1:3] == ["    3 |   pto.tadq", "      |   ^^^^^^^^"]
    (here / "k.pto").write_bytes(b"// a\r// b\rfunc.func @f() { return } // c\r// d")
    assert ptokit("fmt", "k.pto").status == 0
    assert (here / "k.pto").read_bytes() == b"// a\n// b\nfunc.func @f() {\n  return\n} // c\n// d\n"


def test_a_file_that_changed_is_quoted_as_it_is_now(ptokit: Run, here: Path) -> None:
    for text in (BROKEN, "// one more line\n" + BROKEN):
        (here / "k.pto").write_text(text)
        assert " |   pto.tadq\n" in ptokit("check", "k.pto", "-t", "a5").err
