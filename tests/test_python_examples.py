"""The Python examples: compiled, interpreted and NumPy agree; nothing is found in them, and planted mistakes are."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ptokit.sanitize import uninit
from ptokit.types.dtypes import DTYPES

EXAMPLES = Path(__file__).parents[1] / "examples" / "python"
RNG = np.random.default_rng(5)


def loaded(name: str, change: tuple[str, str] = ("", "")) -> Any:
    """The module of an example, with one piece of its text replaced."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert change[0] in text
    text = text.replace(*change, 1) if change[0] else text
    file = f"example {name} {hash(change)}"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": name}
    exec(compile(text, file, "exec"), scope)
    return SimpleNamespace(**scope)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


@dataclass(frozen=True)
class Example:
    """Inputs, the place of the result among the arguments, and what NumPy says it is."""

    file: str
    kernel: str
    blocks: int
    args: Callable[[], list[Any]]
    result: int
    wanted: Callable[..., np.ndarray]
    tolerance: float = 0.0
    planted: tuple[str, str, str] = ("", "", "")  # old text, new text, rule that tells


def rms_wanted(x: np.ndarray, gamma: np.ndarray, y: np.ndarray, n: int, eps: float) -> np.ndarray:
    v = x.astype(np.float64)
    return v / np.sqrt((v * v).mean(axis=1, keepdims=True) + eps) * gamma


def int8(*shape: int) -> np.ndarray:
    return RNG.integers(-9, 9, shape).astype(np.int8)


def softmax_wanted(x: np.ndarray, *_: Any) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


TABLE = [
    Example(
        "vec_add",
        "vec_add",
        2,
        lambda: [*(normal(9001).astype(np.float32) for _ in range(2)), np.zeros(9001, np.float32), 9001],
        2,
        lambda x, y, *_: x + y,
        planted=("pto.TLOAD(b, gy", "pto.TLOAD(a, gy", "UNINIT-READ"),
    ),
    Example(
        "softmax",
        "softmax",
        2,
        lambda: [normal(40, 512).astype(np.float32), np.zeros((40, 512), np.float32), 40],
        1,
        softmax_wanted,
        1e-6,
        ("pto.TROWMAX(peak, t, tmp)", "pass", "UNINIT-READ"),
    ),
    Example(
        "gemm",
        "gemm",
        2,
        lambda: [normal(128, 128), normal(128, 64), np.zeros((128, 64), np.float32), 128, 128, 64],
        2,
        lambda a, b, *_: a.astype(np.float64) @ b.astype(np.float64),
        1e-4,
        ("pto.TMOV(left, a_l1)", "pass", "UNINIT-READ"),
    ),
    Example(
        "rms_norm",
        "rms_norm",
        2,
        lambda: [normal(24, 256), normal(256), np.zeros((24, 256), np.float16), 24, 1e-6],
        2,
        rms_wanted,
        4e-3,
        ("pto.TCVT(v, t)", "pass", "UNINIT-READ"),
    ),
    Example(
        "embedding",
        "embedding",
        2,
        lambda: [normal(50, 128), RNG.integers(0, 50, 48).astype(np.int32), np.zeros((48, 128), np.float16), 50, 48],
        2,
        lambda table, tokens, *_: table[tokens],
        planted=("pto.TLOAD(indices, all_tokens[:, first : first + ROWS])", "pass", "GATHER-COM-06"),
    ),
    Example(
        "saxpy_registers",
        "saxpy",
        2,
        lambda: [normal(5001).astype(np.float32), normal(5001).astype(np.float32), 5001, 0.3],
        1,
        lambda x, y, n, a: np.float32(a) * x + y,
        planted=("pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, half)", "pass", "RACE-RAW"),
    ),
    Example(
        "gemm_double_buffered",
        "gemm",
        2,
        lambda: [normal(128, 256), normal(256, 64), np.zeros((128, 64), np.float32), 128, 256, 64],
        2,
        lambda a, b, *_: a.astype(np.float64) @ b.astype(np.float64),
        1e-4,
        ("pto.wait_flag(M, MTE1, i)\n                pto.TMOV(left", "pto.TMOV(left", "RACE-WAR"),
    ),
    Example(
        "gemm_int8",
        "gemm_int8",
        1,
        lambda: [int8(64, 128), int8(128, 64), np.zeros((64, 64), np.float16), 64, 128, 64],
        2,
        lambda a, b, *_: (a.astype(np.int32) @ b.astype(np.int32)).astype(np.float32) * np.float32(0.125),
        planted=("pto.TMOV(left, a_l1)", "pass", "UNINIT-READ"),
    ),
]


