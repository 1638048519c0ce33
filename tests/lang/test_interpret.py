"""Interpreted runs: the same bytes as compiled ones, with everything to be seen."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f16, f32, i64
from ptokit.diagnostics import DiagnosticError

from .support import finding_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def both_ways(kernel: pto.Kernel, blocks: int, *args: Any) -> None:
    one, other = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    kernel[blocks](*one)
    kernel.interpret[blocks](*other)
    for a, b in zip(one, other):
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes()


@pto.kernel(target="a5")
def tail(x: Ptr[f32], y: Ptr[f32], n: int, factor: float, width: pto.Static = 64):
    block = pto.get_block_idx()
    total = factor * 0.1
    for i in range(block * width, n, pto.get_block_num() * width):
        size = pto.minimum(n - i, width)
        t = Tile(TileType.Vec, f32, 1, width, valid_col=size)
        pto.TLOAD(t, GlobalTensor(x, (1, n))[:, i : i + size])
        if size < width:
            pto.TMULS(t, t, total)
        elif i // 64 % 2 == 1:
            pto.TADDS(t, t, x[i])
        pto.TSTORE(GlobalTensor(y, (1, n))[:, i : i + size], t)


def test_tiles_scalars_and_control_flow() -> None:
    x = np.random.default_rng(0).random(1000, np.float32)
    both_ways(tail, 3, x, np.zeros_like(x), 1000, 0.7)


def test_explicit_words() -> None:
    @pto.kernel(target="a5")
    def f(y: Ptr[i64], n: int):
        for i in pto.range(n):
            with pto.if_((i > 1) & ~(i == 3)):
                y[i] = i // 2
            with pto.else_():
                with pto.if_(i == 0):
                    y[i] = 77
                y[i + 8] = -1

    both_ways(f, 1, np.zeros(16, np.int64), 6)


def test_numbers_compute_as_in_the_kernel() -> None:
    @pto.kernel(target="a5")
    def f(y: Ptr[i64], z: Ptr[f32], a: int, b: int, c: float):
        y[0], y[1] = a // b, a % b
        y[2], y[3] = pto.cdiv(a, b), (a << 62) + (a << 62)
        y[4] = pto.cast(c * 3.0, pto.i64)
        z[0] = c / 3.0 + 0.1
        z[1] = pto.select(a < b, c, 2.0)

    for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -3)):
        both_ways(f, 1, np.zeros(8, np.int64), np.zeros(2, np.float32), a, b, 0.3)


@pytest.mark.parametrize("name", ["vec_add", "softmax", "gemm", "vector_softmax"])
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their own checks against NumPy, and bit for bit what the compiled run leaves."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    module = __import__(name)
    rng = np.random.default_rng(1)
    if name == "gemm":
        a, b = rng.standard_normal((128, 64)).astype(np.float16), rng.standard_normal((64, 64)).astype(np.float16)
        for target in ("a2a3", "a5"):
            both_ways(module.gemm.on(target), 2, a, b, np.empty((128, 64), np.float32), 128, 64, 64)
        return
    kernel = getattr(module, name.removeprefix("vector_"))
    if name == "vec_add":
        x, y = rng.standard_normal((2, 9000), dtype=np.float32)
        both_ways(kernel, 2, x, y, np.zeros_like(x), 9000)
    else:
        x = rng.standard_normal((37, 512), dtype=np.float32)
        both_ways(kernel, 2, x, np.zeros_like(x), 37)


def test_registers_can_be_looked_into() -> None:
    seen: list[Any] = []

    @pto.kernel(target="a5")
    def f(y: Ptr[f32]):
        ub = pto.castptr(0, f32)
        with pto.vecscope():
            v = pto.vbr(1.5, dtype=f32)
            seen.append(v)
            pto.vsts(v, ub)
        pto.mte_ub_gm(ub, y, 256, 1, 256, 256)

    y = np.zeros(64, np.float32)
    f.interpret(y)
    assert (y == 1.5).all()
    assert seen[-1].numpy().tolist() == [1.5] * 64
    seen.clear()
    f.trace()
    assert finding_of(seen[0].numpy).rule == "LANG-CONTEXT"


def test_sections_run_on_their_own_cores() -> None:
    @pto.kernel(target="a5")
    def f(y: Ptr[i64]):
        with pto.cube_section():
            y[0] = 5
        with pto.vector_section():
            y[1 + pto.get_subblock_idx()] = 7

    both_ways(f, 1, np.zeros(4, np.int64))


def by_both_cores(y, first):
    with pto.cube_section():
        y[first] = 5
    with pto.vector_section():
        y[first + 1 + pto.get_subblock_idx()] = 7


def lowered(y, n, least=2):
    with pto.if_(n > least):
        y[n] = n
    with pto.else_():
        y[0] = 1
    if pto.static(least) > 0:
        lowered(y, n, least - 1)


def test_helpers_have_sections_and_explicit_words(tmp_path: Path) -> None:
    (tmp_path / "other_helpers.py").write_text(
        "import ptokit as pto\ndef one(y):\n    with pto.cube_section():\n        y[9] = 3\n"
        "def two(y, n):\n    with pto.if_(n == 1):\n        y[n + 9] = 4\n"
    )
    spec = importlib.util.spec_from_file_location("other_helpers", tmp_path / "other_helpers.py")
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)

    def around(y, n):
        by_both_cores(y, n)

    @pto.kernel(target="a5")
    def f(y: Ptr[i64], n: int):
        def inside(first):
            with pto.vector_section():
                y[first + pto.get_subblock_idx()] = 9

        by_both_cores(y, 0)
        around(y, 3)
        inside(6)
        other.one(y)
        for i in range(n):
            other.two(y, i)
            lowered(y, i + 12)

    both_ways(f, 1, np.zeros(20, np.int64), 3)


def test_what_the_function_does_in_python_happens() -> None:
    seen: list[np.ndarray] = []

    @pto.kernel(target="a5")
    def f(x: Ptr[f16], n: int):
        t = Tile(TileType.Vec, f16, 1, 16)
        pto.TLOAD(t, GlobalTensor(x, (1, 16)))
        pto.TADDS(t, t, 1.0 if t.numpy().any() else 2.0)
        seen.append(t.numpy())
        if n > 1:
            raise ValueError(f"{t.numpy()[0, 0]}")
        pto.TSTORE(GlobalTensor(x, (1, 16)), t)

    x = np.zeros(16, np.float16)
    assert finding_of(lambda: f(x, 1)).rule == "LANG-CONTEXT"  # a tile of a compiled kernel has no contents


def test_an_exception_stands_at_its_line() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int):
        for i in range(n):
            x[i] = 1.0  # here

    with pytest.raises(DiagnosticError) as caught:
        f.interpret(np.zeros(3, np.float32), 4)
    (finding,) = caught.value.diagnostics
    assert finding.rule == "GM-OOB"
    assert finding.location.line == f.function.__code__.co_firstlineno + 3


SCRIPT = """
import numpy as np
import ptokit as pto

