"""Blocks that run together give what each gives alone, whatever the control flow does and wherever it stores."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5

from .random_control import LANES, SLOTS, ControlProgram, expected

BLOCKS = 5


def check(seed: int) -> bool:
    """Run one program in several ways; True if its blocks may run together."""
    made = ControlProgram(seed)
    parsed = parse_module(made.text)
    assert [str(d) for d in parsed.diagnostics] == [], made.text
    program = compile_program(parsed.module, A5)
    start = np.random.default_rng(seed).integers(0, 4, (BLOCKS, SLOTS))
    wanted, rows = expected(made, start, seed % 5)
    for chunk in (1, 2, None):
        slots, raised = start.copy(), np.zeros((64, LANES), np.float32)
        program.launch([slots, raised, seed % 5], BLOCKS, chunk=chunk)
        assert np.array_equal(slots, wanted), (seed, chunk)
        assert np.array_equal(raised, rows), (seed, chunk)
    return program.effects.lockstep


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_programs(start: int) -> None:
    together = [check(seed) for seed in range(start, start + 50)]
    assert any(together)
    assert not all(together)


def launched(body: str, *functions: str) -> list[int]:
    """``y[b]`` after a launch of four blocks, which started with 0."""
    text = "module {\n" + "".join(functions) + "func.func @k(%y: !pto.ptr<i64>) attributes {pto.entry} {\n"
    text += "%id = pto.get_block_idx\n%b = arith.index_cast %id : i64 to index\n"
    text += "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n" + body + "return\n}\n}\n"
    parsed = parse_module(text)
    assert [str(d) for d in parsed.diagnostics] == []
    stored = np.zeros(4, np.int64)
    compile_program(parsed.module, A5).launch([stored], 4)
    return stored.tolist()


RAISE = """
%old = pto.load_scalar %y[%b] : !pto.ptr<i64> -> i64
%one = arith.constant 1 : i64
%new = arith.addi %old, %one : i64
pto.store_scalar %new, %y[%b] : !pto.ptr<i64>, i64
"""
"""y[b] += 1"""


def test_a_while_that_stores_and_ends_sooner_in_some_blocks() -> None:
    body = f"""
        scf.while (%i = %c0) : (index) -> index {{
          %more = arith.cmpi slt, %i, %b : index
          scf.condition(%more) %i : index
        }} do {{
        ^bb0(%j: index):
          {RAISE}
          %next = arith.addi %j, %c1 : index
          scf.yield %next : index
        }}
    """
    assert launched(body) == [0, 1, 2, 3]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_loop_whose_callees_store(depth: int) -> None:
    """The branch comes before the store in the text, but after that of the turn before."""
    functions = [f"func.func @f0(%y: !pto.ptr<i64>, %b: index) {{{RAISE}return\n}}\n"]
    for k in range(1, depth):
        call = f"func.call @f{k - 1}(%y, %b) : (!pto.ptr<i64>, index) -> ()"
        functions.append(f"func.func @f{k}(%y: !pto.ptr<i64>, %b: index) {{\n{call}\nreturn\n}}\n")
    body = f"""
        %c4 = arith.constant 4 : index
        scf.for %i = %c0 to %c4 step %c1 {{
          %more = arith.cmpi slt, %i, %b : index
          scf.if %more {{
            func.call @f{depth - 1}(%y, %b) : (!pto.ptr<i64>, index) -> ()
          }}
        }}
    """
    assert launched(body, *functions) == [0, 1, 2, 3]


def test_functions_that_call_the_next_one_twice() -> None:
    """60 of them: whoever follows every call comes to no end."""
    functions = [f"func.func @f0(%y: !pto.ptr<i64>, %b: index) {{{RAISE}return\n}}\n"]
    for k in range(1, 60):
        call = f"func.call @f{k - 1}(%y, %b) : (!pto.ptr<i64>, index) -> ()\n"
        functions.append(f"func.func @f{k}(%y: !pto.ptr<i64>, %b: index) {{\n{call * 2}return\n}}\n")
    call = "func.call @f{}(%y, %b) : (!pto.ptr<i64>, index) -> ()\n"
    never = "%no = arith.cmpi slt, %b, %c0 : index\nscf.if %no {\n" + call.format(59) + "}\n"
    assert launched(never + call.format(1), *functions) == [2, 2, 2, 2]


@pytest.mark.campaign
def test_many_random_programs() -> None:
    for seed in range(1000, 7000):
        check(seed)
