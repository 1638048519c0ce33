"""Loops that count near the ends of their types, on everything that executes loops, against Python's range."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
MOST = 5
"""Iterations: more say nothing more."""

Bounds = tuple[int, int, int]

LOOP = """\
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %ten = arith.constant 10 : i64
  %n, %sum = scf.for %k = %lo to %hi step %by iter_args(%a = %zero, %s = %zero) -> (i64, i64) : {type} {{
    %b = arith.addi %a, %one : i64
    %m = arith.muli %s, %ten : i64
    %w = {wide} : i64
    %t = arith.addi %m, %w : i64
    scf.yield %b, %t : i64, i64
  }}
"""
BLOCKS = """\
module attributes {{pto.target_arch = "a5"}} {{
func.func @k(%lows: {ptr}, %highs: {ptr}, %steps: {ptr}, %out: !pto.ptr<i64, gm>) attributes {{pto.kernel}} {{
  %block = pto.get_block_idx
  %at = arith.index_cast %block : i64 to index
  %x0 = pto.load_scalar %lows[%at] : {ptr} -> {element}
  %x1 = pto.load_scalar %highs[%at] : {ptr} -> {element}
  %x2 = pto.load_scalar %steps[%at] : {ptr} -> {element}
{bounds}{loop}  %two = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %p = arith.muli %at, %two : index
  %q = arith.addi %p, %c1 : index
  pto.store_scalar %n, %out[%p] : !pto.ptr<i64, gm>, i64
  pto.store_scalar %sum, %out[%q] : !pto.ptr<i64, gm>, i64
  return
}}
}}
"""
THREADS = """\
module attributes {{pto.target_arch = "a5", pto.kernel_kind = #pto.kernel_kind<vector>}} {{
func.func @k(%lows: {ptr}, %highs: {ptr}, %steps: {ptr}, %out: !pto.ptr<i64, gm>) attributes {{pto.kernel}} {{
  %x = arith.constant {lanes} : i32
  %y = arith.constant 1 : i32
  pto.simt_launch @body<<<%x, %y, %y>>>(%lows, %highs, %steps, %out)
      : ({ptr}, {ptr}, {ptr}, !pto.ptr<i64, gm>) -> ()
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}}
func.func @body(%lows: {ptr}, %highs: {ptr}, %steps: {ptr}, %out: !pto.ptr<i64, gm>) attributes {{pto.simt_entry}} {{
  %tx = pto.get_tid_x : i32
  %at = arith.index_cast %tx : i32 to index
  %x0 = pto.load %lows[%at] : {ptr} -> {element}
  %x1 = pto.load %highs[%at] : {ptr} -> {element}
  %x2 = pto.load %steps[%at] : {ptr} -> {element}
{bounds}{loop}  %two = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %p = arith.muli %at, %two : index
  %q = arith.addi %p, %c1 : index
  pto.store %n, %out[%p] : !pto.ptr<i64, gm>, i64
  pto.store %sum, %out[%q] : !pto.ptr<i64, gm>, i64
  return
}}
}}
"""


def text(template: str, type: str, fixed: Bounds | None = None, lanes: int = 1) -> str:
    """A program whose bounds come from memory, or are written in it."""
    element = "i64" if type == "index" else type
    names = ("lo", "hi", "by")
    if fixed is not None:
        bounds = [f"  %{name} = arith.constant {value} : {type}\n" for name, value in zip(names, fixed)]
    elif type == "index":
        bounds = [f"  %{name} = arith.index_cast %x{k} : i64 to index\n" for k, name in enumerate(names)]
    else:
        zero = f"  %none = arith.constant 0 : {type}\n"
        bounds = [zero, *(f"  %{name} = arith.addi %x{k}, %none : {type}\n" for k, name in enumerate(names))]
    wide = {"i64": "arith.addi %k, %zero", "index": "arith.index_cast %k : index to"}.get(type)
    loop = LOOP.format(type=type, wide=wide or f"arith.extsi %k : {type} to").replace("to : i64", "to i64")
    return template.format(
        ptr=f"!pto.ptr<{element}, gm>", element=element, bounds="".join(bounds), loop=loop, lanes=lanes
    )


def drawn(rng: random.Random, type: str) -> Bounds:
    """Bounds near the ends of a type, with few iterations; some ranges are empty."""
    bits = BITS[type]
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    while True:
        lower, upper = (
            min(most, max(least, rng.choice((least, most, 0, most // 2, least // 2)) + rng.randint(-6, 6)))
            for _ in range(2)
        )
        by = rng.choice((1, 2, 3, 4, most, most - 1, most // 2, most // 2 + 1, most // 3, rng.randint(1, most)))
        trips = -(-(upper - lower) // by)
        if trips <= MOST:
            return lower, upper, by


def expected(bounds: Bounds) -> list[int]:
    """How often the loop is done, and a number made of its variable; both as i64."""
    total, count = 0, 0
    for k in range(*bounds):
        count, total = count + 1, total * 10 + k
    return [count, (total + (1 << 63)) % (1 << 64) - (1 << 63)]


def made(source: str) -> Program:
    result = parse_module(source, "t.pto")
    assert [str(d) for d in result.diagnostics] == []
    return compile_program(result.module, target("a5"))


def arrays(type: str, all_bounds: list[Bounds]) -> list[Any]:
    dtype = np.dtype(f"i{BITS[type] // 8}")
    return [*(np.array(column, dtype) for column in zip(*all_bounds)), np.zeros(2 * len(all_bounds), np.int64)]


def check(seed: int, executors: tuple[str, ...] = ("numpy", "native", "sanitizer", "threads")) -> None:
    """Every executor does the same iterations as Python, with bounds from memory and from the text."""
    rng = random.Random(seed)
    type = rng.choice([*BITS])
    count = rng.choice((1, 1, 2, 5))
    several = [drawn(rng, type) for _ in range(count)]
    if rng.random() < 0.3:
        several = several[:1] * count
    fixed = rng.random() < 0.3
    wanted = [n for bounds in several for n in expected(several[0] if fixed else bounds)]
    source = text(BLOCKS, type, several[0] if fixed else None)
    for executor in executors:
        given = arrays(type, several)
        if executor == "sanitizer":
            report = sanitize(parse_module(source, "t.pto").module, "a5", given, count)
            assert {d.rule for d in report.diagnostics} <= {"RACE-BLOCKS"}
        elif executor == "threads":
            made(text(THREADS, type, several[0] if fixed else None, count)).launch(given)
        else:
            made(source).launch(given, count, backend=executor)
        assert given[3].tolist() == wanted, (seed, executor, type, several)


@pytest.mark.parametrize("seed", range(25))
def test_loops_near_the_ends_of_their_types(seed: int) -> None:
    pytest.importorskip("llvmlite")
    check(seed)


@pytest.mark.campaign
def test_many_loops_near_the_ends_of_their_types() -> None:
    pytest.importorskip("llvmlite")
    for seed in range(1000, 6000):
        check(seed, ("numpy", "sanitizer", "threads") if seed % 10 else ("numpy", "native", "sanitizer", "threads"))


@pytest.mark.parametrize("executor", ["numpy", "native", "sanitizer", "threads"])
@pytest.mark.parametrize(("type", "by"), [("i8", 0), ("i32", -1), ("i64", -(1 << 63)), ("index", 0)])
def test_a_step_that_is_not_positive(executor: str, type: str, by: int) -> None:
    pytest.importorskip("llvmlite")
    given = arrays(type, [(3, 1, by)])
    template = THREADS if executor == "threads" else BLOCKS
    if executor == "sanitizer":
        report = sanitize(parse_module(text(template, type), "t.pto").module, "a5", given)
        assert "RUN-STEP" in {d.rule for d in report.diagnostics}
        return
    with pytest.raises(DiagnosticError) as caught:
        made(text(template, type)).launch(given, backend="native" if executor == "native" else "numpy")
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-STEP"]


def test_a_step_is_asked_of_the_lanes_that_are_there() -> None:
    """Threads that do not come to a loop have any bounds."""
    kept = text(THREADS, "i32", lanes=2)
    inside = LOOP.format(type="i32", wide="arith.extsi %k : i32 to").replace("to : i64", "to i64")
    branch = (
        "  %none0 = arith.constant 0 : i32\n  %there = arith.cmpi sgt, %by, %none0 : i32\n"
        "  %zero0 = arith.constant 0 : i64\n"
        "  %n, %sum = scf.if %there -> (i64, i64) {\n"
        + inside.replace("%n, %sum", "%n1, %sum1")
        + "  scf.yield %n1, %sum1 : i64, i64\n  } else {\n  scf.yield %zero0, %zero0 : i64, i64\n  }\n"
    )
    assert inside in kept
    given = arrays("i32", [(0, 3, 1), (0, 3, -1)])
    made(kept.replace(inside, branch)).launch(given)
    assert given[3].tolist() == [3, 12, 0, 0]


@pytest.mark.parametrize(
    ("template", "backend"),
    [(BLOCKS, "numpy"), (BLOCKS, "native"), (THREADS, "numpy")],
    ids=["numpy", "native", "threads"],
)
def test_true_is_the_least_number_of_i1(template: str, backend: str) -> None:
    """No number of i1 is positive, so no loop of i1 has a step."""
    pytest.importorskip("llvmlite")
    source = text(template, "i8").replace("step %by", "step %bit").replace("= %lo to %hi", "= %off to %bit")
    source = source.replace("-> (i64, i64) : i8", "-> (i64, i64) : i1").replace("%k : i8 to", "%k : i1 to")
    bits = "  %off = arith.cmpi slt, %lo, %lo : i8\n  %bit = arith.cmpi sle, %lo, %lo : i8\n"
    source = source.replace("  %zero = ", f"{bits}  %zero = ")
    with pytest.raises(DiagnosticError) as caught:
        made(source).launch(arrays("i8", [(0, 1, 1)]), backend=backend)
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-STEP"]


def test_a_constant_step_of_i1() -> None:
    source = text(BLOCKS, "i8").replace("step %by", "step %bit").replace("= %lo to %hi", "= %bit to %bit")
    source = source.replace("-> (i64, i64) : i8", "-> (i64, i64) : i1").replace("%k : i8 to", "%k : i1 to")
    source = source.replace("  %zero = ", "  %bit = arith.constant true\n  %zero = ")
    with pytest.raises(DiagnosticError) as caught:
        made(source)
    assert [d.rule for d in caught.value.diagnostics] == ["FOR-1"]


@pytest.mark.parametrize("type", ["ui8", "ui32", "si32"])
def test_loops_count_in_signless_types(type: str) -> None:
    """MLIR's scf.for takes signless integers and index; it compares them as signed numbers."""
    head = f"func.func @k(%a: {type}) attributes {{pto.kernel}} {{\n"
    for loop in (
        f"  scf.for %k = %a to %a step %a : {type} {{\n  }}\n",
        f'  "scf.for"(%a, %a, %a) ({{\n  ^bb0(%k: {type}):\n    scf.yield\n  }}) : ({type}, {type}, {type}) -> ()\n',
    ):
        found = parse_module(head + loop + "  return\n}\n", "t.pto").diagnostics
        assert [(d.rule, d.location.line) for d in found] == [("TEXT-TYPE", 2)]


@pytest.mark.parametrize(
    "bounds", [(2**63 - 3, 2**63 - 1, 4), (-(2**63), -(2**63) + 5, 3), (5, 5, 1), (6, 5, 2**63 - 1)]
)
def test_a_loop_in_python(bounds: Bounds) -> None:
    @pto.kernel(target="a5")
    def count(out: pto.Ptr[pto.i64], low: pto.index, high: pto.index, by: pto.index) -> None:
        n = 0
        for _ in range(low, high, by):
            n = n + 1
        out[0] = n

    for launch in (count, count.interpret):
        out = np.zeros(1, np.int64)
        launch[1](out, *bounds) if launch is count else launch(out, *bounds)
        assert out[0] == expected(bounds)[0]
