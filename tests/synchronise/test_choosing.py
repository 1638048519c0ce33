"""Flags that cost no time: merged only where a launch takes no longer, by the model of `ptokit time`."""

from __future__ import annotations

import re

import pytest

from ptokit.api.check import read
from ptokit.api.one_launch import Launch
from ptokit.api.synchronise import Synchronised, synchronise
from ptokit.diagnostics import UsageError
from ptokit.run import choose_entry
from ptokit.sanitize.findings.source_text import Structure
from ptokit.synchronise.dependences import Placed
from ptokit.synchronise.timer import Timer
from ptokit.targets import target as target_named
from tests.prove.clusters import cluster
from tests.prove.kernels import add, flag, kernel, load, loop, store

from .test_synchronise import flags

pytest.importorskip("z3")

A2A3 = target_named("a2a3")
SLOTS = (
    "scf.for %i = %c0 to %n step %c1 {",
    "%half = arith.remui %i, %c2 : index",
    "%off = arith.muli %half, %c4096 : index",
    "%at = arith.index_cast %off : index to i64",
    "%s = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 16x32xf32>",
    "%r = arith.muli %i, %c16 : index",
    load("%s", "%r"),
    add("%s", "%s"),
    store("%s", "%r"),
    "}",
)


def made(*body: str, goal: str = "overlap", tiles: int = 3, **options: str) -> Synchronised:
    return synchronise(kernel(*body, tiles=tiles, **options), target="a2a3", goal=goal)


def cycles(text: str) -> float:
    """Of a text as it is."""
    module = read(text, target="a2a3").module
    entry = choose_entry(module, None)
    return Launch.derived(module, entry, A2A3, 1).cycles(module, entry)


TWO = (load("%t0", "%c0"), load("%t1", "%c16"), add("%t0", "%t0"), add("%t1", "%t1"))


def test_a_pipe_does_not_wait_for_the_second_load_to_work_on_the_first() -> None:
    few, fast = (made(*TWO, goal=goal, rows="%c32", params="") for goal in ("count", "overlap"))
    assert (flags(few), few.predicted) == (["MTE2 V 0"], None)
    assert flags(fast) == ["MTE2 V 0", "MTE2 V 1"]
    assert fast.proved
    assert fast.minimal
    assert fast.predicted is not None
    assert fast.predicted.cycles < fast.predicted.count < fast.predicted.barriers
    assert (fast.predicted.cycles, fast.predicted.count) == (cycles(fast.text), cycles(few.text))
    assert f"predicted: {fast.predicted.cycles:.0f} cycles, {fast.predicted.count:.0f} with the fewest flags" in str(
        fast
    )


def test_flags_are_merged_where_the_pipe_is_busy_for_longer() -> None:
    busy = [add("%t2", "%t2")] * 60
    fast = made(*TWO[:2], *busy, *TWO[2:], rows="%c32", params="")
    assert flags(fast) == ["MTE2 V 0"]
    assert fast.predicted is not None
    assert fast.predicted.cycles == fast.predicted.count


def test_double_buffers_stay_double() -> None:
    fast = made(*SLOTS)
    assert fast.proved
    assert {f.ids for f in fast.flags} == {2}
    assert fast.predicted is not None
    assert fast.predicted.cycles <= fast.predicted.count < fast.predicted.barriers
    assert fast.predicted.cycles == pytest.approx(cycles(fast.text))


def test_a_loop_with_two_strips_has_flags_for_each() -> None:
    """The second load of an iteration need not wait for the first tile to be stored, nor its addition for that."""
    body = (load("%t0", "%r"), load("%t1", "%r"), add("%t0", "%t0"), store("%t0", "%r"), add("%t1", "%t1"))
    body = (*body, store("%t1", "%r"))
    fast = made(loop(*body))
    assert fast.proved
    assert fast.predicted is not None
    assert fast.predicted.cycles < 0.9 * fast.predicted.count
    assert fast.predicted.cycles == pytest.approx(cycles(fast.text))


TAKEN = [[flag(verb, "V", "MTE2", n) for n in range(7)] for verb in ("set", "wait")]
"""Flags of a program that leave one id."""


def test_ids_that_run_out_are_given_up_where_that_costs_least() -> None:
    """Each tile of a loop may be loaded again as soon as it has been added to: that takes two ids, and one is left."""
    body = loop(load("%t0", "%r"), load("%t1", "%r"), add("%t0", "%t0"), add("%t1", "%t1"))
    free, short = made(body), made(*TAKEN[0], body, *TAKEN[1])
    first, second = (line for line, text in enumerate(short.old.splitlines(), 1) if "tload" in text)
    run_out = "event ids from PIPE_V to PIPE_MTE2 run out: the flag is set where it is waited for, before line"
    assert short.widened[0] == f"{run_out} {second}; that costs nothing"
    said = re.fullmatch(rf"{run_out} {first}; that costs (\d+) of (\d+) cycles", short.widened[1])
    assert said is not None
    assert free.predicted is not None
    assert short.predicted is not None
    assert (short.proved, short.barriers, free.widened) == (True, (), ())
    assert int(said[2]) == pytest.approx(free.predicted.cycles, rel=1e-3)
    assert int(said[1]) == pytest.approx(short.predicted.cycles - free.predicted.cycles, rel=1e-2)
    assert short.predicted.cycles < short.predicted.count  # one flag for both costs more
    assert short.widened[1] in str(short)


def test_a_program_is_as_it_was_after_it_has_been_timed() -> None:
    module = read(kernel(*TWO, rows="%c32", params=""), target="a2a3").module
    entry = choose_entry(module, None)
    assert entry.body is not None
    before = list(entry.body.ops)
    timer = Timer(Structure(module.functions), module, entry, Launch.derived(module, entry, A2A3, 1))
    assert timer.everywhere(before[-2:]) > timer.cycles(Placed())
    assert entry.body.ops == before


def test_without_a_part_there_are_as_few_as_possible() -> None:
    text = kernel(*TWO, rows="%c32", params="")
    fast = synchronise(text, target="cpu", goal="overlap")
    assert (fast.proved, fast.predicted, flags(fast)) == (True, None, ["MTE2 V 0"])
    assert "no part of cpu is known" in fast.untimed
    assert fast.untimed in str(fast)
    with pytest.raises(UsageError, match="'speed' is no goal; there are count and overlap"):
        synchronise(text, target="a2a3", goal="speed")


def test_a_cube_and_a_vector_function_have_few_flags_without_a_proof_for_each() -> None:
    text = re.sub(r"pto\.(set|wait)_flag\[.*\n", "", cluster(4))
    said: list[str] = []
    pair = synchronise(text, target="a5", progress=said.append)
    assert (pair.proved, pair.minimal, len(pair.flags) > 3) == (True, True, True)
    assert said.count("a proof of the new text") == 1
    assert "a proof without one of them" not in said
