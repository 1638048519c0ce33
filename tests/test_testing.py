"""`ptokit.testing` and the pytest plugin, in the tests of an imagined library of kernels."""

from __future__ import annotations

import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError
from ptokit.testing import NotChecked, assert_clean, sanitized_launches

from .sanitize.test_python import copy_plus_one, tiles

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "data" / "sync-cases"
X = np.ones((16, 32), np.float32)
ONE = np.ones(512, np.float32)


def test_a_clean_kernel() -> None:
    y = pto.uninit((16, 32), pto.f32)
    report = assert_clean(copy_plus_one("a5", True, True), X, y)
    assert report.clean
    assert (np.asarray(y) == 2).all()


def test_a_racy_kernel() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_clean(copy_plus_one("a5", False, True), X, X.copy(), witness=True)
    first, second, third = str(failure.value).splitlines()[:3]
    assert first == "k on a5, 1 block: 1 error"
    assert second.startswith(f"{__file__}".replace("test_testing", "sanitize/test_python"))
    assert second.endswith("[RACE-RAW]")
    assert third.endswith("pto.TADDS(b, a, 1.0)")
    assert "witness: let TLOAD in line" in str(failure.value)


def test_blocks_of_the_launcher_and_given_ones() -> None:
    k = copy_plus_one("a5", True, True)
    with pytest.raises(AssertionError, match="k on a5, 2 blocks: 1 error"):
        assert_clean(k[2], X, X.copy())
    with pytest.raises(AssertionError, match="3 blocks"):
        assert_clean(k[2], X, X.copy(), blocks=3)
    assert_clean(k[2], X, X.copy(), blocks=1)


def test_another_target() -> None:
    assert assert_clean(copy_plus_one("a5", True, True), X, X.copy(), target="a2a3").target == "a2a3"
    assert_clean(copy_plus_one("a5", False, False), X, X.copy(), target="cpu")
    with pytest.raises(DiagnosticError) as error:
        assert_clean(copy_plus_one("a5", True, True), X, X.copy(), target="a9")
    assert [d.rule for d in error.value.diagnostics] == ["LANG-TARGET"]


def test_warnings_count_unless_told() -> None:
    @pto.kernel(target="a2a3")
    def chain(y: pto.Ptr[pto.f32]) -> None:
        a, b = tiles(0, 4096)
        pto.TEXPANDS(a, 1.0)
        pto.TADDS(b, a, 1.0)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(pto.GlobalTensor(y, (16, 32)), b)

    assert_clean(chain, X.copy())
    with pytest.raises(AssertionError, match="1 warning"):
        assert_clean(chain, X.copy(), order="profile")
    assert_clean(chain, X.copy(), order="profile", warnings=False)


def test_what_was_not_checked_is_a_warning() -> None:
    @pto.kernel(target="a2a3")
    def automatic(y: pto.Ptr[pto.f32]) -> None:
        a = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
        pto.TEXPANDS(a, 1.0)
        pto.TSTORE(pto.GlobalTensor(y, (16, 32)), a)

    with pytest.warns(NotChecked, match="order of pipes NOT CHECKED") as caught:
        assert_clean(automatic, X.copy())
    assert caught[0].filename == __file__
    assert_clean(automatic, X.copy(), mode="auto")


def test_files() -> None:
    assert_clean(CASES / "02_load_compute_sync.pto", ONE, ONE.copy(), target="a5")
    with pytest.raises(AssertionError, match="RACE-RAW"):
        assert_clean(str(CASES / "01_load_compute_nosync.pto"), ONE, ONE.copy(), target="a5")
    with pytest.raises(ValueError, match="pass target="):
        assert_clean(CASES / "02_load_compute_sync.pto", ONE, ONE.copy())


def test_launches_are_watched_on_copies() -> None:
    x, y = X.copy(), np.zeros_like(X)
    with sanitized_launches():
        copy_plus_one("a5", True, True)(x, y)
        assert (y == 2).all()
        with pytest.raises(AssertionError, match="RACE-RAW"):
            copy_plus_one("a5", True, False)(x, y)
        assert (y == 2).all()
    copy_plus_one("a5", True, False)(x, y)


LIBRARY = """
import numpy as np
import pytest
import ptokit as pto

@pto.kernel(target="a5")
def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], flag: pto.Static) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    pto.TASSIGN(a, 0)
    pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))
    if flag:
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, 0)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, 0)
    pto.TSTORE(pto.GlobalTensor(y, (16, 32)), a)

def launch(flag):
    x, y = np.ones((16, 32), np.float32), np.zeros((16, 32), np.float32)
    k(x, y, flag)
    assert (y == 1).all()

def test_plain():
    launch(False)

@pytest.mark.ptokit_sanitize
def test_clean():
    launch(True)

@pytest.mark.ptokit_sanitize(witness=True)
def test_racy():
    launch(False)

@pytest.mark.ptokit_sanitize(orders="profile")
def test_wrong():
    launch(True)
"""
PLUGIN = () if entry_points(group="pytest11", name="ptokit") else ("-p", "ptokit.pytest_plugin")


def test_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_library=LIBRARY)
    ran = pytester.runpytest_inprocess("--strict-markers", *PLUGIN)
    ran.assert_outcomes(passed=2, failed=2)
    ran.stdout.fnmatch_lines(["E * k on a5, 1 block: 1 error", "E * [[]RACE-RAW[]]"])
    ran.stdout.fnmatch_lines(["*witness: let TLOAD in line * of y change: *"])
    ran.stdout.fnmatch_lines(["*ptokit_sanitize takes order, warnings, witness by name, not orders*"])


def test_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_library=LIBRARY)
    ran = pytester.runpytest_inprocess(*PLUGIN, "--ptokit-sanitize", "-k", "plain or clean")
    ran.assert_outcomes(passed=1, failed=1, deselected=2)


def test_the_marker_is_listed(pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_inprocess("--markers", *PLUGIN)
    ran.stdout.fnmatch_lines(["@pytest.mark.ptokit_sanitize(order='strict', warnings=True, witness=False): *"])


def test_pytest_finds_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module = import_module(project["entry-points"]["pytest11"]["ptokit"])
    assert module.MARKER == "ptokit_sanitize"
