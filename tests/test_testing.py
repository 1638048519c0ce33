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
from ptokit.testing import NotChecked, arrays, assert_clean, assert_same, sanitized_launches, shapes, valid_regions

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


# assert_same


def tripled(most: int) -> pto.Kernel:
    """Three times x; with ``most`` below 16 it leaves out rows of a full tile."""

    @pto.kernel(target="a2a3")
    def scaled(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int):
        for top in range(pto.get_block_idx() * 16, n, pto.get_block_num() * 16):
            rows = pto.minimum(n - top, most)
            part = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, valid_row=rows)
            pto.TLOAD(part, pto.GlobalTensor(x, (n, 64))[top : top + rows])
            pto.TMULS(part, part, 3.0)
            pto.TSTORE(pto.GlobalTensor(y, (n, 64))[top : top + rows], part)

    return scaled


def by_numpy(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    return x * np.float32(3)


def by_numpy_in_place(x: np.ndarray, y: np.ndarray, n: int) -> None:
    np.multiply(x, np.float32(3), out=y)


def case(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    return x, np.zeros_like(x), len(x)


CASES_OF_64 = arrays(pto.f32, shapes(100).map(lambda sizes: (*sizes, 64))).map(case)


def test_the_same_on_many_cases() -> None:
    assert assert_same(tripled(16)[2], by_numpy, CASES_OF_64, examples=20) == 20
    assert assert_same(tripled(16)[3], by_numpy_in_place, [case(np.ones((n, 64), np.float32)) for n in (1, 17)]) == 2
    assert assert_same(tripled(16), tripled(16), [case(np.ones((17, 64), np.float32))]) == 1


def test_a_case_that_differs_shrinks_to_the_smallest() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_same(tripled(15)[2], by_numpy, CASES_OF_64)
    lines = str(failure.value).splitlines()
    assert lines[0] == "scaled differs from by_numpy on a2a3, 2 blocks, for x: float32 16x64, y: float32 16x64, n: 16"
    assert lines[2].startswith("  y[15, ")
    assert lines[3] == "  no instruction changes that element"


def test_what_has_written_the_first_difference_is_shown() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_same(tripled(16), lambda x, y, n: x * np.float32(2), [case(np.ones((17, 64), np.float32))])
    text = str(failure.value)
    assert "y[0, 0] is 3.0, in the reference 2.0" in text
    assert "TSTORE into dst (block 0, top=0)" in text
    assert "which is view 16x64xf32" in text


def test_of_two_kernels_the_first_instruction_is_shown() -> None:
    with pytest.raises(AssertionError, match="The first result that differs:") as failure:
        assert_same(tripled(16), tripled(15), [case(np.ones((16, 64), np.float32))])
    assert "TLOAD into part (block 0, top=0)" in str(failure.value)


def test_special_values_are_tried() -> None:
    def clipped(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
        return np.where(np.isnan(x), np.float32(0), x * np.float32(3))

    with pytest.raises(AssertionError, match=r"\] is nan, in the reference 0.0"):
        assert_same(tripled(16), clipped, CASES_OF_64)
    assert_same(tripled(16), clipped, arrays(pto.f32, (4, 64), special=False).map(case), examples=5)


def test_wrong_cases_and_references() -> None:
    one = [case(np.ones((16, 64), np.float32))]
    with pytest.raises(pto.UsageError, match="returns 2 arrays, the kernel writes 1"):
        assert_same(tripled(16), lambda x, y, n: (x, x), one)
    with pytest.raises(DiagnosticError, match="LANG-ARG"):
        assert_same(tripled(16), by_numpy, [(1,)])
    with pytest.raises(pto.UsageError, match="no multiple of 32"):
        shapes(16, multiple=32)
    with pytest.raises(AssertionError, match="RACE"):
        assert_same(copy_plus_one("a5", False, True), lambda x, y: x + 1, [(X, X.copy())], clean=True)


def test_sizes_of_strategies() -> None:
    found = []
    assert_same(tripled(16), lambda x, y, n: found.append(x.shape) or x * np.float32(3), CASES_OF_64, examples=60)
    assert len({n for n, _ in found} & {1, 16, 17, 64, 65, 99, 100}) > 4
    assert all(1 <= n <= 100 for n, _ in found)


def test_valid_regions_have_their_edges() -> None:
    import hypothesis

    found = set()

    @hypothesis.settings(max_examples=100, derandomize=True, database=None)
    @hypothesis.given(valid_regions(8, 48))
    def see(region: tuple[int, int]) -> None:
        found.add(region)

    see()
    assert {r for r, _ in found} >= {1, 7, 8}
    assert {c for _, c in found} >= {1, 47, 48}
