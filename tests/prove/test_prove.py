"""Claims about all arguments: proved, refuted with arguments that the sanitizer agrees about, or open with a reason."""

from __future__ import annotations

import random
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit
import ptokit as pto
from ptokit.api.prove import Proving, prove
from ptokit.campaign.case import Action, Case, Status
from ptokit.campaign.work import work
from ptokit.prove.alternation import Chooses, Does, Repeats, _each_time
from ptokit.prove.control import Control
from ptokit.prove.places import without_remainders
from ptokit.prove.report import STOPPED, Claim, Proof, Verdict
from ptokit.prove.state import growth
from ptokit.testing import assert_proved
from tests.each import each

from .clusters import alone, cluster, ring, signalled
from .kernels import BACK, BODY, COPY, DRAINED, HANDED, PRIMED, SLICE, TILE, VIEW, add, flag, kernel, load, loop, store
from .nests import ALL, GRID, QUICK, Nest, ahead, asked, begun, graph, judged, program, turned

z3 = pytest.importorskip("z3")


def proof(text: str, **options: Any) -> Proof:
    return prove(text, target="a2a3", **options)


def refuted(found: Proof) -> dict[Claim, str]:
    shown = {d.claim: d.counterexample for d in found.claims if d.verdict is Verdict.REFUTED}
    return {claim: each.rule for claim, each in shown.items() if each is not None}


def test_a_loop_with_all_its_flags_is_proved() -> None:
    found = proof(COPY)
    assert [(d.claim, d.verdict) for d in found.claims] == [(claim, Verdict.PROVED) for claim in Claim]
    assert found.needs == ("x of 512*n elements", "y of 512*n elements")
    assert not found.closed


@pytest.mark.parametrize(
    ("gone", "claim", "rule"),
    [
        ((flag("set", "V", "MTE3"),), Claim.FLAGS, "DEADLOCK"),
        ((flag("set", "V", "MTE2"), flag("wait", "V", "MTE2")), Claim.PIPES, "RACE-WAR"),
        ((DRAINED[0],), Claim.FLAGS, "FLAG-UNMATCHED"),
    ],
)
def test_a_flag_that_is_missing_is_shown_by_a_run(gone: tuple[str, ...], claim: Claim, rule: str) -> None:
    lines = [line for line in COPY.splitlines() if line not in gone]
    if len(gone) == 1 and gone[0] in DRAINED:
        lines = COPY.splitlines()
        del lines[len(lines) - 1 - lines[::-1].index(gone[0])]
    text = "\n".join(lines)
    found = proof(text)
    assert refuted(found)[claim] == rule
    shown = found[claim].counterexample
    assert shown is not None
    report = ptokit.sanitize(text + "\n", shown.arguments, target="a2a3", blocks=shown.blocks)
    assert rule in {d.rule for d in report.errors}


def test_what_only_an_empty_loop_breaks_is_found() -> None:
    """The flag is set in the loop and waited for after it: with n = 0 nothing sets it."""
    body = [load("%t0", "%r"), "pto.barrier #pto.pipe<PIPE_ALL>"]
    text = kernel(loop(*body), flag("wait", "MTE2", "V"), params="%n: index").replace(
        "scf.for", flag("set", "MTE2", "V") + "\nscf.for"
    )
    assert proof(text).proved
    inside = kernel(loop(*body, flag("set", "MTE2", "V"), flag("wait", "MTE2", "V")))
    assert proof(inside).proved
    wrong = kernel(
        f"%some = arith.cmpi sgt, %n, %c0 : index\nscf.if %some {{\n{flag('set', 'MTE2', 'V')}\n}}", HANDED[1]
    )
    found = proof(wrong)
    assert refuted(found) == {Claim.FLAGS: "DEADLOCK"}
    assert "0" in found[Claim.FLAGS].counterexample.arguments  # type: ignore[union-attr]


@each("form", [asked, turned, begun])
def test_loops_that_conditions_end(form: Any) -> None:
    """A while loop, and blocks that ask at their end or their beginning, run as often as a loop that is counted."""
    inside = ("%r = arith.muli %i, %c16 : index", *BODY)
    loop_ = "\n".join(form(Nest(random.Random(0)), "%i", "%n", inside))
    found = proof(kernel(*PRIMED, loop_, *DRAINED))
    assert found.proved
    assert found.needs == ("x of 512*n elements", "y of 512*n elements")
    less = [line for line in inside if line not in BACK]
    wrong = "\n".join(form(Nest(random.Random(0)), "%i", "%n", less))
    assert refuted(proof(kernel(*PRIMED, wrong, *DRAINED))) == {Claim.PIPES: "RACE-RAW"}
    drained = kernel(*PRIMED, loop_, *DRAINED[1:])
    assert refuted(proof(drained)) == {Claim.FLAGS: "FLAG-UNMATCHED"}


def test_what_is_executed_later_may_stand_first() -> None:
    """A while loop asks at the end of an iteration, though it does so first in the text, and the block after a loop may
    stand before what the loop repeats: what they touch comes after what an iteration has touched."""
    ends = ("%j = arith.addi %i, %c1 : index", "scf.yield %j : index", "}")
    asks = ("%l = arith.cmpi slt, %k, %n : index", "scf.condition(%l) %k : index", "} do {", "^bb0(%i: index):")
    begins = "%z = scf.while (%k = %c0) : (index) -> index {"
    barrier = "pto.barrier #pto.pipe<PIPE_ALL>"
    ready = (load("%t0", "%c0"), barrier)
    reload = load("%t0", "%c0").replace("%x_t0_c0", "%again")
    good = kernel(*ready, begins, add("%t1", "%t0"), barrier, *asks, reload, barrier, *ends, barrier, rows="%c16")
    assert proof(good).proved
    bad = kernel(*ready, begins, add("%t1", "%t0"), barrier, *asks, reload, *ends, barrier, rows="%c16")
    assert refuted(proof(bad)) == {Claim.PIPES: "RACE-RAW"}
    blocks = (
        *("scf.for %o = %c0 to %n step %c1 {", "scf.execute_region {", "cf.br ^head(%c0 : index)"),
        *("^head(%i: index):", "%l = arith.cmpi slt, %i, %n : index", "cf.cond_br %l, ^body, ^end"),
        *("^end:", add("%t1", "%t0"), "scf.yield"),
        *("^body:", reload, "%j = arith.addi %i, %c1 : index", "cf.br ^head(%j : index)", "}", barrier, "}"),
    )
    text = kernel(*ready, *blocks, rows="%c16")
    assert refuted(proof(text)) == {Claim.PIPES: "RACE-RAW"}
    ordered = text.replace("^end:\n", f"^end:\n{barrier}\n")
    assert proof(ordered).proved


@pytest.mark.parametrize("ahead", [0, 6, 7])
def test_blocks_are_followed_wherever_they_stand(ahead: int) -> None:
    """A loop of three blocks with a race in the middle one."""
    jumps = [line for k in range(1, ahead + 1) for line in (f"cf.br ^b{k}", f"^b{k}:")]
    blocks = (
        *("scf.execute_region {", *jumps, "cf.br ^body(%c0 : index)", "^body(%i: index):", "cf.br ^work"),
        *("^work:", load("%t0", "%c0"), add("%t1", "%t0"), "cf.br ^more"),
        *("^more:", "%j = arith.addi %i, %c1 : index", "%l = arith.cmpi slt, %j, %n : index"),
        *("cf.cond_br %l, ^body(%j : index), ^end", "^end:", "scf.yield", "}"),
    )
    assert refuted(proof(kernel(*blocks, rows="%c16"))) == {Claim.PIPES: "RACE-RAW"}


def test_a_loop_with_two_ends_that_carries_a_pointer_on() -> None:
    """Neither end alone says how often it runs."""
    pointer = "!pto.ptr<f32>"
    view = f"%v = pto.make_tensor_view %p, shape = [%c16, %c32], strides = [%c32, %c1] : {VIEW}"
    part = f"%x0 = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c32] : {VIEW} -> {SLICE}"
    blocks = (
        *("scf.execute_region {", f"cf.br ^head(%x, %c0 : {pointer}, index)", f"^head(%p: {pointer}, %i: index):"),
        *("%l = arith.cmpi slt, %i, %n : index", "cf.cond_br %l, ^body, ^end", "^body:", view, part),
        *(f"pto.tload ins(%x0 : {SLICE}) outs(%t0 : {TILE})", "%d = arith.cmpi eq, %i, %m : index"),
        *("cf.cond_br %d, ^end, ^more", "^more:", f"%q = pto.addptr %p, %c32 : {pointer} -> {pointer}"),
        *("%j = arith.addi %i, %c1 : index", f"cf.br ^head(%q, %j : {pointer}, index)", "^end:", "scf.yield", "}"),
    )
    found = proof(kernel(*blocks, params="%n: index, %m: index", rows="%c16"))
    assert found[Claim.PIPES].verdict is Verdict.PROVED


