"""The command as a process: start-up time, terminals, pipes, interrupts, our own failures."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptokit.cli import main as cli

from .conftest import KERNELS, Run, process

RUN = ["run", KERNELS / "vec_add.pto", "-t", "a5", "-a", "ones:f32:64", "-a", "ones:f32:64", "-a", "zeros:f32:64",
       "-a", "64"]  # fmt: skip
CHECK = ["check", KERNELS / "faulty.pto", "-t", "a2a3"]


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (RUN, "api arguments asm backends cli diagnostics ir isa machine plan records run targets types"),
        (CHECK, "api arguments asm cli diagnostics ir isa records targets types"),
    ],
    ids=["run", "check"],
)
def test_a_small_command_loads_what_it_needs(command: list[object], needed: str) -> None:
    """Start-up time is the time of imports; `benchmarks/start.py` measures it."""
    code = (
        "import sys; from ptokit.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({'.'.join(name.split('.')[:2]) for name in sys.modules}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, timeout=60)
    loaded = set(ran.stderr.split())
    layers = {name for name in loaded if name.startswith("ptokit.")} - {"ptokit.__main__"}
    assert layers == {f"ptokit.{layer}" for layer in needed.split()}
    assert not {"rich", "threadpoolctl", "pydantic", "pygls", "lsprotocol", "hypothesis", "pytest"} & loaded


def test_collections_go_on_as_usual_after_the_first() -> None:
    code = (
        "import gc, sys; from ptokit.cli.main import spare_start\n"
        "usual, before = gc.get_threshold(), sum(s['collections'] for s in gc.get_stats())\n"
        "spare_start()\n"
        "kept = [[] for _ in range(100_000)]\n"
        "late = sum(s['collections'] for s in gc.get_stats()) == before\n"
        "kept += [[] for _ in range(100_000)]\n"
        "sys.exit(not (late and gc.get_threshold() == usual and not gc.callbacks))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize(
    "args",
    [["explain"], ["explain", "TY-9"], ["isa", "TLOAD"], CHECK, RUN, ["fmt", "--check", KERNELS]],
    ids=lambda args: " ".join(map(str, args[:1])),
)
def test_commands_need_no_package_of_an_extra(args: list[object]) -> None:
    """As after ``pip install ptokit`` without extras."""
    extras = "pytest _pytest hypothesis jsonschema xdsl pygls lsprotocol textmate_grammar mypy"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras.split()}))\n"  # None: importing it fails
        "from ptokit.cli.main import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == (args is CHECK)
    assert "internal error" not in ran.stderr


def test_help_and_version_load_neither_numpy_nor_rich() -> None:
    code = (
        "import sys; from ptokit.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(bool({'numpy', 'rich', 'ml_dtypes'} & set(sys.modules)))"
    )
    for option in ("--help", "--version"):
        assert subprocess.run([sys.executable, "-c", code, option], capture_output=True, timeout=60).returncode == 0


def hear_interrupts() -> None:
    """In the child: a process in the background inherits that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def terminal(*args: object, columns: int = 80, **env: str) -> str:
    """What the command writes to a terminal of the given width."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "50", **env}
    child = subprocess.Popen(
        [sys.executable, "-m", "ptokit", *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(ours)
    child.wait(timeout=60)
    return out.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_a_terminal_gets_colour_and_no_line_is_too_long(columns: int) -> None:
    shown = terminal(*CHECK, columns=columns)
    assert "\x1b[1;31merror:\x1b[0m" in shown
    quotes = [line for line in plain(shown).splitlines() if re.match(r" *\d+ \| ", line)]
    assert quotes
    assert all(len(line) <= columns for line in quotes)


def test_a_terminal_gets_a_drawn_table() -> None:
    shown = terminal(*RUN)
    assert "──" in shown
    assert max(map(len, plain(shown).splitlines())) <= 80


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written() -> None:
    """A full disk is not our bug; nor is a stdout that is closed."""
    program = [sys.executable, "-m", "ptokit", "fmt", "--stdout", str(KERNELS / "gemm.pto")]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (ran.returncode, ran.stderr) == (1, b"ptokit: cannot write the output: No space left on device\n")
    closed = subprocess.run(["/bin/sh", "-c", 'exec "$0" "$@" >&-', *program], stderr=subprocess.PIPE, timeout=60)
    assert (closed.returncode, closed.stderr) == (0, b"")


def test_no_color_is_respected() -> None:
    for command in (CHECK, RUN):
        assert "\x1b[" not in terminal(*command, NO_COLOR="1")
        assert "\x1b[" not in terminal(*command, TERM="dumb")


def test_a_narrow_pipe_keeps_paths_in_one_piece(tmp_path: Path) -> None:
    deep = tmp_path / ("directory-" * 10) / ("file-" * 10 + ".pto")
    deep.parent.mkdir()
    deep.write_text((KERNELS / "faulty.pto").read_text())
    ran = process("check", deep, "-t", "a2a3", COLUMNS="40")
    assert f"{deep}:" in ran.stderr
    assert "\x1b" not in ran.stderr


def test_an_ascii_only_pipe_is_no_reason_to_fail() -> None:
    ran = process(*RUN, PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert "vec_add on a5" in ran.stdout


def test_a_reader_that_stops_reading_is_no_error() -> None:
    child = subprocess.Popen([sys.executable, "-m", "ptokit", "isa"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert b"Traceback" not in child.stderr.read()
    child.stderr.close()
    child.wait(timeout=60)


def test_an_interrupt_says_only_what_was_kept(ptokit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ptokit.cli.run.prepare", interrupted)
    ran = ptokit(*RUN)
    assert (ran.status, ran.out, ran.err) == (130, "", "\nptokit: interrupted: no output was saved\n")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupted_process_writes_nothing(tmp_path: Path) -> None:
    args = ["run", KERNELS / "gemm.pto", "-t", "a5", "--matmul", "ref", "-a", "random:f16:4096x4096",
            "-a", "random:f16:4096x4096", "-a", "zeros:f32:4096x4096", "-a", 4096, "-a", 4096, "-a", 4096,
            "-o", tmp_path / "out"]  # fmt: skip
    command = [sys.executable, "-m", "ptokit", *map(str, args)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=hear_interrupts)
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert err.strip() in (b"", b"ptokit: interrupted: no output was saved")  # nothing while modules are imported
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "module",
    ["ptokit.cli", "ptokit.cli.main", "typer", "ptokit.asm.text.lexer", "numpy", "ptokit.run"],
)
def test_an_interrupt_while_modules_are_loaded(module: str) -> None:
    """In the first moments of the process, which are those of its imports."""
    code = f"""
