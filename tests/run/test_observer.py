"""What an observer is told: every step in the order of execution, with its operands before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f32
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.run.observer import Moment, Observer
from ptokit.targets import A2A3, A5

from .kernels import add, alloc, compiled, load, part, store, view
from .random_control import LANES, SLOTS, ControlProgram


class Notes(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.pending: list[Moment] = []

    def before(self, moment: Moment) -> None:
        self.pending.append(moment)

    def after(self, moment: Moment) -> None:
        assert self.pending.pop() is moment
        self.seen.append((moment.name, moment.location.line, moment.block, moment.loops))


PTRS = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %rows: index"
LOOPS = (
    view("xv", "%x")
    + view("yv", "%y")
    + alloc("t")
    + "    scf.for %i = %c0 to %c2 step %c1 {\n"
    + "      %r = arith.muli %i, %c8 : index\n"
    + part("p", "%xv", "%r")
    + load("%t", "%p")
    + "      scf.for %j = %c0 to %c2 step %c1 {\n"
    + "        func.call @inner(%j) : (index) -> ()\n"
    + add("%t", "%t", "%t")
    + "      }\n"
    + part("q", "%yv", "%r")
    + store("%t", "%q")
    + "    }\n"
    + "    pto.barrier <PIPE_ALL>\n"
)
INNER = """  func.func @inner(%n: index) {
    %a0 = arith.constant 0 : index
    %a1 = arith.constant 1 : index
    scf.for %k = %a0 to %n step %a1 {
      pto.barrier <PIPE_V>
    }
    return
  }
"""


def floats(rows: int) -> np.ndarray:
    return np.arange(rows * 16, dtype=np.float32).reshape(rows, 16)


def test_steps_come_in_order_with_block_loops_and_place() -> None:
    program = compiled(PTRS, LOOPS, more=INNER)
    notes = Notes()
    program.launch([floats(16), np.zeros((16, 16), np.float32), 16], 2, observer=notes)
    assert not notes.pending
    expected: list[tuple[Any, ...]] = []
    for block in range(2):
        for i in range(2):
            expected.append(("TLOAD", block, (("i", i),)))
            for j in range(2):
                expected += [("pipe_barrier", block, (("i", i), ("j", j), ("k", k))) for k in range(j)]
                expected.append(("TADD", block, (("i", i), ("j", j))))
            expected.append(("TSTORE", block, (("i", i),)))
        expected.append(("pipe_barrier", block, ()))
    assert [(name, block, loops) for name, _, block, loops in notes.seen] == expected
    lines = {name: line for name, line, _, _ in notes.seen}
    assert lines["TLOAD"] < lines["TADD"] < lines["TSTORE"]


def test_operands_are_there_before_and_after() -> None:
    class Doubling(Observer):
        def __init__(self) -> None:
            self.before_it: list[np.ndarray] = []
            self.times = 0

        def before(self, moment: Moment) -> None:
            if moment.name == "TADD":
                assert moment.read == ("src0", "src1")
                assert moment.written == ("dst",)
                self.before_it.append(moment.contents("src0"))
            if moment.name == "TSTORE":
                self.old = moment.contents("dst")

        def after(self, moment: Moment) -> None:
            if moment.name == "TADD":
                assert moment.given["dst"].name == "t"
                assert np.array_equal(moment.contents("dst"), 2 * self.before_it[-1])
                self.times += 1
            if moment.name == "TSTORE":
                assert not self.old.any()
                assert np.array_equal(moment.contents("dst"), moment.contents("src"))

    x, y, observer = floats(16), np.zeros((16, 16), np.float32), Doubling()
    compiled(PTRS, LOOPS, more=INNER).launch([x, y, 16], 1, observer=observer)
    assert observer.times == 4
    assert np.array_equal(y, 4 * x)


def test_single_elements_are_steps() -> None:
    body = """    %v = pto.load_scalar %x[%c1] : !pto.ptr<f32> -> f32
    pto.store_scalar %v, %y[%c2] : !pto.ptr<f32>, f32
"""
    told: list[tuple[Any, ...]] = []

    class Told(Observer):
        def after(self, moment: Moment) -> None:
            told.append((moment.name, moment.contents("index"), moment.contents("value"), moment.result))

    compiled(PTRS, body).launch([floats(1), np.zeros((1, 16), np.float32), 1], 1, observer=Told())
    assert told == [("load_scalar", 1, None, 1.0), ("store_scalar", 2, 1.0, None)]


@pytest.mark.parametrize("seed", range(40))
def test_watched_programs_give_the_same(seed: int) -> None:
    made = ControlProgram(seed)
    program = compile_program(parse_module(made.text).module, A5)
    start = np.random.default_rng(seed).integers(0, 4, (5, SLOTS))
    results = []
    for observer in (None, Notes()):
        slots, raised = start.copy(), np.zeros((64, LANES), np.float32)
        program.launch([slots, raised, seed % 5], 5, observer=observer)
        results.append((slots.tobytes(), raised.tobytes()))
    assert results[0] == results[1]


def test_cores_that_wait_for_each_other_are_told_apart() -> None:
    text = """module {
  func.func @k() attributes {pto.entry} {
    pto.section.cube {
      pto.sync.set <PIPE_FIX>, 1
    }
    pto.section.vector {
      pto.sync.wait <PIPE_V>, 1
    }
    return
  }
}
"""
    told = []

    class Cores(Observer):
        def after(self, moment: Moment) -> None:
            told.append((moment.core, moment.name))

    program = compile_program(parse_module(text, target=A2A3).module, A2A3)
    program.launch([], 1, observer=Cores())
    assert (0, "sync.set") in told
    assert (1, "sync.wait") in told


def test_what_fails_has_no_after_and_keeps_its_finding() -> None:
    body = view("xv", "%x") + alloc("t") + part("p", "%xv", "%c8") + load("%t", "%p")
    program = compiled(PTRS, body)
    errors = []
    for observer in (None, Notes()):
        with pytest.raises(DiagnosticError) as caught:
            program.launch([floats(8), floats(8), 16], 1, observer=observer)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert [m.name for m in observer.pending] == ["TLOAD"]
    assert observer.seen == []


def test_an_error_of_the_observer_ends_the_launch_and_later_ones_are_not_watched() -> None:
    class Stop(Exception):
        pass

    class Stopping(Observer):
        def before(self, moment: Moment) -> None:
            raise Stop

    program = compiled(PTRS, LOOPS, more=INNER)
    y = np.zeros((16, 16), np.float32)
    with pytest.raises(Stop):
        program.launch([floats(16), y, 16], 1, observer=Stopping())
    program.launch([floats(16), y, 16], 1)
    assert y.any()


@pto.kernel(target="a5")
def double(x: Ptr[f32], y: Ptr[f32]) -> None:
    t = Tile(TileType.Vec, f32, 8, 16)
    pto.TLOAD(t, GlobalTensor(x, (8, 16)))
    pto.TADD(t, t, t)
    pto.TSTORE(GlobalTensor(y, (8, 16)), t)


def test_interpreted_runs_tell_the_same() -> None:
    told = []
    for interpreted in (False, True):
        notes, y = Notes(), np.zeros((8, 16), np.float32)
        double.launch(1, (floats(8), y), {}, interpreted=interpreted, observer=notes)
        assert np.array_equal(y, 2 * floats(8))
        told.append(notes.seen)
    assert [name for name, *_ in told[0]] == ["TLOAD", "TADD", "TSTORE"]
    assert told[0] == told[1]
