"""Plans: what they hold, and that a backend that knows nothing else gives the same bytes."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module, read_module
from ptokit.backends import reference
from ptokit.backends.numpy.launch import OnNumPy
from ptokit.conformance.programs import Pointer, ProgramCase, ProgramSuite
from ptokit.diagnostics import DiagnosticError
from ptokit.machine.chunk import Chunk
from ptokit.machine.tiles import carry_out
from ptokit.plan.steps import CONTROL, Data, Form, Step, walk
from ptokit.run import compile_program
from ptokit.run.program import Program
from ptokit.targets import A5

from ..conformance.suites import PROGRAMS
from .kernels import COPY, PTRS, compiled
from .random_control import LANES, SLOTS, ControlProgram

SUITE = ProgramSuite(PROGRAMS, json.loads((PROGRAMS / "manifest.json").read_text()))


def test_a_backend_is_small() -> None:
    """CONTRIBUTING states how many lines it has."""
    lines = [line for line in inspect.getsource(reference).splitlines() if line.strip()]
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.findall(r"reference.py` is a whole one, (\d+) lines", text) == [str(len(lines))]


def program_of(case: ProgramCase) -> Program:
    module = read_module(PROGRAMS / case.file, target=case.target).module
    return compile_program(module, case.target, entry=case.entry or None)


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.id)
def test_known_programs(case: ProgramCase) -> None:
    program = program_of(case)
    results = []
    for backend in ("numpy", "reference"):
        args = [arg.make() if isinstance(arg, Pointer) else arg for arg in case.args]
        given = [
            a.view(p.dtype.storage) if isinstance(a, np.ndarray) and p.dtype is not None else a
            for a, p in zip(args, program.params)
        ]
        program.launch(given, min(case.blocks, 4), backend=backend)
        results.append([a.tobytes() for a in args if isinstance(a, np.ndarray)])
    assert results[0] == results[1]


@pytest.mark.parametrize("seed", range(30))
def test_random_control_flow(seed: int) -> None:
    made = ControlProgram(seed)
    program = compile_program(parse_module(made.text).module, A5)
    start = np.random.default_rng(seed).integers(0, 4, (5, SLOTS))
    results = []
    for backend in ("numpy", "reference"):
        slots, raised = start.copy(), np.zeros((64, LANES), np.float32)
        program.launch([slots, raised, seed % 5], 5, backend=backend)
        results.append((slots.tobytes(), raised.tobytes()))
    assert results[0] == results[1]


def test_findings_have_their_place() -> None:
    found = []
    for backend in ("numpy", "reference"):
        x, y = np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
        with pytest.raises(DiagnosticError) as caught:
            compiled(PTRS, COPY).launch([x, y, 16], 4, backend=backend)
        assert y.all()  # blocks 0 and 1
        found.append([(d.rule, d.location, d.message) for d in caught.value.diagnostics])
    assert found[0] == found[1]


def words(program: Program) -> list[str]:
    return [step.word for step in walk(program.plan.functions["k"].body)]


def test_constants_are_known_and_fixed_tiles_are_made_first() -> None:
    program = compiled(PTRS, COPY)
    plan = program.plan.functions["k"]
    assert [(step.word, step.names[-1]) for step in plan.first] == [("tile", "addr")]
    assert words(program) == [
        *("block_idx", "compute", "compute", "view", "view", "slice", "slice", "instruction", "instruction", "return")
    ]
    steps = {step.word: step for step in walk(plan.body)}
    assert steps["view"].operands[2] == (Data(16), Data(1))
    assert steps["slice"].operands[2] == (Data(8), Data(16))


def test_numbers_that_differ_between_blocks_say_how_they_are_handed_over() -> None:
    body = """    %i = arith.cmpi eq, %b, %c1 : index
    scf.if %i {
      pto.barrier <PIPE_ALL>
    }
    %v = arith.index_cast %b : index to i64
    %f = arith.sitofp %v : i64 to f32
    %u = pto.alloc_tile : !pto.tile_buf<vec, 8x16xf32>
    pto.tadds ins(%u, %f : !pto.tile_buf<vec, 8x16xf32>, f32) outs(%u : !pto.tile_buf<vec, 8x16xf32>)
"""
    forms = [
        o.how for step in walk(compiled(PTRS, body).plan.functions["k"].body) for o in step.operands if type(o) is Form
    ]
    assert forms == ["truth", "spread"]


def programs() -> list[Program]:
    """One for each file, and some with random control flow."""
    cases = {case.file: case for case in SUITE.cases}.values()
    return [
        *map(program_of, cases),
        *(compile_program(parse_module(ControlProgram(k).text).module, A5) for k in range(20)),
    ]


def test_generated_python_makes_no_objects() -> None:
    """Beside control flow and numbers it calls the machine, and functions that are given by name."""
    allowed = {"range", "float", "wrapped", "truth", "uniform", "spread", "column", "min", "max", "type"}
    for program in programs():
        source = OnNumPy(program).code.source
        for node in ast.walk(ast.parse(source.text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                name = node.func.id
                assert name in allowed or name in source.functions.values() or re.fullmatch(r"[IkO]\d+", name)
                assert name not in source.names or not isinstance(source.names[name], type)


def test_every_word_is_one_of_the_machine_or_of_control() -> None:
    machine = Chunk(A5, 1, 1, "exact")
    functions = [function for program in programs() for function in program.plan.functions.values()]
    seen = {step.word for function in functions for step in (*function.first, *walk(function.body))}
    assert len(seen) > 15
    for word in seen - CONTROL - {"instruction", "compute"}:
        assert hasattr(machine, word), word


def test_a_step_can_be_carried_out_by_hand() -> None:
    calls: list[Any] = []

    class Machine:
        total = 7

        def dim(self, *given: Any) -> Any:
            calls.append(given)

    op = compiled(PTRS, COPY).plan.functions["k"].body[0].steps[0].op
    assert carry_out(Step(op, "total"), Machine()) == 7
    carry_out(Step(op, "dim"), Machine(), 1, 2)
    assert calls == [(1, 2)]


def test_registers_take_numbers_as_columns() -> None:
    body = """    %v = arith.index_cast %b : index to i64
    %f = arith.sitofp %v : i64 to f32
    %zero = arith.constant 0 : i64
    %ub = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
    pto.vecscope {
      %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      %r = pto.vlds %ub[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %s = pto.vadds %r, %f, %all : !pto.vreg<64xf32>, f32, !pto.mask<b32> -> !pto.vreg<64xf32>
    }
"""
    steps = walk(compiled(PTRS, body).plan.functions["k"].body)
    assert [o.how for step in steps for o in step.operands if type(o) is Form] == ["column"]
