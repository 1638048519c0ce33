"""Rules of flags, events, barriers, tokens and flags between cores (memory-model-and-sync 5, 10; assembly 13.8)."""

from __future__ import annotations

from typing import Any

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Severity
from ptokit.ir.verify import verify
from ptokit.isa.check import broken_rules
from ptokit.isa.checks.tiles import CORE_PIPES, missing_pipe
from ptokit.isa.order.sync_rules import EVENT_CLASSES, between_cores, class_pipe, tag_pipe
from ptokit.isa.site import ScalarInfo, Site
from ptokit.isa.table import TABLE
from ptokit.targets import A2A3, A5, target
from ptokit.types.enums import Pipe

V, M, S, MTE2, MTE3, FIX, ALL = Pipe.V, Pipe.M, Pipe.S, Pipe.MTE2, Pipe.MTE3, Pipe.FIX, Pipe.ALL


def pair(src: Pipe, dst: Pipe, event_id: int = 0) -> dict[str, Any]:
    return {"src_pipe": src, "dst_pipe": dst, "event_id": event_id}


def classes(src: str, dst: str, event_id: int = 0) -> dict[str, Any]:
    return {"src_op": src, "dst_op": dst, "event_id": event_id}


# rule, instruction, target, core, attributes that pass, attributes that break it, word in the message
CASES: list[tuple[str, str, str, str, dict[str, Any], dict[str, Any], str]] = [
    ("FLAG-RANGE", "set_flag", "a5", "", pair(V, MTE3, 7), pair(V, MTE3, 8), "8 is outside 0..7"),
    ("FLAG-RANGE", "wait_flag", "a2a3", "", pair(V, MTE3, 0), pair(V, MTE3, -1), "-1 is outside 0..7"),
    ("FLAG-RANGE", "set_flag_dyn", "a2a3", "", {**pair(V, S), "event": 7}, {**pair(V, S), "event": 8}, "8 is outside"),
    ("FLAG-RANGE", "record_event", "a5", "", classes("TLOAD", "TVEC"), classes("TLOAD", "TVEC", 9), "9 is outside"),
    ("FLAG-PIPE", "set_flag", "a5", "", pair(V, MTE3), pair(V, V), "both PIPE_V"),
    ("FLAG-PIPE", "wait_flag", "a5", "", pair(V, MTE3), pair(ALL, V), "PIPE_ALL"),
    ("FLAG-PIPE", "set_flag", "a5", "vector", pair(MTE2, V), pair(M, V), "vector core has no PIPE_M"),
    ("FLAG-PIPE", "set_flag", "a2a3", "cube", pair(MTE2, M), pair(MTE2, V), "cube core has no PIPE_V"),
    ("FLAG-PIPE", "wait_event", "a5", "vector", classes("TLOAD", "TVEC"), classes("TLOAD", "TMATMUL"), "PIPE_M"),
    ("FLAG-PIPE", "wait_event", "a5", "", classes("TLOAD", "TVEC"), classes("TVEC", "TMOV_M2V"), "both PIPE_V"),
    ("FLAG-PIPE", "set_flag", "a5", "", pair(V, MTE3), pair(V, Pipe.V2), "no core has PIPE_V2"),
    ("FLAG-PIPE", "wait_flag", "a2a3", "cube", pair(MTE2, M), pair(Pipe.MTE2_L1A, M), "no core has VIRTUAL_PIPE"),
    ("PIPE-TAG", "record_event", "a5", "vector", classes("TLOAD", "TVEC"), classes("TMOV_V2M", "TVEC"), "PIPE_MTE3"),
    ("EV-2", "record_event", "a5", "", classes("TLOAD", "TVEC"), classes("TADD", "TVEC"), "TADD has no pipe"),
    ("BA-2", "barrier_sync", "a5", "", {"op": "TVEC"}, {"op": "TADD"}, "TADD has no pipe"),
    ("BF-1", "get_buf", "a5", "", {"op": "TLOAD", "id": 31}, {"op": "TLOAD", "id": 32}, "32 is outside 0..31"),
    ("BF-1", "rls_buf", "a5", "", {"op": "PIPE_V", "id": 0}, {"op": "PIPE_ALL", "id": 0}, "no single pipe"),
    ("BF-1", "get_buf", "a5", "", {"op": "PIPE_MTE2", "id": 0}, {"op": "PIPE_UNASSIGNED", "id": 0}, "no single pipe"),
    ("BF-1", "get_buf", "a5", "", {"op": "TVEC", "id": 0, "mode": 0}, {"op": "TVEC", "id": 0, "mode": -1}, "-1"),
    ("SY-1", "sync.set", "a2a3", "", {"pipe": FIX, "event_id": 0}, {"pipe": FIX}, "missing"),
    ("SY-1", "sync.wait", "a2a3", "", {"pipe": V, "event": 3}, {"pipe": V, "event": 3, "event_id": 3}, "both"),
    (
        "SY-2",
        "sync.set",
        "a2a3",
        "",
        {"pipe": FIX, "event_id": 0, "ffts_mode": 2},
        {"pipe": FIX, "event_id": 0, "ffts_mode": 3},
        "3 is outside 0..2",
    ),
    (
        "XFLAG-MODE",
        "set_cross_block",
        "a5",
        "",
        {"pipe": FIX, "event_id": 0, "ffts_mode": 2},
        {"pipe": FIX, "event_id": 0, "ffts_mode": 4},
        "4 is outside 0..2",
    ),
    ("SY-3", "sync.set", "a5", "", {"pipe": MTE3, "event_id": 0}, {"pipe": Pipe.M, "event_id": 0}, "PIPE_M cannot"),
    ("SY-4", "sync.wait", "a5", "", {"pipe": V, "event_id": 0}, {"pipe": M, "event_id": 0}, "PIPE_M cannot"),
    *[
        ("XFLAG-RANGE", name, on, "", {"pipe": FIX, "event_id": good}, {"pipe": FIX, "event_id": bad}, f"id {bad} is")
        for name in ("sync.set", "sync.wait", "set_intra_block", "wait_cross_block")
        for on, good, bad in (
            ("a2a3", 0, -1),
            ("a2a3", 15, 16),
            ("a2a3", 10, 100),
            ("a5", 0, -1),
            ("a5", 15, 32),
            ("a5", 10, 100),
        )
    ],
    ("XFLAG-RANGE", "sync.set", "a2a3", "", {"pipe": FIX, "event": 15}, {"pipe": FIX, "event": 16}, "0..15"),
    ("XFLAG-RANGE", "set_intra_block", "a5", "", {"pipe": FIX, "event": 31}, {"pipe": FIX, "event": 32}, "0..31"),
    ("SY-5", "set_cross_block", "a5", "", {"pipe": FIX, "event_id": 15}, {"pipe": FIX, "event_id": 16}, "0..15"),
    ("SY-5", "wait_cross_block", "a5", "", {"pipe": FIX, "event_id": 15}, {"pipe": FIX, "event_id": 31}, "0..15"),
    ("XFLAG-RESERVED", "sync.set", "a2a3", "", {"pipe": FIX, "event_id": 10}, {"pipe": FIX, "event_id": 11}, "id 11"),
    ("XFLAG-RESERVED", "sync.wait", "a5", "", {"pipe": V, "event_id": 15}, {"pipe": V, "event_id": 30}, "id 30"),
]