BACK_TO_LOAD = (flag("set", "V", "MTE2"), flag("wait", "V", "MTE2"))
STORED_TO_LOAD = (flag("set", "MTE3", "MTE2"), flag("wait", "MTE3", "MTE2"))


@each("back, right", [(BACK_TO_LOAD, True), ((), False), (STORED_TO_LOAD, False)])
def test_a_loop_of_blocks_that_swaps_tiles(back: tuple[str, ...], right: bool) -> None:
    """It loads what it has added to before."""
    work = (load("%a", "%c0"), *HANDED, add("%d", "%a"), *back)
    blocks = (
        *("scf.execute_region {", f"cf.br ^head(%c0, %t0, %t1 : index, {TILE}, {TILE})"),
        *(f"^head(%i: index, %a: {TILE}, %d: {TILE}):", "%l = arith.cmpi slt, %i, %n : index"),
        *("cf.cond_br %l, ^body, ^end", "^body:", *work, "%j = arith.addi %i, %c1 : index"),
        *(f"cf.br ^head(%j, %d, %a : index, {TILE}, {TILE})", "^end:", "scf.yield", "}"),
    )
    found = proof(kernel(*blocks, rows="%c16"))
    assert (found[Claim.PIPES].verdict is Verdict.PROVED) is right
    assert refuted(found).keys() == (set() if right else {Claim.PIPES})


@each("back, right", [(STORED_TO_LOAD, True), ((), False), (BACK_TO_LOAD, True)])
def test_a_loop_of_blocks_that_swaps_arrays(back: tuple[str, ...], right: bool) -> None:
    """It loads from the array that it has stored to before."""
    pointer = "!pto.ptr<f32>"
    views = [
        f"%{name}v0 = pto.make_tensor_view %{name}, shape = [%c16, %c32], strides = [%c32, %c1] : {VIEW}\n"
        f"%{name}s = pto.partition_view %{name}v0, offsets = [%c0, %c0], sizes = [%c16, %c32] : {VIEW} -> {SLICE}"
        for name in "pq"
    ]
    work = (
        *(*views, f"pto.tload ins(%ps : {SLICE}) outs(%t0 : {TILE})", *HANDED, add("%t1", "%t0"), *BACK_TO_LOAD),
        *(*BACK, f"pto.tstore ins(%t1 : {TILE}) outs(%qs : {SLICE})", flag("set", "MTE3", "V")),
        *(flag("wait", "MTE3", "V"), *back),
    )
    blocks = (
        *("scf.execute_region {", f"cf.br ^head(%c0, %x, %y : index, {pointer}, {pointer})"),
        *(f"^head(%i: index, %p: {pointer}, %q: {pointer}):", "%l = arith.cmpi slt, %i, %n : index"),
        *("cf.cond_br %l, ^body, ^end", "^body:", *work, "%j = arith.addi %i, %c1 : index"),
        *(f"cf.br ^head(%j, %q, %p : index, {pointer}, {pointer})", "^end:", "scf.yield", "}"),
    )
    found = proof(kernel(*blocks, rows="%c16"))
    assert (found[Claim.PIPES].verdict is Verdict.PROVED) is right
    assert refuted(found).keys() == (set() if right else {Claim.PIPES})


def test_branches_into_the_middle_of_a_loop_are_open() -> None:
    blocks = (
        *("scf.execute_region {", "%l = arith.cmpi sgt, %n, %c1 : index", "cf.cond_br %l, ^second, ^first"),
        *("^first:", load("%t0", "%c0"), add("%t1", "%t0"), "cf.br ^second"),
        *("^second:", "%m = arith.cmpi sgt, %n, %c2 : index", "cf.cond_br %m, ^first, ^end"),
        *("^end:", "scf.yield", "}"),
    )
    found = proof(kernel(*blocks, rows="%c16"))
    assert {d.because[0] for d in found.claims} == {"branches that lead into the middle of a loop are not followed"}


def test_a_loop_that_carries_one_array_and_then_another_is_open() -> None:
    """Each block reads of y, in the second iteration, what the next one writes."""
    views = [
        f"%{name}0 = pto.partition_view %{name}v, offsets = [{row}, %c0], sizes = [%c16, %c32] : "
        f"!pto.tensor_view<?x?xf32> -> {SLICE}"
        for name, row in (("x", "%n"), ("y", "%s"))
    ]
    text = kernel(
        "%b = pto.get_block_idx\n%bi = arith.index_cast %b : i64 to index",
        *("%r = arith.muli %bi, %c16 : index\n%s = arith.addi %r, %c16 : index", *views),
        f"%z:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %x0, %q = %y0) -> ({SLICE}, {SLICE}) {{",
        *(ALL, f"pto.tload ins(%p : {SLICE}) outs(%t0 : {TILE})", ALL),
        *(f"scf.yield %q, %p : {SLICE}, {SLICE}", "}", ALL, store("%t0", "%r")),
        rows="%c4096",
    )
    found = prove(text, target="a2a3", blocks=3, assume=["n <= 4080"])
    assert found[Claim.BLOCKS].verdict is not Verdict.PROVED
    same = prove(text.replace("yield %q, %p", "yield %p, %p"), target="a2a3", blocks=3, assume=["n <= 4080"])
    assert "one array and then another" in same[Claim.BLOCKS].because[0]
    apart = prove(text.replace("yield %q, %p", "yield %p, %q"), target="a2a3", blocks=3, assume=["n <= 4080"])
    assert apart[Claim.BLOCKS].verdict is Verdict.PROVED


def test_what_data_adds_up_from_a_number_that_is_known_does_not_grow_evenly() -> None:
    assert growth(0, z3.Int("loaded"), lambda by: False) is None
    assert growth(0, z3.Int("n"), lambda by: True) is not None


def test_loops_that_data_ends() -> None:
    """Nobody knows how often it runs: flags and pipes hold all the same, the end of what it reads does not."""
    more = ("%v = pto.load_scalar %x[%i] : !pto.ptr<f32> -> f32", "%l = arith.cmpf olt, %v, %one : f32")
    work = (load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), flag("set", "V", "MTE2"), flag("wait", "V", "MTE2"))
    ends = ("%j = arith.addi %i, %c1 : index", "scf.yield %j : index", "}")
    begins = "%z = scf.while (%i = %c0) : (index) -> index {"
    text = kernel(
        begins, *more, "scf.condition(%l) %i : index", "} do {", "^bb0(%i: index):", *work, *ends, rows="%c16"
    )
    found = proof(text)
    assert {d.claim for d in found.claims if d.verdict is Verdict.PROVED} == set(Claim) - {Claim.BOUNDS}
    assert found[Claim.BOUNDS].verdict is Verdict.OPEN
    found = proof(text.replace(work[-1] + "\n", "").replace(work[-2] + "\n", ""))
    assert found[Claim.PIPES].verdict is not Verdict.PROVED


def test_a_loop_of_two_iterations_that_carries_what_data_says() -> None:
    """Its first iteration alone does not say how a number goes on."""
    text = kernel(
        "%z = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %c0) -> (index) {",
        *("%v = pto.load_scalar %y[%a] : !pto.ptr<f32> -> f32", "%w = arith.fptosi %v : f32 to i32"),
        *("%s = arith.index_cast %w : i32 to index", "scf.yield %s : index", "}"),
        rows="%c4096",
    )
    found = proof(text)
    assert found[Claim.FLAGS].verdict is Verdict.PROVED
    assert found[Claim.BOUNDS].verdict is not Verdict.PROVED


