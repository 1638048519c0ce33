"""A new operation of control flow: one class, and what it is in a plan. Nothing else names it.

``scf.forall`` goes over a rectangle of indices. Its iterations are in parallel on paper, in any order in truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import ptokit.plan.planner as planner
from ptokit.arguments.derive import derive
from ptokit.asm import parse_module, print_generic, print_module
from ptokit.ir import Block, Module, Op, Value, control
from ptokit.ir.control import Control, Edge, Induction
from ptokit.ir.verify import verify
from ptokit.plan import steps
from ptokit.plan.effects import Work, analyse
from ptokit.run import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target
from ptokit.types.values import INDEX, Type

NAME = "scf.forall"
BOUNDS = ("lower", "upper", "step")
A5 = target("a5")


class ForAll(Control):
    """Its only region is entered with the indices, any number of times, and hands nothing on."""

    form = "( X(indices) ) = ( %lower*:index ) to ( %upper*:index ) step ( %step*:index ) G {}"
    decides, repeats = BOUNDS, True

    def takes(self, op: Op, k: int) -> list[Type]:
        return [INDEX for _ in op.group("lower")]

    def entered(self, op: Op) -> Iterator[Edge]:
        yield Edge(op.regions[0])
        yield Edge(None)

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        return self.entered(op)

    def inductions(self, op: Op) -> list[Induction]:
        return [Induction(*each) for each in zip(op.regions[0].args, *map(op.group, BOUNDS))]


def plan(p: planner.Planner, op: Op) -> list[steps.Step]:
    """Loops in each other, which every backend has."""
    *rest, last = op.regions[0].args
    body = p.region(op.regions[0])
    assert len(body) == 1
    bounds = list(zip(*map(op.group, BOUNDS)))
    made = steps.Step(op, "for", p.refs(bounds[-1]), regions=((steps.Block((last,), body[0].steps),),))
    for arg, bound in zip(reversed(rest), reversed(bounds[:-1])):
        made = steps.Step(op, "for", p.refs(bound), regions=((steps.Block((arg,), [made]),),))
    return [made]


@pytest.fixture(autouse=True)
def forall(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the operation is."""
    monkeypatch.setitem(control.CONTROL, NAME, ForAll())
    monkeypatch.setitem(planner.METHODS, NAME, plan)


TEXT = """func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %rows: index) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %xv = pto.make_tensor_view %x, shape = [%rows, %c128], strides = [%c128, %c1] : !pto.tensor_view<?x128xf32>
  %yv = pto.make_tensor_view %y, shape = [%rows, %c128], strides = [%c128, %c1] : !pto.tensor_view<?x128xf32>
  %t = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf32>
  SET
  scf.forall (%i, %j) = (%c0, %c0) to (%rows, %c128) step (%c16, %c64) {
    %xp = pto.partition_view %xv, offsets = [%i, %j], sizes = [%c16, %c64] : VIEWS
    %yp = pto.partition_view %yv, offsets = [%i, %j], sizes = [%c16, %c64] : VIEWS
    WAIT
    pto.tload ins(%xp : PART) outs(%t : TILE)
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.tadd ins(%t, %t : TILE, TILE) outs(%t : TILE)
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.tstore ins(%t : TILE) outs(%yp : PART)
    AGAIN
  }
  LAST
  return
}
"""
TEXT = TEXT.replace("VIEWS", "!pto.tensor_view<?x128xf32> -> PART")
TEXT = TEXT.replace("PART", "!pto.partition_tensor_view<16x64xf32>").replace("TILE", "!pto.tile_buf<vec, 16x64xf32>")
FREE = "[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]"


def text(*, ordered: bool = True) -> str:
    words = {"SET": "set", "WAIT": "wait", "AGAIN": "set", "LAST": "wait"}
    found = TEXT
    for place, flag in words.items():
        found = found.replace(f"  {place}\n", f"  pto.{flag}_flag{FREE}\n" if ordered else "")
    return found


def module(source: str) -> Module:
    result = parse_module(source, "k.pto", target=A5)
    assert [str(d) for d in result.diagnostics] == []
    return result.module


def test_it_is_checked() -> None:
    assert [str(d) for d in verify(module(text()), A5)] == []
    assembler = verify(module(text().replace("(%c16, %c64) {", "(%c16, %c0) {")), A5, assembler=True)
    assert [(d.rule, d.location.line) for d in assembler if d.rule == "FOR-1"] == [("FOR-1", 12)]


@pytest.mark.parametrize("show", [print_module, print_generic])
def test_it_is_printed_as_it_is_read(show: Callable[[Module], str]) -> None:
    printed = show(module(text()))
    assert NAME in printed
    assert show(module(printed)) == printed
    assert print_module(module(printed)) == print_module(module(text()))


@pytest.mark.parametrize("backend", ["numpy", "native", "reference"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_it_runs(backend: str, blocks: int) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    x = np.random.default_rng(1).random((64, 128), np.float32)
    y = np.zeros_like(x)
    compile_program(module(text()), A5).launch([x, y, 64], blocks, backend=backend)
    assert (y == 2 * x).all()


def test_races_between_its_iterations_are_found() -> None:
    arrays = [np.ones((64, 128), np.float32), np.zeros((64, 128), np.float32)]
    assert sanitize(module(text()), "a5", [*arrays, 64]).symptoms == []
    report = sanitize(module(text(ordered=False)), "a5", [*arrays, 64])
    assert {d.rule for d in report.symptoms} == {"RACE-WAR", "RACE-WAW"}
    assert any("once before the loop in line 11" in (d.hint or "") for d in report.symptoms)


LOOPS = (
    "scf.for %i = %c0 to %rows step %c16 {\n  scf.for %j = %c0 to %c128 step %c64 {",
    "scf.forall (%i, %j) = (%c0, %c0) to (%rows, %c128) step (%c16, %c64) {",
)


def test_analyses_say_the_same_of_it_as_of_loops_in_each_other() -> None:
    nested = text().replace(LOOPS[1], LOOPS[0]).replace("  }\n", "  }\n  }\n")
    assert nested != text()
    found = []
    for one in (module(nested), module(text())):
        (kernel,) = one.functions
        effects, counts = analyse(one, kernel), Work(one, kernel, {kernel.params[2]: 64}).counts
        params = [v in effects.written for v in kernel.params]
        times = sorted((op.name, n) for op, n in counts.items())
        found.append((params, effects.lockstep, times, derive(one, kernel)))
    assert found[0] == found[1]
    assert ("pto.tload", 8) in found[1][2]
