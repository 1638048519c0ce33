"""Kernels in C++ that use the language: what they compute, on both backends, and from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit

pytestmark = pytest.mark.usefixtures("compiler")
TARGETS = ("a2a3", "a5")
BACKENDS = ("numpy", "native")


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((4, 8, 64)).astype(np.float32)


def expected(name: str, x: np.ndarray) -> np.ndarray:
    if name == "ring":
        return x + 1
    if name == "lambdas":
        return np.stack([x[0] * 2, np.abs(x[1]), x[2] * 2, np.abs(x[3])])
    return np.stack([-x[0], x[1] * 3, np.abs(x[2]), x[3] * 3])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["ring", "lambdas", "table"])
def test_control_flow(kernels: Path, x: np.ndarray, name: str, target: str, backend: str) -> None:
    y = np.zeros_like(x)
    ptokit.cpp(kernels / "features.cpp", target=target)[name](x, y, 4, backend=backend)
    assert y.tobytes() == expected(name, x).tobytes()


def test_data_decides(kernels: Path, x: np.ndarray) -> None:
    y, rows = np.zeros_like(x), np.array([2, 0, 3, 1, -1] + [0] * 11, np.int32)
    ptokit.cpp(kernels / "features.cpp", target="a2a3")["data"](x, y, rows)
    want = np.stack([x[r] + (10 if x[r, 0, 3] > 0 else 0) for r in (2, 0, 3, 1)]).astype(np.float32)
    assert y.tobytes() == want.tobytes()
    assert rows[15] == 4


@pytest.mark.parametrize("n", [0, 1, 12, 30])
def test_local_array(kernels: Path, n: int) -> None:
    x, y = np.arange(7, 39, dtype=np.int32), np.zeros(32, np.int32)
    ptokit.cpp(kernels / "features.cpp", target="a5")["local"](x, y, n)
    want = np.zeros(32, np.int32)
    for i in range(n):
        want[i] = x[(i * 5) % 12] * 3 - i
    assert (y == want).all()


@pytest.mark.parametrize(("type", "dtype"), [("float", np.float32), ("half", np.float16), ("int32_t", np.int32)])
def test_template_with_arguments(kernels: Path, type: str, dtype: type) -> None:
    kernel = ptokit.cpp(kernels / "features.cpp", target="a2a3")[f"twice<{type}, 32>"]
    x, y = np.arange(256, dtype=dtype), np.zeros(256, dtype)
    kernel[1](x, y)
    assert (y == 2 * x).all()


def test_clean_kernels_have_no_findings(kernels: Path, x: np.ndarray) -> None:
    file = ptokit.cpp(kernels / "features.cpp", target="a2a3")
    assert set(file) == {"ring", "lambdas", "data", "table", "local"}
    for name in ("ring", "lambdas", "table"):
        assert not file[name].check()
        assert not file[name].sanitize(x, np.zeros_like(x), 4).diagnostics


def test_text_form_is_the_same_program(kernels: Path, x: np.ndarray) -> None:
    text = ptokit.cpp(kernels / "features.cpp", target="a2a3")["table"].to_pto()
    y = np.zeros_like(x)
    ptokit.run(text, [x, y, 4])
    assert y.tobytes() == expected("table", x).tobytes()
