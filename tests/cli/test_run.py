"""ptokit run: arguments, results, refusals that leave no output after."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptokit.targets import TARGETS

from .conftest import KERNELS, Run

ADD = KERNELS / "vec_add.pto"

CAST = """
!v = !pto.tensor_view<?x?xbf16>
!s = !pto.partition_tensor_view<1x64xbf16>
!t = !pto.tile_buf<vec, 1x64xbf16>
module attributes {pto.target_arch = "a5"} {
  func.func @copy(%0: !pto.ptr<bf16>, %y: !pto.ptr<bf16>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 64 : index
    %xv = pto.make_tensor_view %0, shape = [%one, %n], strides = [%n, %one] : !v
    %yv = pto.make_tensor_view %y, shape = [%one, %n], strides = [%n, %one] : !v
    %xs = pto.partition_view %xv, offsets = [%zero, %zero], sizes = [%one, %n] : !v -> !s
    %ys = pto.partition_view %yv, offsets = [%zero, %zero], sizes = [%one, %n] : !v -> !s
    %a = pto.alloc_tile : !t
    pto.tload ins(%xs : !s) outs(%a : !t)
    pto.tstore ins(%a : !t) outs(%ys : !s)
    return
  }
}
"""


def test_results_are_saved_under_parameter_names(ptokit: Run, tmp_path: Path) -> None:
    x = np.arange(5000, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "out"
    ran = ptokit("run", ADD, "-t", "a5", "-a", tmp_path / "x.npy", "-a", "full:2:f32:5000", "-a", "zeros:f32:50x100",
                 "-a", 5000, "--blocks", 2, "--out", out)  # fmt: skip
    assert ran.status == 0, ran.err
    assert sorted(os.listdir(out)) == ["x.npy", "y.npy", "z.npy"]
    assert np.array_equal(np.load(out / "z.npy"), (x + 2).reshape(50, 100))
    assert np.array_equal(np.load(out / "x.npy"), x)
    assert np.array_equal(np.load(tmp_path / "x.npy"), x)


def test_the_table_shows_what_changed(ptokit: Run) -> None:
    ran = ptokit("run", ADD, "-t", "a5", "-a", "arange:f32:100", "-a", "ones:f32:100", "-a", "zeros:f32:200", "-a", 100)
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0][:5] == ["vec_add", "on", "a5:", "1", "block"]
    assert lines[2] == ["argument", "type", "shape", "changed", "min", "max", "first", "values"]
    assert lines[3] == ["x", "f32", "100", "-", "0", "99", "0", "1", "2", "…"]
    assert lines[4] == ["y", "f32", "100", "-", "1", "1", "1", "1", "1", "…"]
    assert lines[5] == ["z", "f32", "200", "100", "0", "100", "1", "2", "3", "…"]
    assert "\x1b" not in ran.out


def test_types_numpy_lacks_go_in_and_out_as_raw_integers(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "copy.pto"
    file.write_text(CAST)
    values = np.linspace(-3, 3, 64).astype(ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", values.view(np.uint16))
    ran = ptokit("run", file, "-a", tmp_path / "x.npy", "-a", "zeros:bf16:64", "-o", tmp_path / "out")
    assert ran.status == 0, ran.err
    assert sorted(os.listdir(tmp_path / "out")) == ["arg0.npy", "y.npy"]
    result = np.load(tmp_path / "out" / "y.npy")
    assert result.dtype == np.uint16
    assert result.tobytes() == values.tobytes()
    assert "-3" in ran.out


GOOD = ["-a", "zeros:f32:64", "-a", "zeros:f32:64", "-a", "zeros:f32:64", "-a", "64"]


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        (GOOD[:6], "RUN-ARG-COUNT"),
        ([*GOOD, "-a", "1"], "RUN-ARG-COUNT"),
        ([*GOOD[:4], "-a", "zeros:f16:64", *GOOD[6:]], "RUN-ARG-DTYPE"),
        ([*GOOD[:4], "-a", "1", *GOOD[6:]], "RUN-ARG-TYPE"),
        ([*GOOD[:6], "-a", "0.5"], "RUN-ARG-TYPE"),
        ([*GOOD[:6], "-a", "zeros:f32:4"], "RUN-ARG-TYPE"),
        ([*GOOD[:6], "-a", "99999999999999999999"], "RUN-ARG-RANGE"),
        ([*GOOD[:6], "-a", "65"], "GM-OOB"),
        ([*GOOD[:4], "-a", "missing.npy", *GOOD[6:]], "CLI-01"),
        ([*GOOD, "--entry", "nope"], "RUN-ENTRY"),
    ],
)
def test_refused_runs_say_why_and_write_nothing(ptokit: Run, tmp_path: Path, args: list[str], rule: str) -> None:
    ran = ptokit("run", ADD, "-t", "a5", *args, "--out", tmp_path / "out")
    assert ran.status == 1
    assert f"[{rule}]" in ran.err
    assert ran.out == ""
    assert os.listdir(tmp_path) == []


def test_a_run_that_fails_late_leaves_old_results_alone(ptokit: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", np.full(3, 7))
    ran = ptokit("run", ADD, "-t", "a5", "-a", "zeros:f32:9000", "-a", "zeros:f32:9000", "-a", "zeros:f32:5000",
                 "-a", 9000, "-o", tmp_path)  # fmt: skip
    assert ran.status == 1
    assert "[GM-OOB]" in ran.err
    assert os.listdir(tmp_path) == ["z.npy"]
    assert np.load(tmp_path / "z.npy").tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-t", "a9"], f"'a9' is not one of {', '.join(TARGETS)}"),
        (["-t", "a5", "--matmul", "best"], "Invalid value for '--matmul': 'best' is not one of 'exact', 'fast', 'ref'"),
        ([], "states no pto.target_arch"),
        (["-t", "a5", "-a", "bogus"], "'bogus' is neither a number"),
        (["-t", "a5", "-a", "ran"], "peer:…, block_idx, block_num, subblock_idx, subblock_num, rank, ranks, comm"),
        (["-t", "a5", "-a", "zeros:f99:4"], "'f99' is not an element type"),
        (["-t", "a5", "--blocks", "0"], "--blocks"),
        (["-t", "a5", "--nonsense"], "--nonsense"),
        (["-t", "a5", "-a", "zeros:f32:900000000000x9000"], "does not fit into memory"),
    ],
)
def test_wrong_usage_is_status_2(ptokit: Run, args: list[str], message: str) -> None:
    ran = ptokit("run", ADD, *args)
    assert ran.status == 2
    assert message in ran.err
    assert ran.out == ""


def test_the_unwritable_output_is_reported_before_the_run(ptokit: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ran = ptokit("run", ADD, "-t", "a5", *GOOD, "-o", tmp_path / "file")
    assert ran.status == 1
    assert "[CLI-02]" in ran.err
    assert ran.out == ""


def test_the_target_option_wins_over_the_file(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "copy.pto"
    file.write_text(CAST)
    args = ["-a", "zeros:bf16:64", "-a", "zeros:bf16:64"]
    assert "copy on a5:" in ptokit("run", file, *args).out
    assert "copy on a2a3:" in ptokit("run", file, *args, "--target", "a2").out


def test_an_unknown_target_in_the_file_is_a2a3_and_a_warning(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "copy.pto"
    file.write_text(CAST.replace('"a5"', '"a55"'))
    args = ["-a", "zeros:bf16:64", "-a", "zeros:bf16:64"]
    ran = ptokit("run", file, *args)
    assert ran.status == 0
    assert "copy on a2a3:" in ran.out
    assert "warning: there is no target 'a55': read with the rules of a2a3 [TEXT-ARCH]" in ran.err
    assert "did you mean 'a5'?" in ran.err
    assert "TEXT-ARCH" not in ptokit("run", file, *args, "--target", "a5").err


def test_nan_and_empty_arrays_have_a_row(ptokit: Run) -> None:
    ran = ptokit("run", ADD, "-t", "a5", "-a", "full:nan:f32:4", "-a", "zeros:f32:4", "-a", "zeros:f32:4", "-a", 4)
    assert ran.out.splitlines()[5].split() == ["z", "f32", "4", "all", "nan", "nan", "4", "nan", "nan", "nan", "…"]
    assert ran.out.splitlines()[2].split()[:7] == ["argument", "type", "shape", "changed", "min", "max", "nan"]
    assert ran.out.splitlines()[4].split() == ["y", "f32", "4", "-", "0", "0", "-", "0", "0", "0", "…"]
    ran = ptokit("run", ADD, "-t", "a5", "-a", "zeros:f32:0", "-a", "zeros:f32:0", "-a", "zeros:f32:0", "-a", 0)
    assert ran.status == 0
    assert ran.out.splitlines()[3].split() == ["x", "f32", "0", "-", "-", "-"]


def test_all_commands_have_help_with_examples(ptokit: Run) -> None:
    assert "Commands:" in ptokit("--help").out
    for command in ("run", "check", "isa", "explain"):
        ran = ptokit(command, "--help")
        assert ran.status == 0
        assert "Examples:" in ran.out
        assert f"ptokit {command}" in ran.out.split("Examples:")[1]
        assert max(map(len, ran.out.splitlines())) <= 80


def test_signed_integers_are_taken_by_their_bits(ptokit: Run, tmp_path: Path) -> None:
    path = tmp_path / "k.pto"
    path.write_text("func.func @f(%x: !pto.ptr<ui32>) attributes {pto.entry} {\n  return\n}\n")
    ran = ptokit("run", path, "-t", "a5", "-a", "ones:i32:64")
    assert ran.status == 0
    assert "note: argument %x is an array of i32; the kernel takes its bits for u32 [RUN-ARG-DTYPE]" in ran.err
    assert ran.err.count("RUN-ARG-DTYPE") == 1
