"""The sanitizer against the transitive closure of launches with more than sixteen cores on the same memory."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from .crowd import Crowd
from .mini import Mini
from .test_cross_core import SIGNAL, TYPES


def said(crowd: Crowd) -> set[tuple[str, int, int]]:
    """The races that the sanitizer reports."""
    report = crowd.sanitize()
    assert report.ran, str(report)
    return {
        (d.rule, d.notes[0].location.line, d.location.line)
        for d in report.diagnostics
        if d.rule.startswith("RACE") and d.rule != "RACE-SELF"
    }


def play(seeds: range) -> Counter[str]:
    """One launch per seed; the failing seed is named."""
    seen: Counter[str] = Counter()
    for number in seeds:
        crowd = Crowd(random.Random(number))
        try:
            found, expected = said(crowd), crowd.races()
            assert found == expected
        except Exception as error:
            error.add_note(f"seed {number}: {crowd.target}, {crowd.cores} cores\n{crowd.text}")
            raise
        seen["programs"] += 1
        seen["clean"] += not found
        seen.update({rule for rule, *_ in found})
    return seen


def test_the_races_of_many_cores_are_those_of_the_closure() -> None:
    seen = play(range(24))
    assert seen["clean"] >= 3, seen
    assert all(seen[f"RACE-XCORE-{kind}"] >= 3 for kind in ("RAW", "WAR", "WAW")), seen


@pytest.mark.parametrize("missing", [False, True])
def test_one_missing_signal_of_many_is_found(missing: bool) -> None:
    """All cores read x and say so; block 0 waits for all of the others, or all but block 20, and stores."""
    slots = SIGNAL.replace("shape = [%c1, %c1]", "shape = [%c1, %c32]")
    at_block, at_i = (slots.splitlines()[1].replace("[%c0, %c0]", f"[%c0, {at}]") for at in ("%block", "%i"))
    c20 = "%c20 = arith.constant 20 : index\n%take = arith.cmpi ne, %i, %c20 : index" if missing else ""
    lines = [
        slots,
        "load a x",
        "barrier ALL",
        at_block.replace("%s =", "%mine ="),
        f"pto.tnotify(%mine, %n1 {TYPES})",
        "first",
        "%c24 = arith.constant 24 : index",
        "scf.for %i = %c0 to %c24 step %c1 {",
        c20,
        "scf.if %take {" if missing else "",
        at_i.replace("%s =", "%slot ="),
        f"pto.twait(%slot, %n1 {TYPES})",
        "end" if missing else "",
        "end",
        "store a x",
        "end",
    ]
    program = Mini("\n".join(line for line in lines if line), params="%sig: !pto.ptr<i32>")
    found = program.found(blocks=24, args={"sig": np.zeros(32, np.int32)})
    assert sorted(found) == (["RACE-XCORE-RAW"] if missing else [])


def test_an_access_that_another_core_has_followed_still_races_on_its_own_core() -> None:
    """Block 1 stores after block 0 has, which neither of them tells the MTE2 pipe of block 0."""
    signal, wait = "pto.sync.set <PIPE_{}>, {} {{ffts_mode = 0 : i32}}".format, "pto.sync.wait <PIPE_{}>, {}".format
    lines = ["fill a", "barrier ALL", "other", signal("MTE2", 0), wait("MTE3", 0), "end", "store a x", "first"]
    lines += [signal("MTE3", 0), signal("MTE2", 1), wait("MTE2", 1), "load b x", wait("V", 0)]
    lines += ["else", signal("MTE2", 1), wait("V", 1), "end"]
    found = Mini("\n".join(lines)).found("a5", blocks=2)  # the assembler wants other pipes for signals, too
    assert {rule: at for rule, at in found.items() if rule.startswith("RACE")} == {
        "RACE-RAW": [{7, 12}],
        "RACE-XCORE-WAR": [{12, 7}],
    }


@pytest.mark.parametrize(("add", "value"), [(False, 2), (True, 2), (True, 3)])
def test_a_signal_says_nothing_about_those_that_it_does_not_need(add: bool, value: int) -> None:
    """Block 0, which stored x, adds or sets 1, block 1 adds or sets 2: only a sum of 3 waits for both."""
    kind = " {notifyOp = #pto<notify_op atomic_add>}" if add else ""
    lines = [
        f"{SIGNAL}first",
        "fill a",
        "barrier ALL",
        "store a x",
        "barrier ALL",
        f"pto.tnotify(%s, %n1 {TYPES}){kind}",
        "end",
        "%second = arith.cmpi eq, %block, %c1 : index",
        "scf.if %second {",
        f"pto.tnotify(%s, %n2 {TYPES}){kind}",
        "end",
        "%third = arith.cmpi eq, %block, %c2 : index",
        "scf.if %third {",
        f"%value = arith.constant {value} : i32",
        f"pto.twait(%s, %value {TYPES}) {{cmpMode = #pto<cmp ge>}}",
        "load a x",
        "barrier ALL",
        "store a y",
        "end",
    ]
    program = Mini("\n".join(lines), params="%sig: !pto.ptr<i32>")
    found = program.found(blocks=3, args={"x": np.zeros((16, 32), np.float32), "sig": np.zeros(1, np.int32)})
    assert {rule: [at & {8, 20} for at in lines] for rule, lines in found.items()} == (
        {} if value == 3 else {"RACE-XCORE-RAW": [{8, 20}]}
    )
    if add and value == 2:
        values = {"x": np.zeros((16, 32), np.float32), "sig": np.zeros(1, np.int32)}
        report = program.sanitize(blocks=3, args=values, witness=True)
        (finding,) = report.errors
        (race,) = report.races.values()
        assert race.witness is not None
        assert race.witness.counts == {"y": (512, 512)}
        wait = program.first + 18
        assert finding.hint is not None
        assert f"TWAIT in line {wait}" in finding.hint
        assert [n.location.line for n in finding.notes if "may end by other" in n.message] == [wait]


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_campaign(part: int) -> None:
    print(play(range(1000 + 500 * part, 1500 + 500 * part)))