def test_conditions_that_go_together_are_followed() -> None:
    """A flag is set and waited for under one condition, at two places."""
    some = "%some = arith.cmpi sgt, %n, %c1 : index"
    text = kernel(
        some,
        f"scf.if %some {{\n{load('%t0', '%c0')}\n{HANDED[0]}\n}}",
        f"scf.if %some {{\n{HANDED[1]}\n{add('%t1', '%t0')}\n}}",
        rows="%c16",
    )
    assert proof(text).proved


def test_event_ids_that_rotate() -> None:
    rotating = "%e = arith.remui %i, %c2 : index"
    body = (rotating, load("%t0", "%r"), flag("set", "MTE2", "V", "%e"), flag("wait", "MTE2", "V", "%e"))
    back = (add("%t1", "%t0"), flag("set", "V", "MTE2"), flag("wait", "V", "MTE2"))
    assert proof(kernel(loop(*body, *back))).proved
    wild = kernel("%e = arith.addi %n, %c0 : index", flag("set", "MTE2", "V", "%e"), flag("wait", "MTE2", "V", "%e"))
    assert refuted(proof(wild))[Claim.IDS] == "FLAG-RANGE"


def test_a_flag_that_is_set_twice() -> None:
    found = proof(kernel(HANDED[0], HANDED[0], HANDED[1], HANDED[1]))
    assert Claim.IDS in refuted(found)
    assert found[Claim.PIPES].verdict is Verdict.OPEN  # a lost set orders nothing


def test_blocks_that_store_to_the_same_rows() -> None:
    mine = "%b = pto.get_block_idx\n%bi = arith.index_cast %b : i64 to index"
    rows = "%r = arith.muli %bi, %c16 : index"
    work = (load("%t0", "%r"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%r"))
    apart = kernel(mine, rows, *work, params="%n: index", rows="%c4096")
    assert proof(apart, blocks=256).proved
    alike = kernel(mine, "%r = arith.muli %c0, %bi : index", *work, rows="%c4096")
    assert refuted(proof(alike, blocks=2)) == {Claim.BLOCKS: "RACE-XCORE-WAW"}


def test_bounds_hold_under_assumptions() -> None:
    work = (load("%t0", "%n"), *HANDED, add("%t1", "%t0"))
    text = kernel(*work, rows="%c4096")
    assert refuted(proof(text)) == {Claim.BOUNDS: "GM-OOB"}
    assert proof(text, assume=["n <= 4080"]).proved
    assert Claim.BOUNDS in refuted(proof(text, assume=["n <= 4081"]))


@pytest.mark.parametrize(
    ("assumption", "said"),
    [
        ("n > 3 and n < 2", "no arguments"),
        ("m > 3", "there is no number 'm'"),
        ("n +", "is no comparison"),
        ("n + 1", "is no comparison"),
        ("__import__('os').system('true') == 0", "has more than"),
        ("n % n == 0", "positive constants"),
        ("n", "compare it"),
        ("(n > 1) + 2 > 0", "of numbers"),
        ("n ** 2 == 4", "has more than"),
    ],
)
def test_assumptions_that_say_nothing(assumption: str, said: str) -> None:
    with pytest.raises(ptokit.UsageError, match=said.replace("+", r"\+")):
        proof(COPY, assume=[assumption])


def test_what_is_read_has_to_be_written() -> None:
    found = proof(kernel(add("%t1", "%t0"), rows="%c16"))
    assert refuted(found) == {Claim.WRITTEN: "UNINIT-READ"}
    sometimes = f"%some = arith.cmpi sgt, %n, %c1 : index\nscf.if %some {{\n{load('%t0', '%c0')}\n}}"
    found = proof(kernel(sometimes, *HANDED, add("%t1", "%t0"), rows="%c16"))
    assert refuted(found) == {Claim.WRITTEN: "UNINIT-READ"}


def test_a_kernel_that_constants_decide_is_proved_by_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    text = kernel(load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%c0"), params="", rows="%c16")
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "ptokit.prove.control", raising=False)
    found = proof(text)
    assert found.closed
    assert found.proved
    races = kernel(load("%t0", "%c0"), add("%t1", "%t0"), params="", rows="%c16")
    assert refuted(proof(races)) == {Claim.PIPES: "RACE-RAW"}


def test_without_the_solver_the_rest_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "z3" or name.startswith("ptokit.prove.")]:
        if name != "ptokit.prove.report":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "z3", None)
    found = proof(COPY)
    assert {d.verdict for d in found.claims} == {Verdict.OPEN}
    assert "ptokit[prove]" in found.claims[0].because[0]
    assert found.solver == ""
    with pytest.raises(ptokit.UsageError, match="there is no number 'q'"):
        proof(COPY, assume=["q > 3"])


def test_what_is_not_followed_is_open_with_its_line() -> None:
    """Signals with an id that an argument says leave open whether they come, and order no pipes."""
    given = "pto.sync.set #pto.pipe<PIPE_MTE2>, %n"
    text = kernel(given, loop(*BODY), *DRAINED).replace("scf.for", "\n".join(PRIMED) + "\nscf.for")
    found = proof(text)
    assert [d.claim for d in found.claims if d.verdict is not Verdict.PROVED] == [Claim.FLAGS]
    assert "sync.set" in found[Claim.FLAGS].because[0]
    assert found[Claim.FLAGS].lines[0] > 0
    assert refuted(proof(text.replace(given, given.replace("%n", "3")))) == {Claim.FLAGS: "XFLAG-UNMATCHED"}
    less = "\n".join(line for line in text.splitlines() if line not in HANDED)
    signals = ("pto.sync.set #pto.pipe<PIPE_MTE2>, 3", "pto.sync.wait #pto.pipe<PIPE_V>, 3")
    instead = text.replace("\n".join(HANDED), "\n".join(signals))
    assert {proof(t)[Claim.PIPES].verdict is Verdict.PROVED for t in (less, instead)} == {False}


SENDS = Path(__file__).parents[2] / "examples" / "pto" / "ring_all_reduce.pto"
FENCE = "pto.fence.barrier_all #pto.fence_scope<gm>"
TELL = "pto.comm.tnotify(%tell, %told : !signal, i32) {notifyOp = #pto<notify_op set>}"
HEAR = "pto.comm.twait(%await, %told : !signal, i32) {cmp = #pto<wait_cmp ge>}"


def _ring(changes: dict[str, str], wrong: dict[Claim, str]) -> None:
    text = SENDS.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    found = proof(text)
    left = {d.claim: " ".join(d.because) for d in found.claims if d.verdict is not Verdict.PROVED}
    assert left.keys() == wrong.keys(), str(found)
    assert all(why in left[claim] for claim, why in wrong.items()), str(found)


TOLD_AFTER = {TELL: "@@", HEAR: TELL.replace("%tell", "%await"), "@@": HEAR.replace("%await", "%tell")}
NO_ORDER, ONE_ARRAY = "comm.tput in line 43 of another rank", "of one rank, for which both arrays are one"
RINGS: list[tuple[dict[str, str], dict[Claim, str]]] = [
    ({}, {}),
    ({HEAR: ""}, {Claim.BLOCKS: "RACE-XRANK-RAW"}),
    (TOLD_AFTER, {Claim.FLAGS: "DEADLOCK", Claim.BLOCKS: NO_ORDER}),
]
MORE_RINGS: list[tuple[dict[str, str], dict[Claim, str]]] = [
    ({FENCE: ""}, {Claim.BLOCKS: "RACE-XRANK-RAW"}),
    ({"wait_cmp ge": "wait_cmp eq"}, {}),
    ({TELL: ""}, {Claim.FLAGS: "DEADLOCK", Claim.BLOCKS: NO_ORDER}),
    ({"wait_cmp ge": "wait_cmp le"}, {Claim.FLAGS: "assume arrived == 0", Claim.BLOCKS: "RACE-XRANK-RAW"}),
    ({', "arrived == 0"': ""}, {Claim.FLAGS: "assume arrived == 0", Claim.BLOCKS: NO_ORDER}),
    ({"op set": "op atomic_add"}, {Claim.FLAGS: "may be over before", Claim.BLOCKS: NO_ORDER}),
    ({"%my_signals, offsets = [%step": "%my_signals, offsets = [%last"}, {Claim.FLAGS: "DEADLOCK", Claim.BLOCKS: ""}),
    (
        {"%their_signals, offsets = [%step, %b": "%their_signals, offsets = [%step, %zero"},
        {Claim.FLAGS: "", Claim.BLOCKS: ""},
    ),
    ({"%theirs, offsets = [%step": "%theirs, offsets = [%last"}, {Claim.BLOCKS: "RACE-XRANK-RAW"}),
    ({"%theirs, offsets = [%step, %first": "%theirs, offsets = [%step, %zero"}, {Claim.BLOCKS: "RACE"}),
    ({"%step = %one to": "%step = %zero to"}, {Claim.BOUNDS: "GM-OOB", Claim.PIPES: "", Claim.BLOCKS: ONE_ARRAY}),
]


