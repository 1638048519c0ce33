"""Arguments that stay in their files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ptokit.arguments.grammar import ArgumentSyntaxError, parse_argument
from ptokit.diagnostics import DiagnosticError

from ..cli.conftest import Run, ptokit

__all__ = ["ptokit"]

COPY = """module attributes {pto.target_arch = "a5"} {
  func.func @copy(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) attributes {pto.entry} {
    %b = pto.get_block_idx
    %block = arith.index_cast %b : i64 to index
    %n = pto.get_block_num
    %blocks = arith.index_cast %n : i64 to index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %rows = arith.muli %blocks, %c64 : index
    %top = arith.muli %block, %c64 : index
    %xv = pto.make_tensor_view %x, shape = [%rows, %c512], strides = [%c512, %c1] : !pto.tensor_view<?x?xf32>
    %yv = pto.make_tensor_view %y, shape = [%rows, %c512], strides = [%c512, %c1] : !pto.tensor_view<?x?xf32>
    %xp = pto.partition_view %xv, offsets = [%top, %c0], sizes = [%c64, %c512]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<64x512xf32>
    %yp = pto.partition_view %yv, offsets = [%top, %c0], sizes = [%c64, %c512]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<64x512xf32>
    %t = pto.alloc_tile : !pto.tile_buf<vec, 64x512xf32>
    pto.tload ins(%xp : !pto.partition_tensor_view<64x512xf32>) outs(%t : !pto.tile_buf<vec, 64x512xf32>)
    pto.tstore ins(%t : !pto.tile_buf<vec, 64x512xf32>) outs(%yp : !pto.partition_tensor_view<64x512xf32>)
    return
  }
}
"""
BLOCK = 64 * 512


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "copy.pto"
    path.write_text(COPY)
    return path


def test_a_kernel_reads_one_file_and_changes_another(kernel: Path, tmp_path: Path, ptokit: Run) -> None:
    x = np.arange(3 * BLOCK, dtype=np.float32).reshape(-1, 512)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.zeros_like(x))
    y = tmp_path / "y.npy"
    ran = ptokit("run", kernel, "-b", 3, "-a", f"mmap:{tmp_path}/x.npy", "-a", f"mmap:{y}:rw", "-o", tmp_path / "out")
    assert ran.status == 0, ran.err
    assert "mapped" in ran.out
    assert np.array_equal(np.load(y), x)
    assert not list((tmp_path / "out").glob("*"))  # they are in their files


def test_a_new_file_is_made_and_none_is_replaced(kernel: Path, tmp_path: Path, ptokit: Run) -> None:
    y = tmp_path / "y.npy"
    args = ("run", kernel, "-a", "ones:f32:64x512", "-a", f"mmap:{y}:f32:64x512")
    assert ptokit(*args).status == 0
    assert np.array_equal(np.load(y), np.ones((64, 512), np.float32))
    y.write_bytes(b"mine")
    ran = ptokit(*args)
    assert (ran.status, y.read_bytes()) == (1, b"mine")
    assert "it exists already [CLI-01]" in ran.err
    assert f"hint: write mmap:{y}:rw" in ran.err


def test_a_file_that_is_only_read_cannot_be_stored_to(kernel: Path, tmp_path: Path, ptokit: Run) -> None:
    np.save(tmp_path / "y.npy", np.zeros(BLOCK, np.float32))
    before = (tmp_path / "y.npy").read_bytes()
    ran = ptokit("run", kernel, "-a", "ones:f32:64x512", "-a", f"mmap:{tmp_path}/y.npy")
    assert (ran.status, "RUN-ARG-READONLY" in ran.err) == (1, True)
    assert (tmp_path / "y.npy").read_bytes() == before


@pytest.mark.parametrize(
    "text", ["mmap:", "mmap:x", "mmap:x.npy:ro", "mmap:x.npy:f32", "mmap:x.npy:f31:4", "mmap:x.npy:f32:a"]
)
def test_wrong_forms(text: str) -> None:
    with pytest.raises(ArgumentSyntaxError):
        parse_argument(text, 0)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_argument("mmap:none.npy", 0).make()
    assert [d.rule for d in caught.value.diagnostics] == ["CLI-01"]


@pytest.mark.campaign
@pytest.mark.parametrize("more", [(), ("--executor", "processes", "-j", "2")], ids=["alone", "processes"])
def test_eight_gigabytes_of_tensors_take_less_than_two_of_memory(
    kernel: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    rows = (4 << 30) // 4 // 512
    np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(rows, 512))[-1] = 7
    code = (
        "from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage\nfrom ptokit.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print(*(getrusage(who).ru_maxrss for who in (RUSAGE_SELF, RUSAGE_CHILDREN)))"
    )
    blocks, y = str(rows // 64), f"mmap:{tmp_path}/y.npy:f32:{rows}x512"
    command = [sys.executable, "-c", code, "run", str(kernel), "-b", blocks, "-a", f"mmap:{tmp_path}/x.npy", "-a", y]
    ran = subprocess.run([*command, *more], capture_output=True, text=True, check=True)
    mine, largest = map(int, ran.stdout.split()[-2:])
    print(mine >> 10, largest >> 10, "MiB")
    assert mine + 2 * largest < 2 << 20  # KiB
    assert (np.load(tmp_path / "y.npy", mmap_mode="r")[-1] == 7).all()
    for name in ("x", "y"):
        (tmp_path / f"{name}.npy").unlink()
