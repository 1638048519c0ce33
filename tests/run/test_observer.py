"""What an observer is told: every step in the order of execution, with its operands before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f32
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.machine.observer import Moment, Observer
from ptokit.run import compile_program
from ptokit.targets import A2A3, A5

from .kernels import PTRS, add, alloc, compiled, load, part, store, view
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
                assert moment.given["dst"].name == "%t"
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


def test_loops_that_do_not_count_say_which_iteration_it_is() -> None:
    body = """    %end = scf.while (%n = %c0) : (index) -> index {
      %more = arith.cmpi slt, %n, %c2 : index
      scf.condition(%more) %n : index
    } do {
    ^bb0(%n: index):
      scf.for %j = %c0 to %c1 step %c1 {
        pto.barrier <PIPE_V>
      }
      %next = arith.addi %n, %c1 : index
      scf.yield %next : index
    }
    pto.barrier <PIPE_ALL>
"""
    notes = Notes()
    compiled(PTRS, body).launch([floats(1), floats(1), 1], 1, observer=notes)
    inner = [(("iteration", k), ("j", 0)) for k in (1, 2)]
    assert [loops for *_, loops in notes.seen] == [*inner, ()]


def test_branches_back_count_as_iterations() -> None:
    text = """module {
  func.func @k(%x: !pto.ptr<f32>) attributes {pto.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    cf.br ^again(%c0 : index)
  ^again(%n: index):
    pto.barrier <PIPE_V>
    %next = arith.addi %n, %c1 : index
    %more = arith.cmpi slt, %next, %c3 : index
    cf.cond_br %more, ^again(%next : index), ^done
  ^done:
    return
  }
}
"""
    notes = Notes()
    compile_program(parse_module(text).module, A5).launch([np.zeros(1, np.float32)], 1, observer=notes)
    counts = [dict(loops)["iteration"] for *_, loops in notes.seen]
    assert counts == sorted(set(counts))
    assert len(counts) == 3


class Made(Observer):
    """What makes tiles and views, and what is accessed by address."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any]] = []
        self.accesses: list[Any] = []

    def make(self, moment: Moment) -> Any:
        result = moment.run()
        self.made.append((moment.step.word, result))
        return result

    def accessed(self, access: Any) -> None:
        self.accesses.append(access)


def test_tiles_and_views_are_told_when_they_are_made() -> None:
    observer = Made()
    compiled(PTRS, LOOPS, more=INNER).launch([floats(16), floats(16), 16], 1, observer=observer)
    assert [word for word, _ in observer.made] == ["tile", "view", "view", *["slice"] * 4]
    assert observer.made[0][1].name == "%t"
    assert observer.made[-1][1].dims == (8, 16)


def test_accesses_by_address_are_told() -> None:
    body = """    %zero = arith.constant 0 : i64
    %off = arith.constant false
    %one = arith.constant 1 : i64
    %bytes = arith.constant 256 : i64
    %ub = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
    pto.copy_gm_to_ubuf %x, %ub, %zero, %one, %bytes, %zero, %zero, %off, %zero, %bytes, %bytes
    pto.vecscope {
      %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      %few = pto.pset_b32 "PAT_VL4" : !pto.mask<b32>
      %v = pto.vlds %ub[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      pto.vsts %v, %ub[%c8], %few : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
"""
    params = PTRS.replace("%x: !pto.ptr<f32>", "%x: !pto.ptr<f32, gm>")
    observer = Made()
    compiled(params, body).launch([floats(16), floats(16), 16], 1, observer=observer)
    told = [(type(a).__name__, a.write) for a in observer.accesses]
    assert told == [("Rows", False), ("Rows", True), ("Span", False), ("Lanes", True)]
    lanes = observer.accesses[-1]
    assert (lanes.offset, lanes.width) == (8, 4)
    assert lanes.active[0].sum() == 4


def test_behind_branches_back_there_is_no_loop_any_more() -> None:
    body = """    %end = scf.execute_region -> index {
      cf.br ^again(%c0 : index)
    ^again(%n: index):
      pto.barrier <PIPE_V>
      %next = arith.addi %n, %c1 : index
      %more = arith.cmpi slt, %next, %c2 : index
      cf.cond_br %more, ^again(%next : index), ^done
    ^done:
      scf.yield %next : index
    }
    pto.barrier <PIPE_ALL>
"""
    notes = Notes()
    compiled(PTRS, body).launch([floats(1), floats(1), 1], 1, observer=notes)
    *inside, after = [loops for *_, loops in notes.seen]
    assert all(len(loops) == 1 for loops in inside)
    assert after == ()