def _ring(changes: dict[str, str], wrong: dict[Claim, str]) -> None:
    text = SENDS.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    found = proof(text)
    left = {d.claim: " ".join(d.because) for d in found.claims if d.verdict is not Verdict.PROVED} | refuted(found)
    assert left.keys() == wrong.keys(), str(found)
    assert all(why in left[claim] for claim, why in wrong.items()), str(found)


@each("changes, wrong", RINGS)
def test_a_ring_of_ranks(changes: dict[str, str], wrong: dict[Claim, str]) -> None:
    """Each rank sends what it has got to the next one: proved, refuted by a launch on several devices, or open."""
    _ring(changes, wrong)


@pytest.mark.campaign
@each("changes, wrong", MORE_RINGS)
def test_more_rings_of_ranks(changes: dict[str, str], wrong: dict[Claim, str]) -> None:
    _ring(changes, wrong)


def test_what_shows_a_race_of_ranks_is_a_launch_on_several() -> None:
    shown = proof(SENDS.read_text(encoding="utf-8").replace(HEAR, ""))[Claim.BLOCKS].counterexample
    assert shown is not None
    assert shown.ranks > 1
    assert f" --ranks {shown.ranks} -a zeros:f32:{shown.ranks}x" in shown.command
    assert "-a peer:box:+1 " in shown.command


def test_launches_keep_whose_arrays_are_whose() -> None:
    """RUN-ASSUME: the next rank's array, its number, and signals that have not been given."""
    ring = runpy.run_path(str(SENDS.parents[1] / "python" / "ring_all_gather.py"))["ring_all_gather"].ranks(3)[1]
    rows, arrived = np.zeros((3, 3, 256), np.float32), np.zeros((3, 3), np.int32)
    next_rows, next_arrived = pto.Peer("rows", 1), pto.Peer("arrived", 1)
    ring(rows, next_rows, arrived, next_arrived, pto.RANK, pto.RANKS)
    for given, said in (
        ((rows, pto.Peer("rows", -1), arrived * 0, next_arrived, pto.RANK, pto.RANKS), "next_rows is rows[rank + 1]"),
        ((rows, next_rows, arrived, next_arrived, pto.RANK, pto.RANKS), "arrived == 0"),
        ((rows, next_rows, arrived * 0, next_arrived, 0, pto.RANKS), "rank is 0 and not 1"),
        ((rows, next_rows, arrived * 0, next_arrived, pto.RANK, 2), "ranks is 2 and not 3"),
    ):
        with pytest.raises(ptokit.DiagnosticError, match=re.escape(said)):
            ring(*given)


def test_what_is_proved_is_kept_when_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Control, "races", stopped)
    found = proof(COPY)
    assert found.stopped
    assert {d.claim for d in found.claims if d.verdict is Verdict.PROVED} == set(Claim) - {Claim.PIPES, Claim.BLOCKS}
    assert found[Claim.PIPES].because == (STOPPED,)
    monkeypatch.undo()
    monkeypatch.setattr(Proving, "_with", stopped)
    found = proof(kernel(loop(load("%t0", "%r")), rows="%n"))
    assert found.stopped
    assert found[Claim.BOUNDS].verdict is Verdict.REFUTED
    found = proof(kernel(NEGATIVE, WAITS, params="%n: i32", rows="%c16"))
    assert found.stopped  # before it was tried what wraps
    assert found[Claim.FLAGS].verdict is Verdict.PROVED
    assert found.assumptions[-1].startswith(WRAPS)


def test_what_a_kernel_asserts_is_assumed_and_said() -> None:
    work = (load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%c0"))
    enough = '%enough = arith.cmpi sge, %n, %c16 : index\ncf.assert %enough, "n >= 16"'
    assert refuted(proof(kernel(*work, rows="%n"))) == {Claim.BOUNDS: "GM-OOB"}
    found = proof(kernel(enough, *work, rows="%n"))
    assert found.proved
    assert found.assumptions[0].startswith("n >= 16 (line ")
    never = enough.replace("sge, %n, %c16", "slt, %n, %c0")
    assert proof(kernel(never, *work, rows="%n")).verdict is Verdict.OPEN


def test_the_same_answer_every_time() -> None:
    wrong = kernel(load("%t0", "%n"), add("%t1", "%t0"), rows="%c4096")
    first, second = proof(wrong), proof(wrong)
    first.seconds = second.seconds = 0
    assert first.as_json() == second.as_json()


# --- in Python, in tests and campaigns -------------------------------------------------------------------------------


@pto.kernel(target="a2a3")
def shifted(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int):  # type: ignore[no-untyped-def]
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32, addr=0)
    pto.TLOAD(t, pto.GlobalTensor(x, (4096, 32))[n : n + 16, :])
    pto.set_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, 0)
    pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_MTE3, 0)
    pto.TSTORE(pto.GlobalTensor(y, (16, 32)), t)


def test_kernels_in_python() -> None:
    assert not shifted.prove().proved
    assert shifted.prove(assume=["n + 16 <= 4096"]).proved
    assert_proved(shifted, assume=["n + 16 <= 4096"])
    with pytest.raises(AssertionError, match="refuted: no access leaves its view"):
        assert_proved(shifted)


def test_files_in_tests(tmp_path: Path) -> None:
    file = tmp_path / "copy.pto"
    file.write_text(COPY, encoding="utf-8")
    assert assert_proved(file, target="a2a3").proved


def test_a_campaign_proves(tmp_path: Path) -> None:
    wrong = kernel(load("%t0", "%n"), rows="%c4096")
    results = [
        work(Case(name, f"{name}.pto", text, Action.PROVE, target="a2a3"))
        for name, text in (("good", COPY), ("wrong", wrong))
    ]
    assert [r.status for r in results] == [Status.PASSED, Status.FINDING]
    assert "bounds refuted; [GM-OOB] line" in results[1].message


def test_a_clean_run_of_a_closed_kernel_says_so(tmp_path: Path) -> None:
    text = kernel(load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), params="", rows="%c16")
    assert ptokit.sanitize(text, target="a2a3").closed
    assert not ptokit.sanitize(COPY, target="a2a3").closed


def test_assumptions_that_suffice_are_proposed() -> None:
    rows = "%rows_ = arith.muli %n, %c1 : index"
    body = (load("%t0", "%i"), *HANDED, add("%t1", "%t0"), "pto.barrier #pto.pipe<PIPE_ALL>")
    inside = "\n".join(("%r = arith.muli %i, %c1 : index", *body))
    text = kernel(rows, f"scf.for %i = %c0 to %n step %c16 {{\n{inside}\n}}", rows="%n")
    found = proof(text)
    assert refuted(found) == {Claim.BOUNDS: "GM-OOB"}
    assert found.sufficient == ("n % 16 == 0",)
    assert proof(text, assume=found.sufficient).proved
    assert proof(kernel(*HANDED[:1])).sufficient == ()


def test_limits_of_numbers_are_proposed() -> None:
    """The greatest that suffice; where the number only chooses one of so many strips, that is the number of strips."""
    text = kernel(load("%t0", "%n"), *HANDED, add("%t1", "%t0"), rows="%c4096")
    assert proof(text).sufficient == ("n <= 4080",)
    strips = kernel("%r = arith.muli %n, %c16 : index", load("%t0", "%r"), *HANDED, add("%t1", "%t0"), rows="%c4096")
    assert proof(strips).sufficient == ("n <= 255",)
    only = kernel("%r = arith.muli %n, %c16 : index", load("%t0", "%r"), *HANDED, add("%t1", "%t0"), rows="%c16")
    assert proof(only).sufficient == ("n == 0",)
    both = kernel(
        "%r = arith.addi %n, %m : index",
        *(load("%t0", "%r"), *HANDED, add("%t1", "%t0")),
        rows="%c4096",
        params="%n: index, %m: index",
    )
    assert proof(both).sufficient == ("n + m <= 4080",)


