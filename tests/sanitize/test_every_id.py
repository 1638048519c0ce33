"""Every id of the catalogue of memory-model-and-sync 10: its severity, and a wrong and a right program for it.

Here are those that the other files of this folder do not have as pairs; the last test counts them all.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError, lookup
from ptokit.sanitize import sanitize
from tests.each import each

from .mini import Mini

ERRORS = (
    "RACE-RAW RACE-WAR RACE-WAW RACE-XCORE-RAW RACE-XCORE-WAR RACE-XCORE-WAW RACE-SELF ASYNC-RACE UNINIT-READ "
    "UNBOUND-TILE GM-OOB GM-NULL UB-CAPACITY L1-CAPACITY L0A-CAPACITY L0B-CAPACITY L0C-CAPACITY BIAS-CAPACITY "
    "FB-CAPACITY SCALE-CAPACITY SPACE-ABSENT ADDR-ALIGN FLAG-UNMATCHED FLAG-REUSE FLAG-RANGE FLAG-PIPE FLAG-ORDER "
    "EVENT-ORDER EVENT-PIPE EVENT-XCORE TSYNC-A5-01 DEADLOCK BUF-PROTOCOL XFLAG-OVERFLOW XFLAG-RANGE "
    "XFLAG-UNMATCHED SYNCALL-MISMATCH PIPE-CORE AUTO-RULE SCATTER-ALIAS"
).split()
WARNINGS = (
    "RACE-INTRAPIPE PAD-READ STALE-READ UB-OVERLAP UB-RESERVED FLAG-REUSE-RACE FLAG-ALIAS TSYNC-EMPTY CACHE-STALE "
    "XFLAG-RESERVED"
).split()
NOTES = ["PIPE-TAG"]


@each("severity, rule", [(s, i) for s, ids in (("error", ERRORS), ("warning", WARNINGS), ("note", NOTES)) for i in ids])
def test_severities(severity: str, rule: str) -> None:
    assert str(lookup(rule).severity) == severity


class Pair(NamedTuple):
    """``bad`` gives the rule at line ``line`` of the body and nothing else of its severity; ``good`` nothing."""

    rule: str
    line: int
    bad: str
    good: str
    on: str = "a2a3"
    kind: str = "vector"


def tile(address: int, type: str) -> str:
    """An allocation at an address, in two lines."""
    return f"%at = arith.constant {address} : i64\n%t = pto.alloc_tile addr = %at : !pto.tile_buf<{type}>"


MAT = "mat, {}x512xf32, blayout=col_major, slayout=row_major"
LEFT = "left, {}x64xf32, blayout=col_major, slayout=row_major"
RIGHT = "right, {}x64xf32, blayout=row_major, slayout=col_major"
ACC = "acc, {}x128xf32, blayout=col_major, slayout=row_major, fractal=1024"
SCALE = "scale_left, 16x16xui8, blayout=row_major, slayout=row_major, fractal=32"
NULL = "%z = arith.constant 0 : i64\n%p = pto.castptr %z : i64 -> !pto.ptr<f32, gm>\n"
READ = "%s = pto.load_scalar %{}[%c0] : !pto.ptr<f32> -> f32"
EVENT = "pto.{}_event[#pto.pipe_event_type<{}>, #pto.pipe_event_type<TVEC>, <EVENT_ID0>]"


def events(src: str) -> str:
    return EVENT.format("record", src) + "\n" + EVENT.format("wait", src)


PAIRS = [
    Pair(
        "RACE-WAW",
        2,
        "fill a\nload a x\nbarrier ALL\nstore a y",
        "fill a\nset V MTE2 0\nwait V MTE2 0\nload a x\nbarrier ALL\nstore a y",
    ),
    Pair("UB-CAPACITY", 2, tile(192 * 1024, "vec, 16x32xf32"), tile(182 * 1024, "vec, 16x32xf32")),
    Pair("L1-CAPACITY", 2, tile(0, MAT.format(512)), tile(0, MAT.format(256)), kind="cube"),
    Pair("L0A-CAPACITY", 2, tile(0, LEFT.format(512)), tile(0, LEFT.format(256)), kind="cube"),
    Pair("L0B-CAPACITY", 2, tile(0, RIGHT.format(512)), tile(0, RIGHT.format(256)), kind="cube"),
    Pair("L0C-CAPACITY", 2, tile(0, ACC.format(512)), tile(0, ACC.format(256)), kind="cube"),
    Pair("BIAS-CAPACITY", 2, tile(1024, "bias, 1x64xf32"), tile(0, "bias, 1x64xf32"), kind="cube"),
    Pair("FB-CAPACITY", 2, tile(2048, "scaling, 1x64xui64"), tile(0, "scaling, 1x64xui64"), kind="cube"),
    Pair("SCALE-CAPACITY", 2, tile(4096, SCALE), tile(0, SCALE), on="a5", kind="cube"),
    Pair("SPACE-ABSENT", 2, tile(0, SCALE), tile(0, MAT.format(256)), kind="cube"),
    Pair("ADDR-ALIGN", 2, tile(4097, "vec, 16x32xf32"), tile(4096, "vec, 16x32xf32")),
    Pair("GM-NULL", 3, NULL + READ.format("p"), NULL + READ.format("x")),
    Pair("FLAG-RANGE", 2, "%e = arith.constant 8 : index\npto.set_flag_dyn[<PIPE_V>, <PIPE_MTE3>, %e]", "fill a"),
    Pair("FLAG-PIPE", 1, "set M V 0", "set MTE2 V 0\nwait MTE2 V 0"),
    Pair("XFLAG-RANGE", 1, "pto.sync.set <PIPE_MTE3>, 16", "fill a"),
    Pair("XFLAG-RESERVED", 1, "pto.sync.set <PIPE_MTE3>, 12", "fill a"),
    Pair("PIPE-CORE", 1, "fill a", "barrier M", kind="cube"),
    Pair("PIPE-TAG", 1, events("TMOV_V2M"), events("TLOAD")),
]


def found(pair: Pair, body: str) -> dict[str, list[int]]:
    """Findings: rule → the first of the lines of the body that each of them names."""
    placed = body.startswith("%at")
    tiles = {} if placed or (pair.kind == "cube" and body != "fill a") else {"a": 0, "b": 4096}
    program = Mini(body, tiles=tiles, kind=pair.kind)
    module = parse_module(program.text, "k.pto").module
    report = sanitize(module, pair.on, [np.ones((16, 32), np.float32) for _ in range(2)])
    out: dict[str, list[int]] = {}
    for d in report.diagnostics:
        assert str(d.severity) == str(lookup(d.rule).severity)
        out.setdefault(d.rule, []).append(d.location.line - program.first + 1)
    return out


@each("pair", PAIRS, ids=lambda p: p.rule)
def test_the_wrong_program(pair: Pair) -> None:
    assert found(pair, pair.bad)[pair.rule][0] == pair.line


def event_kernel(on: str, what: str) -> pto.Kernel:
    """A kernel with one use of events, wrong or right; the lines of the wrong ones say so."""

    @pto.kernel(target=on)
    def k(x: pto.Ptr[pto.f32]) -> None:
        a, b = (pto.Tile(pto.TileType.Vec, pto.f32, 16, 32) for _ in range(2))
        pto.TASSIGN(a, 0)
        pto.TASSIGN(b, 4096)
        loaded = pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))
        event = pto.Event("TLOAD", "TADDS")
        if what == "EVENT-ORDER":
            event.Wait()  # wrong: EVENT-ORDER
        event.Record(loaded)
        event.Wait()
        added = pto.TADDS(b, a, 1.0)
        if what == "EVENT-PIPE":
            pto.Event("TLOAD", "TADDS").Record(added)  # wrong: EVENT-PIPE
        if what == "EVENT-XCORE":
            pto.Event("TMOV_A2V", "TADD")  # wrong: EVENT-XCORE
        if what == "TSYNC-A5-01":
            pto.TSYNC(op="TADDS")  # wrong: TSYNC-A5-01
        if what == "TSYNC-EMPTY":
            pto.TSYNC()  # wrong: TSYNC-EMPTY
        pto.TSYNC(op="TLOAD")

    return k


EVENT_RULES = ["EVENT-ORDER", "EVENT-PIPE", "EVENT-XCORE", "TSYNC-A5-01", "TSYNC-EMPTY"]


@each("rule", EVENT_RULES)
def test_events(rule: str) -> None:
    x = np.ones((16, 32), np.float32)
    assert event_kernel("a5", "").sanitize(x).clean
    try:
        findings: Any = event_kernel("a5", rule).sanitize(x).diagnostics
    except DiagnosticError as error:
        findings = error.diagnostics
    (finding,) = findings
    assert (finding.rule, str(finding.severity)) == (rule, str(lookup(rule).severity))
    assert f"# wrong: {rule}" in Path(__file__).read_text().splitlines()[finding.location.line - 1]


def test_every_id_has_a_pair_somewhere() -> None:
    """By name, in the tables of pairs of this folder."""
    from . import test_clusters, test_cross_core, test_pairs

    tables = [test_pairs.PAIRS, test_cross_core.PAIRS, test_clusters.CASES]
    paired = {rule for table in tables for pair in table for rule in pair.rules} | {pair.rule for pair in PAIRS}
    switches = (Path(__file__).parent / "test_switches.py").read_text()
    asynchronous = (Path(__file__).parent / "test_cross_core.py").read_text()
    paired |= set(EVENT_RULES) | set(re.findall(r'"([A-Z]+(?:-[A-Z]+)+)"', switches + asynchronous))
    assert {*ERRORS, *WARNINGS, *NOTES} <= paired


@each("pair", PAIRS, ids=lambda p: p.rule)
def test_the_right_program(pair: Pair) -> None:
    assert found(pair, pair.good) == {}
