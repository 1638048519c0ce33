"""The examples with pipes between cores: what they compute, and what is found when synchronisation is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.ir.verify import verify
from ptokit.run import compile_program
from ptokit.sanitize import sanitize, uninit
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

EXAMPLES = Path(__file__).parents[1] / "examples" / "pto"
A5 = target("a5")
RNG = np.random.default_rng(7)


def source(name: str) -> str:
    return (EXAMPLES / f"{name}.pto").read_text(encoding="utf-8")


def split_k(k: int, n: int) -> tuple[list[Any], np.ndarray]:
    """Arguments and the answer; whole numbers, so that every sum is exact."""
    x, w, r = (RNG.integers(-4, 5, shape) for shape in ((32, k), (k, n), (32, n)))
    y = np.full((32, n), np.nan, np.float32)
    return [x.astype(np.float16), w.astype(np.float16), r.astype(np.float32), y, k, n], x @ w + r


def attention(rows: int, n: int) -> tuple[list[Any], np.ndarray]:
    q, k, v = (RNG.standard_normal((count, 64)).astype(np.float16) for count in (rows, n, n))
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    answer = weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    return [q, k, v, np.full((rows, 64), np.nan, np.float32), rows, n], answer


@pytest.mark.parametrize(("k", "n", "blocks"), [(128, 64, 1), (640, 192, 2)])
def test_split_k(k: int, n: int, blocks: int) -> None:
    args, answer = split_k(k, n)
    compile_program(parse_module(source("split_k"), target=A5).module, A5).launch(args, blocks)
    assert (args[3] == answer).all()


@pytest.mark.parametrize(("rows", "n", "blocks"), [(64, 64, 1), (192, 320, 2)])
def test_flash_attention(rows: int, n: int, blocks: int) -> None:
    args, answer = attention(rows, n)
    compile_program(parse_module(source("flash_attention"), target=A5).module, A5).launch(args, blocks)
    assert np.abs(args[3] - answer).max() < 1e-3


def findings(name: str, text: str) -> set[str]:
    """Rules of the errors that the sanitizer finds."""
    module = parse_module(text, f"{name}.pto", target=A5).module
    if name == "split_k":
        args, _ = split_k(384, 128)
        args[3] = uninit((32, 128), DTYPES["f32"])
    else:
        args, _ = attention(64, 192)
        args[3] = uninit((64, 64), DTYPES["f32"])
    report = sanitize(module, A5, args, causes=False)
    return {d.rule for d in report.diagnostics if d.severity is Severity.ERROR}


@pytest.mark.parametrize("name", ["split_k", "flash_attention"])
def test_nothing_is_found_in_them(name: str) -> None:
    module = parse_module(source(name), target=A5).module
    assert list(verify(module, A5)) == []
    assert findings(name, source(name)) == set()


def without(text: str, *words: str, at: int = 0) -> str:
    """The text without the occurrence number ``at`` of each of these lines."""
    lines = text.splitlines()
    for word in words:
        del lines[[i for i, line in enumerate(lines) if line.strip() == word][at]]
    return "\n".join(lines)


def flag(verb: str, first: str, second: str, event: int = 0) -> str:
    return f"pto.{verb}_flag[<PIPE_{first}>, <PIPE_{second}>, <EVENT_ID{event}>]"


TO_FIX = [flag("set", "M", "FIX"), flag("wait", "M", "FIX")]
TO_MTE3 = [flag("set", "V", "MTE3"), flag("wait", "V", "MTE3")]


@pytest.mark.parametrize(
    ("name", "lines", "found"),
    [
        ("split_k", TO_FIX, "RACE-RAW"),  # the product is pushed before it is there
        ("split_k", [flag("wait", "FIX", "M")], "RACE-WAR"),  # and overwritten while it is pushed
        ("split_k", TO_MTE3, "RACE-RAW"),
        ("split_k", ["pto.tfree_from_aic {id = 0, split = 1}"], "DEADLOCK"),
        ("flash_attention", TO_FIX, "RACE-RAW"),
        ("flash_attention", TO_MTE3, "RACE-RAW"),  # weights are pushed before they are there
        ("flash_attention", ["pto.tfree_from_aiv {id = 1, split = 1}"], "DEADLOCK"),
        ("flash_attention", ["pto.tfree_from_aic {id = 2, split = 1}"], "DEADLOCK"),
    ],
)
def test_missing_synchronisation_is_found(name: str, lines: list[str], found: str) -> None:
    assert found in findings(name, without(source(name), *lines))


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["split_k", "flash_attention"])
def test_every_wait_is_needed(name: str) -> None:
    lines = source(name).splitlines()
    missed = []
    for i, line in enumerate(lines):
        if "wait_flag" in line or "tfree" in line:
            text = "\n".join(lines[:i] + lines[i + 1 :])
            missed += [] if findings(name, text) else [i + 1]
    assert missed == []
