"""Result files: names, atomicity, and types NumPy lacks."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptokit.api import launch
from ptokit.cli import outputs
from ptokit.diagnostics import DiagnosticError

from .conftest import KERNELS, Run


def rules(error: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    return [d.rule for d in error.value.diagnostics]


def test_files_are_named_after_parameters_or_positions() -> None:
    assert launch.file_names(["x", "", "y"]) == ["x", "arg1", "y"]
    assert launch.file_names(["0", "1"]) == ["arg0", "arg1"]
    assert launch.file_names(["a", "A", "a_1"]) == ["a", "A_1", "a_1_2"]
    assert launch.file_names(["arg1", ""]) == ["arg1", "arg1_1"]


def test_arrays_are_saved_in_a_new_directory(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b"
    outputs.save_arrays(target, {"x": np.arange(6, dtype=np.int8).reshape(2, 3), "y": np.ones(2, np.float32)})
    assert sorted(p.name for p in target.iterdir()) == ["x.npy", "y.npy"]
    assert np.load(target / "x.npy").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [p.name for p in target.parent.iterdir()] == ["b"]


def test_other_files_of_an_existing_directory_stay(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("kept")
    np.save(tmp_path / "x.npy", np.zeros(3))
    outputs.save_arrays(tmp_path, {"x": np.ones(2, np.float32)})
    assert (tmp_path / "keep.txt").read_text() == "kept"
    assert np.load(tmp_path / "x.npy").tolist() == [1, 1]


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        (ml_dtypes.bfloat16, np.uint16),
        (ml_dtypes.float8_e4m3fn, np.uint8),
        (ml_dtypes.float8_e5m2, np.uint8),
        (ml_dtypes.float8_e8m0fnu, np.uint8),
        (np.float16, np.float16),
        (np.int64, np.int64),
    ],
)
def test_types_numpy_lacks_are_saved_as_raw_integers(tmp_path: Path, dtype: type, stored: type) -> None:
    array = np.array([1, 2, 0.5]).astype(dtype)
    outputs.save_arrays(tmp_path / "o", {"x": array})
    loaded = np.load(tmp_path / "o" / "x.npy", allow_pickle=False)
    assert loaded.dtype == stored
    assert loaded.tobytes() == array.tobytes()


def test_a_failing_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "o"
    target.mkdir()
    np.save(target / "x.npy", np.zeros(3))
    real, calls = np.save, []

    def full_disk(*args: object, **more: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(np, "save", full_disk)
    with pytest.raises(DiagnosticError) as error:
        outputs.save_arrays(target, {"x": np.ones(3), "y": np.ones(3)})
    assert rules(error) == ["CLI-02"]
    assert "No space left" in str(error.value)
    assert np.load(target / "x.npy").tolist() == [0, 0, 0]
    assert os.listdir(tmp_path) == ["o"]
    assert os.listdir(target) == ["x.npy"]


def test_a_directory_that_cannot_be_is_refused_before_the_run(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for directory in (file, file / "below", file / "far" / "below"):
        with pytest.raises(DiagnosticError) as error:
            outputs.check_directory(directory)
        assert rules(error) == ["CLI-02"]
    outputs.check_directory(tmp_path / "new" / "deep")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user without all rights")
def test_a_directory_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DiagnosticError) as error:
        outputs.check_directory(tmp_path / "new")
    assert rules(error) == ["CLI-02"]


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    """Nothing is written, and what would have been replaced before it is there as it was."""
    np.save(tmp_path / "a.npy", np.zeros(3))
    (tmp_path / "z.npy").mkdir()
    with pytest.raises(DiagnosticError) as refused:
        outputs.check_directory(tmp_path, ["a", "z"])
    assert rules(refused) == ["CLI-02"]
    with pytest.raises(DiagnosticError) as refused:
        outputs.save_arrays(tmp_path, {name: np.ones(2, np.float32) for name in ("a", "b", "z")})
    assert rules(refused) == ["CLI-02"]
    assert (tmp_path / "z.npy").is_dir()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "z.npy"]
    assert np.load(tmp_path / "a.npy").tolist() == [0, 0, 0]


def test_a_move_that_fails_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    replace, calls = os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 4:  # a.npy away and new, b.npy new, c.npy
            raise PermissionError(13, "no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(DiagnosticError):
        outputs.save_arrays(tmp_path, {name: np.ones(2, np.float32) for name in "abc"})
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]
    assert np.load(tmp_path / "a.npy").tolist() == [0, 0, 0]


def test_folders_made_for_results_that_cannot_be_written_go_away(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError):
        outputs.save_arrays(tmp_path / "new" / "deep", {"x" * 300: np.ones(2)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 300, "d/" * 3000, "nul\0byte"])
def test_names_that_no_directory_has(tmp_path: Path, name: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        outputs.check_directory(tmp_path / name)
    assert rules(refused) == ["CLI-02"]


def test_an_empty_name_is_a_usage_error(ptokit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = ptokit("run", KERNELS / "vec_add.pto", "-t", "a5", *(["-a", "ones:f32:64"] * 3), "-a", 64, "-o", "")
    assert ran.status == 2
    assert os.listdir(tmp_path) == []
