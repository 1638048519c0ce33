"""The examples for several devices: what they compute, and what is found when synchronisation is missing."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.launch import Peer, RankQuery
from ptokit.ir.verify import verify
from ptokit.run import compile_program
from ptokit.run.arguments import divided
from ptokit.sanitize import Report, sanitize, uninit
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

EXAMPLES = Path(__file__).parents[1] / "examples"
TEXT = (EXAMPLES / "pto" / "ring_all_reduce.pto").read_text(encoding="utf-8")
COLUMNS = 256


def reduce_args(ranks: int, blocks: int) -> list[Any]:
    """Whole numbers, so that every sum is exact."""
    box = np.zeros((ranks, ranks, COLUMNS * blocks), np.float32)
    box[:, 0] = np.random.default_rng(ranks).integers(-99, 99, (ranks, COLUMNS * blocks))
    signals = np.zeros((ranks, ranks, blocks), np.int32)
    y = uninit((ranks, COLUMNS * blocks), DTYPES["f32"])
    return [box, Peer("box", 1), signals, Peer("arrived", 1), y, RankQuery.RANKS]


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize(("ranks", "blocks"), [(1, 1), (2, 1), (4, 2)])
def test_all_ranks_have_the_sum(on: str, ranks: int, blocks: int) -> None:
    program = compile_program(parse_module(TEXT, target=target(on)).module, target(on))
    args = reduce_args(ranks, blocks)
    wanted = args[0][:, 0].sum(axis=0)
    program.launch_ranks(divided(program.entry, args, ranks), blocks)
    assert all((row == wanted).all() for row in args[4])
    again = reduce_args(ranks, blocks)
    program.launch_ranks(divided(program.entry, again, ranks), blocks)
    assert again[0].tobytes() == args[0].tobytes()


def look(text: str, on: str = "a2a3", ranks: int = 3) -> Report:
    module = parse_module(text, "ring.pto", target=target(on)).module
    return sanitize(module, on, reduce_args(ranks, 2), 2, ranks=ranks)


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_nothing_is_found_in_the_ring(on: str) -> None:
    assert list(verify(parse_module(TEXT, target=target(on)).module, target(on))) == []
    report = look(TEXT, on)
    assert report.clean
    assert report.coverage.complete


def line_of(word: str) -> int:
    return next(k for k, line in enumerate(TEXT.splitlines(), 1) if word in line)


def without(word: str) -> str:
    """The text with an empty line in place of the one with this word."""
    lines = TEXT.splitlines()
    lines[line_of(word) - 1] = ""
    return "\n".join(lines)


def test_a_ring_without_the_fence() -> None:
    report = look(without("fence.barrier_all"))
    rules = {(d.rule, d.location.line) for d in report.errors}
    assert ("RACE-XRANK-RAW", line_of("tload ins(%got")) in rules
    raced = next(d for d in report.errors if d.rule == "RACE-XRANK-RAW")
    named = {note.location.line for note in raced.notes}
    assert {line_of("comm.tput"), line_of("comm.tnotify")} <= named
    assert "rank 0" in raced.message + "".join(note.message for note in raced.notes)
    assert "before the TNOTIFY" in (raced.hint or "")


def test_a_ring_without_the_wait() -> None:
    report = look(without("comm.twait"))
    assert {d.rule for d in report.errors} == {"RACE-XRANK-RAW", "RACE-XRANK-WAR"}


def test_a_wait_after_the_load() -> None:
    lines = TEXT.splitlines()
    wait, load = line_of("comm.twait") - 1, line_of("tload ins(%got") - 1
    lines[wait], lines[load] = "", f"{lines[load]}\n{lines[wait]}"
    assert {d.rule for d in look("\n".join(lines)).errors} == {"RACE-XRANK-RAW", "RACE-XRANK-WAR"}


def test_a_ring_that_never_tells() -> None:
    report = look(without("comm.tnotify"))
    (finding,) = [d for d in report.errors if d.rule == "DEADLOCK"]
    assert finding.location.line == line_of("comm.twait")
    assert "element 2 of %arrived of rank 0 to be >= 1; it is 0" in finding.message
    program = compile_program(parse_module(without("comm.tnotify"), target=target("a5")).module, target("a5"))
    with pytest.raises(DiagnosticError, match="deadlock: rank 0"):
        program.launch_ranks(divided(program.entry, reduce_args(2, 1), 2), 1)


def gather_example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "python" / "ring_all_gather.py"))


def gather_args(ranks: int) -> list[Any]:
    rows = np.zeros((ranks, ranks, COLUMNS), np.float32)
    for rank in range(ranks):
        rows[rank, rank] = rank + 1
    signals = np.zeros((ranks, ranks), np.int32)
    return [rows, pto.Peer("rows", 1), signals, pto.Peer("arrived", 1), pto.RANK, pto.RANKS]


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
def test_all_ranks_have_all_rows(ranks: int, interpreted: bool) -> None:
    launched = gather_example()["ring_all_gather"].ranks(ranks)
    args = gather_args(ranks)
    (launched.interpret if interpreted else launched)(*args)
    assert (args[0] == np.arange(1, ranks + 1)[:, None]).all()


def test_nothing_is_found_in_the_gather() -> None:
    report = gather_example()["ring_all_gather"].ranks(3).sanitize(*gather_args(3))
    assert report.clean
    assert report.coverage.complete
