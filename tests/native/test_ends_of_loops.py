"""Loops that end where their type does, on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5

pytest.importorskip("llvmlite")


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64", "index"])
@pytest.mark.parametrize(("before", "step"), [(1, 4), (1, 1), (5, 4), (6, 3), (9, 5)])
def test_the_step_behind_the_last_number(type: str, before: int, step: int, backend: str) -> None:
    """The number after the last one is beyond the type. A loop that went on from below would leave the array."""
    last = (1 << (64 if type == "index" else int(type[1:])) - 1) - 1
    counted = len(range(last - before, last, step))
    text = f"""module attributes {{pto.target_arch = "a5"}} {{
      func.func @k(%y: !pto.ptr<i64>, %by: i64) attributes {{pto.entry}} {{
        %first = arith.constant {last - before} : {type}
        %last = arith.constant {last} : {type}
        %step = {f"arith.constant {step} : {type}" if before != 5 else known_to_the_run(type)}
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant 1 : i64
        %n = scf.for %k = %first to %last step %step iter_args(%at = %c0) -> (index) : {type} {{
          pto.store_scalar %one, %y[%at] : !pto.ptr<i64>, i64
          %next = arith.addi %at, %c1 : index
          scf.yield %next : index
        }}
        return
      }}
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    found = np.zeros(9, np.int64)
    compile_program(read.module, A5).launch([found, step], 1, backend=backend)
    assert found.tolist() == [1] * counted + [0] * (9 - counted)


def known_to_the_run(type: str) -> str:
    """The step out of an argument."""
    if type == "i64":
        return "arith.bitcast %by : i64 to i64"
    return f"arith.{'index_cast' if type == 'index' else 'trunci'} %by : i64 to {type}"
