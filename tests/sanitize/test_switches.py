"""Rules that are off by default, Auto mode by request, and scatters whose writers meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.sanitize import sanitize

from .mini import TILE, Mini

RELOAD = "for 4\nwait V MTE2 0\nload a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nset V MTE2 0\nend"
PRIMED = f"set V MTE2 0\n{RELOAD}\nbarrier ALL\nstore b y\nwait V MTE2 0"


def found(body: str, order: str = "strict", on: str = "a2a3", **switches: Any) -> dict[str, list[set[int]]]:
    """Errors and warnings: rule → the lines of the body that each finding names."""
    program = Mini(body, tiles=switches.pop("tiles", {"a": 0, "b": 4096, "c": 8192}))
    module = parse_module(program.text, "k.pto").module
    args = [np.ones((16, 32), np.float32) for _ in range(2)]
    report = sanitize(module, on, args, order=order, **switches)
    out: dict[str, list[set[int]]] = {}
    for d in [*report.errors, *report.warnings]:
        lines = {d.location.line, *(n.location.line for n in d.notes if n.location.line)}
        out.setdefault(d.rule, []).append({line - program.first + 1 for line in lines if line >= program.first})
    return out


RUNS_AHEAD = "for 4\nload a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nend\nbarrier ALL\nstore b y"


def test_a_flag_that_is_set_before_it_has_been_waited_for() -> None:
    assert found(RUNS_AHEAD) == {"RACE-WAR": [{2, 5}]}
    both = found(RUNS_AHEAD, also=["FLAG-REUSE-RACE"])
    assert both == {"RACE-WAR": [{2, 5}], "FLAG-REUSE-RACE": [{3, 4}]}
    assert found(PRIMED, also=["FLAG-REUSE-RACE"]) == {}


@pytest.mark.parametrize("order", ["strict", "profile"])
def test_flags_of_the_scalar_unit_count_as_waited_for(order: str) -> None:
    body = "for 4\nload a x\nset MTE2 S 0\nwait MTE2 S 0\nend\nbarrier ALL\nstore a y"
    assert "FLAG-REUSE-RACE" not in found(body, order, also=["FLAG-REUSE-RACE"])


def test_a_wait_that_is_late_in_its_queue() -> None:
    """The second set is issued while the vector unit still waits for another flag."""
    head = "set MTE2 V 0\nwait MTE3 V 1\nwait MTE2 V 0\n"
    bad = f"{head}set MTE2 V 0\nwait MTE2 V 0\nset MTE3 V 1"
    assert found(bad, also=["FLAG-REUSE-RACE"]) == {"FLAG-REUSE-RACE": [{4}]}
    good = f"{head}set V MTE2 2\nwait V MTE2 2\nset MTE2 V 0\nwait MTE2 V 0\nset MTE3 V 1"
    assert found(good.replace("wait MTE3 V 1\n", "").replace("\nset MTE3 V 1", ""), also=["FLAG-REUSE-RACE"]) == {}


def test_one_id_for_two_destinations() -> None:
    bad = "set V MTE2 0\nset V MTE3 0\nwait V MTE2 0\nwait V MTE3 0"
    assert found(bad) == {}
    assert found(bad, also=["FLAG-ALIAS"]) == {"FLAG-ALIAS": [{1, 2}]}
    assert found("set V MTE2 0\nset V MTE3 1\nwait V MTE2 0\nwait V MTE3 1", also=["FLAG-ALIAS"]) == {}
    assert found("set V MTE2 0\nwait V MTE2 0\nset V MTE3 0\nwait V MTE3 0", also=["FLAG-ALIAS"]) == {}


NESTED = "set MTE3 V 2\nset MTE3 MTE2 {0}\nwait MTE3 MTE2 {0}\nwait MTE3 V 2"


def test_one_id_in_nested_lifetimes_hangs_on_a2a3() -> None:
    """PTOAS issue 823. Kernels of the vendor's library share ids of other pipes."""
    assert found(NESTED.format(2)) == {"FLAG-ALIAS": [{1, 2}]}
    assert found(NESTED.format(3)) == {}
    assert found(NESTED.format(2), on="a5") == {}
    assert found(NESTED.format(2), on="a5", also=["FLAG-ALIAS"]) == {"FLAG-ALIAS": [{1, 2}]}
    assert found(NESTED.format(2).replace("MTE3 V", "V MTE3").replace("MTE3 MTE2", "V MTE2")) == {}