STRIP = ("%b = pto.get_block_idx\n%bi = arith.index_cast %b : i64 to index", "%r = arith.muli %bi, %c16 : index")
QUOTIENT = ("%q = arith.divui %n, %c16 : index", "%r = arith.muli %q, %c16 : index")
TWICE = ("scf.for %i = %c0 to %c2 step %c1 {", "%s = arith.muli %i, %c16 : index", "%r = arith.addi %s, %m : index")
TAILS = ("scf.for %r = %c0 to %m step %c16 {",)
COUNTED = ("scf.for %i = %c0 to %m step %c1 {", "%r = arith.muli %i, %c16 : index")


@each(
    "begins, rows, wanted",
    [
        (("%r = arith.addi %c0, %c0 : index",), "%n", ("n >= 16",)),
        (("%r = arith.addi %c0, %m : index",), "%n", ("m + 16 <= n",)),
        (TWICE, "%n", ("m + 32 <= n",)),  # the last iteration
        (STRIP, "%n", ("16*blocks <= n",)),  # the last block
        (QUOTIENT, "%m", ("16*(n // 16) + 16 <= m",)),
        (QUOTIENT, "%c4096", ("n <= 4095",)),
        (COUNTED, "%rows", ("m <= n",)),
        (TAILS, "%n", ("m % 16 == 0", "m <= n")),  # the first iteration asks for less than the others
        (TAILS, "%c4096", ("m <= 4096",)),
    ],
)
def test_what_numbers_are_to_each_other_is_proposed(
    begins: tuple[str, ...], rows: str, wanted: tuple[str, ...]
) -> None:
    work = (load("%t0", "%r"), *HANDED, add("%t1", "%t0"), ALL)
    ends = ("}",) if "scf.for" in begins[0] else ()
    text = kernel(*begins, *work, *ends, rows=rows, params="%n: index, %m: index")
    found = proof(text)
    assert refuted(found) == {Claim.BOUNDS: "GM-OOB"}
    assert found.sufficient == wanted
    assert proof(text, assume=wanted).proved
    for gone in wanted:
        assert not proof(text, assume=[text for text in wanted if text != gone]).proved


WAITS = f"scf.if %some {{\n{flag('wait', 'MTE2', 'V')}\n}}"
"""A hang, unless %some is false."""
PRODUCT = "%z = arith.constant 0 : i32\n%m = arith.constant 65536 : i32\n%p = arith.muli %n, %m : i32"
NEGATIVE = f"{PRODUCT}\n%some = arith.cmpi slt, %p, %z : i32"
SUM = NEGATIVE.replace("65536", "2147483647").replace("muli", "addi")
CUT = """%b = arith.constant 4294967296 : i64
%w = arith.extsi %n : i32 to i64
%q = arith.muli %w, %b : i64
%p = arith.trunci %q : i64 to i32
%three = arith.constant 3 : i32
%z = arith.addi %p, %three : i32
%some = arith.cmpi slt, %z, %n : i32"""
WRAPS = "i32 arithmetic in line"


@each(
    "made, assume, least, wraps",
    [
        (NEGATIVE, "n >= 0", "32768", True),
        (NEGATIVE, "n < 32768", "", False),
        (NEGATIVE, "n <= 32768", "32768", True),
        (SUM, "n >= 0", "1", True),
        (SUM, "n > 0", "1", False),  # it always wraps: nothing follows from that it does not
        (SUM, "n == 0", "", False),
        (CUT, "n >= 0", "4", True),
        (NEGATIVE.replace("slt, %p", "eq, %m"), "n >= 0", "", False),  # wraps, and nobody uses it
    ],
)
def test_arithmetic_that_wraps(made: str, assume: str, least: str, wraps: bool) -> None:
    """What holds only as long as a product of 32 bits does not wrap is refuted by a run that wraps."""
    found = proof(kernel(made, WAITS, params="%n: i32", rows="%c16"), assume=[assume])
    assert found.proved is not bool(least)
    assert [text.startswith(WRAPS) for text in found.assumptions[3:]] == [True] * wraps
    if least:
        assert refuted(found) == {Claim.FLAGS: "DEADLOCK"}
        assert found[Claim.FLAGS].counterexample.arguments[-1] == least  # type: ignore[union-attr]


def test_sizes_that_wrap() -> None:
    """A view of n * 16 rows in 32 bits: from 2**27 on they are negative. No run has arrays that are as large."""
    rows = "%s = arith.constant 16 : i32\n%r32 = arith.muli %n, %s : i32\n%rr = arith.index_cast %r32 : i32 to index"
    inside = "\n".join(("%r = arith.muli %i, %c16 : index", load("%t0", "%r"), "pto.barrier #pto.pipe<PIPE_ALL>"))
    again = f"%ni = arith.index_cast %n : i32 to index\nscf.for %i = %c0 to %ni step %c1 {{\n{inside}\n}}"
    text = kernel(again, params="%n: i32", rows="%rr").replace("%xv =", f"{rows}\n%xv =", 1)
    found = proof(text)
    assert found.proved
    assert found.assumptions[-1].startswith(WRAPS)
    assert found.sufficient == (f"n <= {(1 << 27) - 1}",)
    assert f"  no arithmetic wraps for n <= {(1 << 27) - 1}" in str(found)
    held = proof(text, assume=found.sufficient)
    assert held.proved
    assert not any("wrap" in text for text in held.assumptions)
    assert not any("wrap" in text for text in proof(COPY).assumptions)


def test_numbers_of_64_bits_that_may_wrap_are_named() -> None:
    """No run gets so far in arrays that fit a machine."""
    grown = "%a = arith.muli %n, %n : index\n%b = arith.muli %a, %n : index"
    some = "%some = arith.cmpi slt, %b, %c0 : index"
    found = proof(kernel(grown, some, WAITS, rows="%c16"))
    assert [text.split(" in line")[0] for text in found.assumptions[2:]] == ["index arithmetic"]
    assert found.as_json()["assumptions"] == list(found.assumptions)
    assert found.assumptions[2] in str(found)


def test_a_run_that_does_not_end_is_given_up() -> None:
    endless = "scf.execute_region {\ncf.br ^a\n^a:\ncf.br ^a\n}"
    work = (load("%t0", "%c0"), add("%t1", "%t0"))
    found = proof(kernel(*work[:1], endless, params="", rows="%c16"))
    assert found.closed
    assert {d.verdict for d in found.claims} == {Verdict.OPEN}
    assert "RUN-LIMIT" in found.claims[0].because[0]
    assert refuted(proof(kernel(*work, endless, params="", rows="%c16"))) == {Claim.PIPES: "RACE-RAW"}


REGISTERS = """
func.func @r(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: i32)
    attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
%c0 = arith.constant 0 : index
%c64 = arith.constant 64 : index
%end = arith.constant {elements} : index
%a = arith.constant 0 : i64
%b = arith.constant 4096 : i64
%bytes = arith.constant 1024 : i64
%one = arith.constant 1 : i64
%active = arith.constant {active} : i32
%u = pto.castptr %a : i64 -> !pto.ptr<f32, ub>
%v = pto.castptr %b : i64 -> !pto.ptr<f32, ub>
pto.mte_gm_ub %x, %u, %a, %bytes nburst(%one, %bytes, %bytes)
  : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
pto.vecscope {{
  scf.for %i = %c0 to %end step %c64 {{
    %m, %rest = pto.plt_b32 %active : i32 -> !pto.mask<b32>, i32
    %r = pto.vlds %u[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    pto.vsts %r, %v[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }}
}}
pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
pto.mte_ub_gm %v, %y, %bytes nburst(%one, %bytes, %bytes)
  : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
return
}}
"""


@pytest.mark.parametrize(
    ("elements", "active", "verdict"),
    [(256, 64, Verdict.PROVED), (192, 64, Verdict.REFUTED), (256, 63, Verdict.REFUTED)],
)
def test_registers_are_followed_by_the_solver(elements: int, active: int, verdict: Verdict) -> None:
    """A loop that stores registers side by side has written all of them; one less, or one lane less, has not."""
    text = REGISTERS.format(elements=elements, active=active)
    found = prove(text, target="a5", assume=["n >= 0"])  # so that the solver decides, and not one run
    assert not found.closed
    assert found[Claim.WRITTEN].verdict is verdict
    assert {d.verdict for d in found.claims if d.claim is not Claim.WRITTEN} == {Verdict.PROVED}