@pto.kernel(target="a5")
def f(x: pto.Ptr[pto.f32], n: int):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 8)
    pto.TLOAD(t, pto.GlobalTensor(x, (1, 8)))
    for i in range(n):
        pto.TADDS(t, t, 1.0)
        {stop}
    pto.TSTORE(pto.GlobalTensor(x, (1, 8)), t)

x = np.arange(8, dtype=np.float32)
f(x, 2)
print(x)
"""


def test_a_session_with_the_debugger(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(stop="breakpoint() if i == 1 else None"))
    commands = "p i\np t.numpy()[0, :3].tolist()\nu\nl\nd\nn\np i\nc\n"
    ran = subprocess.run(
        [sys.executable, str(script)],
        input=commands,
        capture_output=True,
        text=True,
        env={**__import__("os").environ, "PTOKIT_INTERPRET": "1"},
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert "[2.0, 3.0, 4.0]" in ran.stdout
    assert "[2. 3. 4. 5. 6. 7. 8. 9.]" in ran.stdout


def test_the_environment_decides_for_scripts_that_are_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[bool] = []

    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        runs.append(isinstance(x[0], pto.Scalar))
        x[0] = 2.0

    x = np.zeros(1, np.float32)
    f(x)
    monkeypatch.setenv("PTOKIT_INTERPRET", "1")
    f(x)
    assert runs == [True, False]


def test_loops_are_told_as_in_a_compiled_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def helper(t: Tile, n: int) -> None:
        for _j in range(n):
            pto.TADDS(t, t, 1.0)

    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TEXPANDS(t, 0.0)
        for i in range(n):
            for _ in pto.static_range(2):
                helper(t, 2)
            with pto.if_(i > 0):
                pto.TMULS(t, t, 2.0)
        pto.TSTORE(GlobalTensor(x, (8, 8)), t)

    def seen() -> list[Any]:
        return [(s.instruction, s.line, s.loops) for s in f.watch("t")(np.zeros(64, np.float32), 2)]

    compiled = seen()
    monkeypatch.setenv("PTOKIT_INTERPRET", "1")
    assert seen() == compiled
    assert ("TADDS", (("i", 1), ("_j", 1))) in [(name, loops) for name, _, loops in compiled]
    assert len(f.watch("t:i=1,_j=0")(np.zeros(64, np.float32), 2)) == 2
