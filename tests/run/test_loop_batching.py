"""Loops done at once give what they give one iteration after the other; those that depend on themselves are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.backends.numpy.launch import OnNumPy, PythonCode, Source
from ptokit.machine import loops as steady
from ptokit.run.program import Program, compile_program
from ptokit.targets import A5

SIZE = 16384


def kernel(body: str, count: int = 2000, step: int = 64, trips: int = 32) -> str:
    """A loop over UB, which has been loaded with %x and is stored to %y; %a, %b, %c are 0, 4096 and 8192 bytes in."""
    return f"""func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %half = arith.constant 4096 : i64
  %two = arith.constant 8192 : i64
  %size = arith.constant {SIZE} : i64
  %off = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %step = arith.constant {step} : index
  %end = arith.constant {step * trips} : index
  %n = arith.constant {count} : i32
  %s = arith.constant 1.5 : f32
  %a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %half : i64 -> !pto.ptr<f32, ub>
  %c = pto.castptr %two : i64 -> !pto.ptr<f32, ub>
  %block = pto.get_block_idx
  %bi = arith.index_cast %block : i64 to index
  %words = arith.constant {SIZE // 4} : index
  %at = arith.muli %bi, %words : index
  %from = pto.addptr %x, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %to = pto.addptr %y, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  pto.copy_gm_to_ubuf %from, %a, %z, %one, %size, %z, %z, %off, %z, %size, %size
  pto.vecscope {{
    %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %outside = pto.vlds %c[%c64] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %rest = scf.for %i = %c0 to %end step %step iter_args(%left = %n) -> (i32) {{
{body}
    }}
    %m2, %r2 = pto.plt_b32 %rest : i32 -> !pto.mask<b32>, i32
    pto.vsts %outside, %c[%c0], %m2 : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }}
  pto.copy_ubuf_to_gm %a, %to, %z, %one, %size, %z, %size, %size
  return
}}"""


MASK = "      %m, %next = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32\n"
END = "      scf.yield %next : i32\n"
V, P, M = "!pto.vreg<64xf32>", "!pto.ptr<f32, ub>", "!pto.mask<b32>"


def load(name: str, at: str, dist: str = "") -> str:
    return f"      %{name} = pto.vlds {at} {dist}: {P} -> {V}\n"


def add(name: str, a: str, b: str) -> str:
    return f"      %{name} = pto.vadd {a}, {b}, %m : {V}, {V}, {M} -> {V}\n"


def store(value: str, at: str) -> str:
    return f"      pto.vsts {value}, {at}, %m : {V}, {P}, {M}\n"


SUM = load("p", "%a[%i]") + load("q", "%b[%i]") + add("r", "%p", "%q")
SHIFT = "      %j = arith.addi %i, %c64 : index\n"
INDEPENDENT = {
    "three buffers": (MASK + SUM + store("%r", "%c[%i]") + END, {"trips": 16}),
    "in place": (MASK + SUM + store("%r", "%a[%i]") + END, {"trips": 16}),
    "the last lanes are off": (MASK + SUM + store("%r", "%c[%i]") + END, {"trips": 16, "count": 999}),
    "nothing left": (MASK + SUM + store("%r", "%c[%i]") + END, {"trips": 16, "count": 130}),
    "a register from outside": (
        MASK + load("p", "%a[%i]") + add("r", "%p", "%outside") + store("%r", "%b[%i]") + END,
        {"trips": 8},
    ),
    "one place for all": (
        MASK + load("p", "%a[%c64]") + load("q", "%b[%i]") + add("r", "%p", "%q") + store("%r", "%c[%i]") + END,
        {"trips": 16},
    ),
    "two steps": (
        MASK + SHIFT + load("p", "%a[%i]") + load("q", "%a[%j]") + store("%q", "%c[%i]") + store("%p", "%c[%j]") + END,
        {"step": 128, "trips": 8},
    ),
    "computed offsets": (
        MASK + "      %j = arith.muli %i, %c2 : index\n" + load("p", "%a[%j]") + store("%p", "%c[%i]") + END,
        {"trips": 12},
    ),
    "wide loads": (MASK + load("p", "%a[%i]", '{dist = "UNPK_B16"} ') + store("%p", "%c[%i]") + END, {"trips": 12}),
    "exchange": (
        MASK + load("p", "%a[%i]") + load("q", "%b[%i]") + store("%p", "%b[%i]") + store("%q", "%a[%i]") + END,
        {"trips": 16},
    ),
}
DEPENDENT = {
    "each iteration reads the last": (MASK + SHIFT + load("p", "%a[%i]") + store("%p", "%a[%j]") + END, {"trips": 16}),
    "each iteration writes what the next reads": (MASK + SHIFT + load("p", "%a[%j]") + store("%p", "%a[%i]") + END, {}),
    "read after write": (
        MASK + load("p", "%a[%i]") + store("%p", "%b[%i]") + load("q", "%b[%i]") + store("%q", "%c[%i]") + END,
        {"trips": 16},
    ),
    "one place written": (MASK + load("p", "%a[%i]") + store("%p", "%c[%c64]") + END, {"trips": 16}),
    "overlapping rows": (MASK + load("p", "%a[%i]") + store("%p", "%c[%i]") + END, {"step": 32, "trips": 16}),
    "buffers that overlap": (MASK + load("p", "%a[%i]") + store("%p", "%b[%i]") + END, {"trips": 32}),
}
UNLIKE = {
    "a count that is used otherwise": "      %v = pto.vdup %left, %all : i32, !pto.mask<b32> -> !pto.vreg<64xi32>\n"
    + MASK
    + END,
    "a branch": MASK + "      %t = arith.cmpi slt, %left, %n : i32\n      scf.if %t {\n      }\n" + END,
    "squared offsets": MASK + "      %j = arith.muli %i, %i : index\n" + load("p", "%a[%j]") + END,
}


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each attempt to do a loop at once succeeded."""
    seen: list[bool] = []
    plain = steady.Iterations.finish

    def watched(self: steady.Iterations) -> bool:
        seen.append(plain(self))
        return seen[-1]

    monkeypatch.setattr(steady.Iterations, "finish", watched)
    return seen


