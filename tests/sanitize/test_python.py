"""Kernels written in Python: events, TSYNC, `sanitize` and `uninit`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

X = np.ones((16, 32), np.float32)


def tiles(*addresses: int) -> list[pto.Tile]:
    """Tiles of 16x32 floats at byte addresses of UB."""
    out = []
    for address in addresses:
        tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
        pto.TASSIGN(tile, address)
        out.append(tile)
    return out


def copy_plus_one(on: str, load_event: bool, store_event: bool) -> pto.Kernel:
    """y = x + 1, with or without the two events it needs."""

    @pto.kernel(target=on)
    def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
        a, b = tiles(0, 4096)
        loaded = pto.Event("TLOAD", "TADDS")
        added = pto.Event["TADDS", "TSTORE_VEC"]()
        handle = pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))
        if load_event:
            pto.TSYNC(loaded.Record(handle))
        pto.TADDS(b, a, 1.0)
        if store_event:
            added.Record()
            added.Wait()
        pto.TSTORE(pto.GlobalTensor(y, (16, 32)), b)

    return k


def rules(report: pto.Report) -> list[str]:
    return [d.rule for d in [*report.errors, *report.warnings]]


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_events_order(on: str) -> None:
    y = pto.uninit((16, 32), pto.f32)
    report = copy_plus_one(on, True, True).sanitize(X, y)
    assert report.clean
    assert (report.instructions, report.blocks) == (3, 1)
    assert (np.asarray(y) == 2).all()
    assert rules(copy_plus_one(on, False, True).sanitize(X, y)) == ["RACE-RAW"]
    assert rules(copy_plus_one(on, True, False).sanitize(X, y)) == ["RACE-RAW"]
    assert rules(copy_plus_one(on, True, True)[2].sanitize(X, y)) == ["RACE-XCORE-WAW"]


def test_findings_point_into_the_python_source() -> None:
    (race,) = copy_plus_one("a5", False, True).sanitize(X, pto.uninit((16, 32), pto.f32)).errors
    assert race.location.file == __file__
    source = Path(__file__).read_text().splitlines()
    assert "pto.TADDS(b, a, 1.0)" in source[race.location.line - 1]
    assert "pto.TLOAD(a" in source[race.notes[0].location.line - 1]


def test_handles_of_instructions_order() -> None:
    @pto.kernel(target="a2a3")
    def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
        a, b = tiles(0, 4096)
        e = pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))
        f = pto.TADDS(b, a, 1.0, e)
        pto.TSYNC(f)
        pto.TSTORE(pto.GlobalTensor(y, (16, 32)), b)

    assert k.sanitize(X, np.zeros_like(X)).clean


def test_automatic_mode_looks_at_values_and_blocks() -> None:
    @pto.kernel(target="a2a3")
    def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], full: pto.Static) -> None:
        a, b = (pto.Tile(pto.TileType.Vec, pto.f32, 16, 32) for _ in range(2))
        if full:
            pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))
        pto.TADDS(b, a, 1.0)
        pto.TSTORE(pto.GlobalTensor(y, (16, 32)), b)

    report = k.sanitize(X, np.zeros_like(X), True)
    assert report.clean
    assert not report.coverage.complete
    assert str(report).endswith("(auto mode)")
    assert k.sanitize(X, np.zeros_like(X), True, mode="auto").coverage.complete
    assert rules(k.sanitize(X, np.zeros_like(X), True, blocks=2)) == ["RACE-XCORE-WAW"]
    assert rules(k.sanitize(X, np.zeros_like(X), False)) == ["UNINIT-READ"]


def test_the_cpu_has_one_order() -> None:
    assert copy_plus_one("cpu", False, False).sanitize(X, np.zeros_like(X)).clean


def test_event_ids_go_round() -> None:
    @pto.kernel(target="a2a3")
    def k(x: pto.Ptr[pto.f32]) -> None:
        (a,) = tiles(0)
        pto.TLOAD(a, pto.GlobalTensor(x, (16, 32)))
        events = [pto.Event("TLOAD", "TADD") for _ in range(9)]
        other = pto.Event("TADD", "TSTORE_VEC")
        assert [e.event_id for e in events] == [0, 1, 2, 3, 4, 5, 6, 7, 0]
        assert other.event_id == 0
        events[0].Record()
        events[8].Record()
        events[0].Wait()
        events[8].Wait()

    assert rules(k.sanitize(X)) == ["FLAG-REUSE"]


@pytest.mark.parametrize(("on", "op", "barriers"), [("a2a3", "TADD", 1), ("a5", "TADD", 0), ("a5", "TLOAD", 1)])
def test_events_of_one_pipe_are_barriers(on: str, op: str, barriers: int) -> None:
    @pto.kernel(target=on)
    def k() -> None:
        event = pto.Event(op, op)
        event.Record()
        event.Wait()

    text = k.to_pto()
    assert text.count("pto.barrier") == barriers
    assert "set_flag" not in text


def refused(on: str, body: object) -> str:
    """Rule that refuses a kernel."""

    @pto.kernel(target=on)
    def k(x: pto.Ptr[pto.f32]) -> None:
        body(pto.GlobalTensor(x, (16, 32)))  # type: ignore[operator]

    with pytest.raises(DiagnosticError) as error:
        k.to_pto()
    (finding,) = error.value.diagnostics
    assert finding.location.file == __file__
    return finding.rule


def test_wrong_events_are_refused() -> None:
    def wrong_producer(g: pto.GlobalTensor) -> None:
        a, b = tiles(0, 4096)
        pto.TLOAD(a, g)
        pto.Event("TLOAD", "TADD").Record(pto.TADDS(b, a, 1.0))

    assert refused("a5", wrong_producer) == "EVENT-PIPE"
    assert refused("a5", lambda g: pto.Event("TSTORE", "TADD")) == "EVENT-PIPE"
    assert refused("a5", lambda g: pto.Event("TLOAD", "TADD").Wait()) == "EVENT-ORDER"
    assert refused("a5", lambda g: pto.Event("TLOAD", "TADD", 8)) == "FLAG-RANGE"
    assert refused("a5", lambda g: pto.Event("TMOV_A2V", "TADD")) == "EVENT-XCORE"
    assert refused("a5", lambda g: pto.TSYNC(op="TADD")) == "TSYNC-A5-01"


def test_events_between_cores_and_tsync_of_an_operation() -> None:
    @pto.kernel(target="a2a3")
    def k() -> None:
        event = pto.Event("TMOV_A2V", "TADD", 3)
        event.Record()
        event.Wait()
        pto.TSYNC(op="TADD")
        pto.TSYNC(op=pto.TLOAD)

    text = k.to_pto()
    assert "pto.sync.set <PIPE_FIX>, 3 {ffts_mode = 2" in text
    assert "pto.sync.wait <PIPE_V>, 3" in text
    assert "pto.barrier <PIPE_V>" in text
    assert "pto.barrier <PIPE_MTE2>" in text


def test_tsync_of_nothing_is_a_warning() -> None:
    @pto.kernel(target="a5")
    def k() -> None:
        pto.TSYNC()

    (finding,) = k.check()
    assert (finding.rule, str(finding.severity)) == ("TSYNC-EMPTY", "warning")


def test_wrong_launches() -> None:
    k = copy_plus_one("a5", True, True)
    with pytest.raises(ValueError, match="order is one of strict, profile"):
        k.sanitize(X, np.zeros_like(X), order="loose")
    with pytest.raises(DiagnosticError) as error:
        k.sanitize(X.astype(np.float64), np.zeros_like(X))
    assert [d.rule for d in error.value.diagnostics] == ["RUN-ARG-DTYPE"]


@pytest.mark.parametrize(("event_id", "expected"), [(0, ["FLAG-REUSE"]), (1, [])])
def test_composite_instructions_use_flags_themselves(event_id: int, expected: list[str]) -> None:
    @pto.kernel(target="a2a3")
    def k(x: pto.Ptr[pto.f32], where: pto.Ptr[pto.i32], y: pto.Ptr[pto.f32]) -> None:
        rows = pto.Tile(pto.TileType.Vec, pto.f32, 8, 32)
        index = pto.Tile(pto.TileType.Vec, pto.i32, 1, 8)
        pto.TASSIGN(rows, 0)
        pto.TASSIGN(index, 4096)
        pto.TLOAD(index, pto.GlobalTensor(where, (1, 8)))
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.set_flag(pto.PIPE_V, pto.PIPE_S, event_id)
        pto.MGATHER(rows, pto.GlobalTensor(x, (64, 32)), index, mode=pto.Coalesce.Row)
        pto.wait_flag(pto.PIPE_V, pto.PIPE_S, event_id)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(pto.GlobalTensor(y, (8, 32)), rows)

    table, where = np.ones((64, 32), np.float32), np.arange(8, dtype=np.int32)[None]
    assert rules(k.sanitize(table, where, np.zeros((8, 32), np.float32))) == expected