TAIL = """
func.func @r(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: index)
    attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
%c0 = arith.constant 0 : index
%c4 = arith.constant 4 : index
%c64 = arith.constant 64 : index
%all = arith.constant 64 : i32
%a = arith.constant 0 : i64
%b = arith.constant 4096 : i64
%one = arith.constant 1 : i64
%size = arith.muli %n, %c4 : index
%bytes = arith.index_cast %size : index to i64
%left = arith.index_cast %n : index to i32
%u = pto.castptr %a : i64 -> !pto.ptr<f32, ub>
%v = pto.castptr %b : i64 -> !pto.ptr<f32, ub>
pto.mte_gm_ub %x, %u, %a, %bytes nburst(%one, %bytes, %bytes)
  : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
pto.vecscope {
  %every, %none = pto.plt_b32 %all : i32 -> !pto.mask<b32>, i32
  %end = scf.for %i = %c0 to %n step %c64 iter_args(%now = %left) -> (i32) {
    %m, %rest = pto.plt_b32 %now : i32 -> !pto.mask<b32>, i32
    %r = pto.vlds %u[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %s = pto.vadd %r, %r, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
    pto.vsts %s, %v[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    scf.yield %rest : i32
  }
}
pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
pto.mte_ub_gm %v, %y, %bytes nburst(%one, %bytes, %bytes)
  : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
return
}
"""


COMPUTED, STORED_AT = ("%r, %r, %m", "%r, %r, %every"), ("%v[%i], %m", "%v[%i], %every")


@each(
    "changes, verdict",
    [
        ([], Verdict.PROVED),
        ([COMPUTED], Verdict.PROVED),  # what is computed of other lanes is not stored
        ([STORED_AT], Verdict.PROVED),  # 0 in the others
        ([COMPUTED, STORED_AT], Verdict.REFUTED),
        ([("vsts %s", "vsts %r")], Verdict.PROVED),
        ([("vsts %s", "vsts %r"), STORED_AT], Verdict.REFUTED),
        ([("%i = %c0 to", "%i = %c64 to")], Verdict.REFUTED),
        ([("yield %rest", "yield %now")], Verdict.REFUTED),  # more lanes than are left
        ([("%u, %a, %bytes nburst", "%u, %a, %less nburst")], Verdict.REFUTED),
    ],
)
def test_the_last_register_is_cut_short(changes: list[tuple[str, str]], verdict: Verdict) -> None:
    text = TAIL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    less = "%four = arith.constant 4 : i64\n%less = arith.subi %bytes, %four : i64\n%left ="
    found = prove(text.replace("%left =", less, 1), target="a5", assume=["n > 64", "n <= 1024"])
    assert found[Claim.WRITTEN].verdict is verdict
    assert found[Claim.PIPES].verdict is Verdict.PROVED


def test_registers_of_which_a_part_is_written_are_not_handed_on() -> None:
    """Through what a loop carries they are not followed: the claim is not proved, though nothing wrong happens."""
    kind = "!pto.vreg<64xf32>"
    text = TAIL.replace("iter_args(%now = %left) -> (i32)", f"iter_args(%now = %left, %o = %first) -> (i32, {kind})")
    text = text.replace("%end = scf", f"%first = pto.vlds %u[%c0] : !pto.ptr<f32, ub> -> {kind}\n  %end:2 = scf")
    text = text.replace("yield %rest : i32", f"yield %rest, %r : i32, {kind}").replace("vsts %s", "vsts %o")
    found = prove(text.replace("%v[%i], %m", "%v[%i], %every"), target="a5", assume=["n > 64", "n <= 1024"])
    assert found[Claim.WRITTEN].verdict is not Verdict.PROVED


STORED = "pto.vsts %r, %v[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>"
BLOCKS = "pto.vsstb %r, %v, {0}, {0}, %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, i16, i16, !pto.mask<b32>"
BY_DATA = """%zero = arith.constant 0.0 : f32
    %m, %all = pto.plt_b32 %active : i32 -> !pto.mask<b32>, i32
    %p = pto.vcmps %r, %zero, %m, "gt" : !pto.vreg<64xf32>, f32, !pto.mask<b32> -> !pto.mask<b32>"""


def test_places_of_lanes_that_constants_decide_leave_a_kernel_closed() -> None:
    text = REGISTERS.format(elements=64, active=64).replace("%n: i32", "%n: i16")
    strided = "%s = arith.constant 1 : i16\n" + BLOCKS.format("%s")
    mask = "%m, %rest = pto.plt_b32 %active : i32 -> !pto.mask<b32>, i32\n"
    loaded = "%r = pto.vlds %u[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
    assert mask in text
    for closed, stored, masked in (
        (True, strided, ""),
        (False, BLOCKS.format("%n"), ""),
        (False, strided.replace("%m", "%p"), BY_DATA),
        (False, STORED.replace("%m", "%p"), BY_DATA),
        (True, f"%no = arith.constant false\nscf.if %no {{\n{BLOCKS.format('%n')}\n}}\n{STORED}", ""),
    ):
        changed = text.replace(STORED, stored)
        if masked:
            changed = changed.replace(mask, "").replace(loaded, loaded + masked + "\n")
        assert prove(changed, target="a5").closed is closed, changed


def test_arrays_of_a_closed_kernel_are_as_large_as_it_needs() -> None:
    text = REGISTERS.format(elements=256, active=64).replace("constant 4096", "constant 65536")
    text = text.replace("%u, %a, %bytes nburst(%one, %bytes, %bytes)", "%u, %a, %long nburst(%one, %long, %long)")
    found = prove(text.replace("%active =", "%long = arith.constant 32768 : i64\n%active ="), target="a5")
    assert found.closed
    assert found.proved
    assert found.needs[0] == "x of 8192 elements"


def test_of_needs_in_numbers_the_greatest_is_told() -> None:
    @pto.kernel(target="a2a3")
    def parts(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int) -> None:
        tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
        for top in pto.static_range(0, 48, 16):
            pto.TLOAD(tile, pto.GlobalTensor(x, (top + 16, 32))[top : top + 16])
        for top in range(0, n * 16, 16):
            pto.TSTORE(pto.GlobalTensor(y, (n * 16, 32))[top : top + 16], tile)

    assert parts.prove().needs == ("x of 1536 elements", "y of 512*n elements")


