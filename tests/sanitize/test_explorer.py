"""The sanitizer against all executions of random small programs.

What is compared, for each program: the pairs of lines that race are those that some state lets happen in either order;
a program without races has one execution, and one with races has executions that differ in what some step reads or
overwrites; a program is reported stuck if, and only if, it gets stuck in every execution; places are read unwritten in
every execution if that is reported, and in none if not (with races, and of atomic updates, in some only); flags are
reported as set too early if some execution sets them before the wait.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ptokit.sanitize import Report

from .explorer import Explorer, State, Step, TooLarge
from .mini import output
from .random_programs import ClusterDraw, Draw, MeetingDraw, Sample, SignalDraw

Seen = Counter[str]
BETWEEN = ("await", "arrive", "join")
"""Steps that wait for other cores."""


def sanitized(sample: Sample) -> Report:
    """What the sanitizer says."""
    args = {"x": np.ones((16, 32), np.float32)}
    args["y"] = output() if sample.output else np.ones((16, 32), np.float32)
    if "h" in sample.menu.tensors:
        args["h"] = np.ones((32, 16), np.float16)
    order = "profile" if sample.profile else "strict"
    also = ("FLAG-REUSE-RACE",)
    report = sample.mini.sanitize(sample.target, blocks=sample.blocks, args=args, order=order, also=also, causes=False)
    assert report.ran, str(report)
    return report


def races(report: Report, first: int) -> set[tuple[str, int, int]]:
    """(rule, line of the first access, line of the second)."""
    out = set()
    for d in report.diagnostics:
        if d.rule.startswith("RACE") and d.rule != "RACE-SELF":
            out.add((d.rule, d.notes[0].location.line - first + 1, d.location.line - first + 1))
    return out


def lines(report: Report, rule: str, first: int) -> set[int]:
    return {d.location.line - first + 1 for d in report.diagnostics if d.rule == rule}


def held(programs: list[list[Step]]) -> tuple[list[list[Step]], set[int]]:
    """The programs without misused tokens, and the lines that misuse them."""
    wrong = set()
    out: list[list[Step]] = []
    for program in programs:
        holders: set[tuple[object, ...]] = set()
        misused = set()
        for i, step in enumerate(program):
            who = (step.pipe, step.key)
            if step.kind == "get":
                misused |= {i} if who in holders else set()
                holders.add(who)
            elif step.kind == "rls":
                misused |= set() if who in holders else {i}
                holders.discard(who)
        wrong |= {program[i].line for i in misused}
        moved = {i: i - sum(m < i for m in misused) for i in range(len(program))}
        out.append([_moved(s, moved) for i, s in enumerate(program) if i not in misused])
    return out, wrong


def _moved(step: Step, moved: dict[int, int]) -> Step:
    of = tuple(moved[i] for i in step.of)
    return Step(step.kind, step.pipe, step.line, step.reads, step.writes, step.atomic, step.key, of)


def flags(programs: list[list[Step]]) -> tuple[set[int], set[int]]:
    """Lines of sets that come before the last wait of their flag, and of sets that nothing waits for."""
    again, left = set(), set()
    for program in programs:
        for key in {s.key for s in program if s.kind == "set"}:
            sets = [i for i, s in enumerate(program) if s.kind == "set" and s.key == key]
            waits = [i for i, s in enumerate(program) if s.kind == "wait" and s.key == key]
            reused = {s for k, s in enumerate(sets) if k and (k > len(waits) or waits[k - 1] > s)}
            again |= {program[i].line for i in reused}
            if len(sets) > len(waits) and not reused:
                left.add(program[sets[-1]].line)
    return again, left


def early(explorer: Explorer) -> set[int]:
    """Lines of sets that may happen before the flag has been waited for after the set before."""
    out = set()
    steps = list(enumerate(explorer.steps))
    for core, key in {(explorer.core[i], s.key) for i, s in steps if s.kind == "set"}:
        of_key = [i for i, s in steps if s.key == key and explorer.core[i] == core]
        waits = [i for i in of_key if explorer.steps[i].kind == "wait"]
        for k, i in enumerate(i for i in of_key if explorer.steps[i].kind == "set"):
            if k and explorer.may_precede(i, waits[k - 1] if k <= len(waits) else -1):
                out.add(explorer.steps[i].line)
    return out


def heads(explorer: Explorer, end: State, core: int) -> list[Step]:
    """The steps of a core that are stuck and stand first: that of the scalar unit, and of each pipe."""
    done, passed = end
    at, stop = passed[core], explorer.first[core + 1]
    first: dict[str, Step] = {"": explorer.steps[at]} if at < stop else {}
    for i in range(explorer.first[core], at):
        if not done >> i & 1:
            first.setdefault(explorer._queue(i), explorer.steps[i])
    return list(first.values())


def misplaced(explorer: Explorer, end: State) -> dict[int, int]:
    """By core, the line where its scalar unit is stuck in a wait whose set comes later and is not under way."""
    done, passed = end
    out = {}
    for core, at in enumerate(passed):
        stop = explorer.first[core + 1]
        if at == stop or explorer.steps[at].kind != "wait":
            continue
        sets = [
            i
            for i in range(explorer.first[core], stop)
            if explorer.steps[i].kind == "set" and explorer.steps[i].key == explorer.steps[at].key
        ]
        under_way = [i for i in sets if i < at and not done >> i & 1]
        if any(i > at for i in sets) and not under_way:
            out[core] = explorer.steps[at].line
    return out


def compare(sample: Sample, seen: Seen) -> None:
    """All claims about one program, which is counted. Raises `TooLarge`."""
    programs, wrong = held(sample.programs)
    explorer = Explorer(programs, sample.target, profile=sample.profile, given=sample.given, cluster=sample.cluster)
    found = explorer.explore()
    report = sanitized(sample)
    first = sample.mini.first
    assert lines(report, "BUF-PROTOCOL", first) == wrong
    said = races(report, first)
    assert said == found.races
    unwritten = lines(report, "UNINIT-READ", first)
    assert found.unwritten <= unwritten <= found.perhaps_unwritten
    if not said:  # of atomic updates without order only the first reads what nobody has written, whichever it is
        assert bool(unwritten) == bool(found.perhaps_unwritten)
    assert len(found.ends) == 1
    (end,) = found.ends
    held_up = {core: stuck_at for core in range(len(programs)) if (stuck_at := heads(explorer, end, core))}
    wrong_order = misplaced(explorer, end)
    assert lines(report, "FLAG-ORDER", first) == set(wrong_order.values())
    alone = [c for c, stuck in held_up.items() if not wrong_order or not any(s.kind in BETWEEN for s in stuck)]
    assert bool(lines(report, "DEADLOCK", first)) == bool(set(alone) - set(wrong_order))
    stuck = bool(held_up)
    assert stuck == (end[0] != explorer.complete)
    assert lines(report, "FLAG-REUSE-RACE", first) == early(explorer)
    again, _ = flags(programs)
    reached, _ = flags(
        [
            program[: at - explorer.first[core]] if core in held_up else program
            for core, (program, at) in enumerate(zip(programs, end[1], strict=True))
        ]
    )
    _, left = flags([program for core, program in enumerate(programs) if core not in held_up])
    assert (
        reached <= lines(report, "FLAG-REUSE", first) <= again
    )  # what a core that is stuck does not reach may be told
    assert lines(report, "FLAG-UNMATCHED", first) == left
    executions, memories = explorer.results()
    assert (executions > 1) == bool(said)
    seen["programs"] += 1
    seen["states"] += found.states
    seen["clean"] += {d.rule for d in (*report.errors, *report.warnings)} <= {"FLAG-REUSE-RACE"}
    seen["race"] += bool(said)
    seen["race, and another final memory"] += memories > 1
    seen["stuck"] += stuck
    seen["meet"] += any(step.kind == "join" for program in programs for step in program)
    seen["hand over"] += any(step.kind == "await" for program in programs for step in program)
    seen.update({d.rule for d in report.diagnostics})


def play(seeds: range, kind: type[Draw] = Draw) -> Seen:
    """One program per seed, and what has been seen; the failing seed is named."""
    seen: Seen = Counter()
    for number in seeds:
        sample = Sample(kind(random.Random(number)))
        try:
            compare(sample, seen)
        except TooLarge:
            seen["too large"] += 1
        except Exception as error:
            error.add_note(f"seed {number}: {sample.target}, profile {sample.profile}\n{sample.mini.text}")
            raise
    return seen


def test_the_sanitizer_agrees_with_all_executions() -> None:
    seen = play(range(140))
    assert seen["programs"] > 130
    assert seen["clean"] >= 8
    kinds = ("RACE-RAW", "RACE-WAR", "RACE-WAW", "RACE-INTRAPIPE", "UNINIT-READ", "stuck")
    assert all(seen[kind] >= 3 for kind in kinds), seen
    assert seen["RACE-XCORE-RAW"] + seen["RACE-XCORE-WAR"] + seen["RACE-XCORE-WAW"] >= 10


def test_the_sanitizer_agrees_with_all_executions_of_clusters() -> None:
    seen = play(range(60), ClusterDraw)
    assert seen["programs"] > 50
    assert seen["programs"] - seen["race"] > 10
    assert seen["stuck"] >= 3
    assert seen["RACE-XCORE-RAW"] + seen["RACE-XCORE-WAR"] + seen["RACE-XCORE-WAW"] >= 10


@pytest.mark.parametrize("kind", [SignalDraw, MeetingDraw])
def test_flags_that_several_pipes_give(kind: type[Draw]) -> None:
    seen = play(range(400, 440), kind)
    assert seen["programs"] > 30
    assert seen["RACE-XCORE-RAW"] + seen["RACE-XCORE-WAR"] + seen["RACE-XCORE-WAW"] >= 3
    assert seen["hand over"] >= 20
    assert seen["meet"] >= (20 if kind is MeetingDraw else 0)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", [Draw, ClusterDraw, SignalDraw, MeetingDraw])
@pytest.mark.parametrize("part", range(50))
def test_campaign(part: int, kind: type[Draw]) -> None:
    print(play(range(1000 + 1000 * part, 2000 + 1000 * part), kind))


# --- the explorer itself -----------------------------------------------------------------------------------------


def work(pipe: str, reads: int = 0, writes: int = 0, *, line: int = 0, atomic: bool = False) -> Step:
    return Step("work", pipe, line, reads, writes, atomic)


def flag(kind: str, p: str, q: str) -> Step:
    return Step(kind, p if kind == "set" else q, 0, key=(p, q, 0))


def explorer(*programs: list[Step], given: int = 0xFF, **options: Any) -> Explorer:
    return Explorer(
        programs, options.pop("target", "a2a3"), profile=options.pop("profile", False), given=given, **options
    )


LOAD, ADD, STORE = work("MTE2", 1, 2, line=1), work("V", 2, 4, line=2), work("MTE3", 4, 8, line=3)


def test_three_free_steps_have_six_orders() -> None:
    apart = [work("MTE2", 0, 1), work("V", 0, 2), work("MTE3", 0, 4)]
    assert explorer(apart).explore().states == 8
    assert explorer(apart).results() == (1, 1)
    chained = explorer([LOAD, ADD, STORE])
    assert chained.explore().races == {("RACE-RAW", 1, 2), ("RACE-RAW", 2, 3)}
    assert chained.results(enough=100) == (4, 4)  # of six orders, those that differ only in LOAD and STORE are the same


def test_flags_leave_one_order() -> None:
    program = [LOAD, flag("set", "MTE2", "V"), flag("wait", "MTE2", "V"), ADD]
    found = explorer(program).explore()
    assert (found.races, found.states) == (set(), 3)
    assert explorer(program).results() == (1, 1)
    backwards = [LOAD, flag("set", "V", "MTE2"), flag("wait", "V", "MTE2"), ADD]
    assert explorer(backwards).explore().races == {("RACE-RAW", 1, 2)}


def test_a_wait_without_set_is_stuck() -> None:
    e = explorer([LOAD, flag("wait", "MTE2", "V"), ADD])
    assert {done for done, _ in e.explore().ends} == {0b001}


def test_atomic_updates_are_the_same_in_any_order() -> None:
    both = [[work("MTE3", 0, 1, atomic=True)], [work("MTE3", 0, 1, atomic=True)]]
    assert explorer(*both).results() == (1, 1)
    assert explorer(both[0], [work("MTE3", 0, 1)]).results() == (2, 2)


def test_posted_writes_are_seen_by_the_scalar_unit_only() -> None:
    store, load = work("S", 0, 1, line=1), work("S", 1, 0, line=2)
    assert explorer([store, load]).results() == (1, 1)
    assert explorer([store, work("MTE2", 1, 2, line=2)]).explore().races == {("RACE-RAW", 1, 2)}
    handed = [store, flag("set", "S", "MTE2"), flag("wait", "S", "MTE2"), work("MTE2", 1, 2)]
    assert explorer(handed).explore().races == set()


def test_pipes_out_of_order() -> None:
    twice = [work("MTE2", 1, 2, line=1), work("MTE2", 1, 2, line=2)]
    assert explorer(twice).explore().races == set()
    assert explorer(twice, profile=True).explore().races == {("RACE-INTRAPIPE", 1, 2)}
    apart = [twice[0], Step("barrier", "MTE2", 0), twice[1]]
    assert explorer(apart, profile=True).explore().races == set()


@pytest.mark.parametrize("number", range(20))
def test_the_order_of_flags_does_not_matter(number: int) -> None:
    sample = Sample(Draw(random.Random(number)))
    programs, _ = held(sample.programs)
    limit = 3000
    try:
        full = explorer(*programs, target=sample.target, profile=sample.profile, given=sample.given, eager=False)
        slow = full.explore(limit)
    except TooLarge:
        return
    fast = explorer(*programs, target=sample.target, profile=sample.profile, given=sample.given).explore()
    assert slow.races == fast.races
    assert (slow.unwritten, slow.perhaps_unwritten) == (fast.unwritten, fast.perhaps_unwritten)
    assert {done for done, _ in slow.ends} == {done for done, _ in fast.ends}