def test_a_fix_does_not_bring_a_shared_id() -> None:
    """The missing flag from MTE3 to MTE2 must not take id 0, which is set for V all the time."""
    body = "fill a\nset V MTE3 0\nwait V MTE3 0\nset MTE3 V 0\nstore a y\nload a x\nwait MTE3 V 0\nbarrier ALL"
    program = Mini(body)
    fixes = [race.fix.text for race in program.sanitize().races.values() if race.fix is not None]
    assert any("<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID1>" in text for text in fixes), fixes


def test_unknown_switches() -> None:
    with pytest.raises(ValueError, match="off by default are FLAG-ALIAS, FLAG-REUSE-RACE"):
        found("fill a", also=["RACE-RAW"])
    with pytest.raises(ValueError, match="auto, auto-sync, manual"):
        found("fill a", mode="half")


# ------------------------------------------------------------------------- modes

NO_ADDRESS = {"a": -1, "b": -1}
CHAIN = "load a x\nadds a b\nstore b y"


@pytest.mark.parametrize(
    ("line", "number"), [("set MTE2 V 0", 2), ("wait MTE2 V 0", 3), ("barrier V", 1), ("get TLOAD 0", 1)]
)
def test_raw_synchronisation_in_auto_mode(line: str, number: int) -> None:
    pair = {"set MTE2 V 0": f"load a x\n{line}\nwait MTE2 V 0", "wait MTE2 V 0": f"load a x\nset MTE2 V 0\n{line}"}
    rls = "\nrls TLOAD 0" if line.startswith("get") else ""
    body = pair.get(line, line + rls)
    lines = found(body, mode="auto", tiles=NO_ADDRESS)["AUTO-RULE"]
    assert {number} in lines
    assert "AUTO-RULE" not in found(body, tiles=NO_ADDRESS)
    assert found(CHAIN, mode="auto", tiles=NO_ADDRESS) == {}


def test_two_tiles_at_one_address_in_auto_mode() -> None:
    head = "%at = arith.constant 4096 : i64\n"
    alloc = f"%d = pto.alloc_tile addr = %at : {TILE}\n%e = pto.alloc_tile addr = {{}} : {TILE}\nfill d\nfill e"
    bad, good = head + alloc.format("%at"), head + "%origin = arith.constant 0 : i64\n" + alloc.format("%origin")
    assert found(bad, mode="auto", tiles={}) == {"AUTO-RULE": [{3}]}
    assert found(good, mode="auto", tiles={}) == {}
    assert "AUTO-RULE" not in found(bad, tiles={})


def test_an_alias_of_two_sources_in_auto_mode() -> None:
    alias = f"%z = arith.constant 0 : i64\n%d = pto.treshape %a : {TILE} -> {TILE}\n"
    bad = f"{alias}%e = pto.tassign %d, %z : {TILE} -> {TILE}\nfill e"
    assert found(bad, mode="auto", tiles=NO_ADDRESS) == {"AUTO-RULE": [{3}]}
    assert found(f"{alias}fill d", mode="auto", tiles=NO_ADDRESS) == {}


def test_manual_mode_by_request() -> None:
    """A program without addresses and flags counts as Auto, unless it is said to be manual."""
    assert found(CHAIN, tiles=NO_ADDRESS) == {}
    assert sorted(found(CHAIN, mode="manual", tiles=NO_ADDRESS)) == ["RACE-RAW", "UNBOUND-TILE"]


@pytest.mark.parametrize(
    ("first", "tiles", "mode", "rests"),
    [
        ("barrier V", NO_ADDRESS, None, True),
        ("barrier V", NO_ADDRESS, "manual", False),
        ("barrier V", None, None, False),
        ("set MTE2 V 0\nwait MTE2 V 0\nbarrier V", NO_ADDRESS, None, False),
    ],
)
def test_what_rests_on_barriers_alone_says_so(
    first: str, tiles: dict[str, int] | None, mode: str | None, rests: bool
) -> None:
    """Barriers make a program manual, though the assembler may add flags to it; flags and addresses leave no doubt."""
    given = {} if tiles is None else {"tiles": tiles}
    report = Mini(f"{first}\n{CHAIN}", **given).sanitize(mode=mode)
    races = [d for d in report.diagnostics if d.rule == "RACE-RAW"]
    assert races
    assert {any("--mode auto-sync" in note.message for note in d.notes) for d in races} == {rests}
    assert set(races) <= set(report.races)


