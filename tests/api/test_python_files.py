"""Kernels in Python files by name: checked, run, sanitized, and what is wrong with such files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto

from ..cli.conftest import Run
from .kernels import RACY, TWO, WRONG, written


def lines_of(found: list[dict[str, object]]) -> list[tuple[object, object, object]]:
    return [(d["rule"], d["line"], d["target"]) for d in found]


def test_all_kernels_of_a_file_are_checked(ptokit: Run, tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)
    ran = ptokit("check", file, "--format", "json")
    assert ran.status == 1
    assert lines_of(json.loads(ran.out)["diagnostics"]) == [("UB-CAPACITY", 6, "a5"), ("EW-04", 14, "a2a3")]
    one = ptokit("check", f"{file}:mixed", "--format", "json")
    assert lines_of(json.loads(one.out)["diagnostics"]) == [("EW-04", 14, "a2a3")]
    assert ptokit("check", f"{file}:large", "-t", "a2a3").status == 1
    assert "[UB-CAPACITY on a5]" in ptokit("check", file).err


def test_a_kernel_runs_by_name(ptokit: Run, tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    ran = ptokit(
        *("run", f"{file}:scale", "--blocks", 2, "--out", tmp_path / "out"),
        *("-a", "arange:f32:32x64", "-a", "zeros:f32:32x64", "-a", 32, "-a", 0.5),
    )
    assert (ran.status, ran.err.splitlines()[0]) == (0, "executed")
    assert ran.out.startswith("scale on a5: 2 blocks in ")
    x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), x / 2)
    by_option = ptokit("run", file, "--entry", "scale", "-a", "zeros:f32:32x64", "-a", "zeros:f32:32x64", "-a", 32)
    assert by_option.status == 0  # the default of the last parameter counts


def test_arguments_decide_about_types_and_constants(ptokit: Run, tmp_path: Path) -> None:
    name = f"{written(tmp_path, TWO)}:double"
    ran = ptokit("run", name, "-a", "ones:f16:16x32", "-a", "zeros:f16:16x32", "-a", 32, "-o", tmp_path / "out")
    assert ran.status == 0
    assert np.load(tmp_path / "out" / "y.npy").dtype == np.float16
    assert ptokit("check", name, "-a", "ones:f16:16x32", "-a", "zeros:f16:16x32", "-a", 32).status == 0
    ran = ptokit("check", name, "-a", "ones:f32:16x32", "-a", "zeros:f16:16x32", "-a", 32, "--format", "json")
    assert [d["line"] for d in json.loads(ran.out)["diagnostics"]] == [21]
    unknown = ptokit("check", name)
    assert unknown.status == 1
    assert "kernel double does not say what its parameters are: x, y, columns [LANG-PARAM]" in unknown.err
    few = ptokit("run", name, "-a", "ones:f16:16x32")
    assert few.status == 1
    file = name.rpartition(":")[0]
    assert f"{file}:18:1: error: kernel double lacks y and columns [LANG-ARG]" in few.err


def test_a_kernel_is_sanitized_by_name(ptokit: Run, tmp_path: Path) -> None:
    file = written(tmp_path, RACY)
    ran = ptokit("sanitize", file, "-a", "random:f32:16x64", "-a", "uninit:f32:16x64", "--format", "json")
    assert ran.status == 1
    assert ("RACE-RAW", 8, "a2a3") in lines_of(json.loads(ran.out)["diagnostics"])


def test_a_wrong_name_comes_with_the_nearest(ptokit: Run, tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    for command in ("check", "run", "sanitize"):
        ran = ptokit(command, f"{file}:scal")
        assert ran.status == 2
        assert f"there is no kernel 'scal' in {file}." in ran.err
        assert "Did you mean scale?" in ran.err
        assert "It has scale, double." in ran.err


def test_which_of_several_must_be_said(ptokit: Run, tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    for command in ("run", "sanitize"):
        ran = ptokit(command, file)
        assert ran.status == 2
        assert f"name one, for example {file}:scale." in ran.err
        assert "It has scale, double." in ran.err
    assert ptokit("run", f"{file}:scale", "--entry", "double").status == 2


BROKEN = [
    ("import ptokit\n\n\nx = 1 / 0\n", "executing the file raises ZeroDivisionError: division by zero", 4, 5),
    ("x = 1\nraise SystemExit(3)\n", "executing the file raises SystemExit: 3", 2, 1),
    ("def f(:\n    pass\n", "this is no Python: invalid syntax", 1, 7),
    ("import not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all'", 1, 1),
    ("import json\n\njson.loads('{')\n", "executing the file raises JSONDecodeError", 3, 1),
    ("x = 1\n", "there is no kernel in this file", 0, 0),
    ("import ptokit as pto\n\n\n@pto.kernel\ndef f():\n    pass\n", "the kernel names no target [LANG-TARGET]", 4, 2),
    ("def f():\n    f()\n\n\nf()\n", "executing the file raises RecursionError", 2, 5),
]


@pytest.mark.parametrize(("text", "said", "line", "column"), BROKEN)
@pytest.mark.parametrize("command", ["check", "run", "sanitize", "convert"])
def test_a_file_that_cannot_be_executed(
    ptokit: Run, tmp_path: Path, command: str, text: str, said: str, line: int, column: int
) -> None:
    file = written(tmp_path, text)
    ran = ptokit(command, file, *(["--to", "ssa"] if command == "convert" else []))
    assert (ran.status, ran.out) == (1, "")
    assert said in ran.err
    assert ran.err.startswith(f"{file}:{line}:{column}: error: " if line else f"{file}: error: ")
    assert "Traceback" not in ran.err


def test_files_that_are_not_there(ptokit: Run, tmp_path: Path) -> None:
    for command in ("check", "run", "sanitize"):
        ran = ptokit(command, tmp_path / "none.py:scale")
        assert ran.status == 1
        assert "none.py: error: cannot read the file: No such file or directory [TEXT-FILE]" in ran.err
    ran = ptokit("fmt", written(tmp_path, TWO))
    assert ran.status == 2
    assert "is Python; what is laid out is .pto text" in ran.err


def test_files_may_import_their_neighbours_and_leave_nothing_behind(ptokit: Run, tmp_path: Path) -> None:
    written(tmp_path, "SIZE = 64\n", "neighbour_of_kernels.py")
    file = written(tmp_path, "from neighbour_of_kernels import SIZE\n" + RACY.replace("64", "SIZE"))
    paths = list(sys.path)
    assert ptokit("check", file).status == 0
    assert sys.path == paths
    assert "kernels" not in sys.modules
    assert ptokit("check", written(tmp_path, RACY, "json.py")).status == 0
    assert "loads" in dir(sys.modules["json"])


def test_a_kernel_is_a_program_for_tools(tmp_path: Path) -> None:
    @pto.kernel(target="a5")
    def copy(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], columns: pto.Static = 64):
        tile = pto.Tile(pto.TileType.Vec, pto.f32, 8, columns)
        pto.TLOAD(tile, pto.GlobalTensor(x, (8, columns)))
        pto.TSTORE(pto.GlobalTensor(y, (8, columns)), tile)

    assert pto.check(copy).ok
    assert list(pto.check(copy, target=["a2a3", "cpu"]).findings) == ["a2a3", "cpu"]
    x, y = np.random.rand(8, 64).astype(np.float32), np.zeros((8, 64), np.float32)
    assert pto.run(copy, [x, y]).target == "a5"
    assert np.array_equal(x, y)
    assert pto.sanitize(copy, [x, "uninit:f32:8x64"], mode="auto").clean
    assert "pto.tload" in pto.convert(copy, "dps")
    source = pto.read(copy)
    assert (source.kernels, pto.run(source, [x, y]).name) == (["copy"], "copy")


RAISES = """import ptokit as pto


