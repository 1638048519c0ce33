"""Which backend carries out a launch."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.run import backends
from ptokit.run import program as programs
from ptokit.run.backends import threads_wanted, wanted
from ptokit.run.program import Program

from .kernels import VIEWS, add, compiled, load, part, store

PTRS = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %count: index"
LOOP = (
    "    %rows = arith.constant 8 : index\n"
    + VIEWS
    + part("p", "%xv", "%c0")
    + part("q", "%yv", "%c0")
    + load("%t", "%p")
    + "    scf.for %i = %c0 to %count step %c1 {\n"
    + add("%t", "%t", "%t")
    + "    }\n"
    + store("%t", "%q")
)


def rows() -> np.ndarray:
    return np.ones((8, 16), np.float32)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The backends beside NumPy that are prepared."""
    names: list[str] = []
    real = backends.prepare

    def prepare(name: str, program: Program) -> object:
        if name != "numpy":
            names.append(name)
        return real(name, program)

    monkeypatch.setattr(programs, "prepare", prepare)
    monkeypatch.delenv("PTOKIT_BACKEND", raising=False)
    return names


def test_little_work_stays_on_numpy(asked: list[str]) -> None:
    compiled(PTRS, LOOP).launch([rows(), rows(), 3])
    assert asked == []


def test_much_work_is_compiled(asked: list[str]) -> None:
    """The others are asked how long they take."""
    pytest.importorskip("llvmlite")
    y, program = rows(), compiled(PTRS, LOOP)
    program.launch([np.zeros((8, 16), np.float32), y, 100_000])
    assert asked == ["native", "reference"]
    assert program.backend_for([rows(), rows(), 100_000], 1) == "native"
    assert not y.any()


def test_many_launches_are_much_work(asked: list[str]) -> None:
    pytest.importorskip("llvmlite")
    program = compiled(PTRS, LOOP)
    for _ in range(4):
        program.launch([rows(), rows(), 9000])
    assert asked == ["native", "reference"]


def test_numpy_by_name(asked: list[str]) -> None:
    compiled(PTRS, LOOP).launch([rows(), rows(), 40_000], backend="numpy")
    assert asked == []


def test_the_environment_is_a_wish(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_BACKEND", "native")
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    y = rows()
    compiled(PTRS, LOOP).launch([rows(), y, 2])
    assert asked == ["native"]
    assert (y == 4).all()


def test_without_llvmlite_it_is_an_error_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(DiagnosticError, match="llvmlite") as error:
        compiled(PTRS, LOOP).launch([rows(), rows(), 2], backend="native")
    assert [d.rule for d in error.value.diagnostics] == ["RUN-BACKEND"]


@pytest.mark.parametrize("name", ["cuda", "Native"])
def test_no_such_backend(name: str) -> None:
    with pytest.raises(DiagnosticError, match=f"no backend '{name}'; known: numpy, native") as error:
        compiled(PTRS, LOOP).launch([rows(), rows(), 2], backend=name)
    assert [d.rule for d in error.value.diagnostics] == ["RUN-BACKEND"]


def test_names_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_BACKEND", "auto")
    assert wanted(None) == ""
    assert wanted("numpy") == "numpy"
    monkeypatch.setenv("PTOKIT_THREADS", "3")
    assert threads_wanted(None) == 3
    assert threads_wanted(1) == 1
    monkeypatch.setenv("PTOKIT_THREADS", "many")
    assert threads_wanted(None) >= 1