# ---------------------------------------------------------------------- scatters


def scattering(on: str, indices: list[int], values: list[float], **attrs: Any) -> list[tuple[str, str, bool]]:
    """(rule, severity, whether it is at the scatter) of the findings of a scatter of eight elements."""

    @pto.kernel(target=on)
    def k(x: pto.Ptr[pto.f32], where: pto.Ptr[pto.i32], y: pto.Ptr[pto.f32]) -> None:
        data = pto.Tile(pto.TileType.Vec, pto.f32, 1, 8)
        index = pto.Tile(pto.TileType.Vec, pto.i32, 1, 8)
        pto.TASSIGN(data, 0)
        pto.TASSIGN(index, 4096)
        pto.TLOAD(data, pto.GlobalTensor(x, (1, 8)))
        pto.TLOAD(index, pto.GlobalTensor(where, (1, 8)))
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.MSCATTER(pto.GlobalTensor(y, (1, 64)), data, index, mode=pto.Coalesce.Elem, **attrs)

    args = np.array([values], np.float32), np.array([indices], np.int32), np.zeros((1, 64), np.float32)
    source = Path(__file__).read_text().splitlines()
    report = k.sanitize(*args)
    return [(d.rule, str(d.severity), "pto.MSCATTER" in source[d.location.line - 1]) for d in report.diagnostics]


DISTINCT, MEET = [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 0]
VALUES = [1.0, 2, 3, 4, 5, 6, 7, 8]


def test_writers_that_meet_without_a_winner_are_an_error() -> None:
    default = {"conflict": pto.ScatterConflict.Default}
    assert scattering("a5", MEET, VALUES, **default) == [("SCATTER-ALIAS", "error", True)]
    assert scattering("a5", DISTINCT, VALUES, **default) == []


@pytest.mark.parametrize("on", ["a2a3", "a5", "cpu"])
def test_writers_that_meet_with_a_winner_are_a_note(on: str) -> None:
    assert scattering(on, MEET, VALUES) == [("SCATTER-ALIAS", "note", True)]
    assert scattering(on, DISTINCT, VALUES) == []
    assert scattering(on, MEET, VALUES, atomic=pto.ScatterAtomicOp.Add) == []


@pytest.mark.parametrize("second", ["4096", "64"])
def test_flags_of_placed_tiles_may_be_left_to_the_assembler(second: str) -> None:
    """Races are not looked for then, and it is said who is trusted; tiles that overlap are found."""
    tile = "!pto.tile_buf<vec, 16x64xf32>"
    part = "!pto.partition_tensor_view<16x64xf32>"
    text = f"""func.func @k(%x: {part}, %y: {part}) {{
%first = arith.constant 0 : i64
%second = arith.constant {second} : i64
%a = pto.alloc_tile addr = %first : {tile}
%b = pto.alloc_tile addr = %second : {tile}
pto.tload ins(%x : {part}) outs(%a : {tile})
pto.tload ins(%x : {part}) outs(%b : {tile})
pto.tadd ins(%a, %b : {tile}, {tile}) outs(%b : {tile})
pto.tstore ins(%b : {tile}) outs(%y : {part})
return
}}"""
    module = parse_module(text, "k.pto").module
    arrays = [np.ones((16, 64), np.float32) for _ in range(2)]
    races = {"RACE-RAW"} <= {d.rule for d in sanitize(module, "a5", arrays).diagnostics}
    report = sanitize(module, "a5", arrays, mode="auto-sync")
    assert races
    rules = {d.rule for d in report.diagnostics}
    assert rules == (set() if second == "4096" else {"UB-OVERLAP", "RACE-SELF"})
    (gap,) = report.coverage.gaps
    assert (gap.accepted, gap.why) == (True, "the compiler adds the flags (auto-sync mode)")