def attention_wanted(q: np.ndarray, k: np.ndarray, v: np.ndarray, *_: Any) -> np.ndarray:
    answer: np.ndarray = loaded("flash_attention").attention(q, k, v)
    return answer


def whole(*shape: int) -> np.ndarray:
    """Numbers of which every sum is exact."""
    return RNG.integers(-4, 5, shape).astype(np.float16)


TABLE += [
    Example(
        "split_k",
        "split_k",
        2,
        lambda: [
            whole(32, 384),
            whole(384, 192),
            whole(32, 192).astype(np.float32),
            np.zeros((32, 192), np.float32),
            384,
            192,
        ],
        3,
        lambda x, w, r, *_: x.astype(np.float64) @ w.astype(np.float64) + r,
        planted=("pto.TFREE(sums, HALVES)", "pass", "DEADLOCK"),
    ),
    Example(
        "flash_attention",
        "flash_attention",
        2,
        lambda: [normal(128, 64), normal(192, 64), normal(192, 64), np.zeros((128, 64), np.float32), 128, 192],
        3,
        attention_wanted,
        1e-3,
        ("pto.wait_flag(V, MTE3, 0)\n            pto.TPUSH", "pto.TPUSH", "RACE-RAW"),
    ),
    Example(
        "flash_attention",
        "flash_attention_a2a3",
        2,
        lambda: [
            *(normal(n, 64) for n in (128, 192, 192)),
            np.zeros((128, 64), np.float32),
            np.zeros(2 * loaded("flash_attention").SLOTS // 4, np.float32),
            128,
            192,
        ],
        3,
        attention_wanted,
        1e-3,
        ("pto.wait_flag(MTE2, V, event)\n", "pass\n", "RACE-RAW"),
    ),
]


@pytest.fixture(params=TABLE, ids=lambda e: e.kernel)
def example(request: pytest.FixtureRequest) -> Example:
    return request.param


def copies(args: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def test_compiled_interpreted_and_numpy_agree(example: Example) -> None:
    kernel = getattr(loaded(example.file), example.kernel)
    args = example.args()
    compiled, interpreted = copies(args), copies(args)
    kernel[example.blocks](*compiled)
    kernel.interpret[example.blocks](*interpreted)
    got = compiled[example.result]
    assert got.tobytes() == interpreted[example.result].tobytes()
    wanted = example.wanted(*args)
    if example.tolerance:
        assert np.abs(got - wanted).max() < example.tolerance
    else:
        assert np.array_equal(got, wanted.astype(got.dtype))


def observed(example: Example, kernel: Any) -> Any:
    args = example.args()
    if not args[example.result].any():
        kind = next(d for d in DTYPES.values() if d.value == args[example.result].dtype)
        args[example.result] = uninit(args[example.result].shape, kind)
    return kernel.sanitize(*args, blocks=example.blocks)


def test_nothing_is_found(example: Example) -> None:
    report = observed(example, getattr(loaded(example.file), example.kernel))
    assert [str(d) for d in report.diagnostics if d.severity == "error"] == []


def test_a_planted_mistake_is_found_at_its_place(example: Example) -> None:
    old, new, rule = example.planted
    module = loaded(example.file, (old, new))
    report = observed(example, getattr(module, example.kernel))
    errors = [d for d in report.symptoms if d.severity == "error"]
    assert rule in {d.rule for d in errors}
    assert all(d.location.file == f"example {example.file} {hash((old, new))}" for d in errors)
