"""What memories remember: which accesses may race, and which are forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.ir.core import Op
from ptokit.machine.local_memory import Elements, LocalPointer
from ptokit.sanitize import sanitize
from ptokit.sanitize.findings.race import copies
from ptokit.sanitize.memory.gm import Memory, Strided, footprint_of
from ptokit.sanitize.memory.shadow import Record, Space
from ptokit.sanitize.simulation.clocks import Clock, Footprint, Touch
from ptokit.sanitize.simulation.core import Work
from ptokit.types.dtypes import dtype
from ptokit.types.enums import Pipe

from .mini import TILE, Mini

OP = Op("pto.first")
WHERE = Footprint(np.array([0]), np.array([64]))


def record(count: int) -> Record:
    return Record(0, 1, count, Work(OP, "TADD", Pipe.V), Touch(None, True, WHERE, "t"))


@pytest.mark.parametrize("overtakes", [True, False])
def test_an_access_that_was_overtaken_is_not_forgotten(overtakes: bool) -> None:
    """An instruction repeats before what stands between its two accesses has begun: either may race with that."""
    space = Space("UB", 64)
    space.add(record(1), overtakes=False)
    space.add(record(2), overtakes=overtakes)
    touch = Touch(None, True, WHERE, "t")
    knows_none, knows_first = Clock(0), Clock(0, [0, 1, *[0] * 6])
    assert {r.count for r in space.conflicts(touch, knows_none)} == ({1, 2} if overtakes else {2})
    assert {r.count for r in space.conflicts(touch, knows_first)} == {2}


ADD, MAX = ("Add", "f32"), ("Max", "f32")


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [(ADD, ADD, True), (MAX, MAX, True), (ADD, MAX, False), (ADD, ("Add", "i32"), False), (ADD, None, False)],
)
def test_atomic_updates_agree_with_their_like_only(first: Any, second: Any, agree: bool) -> None:
    """Sums come out the same in any order, sums and maxima do not."""
    memory = Memory("y", 64, 4, written=True)
    place = Strided(0, ((16, 1),))
    earlier = Record(0, 5, 1, Work(OP, "TSTORE", Pipe.MTE3), Touch(memory, True, place, "y", atomic=first))
    memory.add(earlier, Clock(0), overtakes=False, settled=lambda record: False)
    later = Touch(memory, True, place, "y", atomic=second)
    assert list(memory.conflicts(later, Clock(1))) == ([] if agree else [earlier])


HALF = "!pto.tile_buf<vec, 16x32xf16>"


def test_narrowing_in_place_is_no_race() -> None:
    """Every element lands at or before its own place; production kernels do it all the time."""
    tiles: dict[str, int | str] = {"a": 64, "b": 8192}
    tiles |= {"h_addr": "arith.constant 64 : i64", "h": f"pto.alloc_tile addr = %h_addr : {HALF}"}
    body = (
        "load a x\nbarrier ALL\n"
        f"pto.tcvt ins(%a {{rmode = #pto<round_mode RINT>}} : {TILE}) outs(%h : {HALF})\n"
        f"pto.tcvt ins(%h {{rmode = #pto<round_mode RINT>}} : {HALF}) outs(%b : {TILE})\n"
        "barrier ALL\nstore b y"
    )
    report = Mini(body, tiles=tiles).sanitize()
    assert [(d.rule, d.message) for d in report.diagnostics] == []


def test_a_race_with_an_access_that_was_overtaken() -> None:
    """The loop loads twice before anything adds; the second addition is ordered after both loads, the first is not."""
    lines = [
        "for 2",
        "load a x",
        "%last = arith.cmpi eq, %i1, %c1 : index",
        "scf.if %last {",
        "set MTE2 V 1",
        "wait MTE2 V 1",
        "end",
        "pto.wait_flag_dyn[<PIPE_MTE3>, <PIPE_V>, %i1]",
        "adds a b",
        "end",
        "set MTE3 V 0",
        "set MTE3 V 1",
    ]
    assert Mini("\n".join(lines)).found() == {"RACE-RAW": [{2, 9}], "RACE-WAR": [{2, 9}]}


@pytest.mark.parametrize("other", ["Add", "Max"])
def test_a_race_of_unlike_atomic_updates(other: str) -> None:
    """Two blocks scatter into one row, one of them adding."""

    @pto.kernel(target="a5")
    def k(where: pto.Ptr[pto.i32], y: pto.Ptr[pto.f32]) -> None:
        data, index = (pto.Tile(pto.TileType.Vec, kind, 1, 8) for kind in (pto.f32, pto.i32))
        pto.TASSIGN(data, 0)
        pto.TASSIGN(index, 4096)
        pto.TEXPANDS(data, 1.0)
        pto.TLOAD(index, pto.GlobalTensor(where, (1, 8)))
        pto.pipe_barrier(pto.PIPE_ALL)
        out = pto.GlobalTensor(y, (1, 8))
        with pto.if_(pto.get_block_idx() == 0):
            pto.MSCATTER(out, data, index, mode=pto.Coalesce.Elem, atomic=pto.ScatterAtomicOp.Add)
        with pto.else_():
            pto.MSCATTER(out, data, index, mode=pto.Coalesce.Elem, atomic=getattr(pto.ScatterAtomicOp, other))

    report = k.sanitize(np.arange(8, dtype=np.int32)[None], np.zeros((1, 8), np.float32), blocks=2)
    assert [d.rule for d in report.errors] == ([] if other == "Add" else ["RACE-XCORE-WAW"])


RACING = """
func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %b64 = pto.get_block_idx
  %b = arith.index_cast %b64 : i64 to index
  %first = arith.cmpi eq, %b, %c0 : index
  scf.if %first {
    pto.store_scalar %one, %x[%c0] : !pto.ptr<f32>, f32
  } else {
    pto.store_scalar %one, %y[%c1] : !pto.ptr<f32>, f32
  }
  return
}
"""


@pytest.mark.parametrize(
    ("other", "races"), [("again", True), ("later", True), ("private", False), ("copy", False), ("beside", False)]
)
def test_memory_maps_of_one_file_are_one_memory(tmp_path: Path, other: str, races: bool) -> None:
    """One block stores the first element of a file, the other the second of what it has been given."""
    path = tmp_path / "file"
    np.zeros(4096, np.float32).tofile(path)
    x: np.ndarray = np.memmap(path, np.float32, "r+", 4, 1024)
    y: np.ndarray = np.memmap(path, np.float32, "r+", {"again": 0, "later": 0, "beside": 8192}.get(other, 0), 1024)
    if other == "private":
        x, y = (np.memmap(path, np.float32, "c", 4 * k, 1024) for k in (1, 0))
    if other == "copy":
        y = np.zeros(1024, np.float32)
    if other == "later":
        y = y.view(np.ndarray)[:64]
    module = parse_module(RACING, "k.pto").module
    found = sanitize(module, "a5", [x, y], blocks=2).diagnostics
    assert ([d.rule for d in found] == ["RACE-XCORE-WAW"]) == races
    assert races or not list(found)
    assert np.shares_memory(*copies([x, y])) == races


def test_places_with_one_answer_for_all_of_them() -> None:
    """A strided store of registers asks of all its places at once whether they are written."""
    pointer = LocalPointer("ub", 64, dtype("f32"))
    places = np.array([[0, 8, 16]])
    for keep, found in ((np.bool_(True), 12), (np.bool_(False), 0), (np.array([[True, False, True]]), 8)):
        where = footprint_of(Elements(pointer, 0, places, 4, keep, write=True))
        assert len(where) == found
