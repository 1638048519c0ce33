"""Scalars of random C++ functions, against the same functions compiled to machine code by the system's compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ptokit

from .random_programs import source

HOST = shutil.which("g++") or shutil.which("clang++")
pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(HOST is None, reason="the answers come from the system's C++ compiler, and there is none"),
]
LIBRARY = '#include <cstdint>\n#define __gm__\n#define AICORE\n#define __global__ extern "C"\n'
KERNELS = "#include <pto/pto-inst.hpp>\n"


def compare(folder: Path, first: int, count: int) -> None:
    """Run functions both ways on two sets of arguments each."""
    text, kernels, library = source(first, count), folder / f"{first}.cpp", folder / f"{first}.so"
    kernels.write_text(KERNELS + text)
    (folder / "host.cpp").write_text(LIBRARY + text)
    flags = ["-std=c++17", "-w", "-O1", "-fwrapv", "-ffp-contract=off", "-fsigned-char", "-shared", "-fPIC"]
    flags.append("-fno-strict-aliasing")
    subprocess.run([str(HOST), *flags, str(folder / "host.cpp"), "-o", str(library)], check=True)
    native, lifted = ctypes.CDLL(str(library)), ptokit.cpp(kernels, target="a2a3")
    for k in range(count):
        rng = np.random.default_rng(first + k)
        kernel = lifted[f"k{k}"]
        for _ in range(2):
            given = rng.integers(-(2**31), 2**31, 16, dtype=np.int64).astype(np.int32)
            numbers = [int(rng.integers(-100, 100)), int(rng.integers(-(2**31), 2**31)), int(rng.integers(0, 2**32))]
            wide = int(rng.integers(-(2**62), 2**62))
            want, found = np.zeros(256, np.int64), np.zeros(256, np.int64)
            read = given.copy()
            address = [a.ctypes.data_as(ctypes.c_void_p) for a in (want, read)]
            n, m, u = numbers
            native[f"k{k}"](*address, ctypes.c_int32(n), ctypes.c_int32(m), ctypes.c_uint32(u), ctypes.c_int64(wide))
            kernel(found, given, n, m, u - (1 << 32) if u >> 31 else u, wide)
            assert found.tolist() == want.tolist(), f"seed {first + k}"
            assert given.tolist() == read.tolist(), f"seed {first + k}"


def test_some_programs(tmp_path: Path) -> None:
    compare(tmp_path, 0, 12)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(1000, 1300, 30))
def test_many_programs(tmp_path: Path, first: int) -> None:
    compare(tmp_path, first, 30)