import importlib.abc, os, runpy, signal, sys
class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("an error of its own, as NumPy has it")
sys.meta_path.insert(0, Interrupting())
sys.argv[0] = "ptokit"
runpy.run_module("ptokit", run_name="__main__")
"""
    command = [sys.executable, "-c", code, *map(str, RUN)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=hear_interrupts)
    assert (ran.returncode, ran.stderr) == (130, "")


@pytest.mark.parametrize("length", ["9" * 20, "9" * 13, "abc", "-5", "2"])
def test_messages_of_an_editor_that_is_no_editor(length: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ptokit", "lsp"],
        input=f"Content-Length: {length}\r\n\r\n{{}}".encode(),
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode == 1
    assert b"Traceback" not in ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("command", ["lsp", "check - -t a5", "fmt -", "run - -t a5", "isa TLOAD"])
def test_a_closed_stdin(command: str) -> None:
    shell = f"exec {sys.executable} -m ptokit {command} <&-"
    ran = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=60)
    assert ran.returncode == (0 if command.startswith("isa") else 1)
    assert "internal error" not in ran.stderr
    assert command.startswith("isa") or "closed" in ran.stderr


def test_a_bug_is_one_line_and_status_70(ptokit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object, **__: object) -> None:
        raise RuntimeError("line one\nline two")

    monkeypatch.setattr("ptokit.cli.check.check", bug)
    ran = ptokit("check", "x.pto", "-t", "a5")
    assert ran.status == cli.EXIT_INTERNAL
    assert ran.err.count("\n") == 1
    assert "internal error: RuntimeError: line one line two; please report it" in ran.err
    monkeypatch.setattr(sys, "argv", ["ptokit", "--debug", "check", "x.pto", "-t", "a5"])
    with pytest.raises(RuntimeError):
        cli.main()