@pytest.mark.parametrize("name", ["block", "p"])
def test_a_parameter_may_be_called_like_the_number_of_a_block(name: str) -> None:
    """All blocks but one, of that number, store to the same rows."""
    mine = "%b = pto.get_block_idx\n%bi = arith.index_cast %b : i64 to index"
    other = f"%other = arith.cmpi ne, %bi, %{name} : index"
    work = "\n".join((load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%c0")))
    text = kernel(mine, other, f"scf.if %other {{\n{work}\n}}", params=f"%{name}: index", rows="%c4096")
    assert refuted(proof(text, blocks=3)) == {Claim.BLOCKS: "RACE-XCORE-WAW"}
    assert proof(text, assume=[f"{name} < 2"], blocks=2).proved


# --- the cores of a cluster ------------------------------------------------------------------------------------------

SPLIT_K = (Path(__file__).parents[2] / "examples" / "pto" / "split_k.pto").read_text()
ADDED = "pto.tadd ins(%total, %partial : !half, !half) outs(%total : !half)\n"
FREED = "pto.tfree_from_aic {id = 0, split = 1}\n"
PUSHED = "pto.tpush_to_aiv(%sum : !part)"
MOVED = """%there = pto.alloc_tile addr = %second_place : !pto.tile_buf<vec, 32x64xf32>
    pto.tmov ins(%sum : !part) outs(%there : !pto.tile_buf<vec, 32x64xf32>)
    """
OF_VECTORS = "scf.for %q = %zero to %parts step %one {\n        %partial"


@each(
    "gone, instead, claims",
    [
        ("", "", {}),
        (FREED, "", dict.fromkeys(Claim, Verdict.OPEN)),  # the slots run out
        (OF_VECTORS, OF_VECTORS.replace("%zero", "%one"), dict.fromkeys(Claim, Verdict.OPEN)),  # one too few
        (f"{ADDED}        {FREED}", FREED + ADDED, {Claim.PIPES: Verdict.REFUTED}),
        (
            "%behind_slots = arith.constant 16384",
            "%behind_slots = arith.constant 8192",
            dict.fromkeys(Claim, Verdict.OPEN),
        ),  # among the slots
        (PUSHED, MOVED + PUSHED, dict.fromkeys(Claim, Verdict.OPEN)),  # into the buffer of a vector core
        ("%row = arith.muli %lane, %height", "%row = arith.muli %lane, %one", {Claim.BLOCKS: Verdict.REFUTED}),
    ],
)
def test_the_cores_of_a_cluster(gone: str, instead: str, claims: dict[Claim, Verdict]) -> None:
    assert gone in SPLIT_K
    found = prove(SPLIT_K.replace(gone, instead), assume=["n == 64"], blocks=1)
    verdicts = {d.claim: d.verdict for d in found.claims}
    assert {claim: verdicts[claim] for claim in claims} == claims
    assert found.proved is (not claims)


@each(
    "order, wrong",
    [
        ("a f s f", None),
        ("a s f f", None),
        ("s a f f", None),
        ("f a s f", Claim.PIPES),  # the first entry, after it has been given back
        ("a f f s", Claim.PIPES),
    ],
)
def test_entries_of_a_pipe_that_are_taken_at_once(order: str, wrong: Claim | None) -> None:
    """They are given back in the order in which they were taken."""
    taken, pushed = "%partial = pto.tpop_from_aic {id = 0, split = 1} -> !half\n", f"{PUSHED} {{id = 0, split = 1}}\n"
    lines = {"a": ADDED, "s": ADDED.replace("%partial", "%second"), "f": FREED}
    used = "".join(lines[each] for each in order.split())
    text = SPLIT_K.replace(pushed, pushed * 2).replace(f"{ADDED}        {FREED}", used)
    text = text.replace(taken, taken + taken.replace("%partial", "%second"))
    found = prove(text, assume=["n == 64"], blocks=1)
    assert refuted(found).keys() == ({wrong} if wrong else set())
    assert found.proved is (wrong is None)


MEET = "pto.syncall mode = #pto.sync_all_mode<hard>, core_type = #pto.sync_core_type<aiv_only>"


@each(
    "stored, loaded, upper, wrong",
    [
        (MEET, MEET, "%n", {}),
        (MEET, "", "%n", {Claim.BLOCKS: "RACE-XCORE-WAR"}),  # the next iteration stores what others may still load
        ("", MEET, "%n", {Claim.BLOCKS: "RACE-XCORE-WAR"}),
        (MEET, MEET, "%bi", {Claim.FLAGS: "SYNCALL-MISMATCH"}),
    ],
)
def test_blocks_that_meet(stored: str, loaded: str, upper: str, wrong: dict[Claim, str]) -> None:
    """Each block stores rows and loads those of the next one; after which of both all of them meet."""
    views = [
        f"%p{name} = pto.partition_view %yv, offsets = [%{name}, %c0], sizes = [%c16, %c32] : {VIEW} -> {SLICE}"
        for name in ("mine", "next")
    ]
    text = kernel(
        *("%b = pto.get_block_idx\n%bi = arith.index_cast %b : i64 to index", load("%t0", "%c0")),
        *("%mine = arith.muli %bi, %c16 : index\n%next = arith.addi %mine, %c16 : index", *views),
        *(f"scf.for %i = %c0 to {upper} step %c1 {{", ALL),
        *(f"pto.tstore ins(%t0 : {TILE}) outs(%pmine : {SLICE})", stored, ALL),
        *(f"pto.tload ins(%pnext : {SLICE}) outs(%t1 : {TILE})", loaded, "}", ALL),
        rows="%c4096",
    )
    assert refuted(found := prove(text, target="a2a3", blocks=3)) == wrong
    assert found.proved is not bool(wrong)


def _signals(seed: int, target: str, grid: tuple[int, int], is_open: list[Claim], broken: list[Claim]) -> None:
    said, found = judged(signalled(seed, target), (grid,), target)
    assert [claim for claim, why in said.items() if why] == is_open
    assert list(found) == broken


def test_signals_between_the_cores_of_a_cluster() -> None:
    """A ring is proved; where the signal comes before the store, the load may come too early."""
    _signals(5, "a2a3", (2, 3), [], [])
    _signals(7, "a5", (2, 3), [Claim.BLOCKS], [Claim.BLOCKS])


@pytest.mark.campaign
@each(
    "seed, target, grid, is_open, broken",
    [
        (2, "a5", (2, 3), [], []),  # a ring that an outer loop goes on with
        (1, "a2a3", (2, 3), [], []),  # one signal for all
        (10, "a5", (0, 2), [Claim.BLOCKS], [Claim.BLOCKS]),  # the slots do not go on where the last iteration ended
        (8, "a2a3", (2, 3), [Claim.FLAGS, Claim.BLOCKS], [Claim.FLAGS]),
    ],
)
def test_more_signals_between_the_cores_of_a_cluster(
    seed: int, target: str, grid: tuple[int, int], is_open: list[Claim], broken: list[Claim]
) -> None:
    _signals(seed, target, grid, is_open, broken)


def test_signals_that_nobody_waits_for_in_time() -> None:
    """No signal comes back: the sixteenth does not fit."""
    text = kernel(
        loop("pto.sync.set #pto.pipe<PIPE_MTE3>, 3 {ffts_mode = 0 : i32}"),
        loop("pto.sync.wait #pto.pipe<PIPE_MTE3>, 3", variable="%j"),
    )
    assert refuted(proof(text)) == {Claim.FLAGS: "XFLAG-OVERFLOW"}
    assert refuted(proof(text, assume=["n < 16"])) == {}


@pytest.mark.campaign
@each(
    "file, name",
    [
        ("vec_add", "vec_add"),
        ("softmax", "softmax"),
        ("saxpy_registers", "saxpy"),
        ("vector_softmax", "softmax"),
        ("rms_norm", "rms_norm"),
        ("gemm", "gemm"),
        ("gemm_int8", "gemm_int8"),
        ("gemm_double_buffered", "gemm"),
        ("split_k", "split_k"),
        ("embedding", "embedding"),
        ("ring_all_gather", "ring_all_gather"),
        ("flash_attention", "flash_attention"),
        ("flash_attention", "flash_attention_a2a3"),
    ],
)
def test_examples_are_proved(file: str, name: str) -> None:
    """Under the assumptions that they carry."""
    kernel = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "python" / f"{file}.py"))[name]
    assert_proved(kernel)


@pytest.mark.campaign
@each(
    "file, entry",
    [
        *((f"pto/{name}.pto", None) for name in ("vec_add", "softmax", "vector_softmax", "split_k")),
        *((f"pto/{name}.pto", None) for name in ("gemm", "flash_attention")),
        ("pto/ring_all_reduce.pto", None),
        ("cpp/add_rows.cpp", "add_rows<float, 64>"),  # of which 32-bit offsets may wrap: arrays are as large as needed
    ],
)
def test_examples_in_text_and_cpp_are_proved(file: str, entry: str | None) -> None:
    found = prove(str(Path(__file__).parents[2] / "examples" / file), default_target="a5", entry=entry)
    assert found.proved, str(found)


# --- random programs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 4))
def test_random_programs(seed: int) -> None:
    """What is proved of a random program no run breaks; `python -m tests.prove.nests` does thousands."""
    said, broken = judged(program(seed), GRID[2:6:3])
    assert [claim for claim in broken if not said[claim]] == []


@pytest.mark.parametrize("seed", [0, 10, 100036])
def test_random_clusters(seed: int) -> None:
    """Of 100036 an entry is read after it has been given back: the other core may already write it."""
    said, broken = judged(cluster(seed), GRID[5:6], "a5")
    assert [claim for claim in broken if not said[claim]] == []
    assert bool(broken) is (seed > 0)
    assert any(said.values()) is (seed > 0)
    assert (Claim.BLOCKS in broken) is (seed > 0)


@each("seed", [2, 4, 6, 8])
def test_random_clusters_of_which_one_vector_core_runs(seed: int) -> None:
    """A pipe that is not halved goes to vector core 0; the other one runs nothing. What is clean is proved."""
    said, broken = judged(alone(seed), GRID[5:6], "a5")
    assert bool(broken) is any(said.values()) is (seed > 4)