def item(options):
    return options["missing"]


@pto.kernel(target="a5")
def deep(x: pto.Ptr[pto.f32]):
    t = pto.Tile(pto.TileType.Vec, pto.f32, item({}), 64)


@pto.kernel(target="a5")
def builtin(x: pto.Ptr[pto.f32]):
    n = len(x)


@pto.kernel(target="a5")
def plain(x: pto.Ptr[pto.f32]):
    raise RuntimeError("no kernel yet")
"""


def test_what_kernels_raise_while_they_are_compiled(ptokit: Run, tmp_path: Path) -> None:
    file = written(tmp_path, RAISES)
    ran = ptokit("check", file, "--format", "json")
    assert ran.status == 1
    assert lines_of(json.loads(ran.out)["diagnostics"]) == [("LANG-RAISES", n, "a5") for n in (5, 15, 20)]
    text = ptokit("check", file).err
    assert f"{file}:5:12: error: KeyError: 'missing' [LANG-RAISES]" in text
    assert "TypeError: object of type 'Pointer' has no len()" in text
    assert "the assembler accepts" not in text
    ran = ptokit("run", f"{file}:plain", "-a", "zeros:f32:4")
    assert (ran.status, ran.err.splitlines()[0]) == (
        1,
        f"{file}:20:5: error: compiling kernel plain raises RuntimeError: no kernel yet [LANG-RAISES]",
    )


def test_an_error_of_ptokit_is_not_the_users(ptokit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptokit.lang import kernels

    def broken(*args: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(kernels.Kernel, "trace", broken)
    monkeypatch.setitem(broken.__globals__, "__name__", "ptokit.lang.kernels")
    assert ptokit("check", written(tmp_path, RAISES)).status == 70


TWINS = """import ptokit as pto


@pto.kernel(target="a5")
def constant(x: pto.Ptr[pto.f32], columns: pto.Static, y: pto.Ptr[pto.f32], factor: float):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, columns)
    pto.TLOAD(t, pto.GlobalTensor(x, (16, columns)))
    pto.TMULS(t, t, factor)
    pto.TSTORE(pto.GlobalTensor(y, (16, columns)), t)


@pto.kernel(target="a5")
def variable(x: pto.Ptr[pto.f32], columns: int, y: pto.Ptr[pto.f32], factor: float):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    pto.TLOAD(t, pto.GlobalTensor(x, (16, columns)))
    pto.{last}(t, t, factor)
    pto.TSTORE(pto.GlobalTensor(y, (16, columns)), t)
"""


@pytest.mark.parametrize(("last", "same"), [("TMULS", True), ("TADDS", False)])
def test_diff_of_kernels_that_take_a_constant_and_a_number(tmp_path: Path, last: str, same: bool) -> None:
    file = written(tmp_path, TWINS.replace("{last}", last))
    args = [np.ones((16, 64), np.float32), 64, np.zeros((16, 64), np.float32), 3.0]
    report = pto.diff(f"{file}:constant", f"{file}:variable", args)
    assert [(a.name, a.count) for a in report.difference.arguments] == [("x", 0), ("y", 0 if same else 1024)]
    assert report.same == same
    assert (args[2] == 0).all()
    first = report.difference.first  # TMULS and TADDS are no partners; the stores are
    assert (first is None) if same else (first is not None and first.a.instruction == "TSTORE")