def site(name: str, on: str, core: str, given: dict[str, Any]) -> Site:
    instr = TABLE[name]
    operands = {o.name: ScalarInfo(o.name, "index", given[o.name]) if o.name in given else None for o in instr.operands}
    attrs = {k: v for k, v in given.items() if k not in operands}
    return Site(instr, target(on), operands, attrs, core=core)


@pytest.mark.parametrize(("rule", "name", "on", "core", "good", "bad", "word"), CASES)
def test_rules(rule: str, name: str, on: str, core: str, good: dict[str, Any], bad: dict[str, Any], word: str) -> None:
    assert rule not in {b.rule.id for b in broken_rules(site(name, on, core, good))}
    messages = [b.message for b in broken_rules(site(name, on, core, bad), covered=True) if b.rule.id == rule]
    assert len(messages) == 1
    assert word in messages[0]


IDS = (-1, 0, 15, 16, 31, 32, 100)
SIGNALS = [
    *(f"sync.{what} #pto.pipe<PIPE_MTE3>, {{}}" for what in ("set", "wait")),
    *(f"{what}_{scope}_block <PIPE_MTE3>, {{}}" for what in ("set", "wait") for scope in ("cross", "intra")),
]


@pytest.mark.parametrize("on", ["a2a3", "a5"])
@pytest.mark.parametrize("form", SIGNALS, ids=lambda form: form.split()[0])
def test_ids_at_and_beyond_each_end(form: str, on: str) -> None:
    """A core has 16 flags, a core of a5 numbers those of the second vector core from 16; more exceed the machine."""
    last = 15 if on == "a2a3" else 31
    for number in IDS:
        found = {r: s for r, _, s in findings("pto." + form.format(number), on, "") if r.startswith("XFLAG-R")}
        assert found == ({} if 0 <= number <= last else {"XFLAG-RANGE": Severity.ERROR}), (form, number, found)


@pytest.mark.parametrize(("on", "last"), [("a2a3", 15), ("a5", 15)])
def test_what_the_assembler_takes_between_blocks(on: str, last: int) -> None:
    for number in IDS:
        text = f"func.func @k() {{\npto.set_cross_block <PIPE_MTE3>, {number}\nreturn\n}}\n"
        refused = {d.rule for d in verify(parse_module(text, target=target(on)).module, target(on), assembler=True)}
        assert ("SY-5" in refused) == (not 0 <= number <= last), (number, refused)