@each("seed", range(2, 8))
def test_random_graphs(seed: int) -> None:
    said, broken = judged(graph(seed), QUICK[3:])
    assert [claim for claim in broken if not said[claim]] == []


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_clusters(seed: int) -> None:
    said, broken = judged(cluster(seed), target="a5")
    assert [claim for claim in broken if not said[claim]] == []


WAIT, SET = flag("wait", "MTE2", "V"), flag("set", "MTE2", "V")
IN, OUT = load("%t0", "%c0"), store("%t1", "%c0").replace("%y_", "%z_")


@each(
    "body, wrong",
    [
        ((WAIT, IN, SET, add("%t1", "%t0")), ""),
        ((WAIT, add("%t1", "%t0"), IN, SET), ""),  # executed after the load that comes later
        ((WAIT, IN, add("%t1", "%t0"), SET, flag("wait", "V", "MTE3"), flag("set", "V", "MTE3")), ""),
        ((IN, WAIT, add("%t1", "%t0"), SET, flag("wait", "MTE2", "S"), flag("set", "MTE2", "S")), "FLAG-ORDER"),
        ((flag("wait", "V", "MTE2"), WAIT, flag("set", "V", "MTE2"), SET), "DEADLOCK"),
        ((IN, WAIT, ALL, SET), "DEADLOCK"),  # the scalar unit waits for V at the barrier
        ((flag("wait", "V", "MTE2"), IN, add("%t1", "%t0"), flag("set", "V", "MTE2")), ""),
        ((IN, SET, WAIT, add("%t1", "%t0"), WAIT, OUT, add("%t1", "%t0"), SET), "RACE-RAW"),
        ((WAIT, add("%t1", "%t0"), OUT, IN, SET), "RACE-RAW"),  # with the store that comes later
    ],
)
def test_waits_before_their_sets(body: tuple[str, ...], wrong: str) -> None:
    first = load("%t0", "%c0").replace("%x_", "%w_"), load("%t1", "%c0"), ALL
    found = proof(kernel(*first, loop(*body, ALL), rows="%c4096"))
    if wrong:
        assert wrong in refuted(found).values(), str(found)
    else:
        assert found.proved, str(found)


def test_a_wait_for_what_another_iteration_sets() -> None:
    """It is executed by the device, and is open."""
    first = f"%some = arith.cmpi sgt, %i, %c0 : index\nscf.if %some {{\n{SET}\n}}"
    some = f"%any = arith.cmpi sgt, %n, %c0 : index\nscf.if %any {{\n{SET}\n}}"
    found = proof(kernel(loop(first, WAIT, add("%t1", "%t1")), some))
    assert found[Claim.FLAGS].verdict is Verdict.OPEN


@each("seed", range(10, 14))
def test_random_waits_before_their_sets(seed: int) -> None:
    said, broken = judged(ahead(seed), QUICK)
    assert broken.keys() == {claim for claim, why in said.items() if why}


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_waits_before_their_sets(seed: int) -> None:
    said, broken = judged(ahead(seed))
    assert not [claim for claim in broken if not said[claim]]


def test_a_random_ring() -> None:
    said, broken = judged(ring(2), ((1, 2),))
    assert broken.keys() == {claim for claim, why in said.items() if why}


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_rings(seed: int) -> None:
    said, broken = judged(ring(seed), QUICK)
    assert not [claim for claim in broken if not said[claim]]


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_programs(seed: int) -> None:
    said, broken = judged(program(seed))
    assert [claim for claim in broken if not said[claim]] == []


def test_a_random_program_that_is_wrong_is_not_proved() -> None:
    """Without any flag the programs race: the comparison would see a claim that is proved in spite of it."""
    text = "\n".join(line for line in program(1).splitlines() if "flag" not in line and "barrier" not in line) + "\n"
    said, broken = judged(text, GRID[2:6:3])
    assert Claim.PIPES in broken
    assert said[Claim.PIPES]


HANGS_FOR_SEVEN = kernel(
    "%c3 = arith.constant 3 : index\n%c4 = arith.constant 4 : index\n%c7 = arith.constant 7 : index",
    "%whole = arith.divui %n, %c4 : index\n%rest = arith.remui %n, %c4 : index",
    loop(
        "%e = arith.remui %i, %c2 : index\n%third = arith.cmpi sge, %i, %c2 : index",
        f"scf.if %third {{\n{flag('wait', 'V', 'MTE2', '%e')}\n}}",
        flag("set", "V", "MTE2", "%e"),
        upper="%whole",
    ),
    "%three = arith.cmpi eq, %rest, %c3 : index\n%some = arith.cmpi sgt, %whole, %c0 : index",
    "%more = arith.cmpi sgt, %whole, %c1 : index\n%both = arith.andi %three, %some : i1",
    "%second = arith.ori %both, %more : i1",
    f"scf.if %some {{\n{flag('wait', 'V', 'MTE2')}\n}}",
    f"scf.if %second {{\n{flag('wait', 'V', 'MTE2', 1)}\n}}",
    rows="%c4096",
)
"""One set of flag 1 is missing where there is one group of four and three are left."""


def test_a_hang_of_one_size() -> None:
    found = proof(HANGS_FOR_SEVEN)[Claim.FLAGS].counterexample
    assert found is not None
    assert (found.rule, found.arguments[-1]) == ("DEADLOCK", "7")
    arrays = ["zeros:f32:131072"] * 2
    broken = [n for n in range(16) if ptokit.sanitize(HANGS_FOR_SEVEN, [*arrays, str(n)], target="a2a3").errors]
    assert broken == [7]


def test_a_branch_may_go_another_way_in_each_iteration() -> None:
    """Of a loop that is gone through iteration by iteration nothing is concluded from one for another."""
    push: Any = Does(None, "push", "p")  # type: ignore[arg-type]
    (branch,) = _each_time([Chooses("which", [[push], []])])
    assert branch == Chooses(None, [[push], []])
    (inner,) = _each_time([Repeats("inner", [Chooses("which", [[], [push]])])])
    assert inner == Repeats("inner", [Chooses(None, [[], [push]])])


def both_ways(popped: int = 1) -> str:
    """The vector cores hand back what they have added up, through the other direction of the same pipe."""
    text = cluster(1).replace("dir_mask = 1", "dir_mask = 3")
    text = text.replace("%slots : i32)", "%slots : i32, v2c_consumer_buf = %back : i32)")
    buffer = '%back = pto.reserve_buffer {name = "q", size = 16384, location = #pto.address_space<mat>, auto = false, '
    text = text.replace("pto.aic_initialize", f"{buffer}base = 65536}} -> i32\npto.aic_initialize")
    imported = '%back = pto.import_reserved_buffer {name = "q", peer_func = @k_aic} -> i32\n'
    text = text.replace("pto.aiv_initialize", f"{imported}pto.aiv_initialize")
    stored = "pto.tstore ins(%total : !half) outs(%ys : !half_slice)\n"
    text = text.replace(stored, f"{stored}pto.tpush_to_aic(%total : !half) {{id = 0, split = 1}}\n")
    pop = "%b{0} = pto.tpop_from_aiv {{id = 0, split = 1}} -> !sums\npto.tfree_from_aiv {{id = 0, split = 1}}\n"
    nz = "blayout=col_major, slayout=row_major"
    text = text.replace("!half =", f"!sums = !pto.tile_buf<mat, 32x64xf32, {nz}>\n!half =", 1)
    end = "}\npto.wait_flag[<PIPE_FIX>"
    return text.replace(f"}}\n{end}", "}\n" + "".join(map(pop.format, range(popped))) + end, 1)


def test_a_pipe_of_both_directions_is_two_pipes() -> None:
    proof = ptokit.prove(both_ways(), target="a5")
    assert proof["flags"].verdict is Verdict.PROVED, str(proof)
    assert ptokit.prove(both_ways(2), target="a5")["flags"].verdict is not Verdict.PROVED


def test_slots_in_rotation_need_as_much_as_all_of_them() -> None:
    i = z3.Int("i")
    assert list(without_remainders(i % 4 * 16 + 5)) == [53]
    assert not list(without_remainders(i * 16))
