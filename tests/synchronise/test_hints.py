"""What `sanitize` proposes for a missing flag is what `sync` inserts: the same lines, with the same ids."""

from __future__ import annotations

import pytest

import ptokit
from ptokit.api.synchronise import synchronise
from tests.each import each
from tests.prove.kernels import HANDED, add, flag, kernel, load, store

pytest.importorskip("z3")

LOOP = "scf.for %i = %c0 to %c2 step %c1 {"
SUM = "pto.tadd ins(%t0, %t1 : {0}, {0}) outs(%t2 : {0})".format("!pto.tile_buf<vec, 16x32xf32>")

PROGRAMS = {
    "two producers, which share a flag": (load("%t0", "%c0"), load("%t1", "%c16"), SUM, store("%t2", "%c0")),
    "a loop that loads again": (LOOP, load("%t0", "%c0"), add("%t1", "%t0"), store("%t1", "%c0"), "}"),
    "two tiles of a loop": (LOOP, load("%t0", "%c0"), load("%t1", "%c0"), SUM, store("%t2", "%c0"), "}"),
    "an inner loop": (load("%t0", "%c0"), LOOP, add("%t1", "%t0"), "}", store("%t1", "%c0")),
    "an arm": (load("%t0", "%c0"), "%b = arith.cmpi eq, %c0, %c0 : index", "scf.if %b {", add("%t1", "%t0"), "}"),
    "an id that is taken": (load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), load("%t1", "%c16"), add("%t2", "%t1")),
}


@each("name", list(PROGRAMS))
def test_the_fixes_of_races_are_lines_that_are_inserted(name: str) -> None:
    text = kernel(*PROGRAMS[name], tiles=3)
    made = synchronise(text, target="a2a3")
    assert made.proved
    inserted = {(edit.line, (edit.text or "").strip()) for edit in made.edits}
    report = ptokit.sanitize(text, ["random:f32:1024", "zeros:f32:1024", "2"], target="a2a3")
    first = next(d for d in report.errors if d.rule.startswith("RACE-"))
    proposed = {(edit.line, (edit.text or "").strip()) for edit in report.fixes[first].edits}
    assert proposed
    assert proposed <= inserted
    every = {(edit.line, (edit.text or "").strip()) for fix in report.fixes.values() for edit in fix.edits}
    assert every <= inserted


def test_producers_that_share_a_flag_have_one_fix() -> None:
    text = kernel(*PROGRAMS["two producers, which share a flag"][:3], tiles=3)
    report = ptokit.sanitize(text, ["random:f32:1024", "zeros:f32:1024", "2"], target="a2a3")
    (only,) = report.errors
    lines = text.splitlines()
    at = lines.index(SUM) + 1
    said = [flag(verb, "MTE2", "V") for verb in ("set", "wait")]
    assert only.hint == f"insert {said[0]} after line {at - 1} and {said[1]} before line {at}"
    fixed = report.fixes[only].apply(text)
    assert not ptokit.sanitize(fixed, ["random:f32:1024", "zeros:f32:1024", "2"], target="a2a3").errors