def test_rules_of_a5_do_not_bind_a2a3() -> None:
    assert not list(broken_rules(site("sync.set", "a2a3", "", {"pipe": V, "event_id": 0})))
    assert not list(broken_rules(site("sync.wait", "a2a3", "", {"pipe": M, "event_id": 0})))


def test_every_rule_has_a_case() -> None:
    prefixes = ("FLAG-RA", "FLAG-P", "PIPE-T", "EV-", "BA-", "BF-", "SY-", "XFLAG-R")
    reading = {"EV-1", "BA-1"}  # nothing can be made of such text: reported while reading
    assert {i for i in CATALOGUE if i.startswith(prefixes)} - {case[0] for case in CASES} == reading


def findings(body: str, on: str = "a5", kind: str = "vector") -> list[tuple[str, int, Severity]]:
    """(rule, line of the body, severity) of a program; ``kind`` is empty for a function of no kernel kind."""
    kinds = f"attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}} " if kind else ""
    text = f"func.func @k(%n: index) {kinds}{{\n"
    text += "%t = pto.alloc_tile : !pto.tile_buf<vec, 16x32xf32>\n%c8 = arith.constant 8 : index\n" + body
    result = parse_module(text + "\nreturn\n}", target=target(on))
    assert not result.diagnostics, result.diagnostics
    return [(d.rule, d.location.line - 3, d.severity) for d in verify(result.module, target(on))]


TILE = "!pto.tile_buf<vec, 16x32xf32>"


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (f"pto.tsync ins(%t : {TILE})", "vector", []),
        ("pto.tsync ins(%n : index)", "vector", [("TS-1", 1, Severity.ERROR)]),
        ("pto.barrier <PIPE_V>", "vector", []),
        ("pto.barrier <PIPE_M>", "vector", [("PIPE-CORE", 1, Severity.ERROR)]),
        ("pto.barrier <PIPE_MTE5>", "cube", [("PIPE-CORE", 1, Severity.ERROR)]),
        ("pto.section.vector {\npto.barrier #pto<pipe PIPE_NUM>\n}", "", [("PIPE-CORE", 2, Severity.ERROR)]),
        ("pto.barrier <PIPE_ALL>", "cube", []),
        (f"pto.texpands ins(%n : index) outs(%t : {TILE})", "cube", [("PIPE-CORE", 1, Severity.ERROR)]),
        ("pto.set_flag_dyn[<PIPE_V>, <PIPE_S>, %c8]", "vector", [("FLAG-RANGE", 1, Severity.ERROR)]),
        ("pto.set_flag_dyn[<PIPE_V>, <PIPE_S>, %n]", "vector", []),
        ('pto.mem_bar "VST_VLD"', "vector", []),
        ("pto.section.cube {\npto.barrier <PIPE_M>\n}", "", []),
    ],
)
def test_in_text(body: str, kind: str, expected: list[tuple[str, int, Severity]]) -> None:
    found = [f for f in findings(body, kind=kind) if f[0] not in ("EW-07", "EW-08", "OPERAND-KIND")]
    assert found == expected


def test_cores_have_their_pipes() -> None:
    assert CORE_PIPES["vector"] == {S, V, MTE2, MTE3}
    assert CORE_PIPES["cube"] == {S, M, Pipe.MTE1, MTE2, MTE3, FIX}
    message = missing_pipe(site("pipe_barrier", "a5", "vector", {"pipe": M}))
    assert message == (
        "pipe_barrier runs on PIPE_M, which a vector core does not have; it has PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3"
    )
    nowhere = missing_pipe(site("pipe_barrier", "a5", "", {"pipe": Pipe.MTE4}))
    assert nowhere == "pipe_barrier names PIPE_MTE4, which no core has"
    assert missing_pipe(site("pipe_barrier", "a5", "", {"pipe": M})) is None


def test_classes_and_tags() -> None:
    pipes = [MTE2, MTE3, FIX, Pipe.MTE1, Pipe.MTE1, FIX, V, FIX, M, V, V]  # in the order of assembly 8
    assert [class_pipe(word) for word in EVENT_CLASSES] == pipes
    assert (class_pipe("TMOV_V2M"), class_pipe("TMOV_V2M", "vector")) == (FIX, MTE3)
    assert (class_pipe("PIPE_MTE2"), class_pipe("TADD"), class_pipe(None)) == (MTE2, None, None)
    assert [tag_pipe(t) for t in ("TLOAD", "TADD", "TSTORE_ACC", "TMOV_M2L")] == [MTE2, V, FIX, Pipe.MTE1]
    assert [tag_pipe(t) for t in ("TSTORE", "TMOV", "NOTHING")] == [None, None, None]
    assert [tag_pipe(t) for t in ("TEXPANDS", "TEXPANDS_MAT", "TPAIRREDUCESUM", "TCI")] == [V, MTE2, V, S]
    assert between_cores("TMOV_A2V", V, A2A3)
    assert not between_cores("TMOV_A2V", MTE3, A2A3)
    assert between_cores("TMOV_A2V", MTE3, A5)
    assert not between_cores("TLOAD", V, A5)
