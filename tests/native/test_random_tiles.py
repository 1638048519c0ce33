"""Machine code of random kernels whose tiles share bytes, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native import compiler

from .random_tiles import drawn, launched

CAMPAIGN = 5000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """LLVM does not optimise, which takes nine tenths of the time: the question is what is written for it."""
    monkeypatch.setenv("PTOKIT_CACHE", "off")
    monkeypatch.setattr(compiler, "LEVEL", 0)
    compiler.host.cache_clear()
    yield
    compiler.host.cache_clear()


def check(seed: int) -> None:
    text, program = drawn(seed)
    assert launched(program, backend="native") == launched(program, backend="numpy"), f"{seed}:\n{text}"


@pytest.mark.parametrize("seed", range(40))
def test_same_bytes(seed: int) -> None:
    check(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_many(part: int) -> None:
    for seed in range(1000 + part * CAMPAIGN // 10, 1000 + (part + 1) * CAMPAIGN // 10):
        check(seed)