def both(text: str, blocks: int = 3) -> None:
    """The two ways agree on every byte of UB."""
    module = parse_module(text).module
    x = np.random.default_rng(1).uniform(-8, 8, blocks * SIZE // 4).astype(np.float32)
    found, wanted = np.zeros_like(x), np.zeros_like(x)
    compile_program(module, A5).launch([x, found], blocks=blocks)
    one_by_one = Program(module, module.functions[0], A5, extended=False)
    kernel = one_by_one.kernel("numpy")
    assert isinstance(kernel, OnNumPy)
    kernel.code = PythonCode(Source(one_by_one.plan, at_once=False), one_by_one.entry, "k")
    one_by_one.launch([x, wanted], blocks=blocks)
    assert np.array_equal(found.view(np.uint8), wanted.view(np.uint8))


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_iterations(name: str, finished: list[bool]) -> None:
    body, more = INDEPENDENT[name]
    sizes: dict[str, Any] = more
    for blocks in (1, 3):
        both(kernel(body, **sizes), blocks)
    assert finished == [True, True]


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_iterations(name: str, finished: list[bool]) -> None:
    body, more = DEPENDENT[name]
    sizes: dict[str, Any] = more
    both(kernel(body, **sizes))
    assert True not in finished


@pytest.mark.parametrize("name", UNLIKE)
def test_loops_that_are_not_even_tried(name: str) -> None:
    module = parse_module(kernel(UNLIKE[name])).module
    assert "m.parts" not in OnNumPy(compile_program(module, A5)).code.source.text


@pytest.mark.parametrize("name", [*INDEPENDENT, *DEPENDENT])
@pytest.mark.parametrize("most", [5, 12])
def test_long_loops_are_done_in_parts(
    name: str, most: int, finished: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No register has more rows than `MOST`, however many blocks and iterations there are, but for short parts."""
    made: list[int] = []
    plain = steady.Iterations.__init__

    def watched(self: steady.Iterations, chunk: Any, target: Any, iterations: range) -> None:
        plain(self, chunk, target, iterations)
        made.append(self.blocks)

    monkeypatch.setattr(steady, "MOST", most)
    monkeypatch.setattr(steady.Iterations, "__init__", watched)
    body, more = (INDEPENDENT | DEPENDENT)[name]
    sizes: dict[str, Any] = more
    for blocks in (1, 3):
        both(kernel(body, **sizes), blocks)
        assert max(made) <= max(most, steady.LEAST * blocks)
    assert len(finished) > 2 or name in DEPENDENT


def test_short_loops_run_as_they_are_written(finished: list[bool]) -> None:
    both(kernel(INDEPENDENT["three buffers"][0], trips=3))
    assert finished == []


def test_a_place_outside_is_named_with_its_iteration() -> None:
    from ptokit.diagnostics import DiagnosticError

    text = kernel(MASK + load("p", "%a[%i]") + END, trips=2000)
    x = np.zeros(SIZE // 4, np.float32)
    with pytest.raises(DiagnosticError) as error:
        compile_program(parse_module(text).module, A5).launch([x, x])
    (found,) = error.value.diagnostics
    assert (found.rule, "%i = 65536" in str(found.notes)) == ("PTR-A5-02", True)


def test_a_later_block_does_not_see_what_an_earlier_one_left() -> None:
    """Its buffer starts with zeros, though the memory is the same."""
    text = """func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 256 : i64
  %all = arith.constant 512 : i64
  %off = arith.constant false
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %u = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.vecscope {
    %v = pto.vlds %u[%c64] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    pto.vsts %v, %u[%c0] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>
  }
  pto.copy_ubuf_to_gm %u, %y, %z, %one, %n, %z, %n, %n
  pto.copy_gm_to_ubuf %x, %u, %z, %one, %all, %z, %z, %off, %z, %all, %all
  return
}"""
    x, y = np.ones(128, np.float32), np.ones(64, np.float32)
    compile_program(parse_module(text).module, A5).launch([x, y], blocks=3, chunk=1)
    assert not y.any()
